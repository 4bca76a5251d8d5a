"""Packets of the laboratory in the header space, and random flows for a gateway."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address

from pfq.headers.algebra import Exactly
from pfq.headers.asking import BLOCK, Decision, Passage, Way, later_view, opening_view
from pfq.headers.fields import (
    DESTINATION,
    DESTINATION_PORT,
    EXTENSION_WORDS,
    FAMILY,
    FLAGS,
    FRAGMENT,
    HEADER_WORDS,
    ICMP_CODE,
    ICMP_TYPE,
    LATER,
    OFFSET_WORDS,
    PAYLOAD,
    PROTOCOL,
    SOURCE,
    SOURCE_PORT,
    TOS,
    TRANSLATED_PORT,
)
from pfq.linux.evaluate import Gateway as Evaluated
from pfq.plan.model import Gateway, Uplink
from tests.e2e import packet as crafted
from tests.e2e.packet import ACK, FIN, ICMP, ICMP6, PSH, SYN, TCP, TIMESTAMPS, UDP, Packet, sack
from tests.e2e.ports import Port
from tests.e2e.traffic import GATEWAY, Expected, Flow, Traffic

NO_FRAGMENT, FIRST, LATER_ONE, ATOMIC = range(4)


def of_packet(packet: Packet, fragment: int = NO_FRAGMENT) -> dict[str, int]:
    """The values of a packet's own fields."""
    extensions = [each for each in packet.extensions if each != crafted.FRAGMENT]
    if len(extensions) != len(packet.extensions):
        fragment = ATOMIC
    icmp = packet.protocol in (ICMP, ICMP6)
    return {
        FLAGS: packet.flags, TOS: packet.tos, PAYLOAD: len(packet.body()), FRAGMENT: fragment, HEADER_WORDS: 5 + len(packet.ip_options) // 4,
        EXTENSION_WORDS: len(extensions), OFFSET_WORDS: 5 + len(packet.tcp_options) // 4,
        ICMP_TYPE: packet.icmp[0] if icmp else 0, ICMP_CODE: packet.icmp[1] if icmp else 0,
    }  # fmt: skip


def of_flow(first: Packet) -> dict[str, int]:
    """The values of the fields that a flow's packets share."""
    ports = first.protocol in (TCP, UDP)
    return {
        FAMILY: int(first.version == 6), PROTOCOL: first.protocol, SOURCE: int(ip_address(first.source)), DESTINATION: int(ip_address(first.destination)),
        SOURCE_PORT: first.source_port if ports else 0, DESTINATION_PORT: first.port if ports else 0, TRANSLATED_PORT: first.source_port if ports else 0,
    }  # fmt: skip


def values(first: Packet, fragment: int = NO_FRAGMENT, later: Packet | None = None, later_fragment: int = NO_FRAGMENT) -> dict[str, int]:
    """A flow by its first packet as its sender made it, and a later packet of it."""
    second = of_packet(later if later is not None else first, later_fragment)
    return of_flow(first) | of_packet(first, fragment) | {LATER[name]: value for name, value in second.items()}


def asked(
    rules: Evaluated, flow: Flow, first: Packet, later: tuple[Packet, bool] | None = None, fragment: int = NO_FRAGMENT, notes: list[Decision] | None = None
) -> Passage:
    """What becomes of a flow's first packet, or of a later one (turned: a reply). Packets as their senders made them."""
    here = Way(None if flow.came_by == GATEWAY else flow.came_by, None if flow.leaves_by == GATEWAY else flow.leaves_by)
    algebra = Exactly(values(first, fragment, later[0] if later else None, fragment if later else NO_FRAGMENT))
    cases, memory = rules.opening(here, opening_view(algebra, None if later else notes))
    if later is not None:
        cases = rules.following(memory, here.back() if later[1] else here, later_view(algebra, later[1], notes))
    assert len(cases) == 1, cases
    return next(iter(cases))


def classes(passage: Passage) -> Expected:
    """Device -> class."""
    return dict(passage.queues)


def admitted(passage: Passage) -> bool:
    """Whether it got through."""
    return passage.action != BLOCK


def ports(gateway: Gateway) -> tuple[Port, tuple[Port, ...]]:
    """Ports for a gateway's interfaces, as far as the reference looks at them."""
    links = tuple(
        Port(
            uplink.interface, (f"203.0.{113 + number}.2/24", f"2001:db8:2:{number}::2/64"),
            parent=uplink.queue_on if uplink.queue_on != uplink.interface else "",
        )
        for number, uplink in enumerate(gateway.uplinks)
    )  # fmt: skip
    arm = next((arm.interface for arm in gateway.inside if arm.interface not in {uplink.interface for uplink in gateway.uplinks}), "inside0")
    return Port(arm, ("192.168.99.1/24",)), links


