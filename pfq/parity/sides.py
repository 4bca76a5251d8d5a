"""Where a packet comes from, and so which of a gateway's cases it is."""

from collections.abc import Iterable
from typing import Literal

from pfq.diagnostics import refuse
from pfq.parity.cases import Case, cases
from pfq.parity.packet import Packet
from pfq.plan.model import Gateway, Uplink
from pfq.site.model import Address

Origin = Literal["inside", "outside", "gateway"]


def _is_inside(address: Address, gateways: Iterable[Gateway]) -> bool:
    return any(address in network for gateway in gateways for arm in gateway.inside for network in arm.networks if network.version == address.version)


def _is_public(address: Address, gateways: Iterable[Gateway]) -> bool:
    return any(address == pair.outside for gateway in gateways for uplink in gateway.uplinks for pair in uplink.one_to_one)


def origin_of(packet: Packet, gateways: tuple[Gateway, ...]) -> Origin | None:
    """Where a flow's first packet comes from, by the model's inside networks; where a family has none, private addresses (RFC 1918, 4193)
    are inside. None where neither tells."""
    here, there = (_is_inside(address, gateways) for address in (packet.source, packet.destination))
    if there or _is_public(packet.destination, gateways):
        return "inside" if here else "outside"
    if here:
        return "inside"
    named = any(n.version == packet.source.version for gateway in gateways for arm in gateway.inside for n in arm.networks)
    if named or packet.source.is_private == packet.destination.is_private:
        # Documentation's addresses count as private: one of two private ones is inside only if the other is known to be outside.
        return None if named else _by_documentation(packet)
    return "inside" if packet.source.is_private else "outside"


# Networks for documentation (RFC 5737, 3849), which stand for the Internet.
_DOCUMENTATION = ("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:")


def _by_documentation(packet: Packet) -> Origin | None:
    here, there = (str(address).startswith(_DOCUMENTATION) for address in (packet.source, packet.destination))
    return None if here == there else "outside" if here else "inside"


def case_of(packet: Packet, origin: Origin, gateway: Gateway, uplink: Uplink) -> Case:
    """The case of a flow's first packet on a gateway's link: through the inside interface in whose networks the near end is, or the first."""
    inside = origin != "outside"
    found = [case for case in cases(gateway, uplink) if case.opened_inside == inside]
    if origin == "gateway":
        return next(case for case in found if case.way.enters is None)
    near = packet.source if inside else packet.destination
    for pair in uplink.one_to_one:
        if near == pair.outside:
            near = pair.inside
    through = [case for case in found if None not in (case.way.enters, case.way.leaves)]
    return next((case for case in through if any(near.version == n.version and near in n for n in case.networks)), through[0])


def origin_or_refuse(packet: Packet, gateways: tuple[Gateway, ...]) -> Origin:
    """`origin_of`. Raises Refused where it cannot be told."""
    origin = origin_of(packet, gateways)
    if origin is None:
        message = f"neither {packet.source} nor {packet.destination} is in the model's inside networks"
        raise refuse("no-side", message, hint="--from inside, outside or gateway says where the packet comes from")
    return origin
