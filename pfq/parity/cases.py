"""Which packets a gateway is asked about: for each link, flows opened from inside and from outside, through the gateway and to it."""

from collections.abc import Iterator
from dataclasses import dataclass

from pfq.headers import fields as space
from pfq.headers.algebra import Condition
from pfq.headers.asking import View, Way
from pfq.parity.gateways import wire
from pfq.parity.ordinary import well_formed_flow
from pfq.parity.places import in_networks, is_address
from pfq.parity.reference import INSIDE, LINK
from pfq.plan.model import Gateway, Uplink
from pfq.site.model import Address, Network

# The inside where the model names none: an interface that no rule names.
SOME_INSIDE = "inside0"


@dataclass(frozen=True, slots=True)
class Case:
    """Flows of one link that go one way: `way` on the gateway's interfaces, `plan_way` in the plan's terms.

    networks: those of the inside interface; () where the model names none, or the inner end is the gateway itself.
    """

    gateway: Gateway
    uplink: Uplink
    way: Way
    plan_way: Way
    networks: tuple[Network, ...] = ()

    @property
    def opened_inside(self) -> bool:
        return self.plan_way.leaves == LINK

    @property
    def title(self) -> str:
        """What flows these are."""
        link = f"link {self.uplink.link} ({self.uplink.interface})"
        near = "the gateway itself" if None in (self.plan_way.enters, self.plan_way.leaves) else f"the inside ({self._inside})"
        return f"from {near} to {link}" if self.opened_inside else f"from {link} to {near}"

    @property
    def _inside(self) -> str:
        name = (self.way.enters if self.opened_inside else self.way.leaves) or ""
        return "any interface" if name == SOME_INSIDE else name


def cases(gateway: Gateway, uplink: Uplink) -> Iterator[Case]:
    """Every kind of flow that crosses a link."""
    link = wire(gateway, uplink)
    arms = [(arm.interface, arm.networks) for arm in gateway.inside] or [(SOME_INSIDE, ())]
    for interface, networks in arms:
        yield Case(gateway, uplink, Way(interface, link), Way(INSIDE, LINK), networks)
        yield Case(gateway, uplink, Way(link, interface), Way(LINK, INSIDE), networks)
    yield Case(gateway, uplink, Way(None, link), Way(None, LINK))
    yield Case(gateway, uplink, Way(link, None), Way(LINK, None))


def flows(case: Case, view: View) -> Condition:
    """Where a flow is one of this case: its addresses lie where its way says, and the link carries its family."""
    uplink = case.uplink
    near, far = (space.SOURCE, space.DESTINATION) if case.opened_inside else (space.DESTINATION, space.SOURCE)
    inside = [network for arm in case.gateway.inside for network in arm.networks]
    public: list[Address] = [pair.outside for pair in uplink.one_to_one]
    where = well_formed_flow(view) & ~in_networks(view, far, inside) & ~is_address(view, far, public)
    if None in (case.way.enters, case.way.leaves):
        behind: list[Address] = [pair.inside for pair in uplink.one_to_one]
        where = where & ~in_networks(view, near, inside) & ~is_address(view, near, [*public, *behind])
    else:
        where = where & _on_arm(case, view, near, public)
    (six,) = view.bits[space.FAMILY]
    return where if uplink.ipv6 else where & ~six


def _on_arm(case: Case, view: View, near: str, public: list[Address]) -> Condition:
    """Where the near end is in the interface's networks (of a family of which it has any); from outside, also where it is a public address
    of 1:1 NAT whose host is there."""
    (six,) = view.bits[space.FAMILY]
    found = in_networks(view, near, case.networks)
    if case.way.enters == case.way.leaves:
        # On a gateway with one arm only addresses tell what is inside.
        return found
    for version, family in ((4, ~six), (6, six)):
        if not any(network.version == version for network in case.networks):
            found = found | (family & ~is_address(view, near, public))
    if case.opened_inside:
        return found
    mapped: list[Address] = [
        pair.outside for pair in case.uplink.one_to_one
        if all(n.version != pair.inside.version for n in case.networks) or any(pair.inside in n for n in case.networks if n.version == pair.inside.version)
    ]  # fmt: skip
    return found | is_address(view, near, mapped)


def usual_hosts(case: Case) -> list[int]:
    """Addresses for the near end of a witness, the likeliest first."""
    found = []
    for network in case.networks:
        most = network.num_addresses
        found.append(int(network.network_address) + (5 if most > 8 else most // 2))
    # The gateway's own, and hosts where the model names no network: of the networks for documentation and private ones.
    own = (0xCB007109, 0x20010DB8 << 96 | 9) if None in (case.way.enters, case.way.leaves) else (0xC0A80105, 0xFD << 120 | 5)
    return [*found, *(int(pair.outside) for pair in case.uplink.one_to_one), *own]