def addresses(traffic: Traffic) -> Mapping[str, tuple[str, ...]]:
    """Own addresses by interface."""
    return {port.device: port.addresses for port in (traffic.inside, *traffic.links)}


def carriers(gateway: Gateway) -> Mapping[str, str]:
    """Which interface carries another's packets."""
    return {uplink.interface: uplink.queue_on for uplink in gateway.uplinks if uplink.queue_on != uplink.interface}


def _address(chance: random.Random, gateway: Gateway, uplink: Uplink, version: int, inside: bool) -> str:
    """Of a network that something names, or of any."""
    matches = [rule.match for rule in uplink.classifier.rules]
    networks = [n for match in matches for n in (*match.sources, *match.destinations) if n.version == version]
    networks += [n for n in uplink.classifier.exclude if n.version == version]
    own = [n for arm in gateway.inside for n in arm.networks if n.version == version]
    if inside and own and chance.randrange(3):
        networks = own
    pairs = [str(pair.inside) for pair in uplink.one_to_one if pair.inside.version == version]
    if inside and pairs and chance.randrange(3) == 0:
        return chance.choice(pairs)
    if networks and chance.randrange(3):
        network = chance.choice(networks)
        return str(network[chance.randrange(min(network.num_addresses, 1000))])
    return str(ip_address(chance.getrandbits(32 if version == 4 else 128)))


_EXTENSIONS = ((), (), (crafted.HOP_BY_HOP,), (crafted.DESTINATION_OPTIONS, crafted.ROUTING), (crafted.FRAGMENT,), (crafted.HOP_BY_HOP, crafted.FRAGMENT))


def _shaped(chance: random.Random, packet: Packet, codes: list[int]) -> Packet:
    """Another packet of the flow, of any shape."""
    return replace(
        packet, flags=chance.choice((ACK, ACK, ACK | PSH, ACK | FIN, ACK | 0xC0)) if packet.protocol == TCP else 0, payload=chance.choice((0, 0, 1, 6, 500)),
        tos=chance.choice((0, 0, 0x02, 0x10, 0x08, *codes)) & 0xFF,
        ip_options=b"\x01" * chance.choice((0, 0, 4, 40)) if packet.version == 4 else b"",
        tcp_options=chance.choice((b"", TIMESTAMPS, sack(3), TIMESTAMPS + sack(2))) if packet.protocol == TCP else b"",
        extensions=chance.choice(_EXTENSIONS) if packet.version == 6 else (),
    )  # fmt: skip


def first_packet(chance: random.Random, gateway: Gateway, uplink: Uplink, outward: bool) -> Packet:
    """The first packet of a flow that crosses an uplink, near what its rules name; with the inside's addresses."""
    version = chance.choice((4, 4, 6))
    matches = [rule.match for rule in uplink.classifier.rules]
    numbers = [port for match in matches for pair in (*match.ports, *match.source_ports) for port in pair] or [80]
    named = [match.protocol for match in matches if isinstance(match.protocol, int)] or [TCP]
    protocol = chance.choice((TCP, TCP, UDP, ICMP if version == 4 else ICMP6, chance.choice(named)))
    if protocol == 51 and version == 6:
        protocol = UDP
    codes = [code << 2 for match in matches for code in match.dscp] or [0]
    ends = _address(chance, gateway, uplink, version, True), _address(chance, gateway, uplink, version, False)
    source, destination = ends if outward else ends[::-1]
    ported = protocol in (TCP, UDP)
    packet = Packet(
        source, destination, protocol, max(1, chance.choice(numbers) + chance.randrange(-1, 2)) & 0xFFFF if chance.randrange(2) and ported else 40_000 * ported,
        min(65535, max(1, chance.choice(numbers) + chance.randrange(-1, 2))) * ported, icmp=(8, 0) if version == 4 else (128, 0),
    )  # fmt: skip
    packet = _shaped(chance, packet, codes)
    return replace(packet, flags=chance.choice((SYN, SYN, SYN, ACK)) if protocol == TCP else 0)


def later_packets(chance: random.Random, flow: Flow, count: int) -> Iterator[tuple[Packet, bool]]:
    """Later packets of a flow, in both directions, with the inside's addresses."""
    for _ in range(count):
        turned = chance.randrange(2) == 1
        yield _shaped(chance, flow.first.back() if turned else flow.first, [0xB8]), turned
