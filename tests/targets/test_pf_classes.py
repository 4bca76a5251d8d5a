"""What a compiled pf.conf does with a flow is what the plan says, for random models."""

import re
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from random import Random

import pytest

from pfq.diagnostics import Refused
from pfq.headers.algebra import Exactly
from pfq.headers.asking import Passage, Ruleset, Way, later_view, opening_view
from pfq.pf.evaluate import ruleset
from pfq.pf.verdict import Tree, read
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP, Packet, classify, flow_class
from pfq.plan.model import Gateway, Plan, Uplink
from pfq.site.model import Address, Match, Network
from tests.strategies import seeded
from tests.targets.pf_render import TARGETS, plan

SYSTEMS = ("openbsd-4.4", "freebsd-12.1", "openbsd-7.6")
FAR: dict[int, Address] = {4: IPv4Address("192.0.2.55"), 6: IPv6Address("2001:db8:77::5")}
NEAR: dict[int, Address] = {4: IPv4Address("192.168.77.9"), 6: IPv6Address("fd00:77::9")}
SYN, ACK = 0x02, 0x10


def _address(networks: tuple[Network, ...], version: int, otherwise: Address, random: Random) -> Address:
    usable = [item for item in networks if item.version == version]
    if not usable:
        return otherwise
    chosen = random.choice(usable)
    return chosen[random.randrange(min(chosen.num_addresses, 250))]


def _packet(match: Match, near: dict[int, Address], inward: bool, random: Random) -> Packet:
    """A first packet that the match holds for, or nearly so."""
    version = match.family or random.choice((4, 4, 6))
    source, destination = (FAR[version], near[version]) if inward else (near[version], FAR[version])
    for side in (match.sources, match.destinations):
        if side and not any(item.version == version for item in side):
            version = 10 - version
            source, destination = (FAR[version], near[version]) if inward else (near[version], FAR[version])
    protocol = match.protocol if isinstance(match.protocol, int) else random.choice((TCP, UDP))
    if match.protocol == "icmp":
        protocol = ICMP if version == 4 else ICMP6
    ports = [random.choice((low, high)) for low, high in match.ports]
    source_ports = [low for low, _ in match.source_ports]
    tos = (random.choice(match.dscp) << 2 | random.randrange(4)) if match.dscp and random.randrange(4) else random.choice((0, 0, 1, 0x10, 0xB8))
    return Packet(
        _address(match.sources, version, source, random), _address(match.destinations, version, destination, random), protocol,
        random.choice(source_ports or [40000]), random.choice(ports or [7]) if protocol in (TCP, UDP) else 0, SYN, 0, tos,
    )


def _packets(uplink: Uplink, gateway: Gateway, inward: bool, random: Random) -> Iterator[Packet]:
    near = dict(NEAR)
    for inside in gateway.inside:
        for item in inside.networks:
            near[item.version] = item[9]
    any_match = Match((), None, (), (), (), (), (), None, "both")
    exclude = uplink.classifier.exclude
    if exclude:
        local = replace(any_match, sources=exclude) if inward else replace(any_match, destinations=exclude)
        for _ in range(3):
            yield _packet(local, near, inward, random)
    for rule in (*uplink.classifier.rules, None):
        for _ in range(3):
            yield _packet(rule.match if rule else any_match, near, inward, random)


def _expected(uplink: Uplink, gateway: Gateway, packet: Packet, flow: str | None) -> str:
    name = classify(uplink.classifier, packet, flow)
    prefix = f"{uplink.link}_" if len(gateway.uplinks) > 1 else ""
    return "local" if name is None else prefix + name


def _values(packet: Packet, later: Packet, reply: bool = False) -> dict[str, int]:
    """A first packet and a later one of its flow, as fields of the header space. ICMP is an echo request, a reply its answer."""
    six = packet.source.version == 6
    values = {
        "family": int(six), "protocol": packet.protocol, "source": int(packet.source), "destination": int(packet.destination),
        "source_port": packet.source_port, "destination_port": packet.port, "translated_port": 60000,
        "icmp_type": 128 if six else 8, "later_icmp_type": (129 if reply else 128) if six else 0 if reply else 8,
    }
    for prefix, one in (("", packet), ("later_", later)):
        values |= {f"{prefix}{name}": 5 for name in ("header_words", "offset_words")}
        values |= {f"{prefix}flags": one.flags, f"{prefix}payload": one.payload, f"{prefix}tos": one.tos}
    return values


def _holds(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


def _moved_inside(text: str) -> str:
    """The same model with addresses of classes among those of the inside, where NAT hides them."""
    return re.sub(r'"10\.\d+\.(\d+)\.\d+/\d+"', lambda found: f'"192.168.{100 + int(found[1]) % 2 * 4}.{int(found[1]) * 8 % 256}/29"', text)


@pytest.mark.parametrize("seed", range(120))
def test_every_flow_gets_the_queue_of_its_class(seed: int) -> None:
    text = seeded(seed, SYSTEMS)
    _compare(plan(_moved_inside(text) if seed % 2 else text), Random(seed))


# Classes by inside address under NAT and 1:1 NAT, of every kind that a tag must tell apart.
HIDDEN = """
accept = ["ipv6-express", "ipv6-dscp", "fifo"]
[links.dsl]
up = "2 Mbit"
down = "16 Mbit"
policy = "office"
[policies.office]
classes = [
  { name = "ack", express = true },
  { name = "boss", match = { protocol = "tcp", port = 80, from = "192.168.1.8/29" } },
  { name = "web", match = ["tcp/80", { protocol = "icmp", from = "192.168.1.0/28" }] },
  { name = "server", match = [{ from = "192.168.1.20/32" }, { protocol = "udp", to = "192.168.1.21/32", opened = "outside" }] },
  { name = "desks", match = { from = ["192.168.1.0/24", "198.51.100.0/24", "2001:db8::/64"] } },
  { name = "wide", match = { from = "192.168.0.0/16", opened = "inside" } },
  { name = "guest", match = { from = "10.0.0.0/16", dscp = ["cs1", "af41"] } },
  { name = "rest" },
]
[hosts.gw]
system = "SYSTEM"
inside = [{ interface = "em1", networks = ["192.168.1.0/24", "2001:db8::/64"] }, { interface = "em2", networks = "10.0.0.0/16" }]
links.dsl = { interface = "em0", nat = NAT, shape_down = "none", one_to_one = PAIRS }
"""
PAIRS = '[{ inside = "192.168.1.20", outside = "203.0.113.20" }, { inside = "192.168.1.21", outside = "203.0.113.21" }]'


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("nat", ["true", "false", '"203.0.113.9"'])
@pytest.mark.parametrize("pairs", ["[]", PAIRS])
def test_classes_by_inside_address_under_nat(system: str, nat: str, pairs: str) -> None:
    made = plan(HIDDEN.replace("SYSTEM", system).replace("NAT", nat).replace("PAIRS", pairs))
    for seed in range(10):
        _compare(made, Random(seed))


def _on_the_wire(uplink: Uplink, packet: Packet, inward: bool) -> Packet:
    """A packet as its sender made it: 1:1 NAT is still to come."""
    for pair in uplink.one_to_one:
        if inward and packet.destination == pair.inside:
            return replace(packet, destination=pair.outside)
    return packet


def _inside(gateway: Gateway, address: Address) -> str:
    arms = [item.interface for item in gateway.inside if any(_holds(address, net) for net in item.networks)]
    return next(iter(arms or [item.interface for item in gateway.inside if not item.networks]), "inside0")


def _asked(tree: Tree, gateway: Gateway) -> Ruleset:
    return ruleset(tree, carriers={uplink.interface: uplink.queue_on for uplink in gateway.uplinks if uplink.queue_on != uplink.interface})


def _compare(made: Plan, random: Random) -> None:
    for gateway in made.gateways:
        try:
            (file,) = TARGETS[gateway.system.family].render(made, gateway, None)
        except Refused:
            continue
        tree = read(file.text, gateway.system.name)
        assert tree.verdict.status == 0
        asked = _asked(tree, gateway)
        for uplink in gateway.uplinks:
            for inward in (False, True):
                for packet in _packets(uplink, gateway, inward, random):
                    if packet.source.version == 6 and packet.tos and (gateway.system.family == "altq" or not uplink.ipv6):
                        continue  # accepted: ipv6-dscp, ipv6-express
                    _compare_one(asked, uplink, gateway, packet, inward, random)


def _compare_one(asked: Ruleset, uplink: Uplink, gateway: Gateway, packet: Packet, inward: bool, random: Random) -> None:
    inside = _inside(gateway, packet.destination if inward else packet.source)
    way = Way(uplink.interface, inside) if inward else Way(inside, uplink.interface)
    flow = flow_class(uplink.classifier, packet, "outside" if inward else "inside")
    later = replace(packet, flags=ACK, payload=random.choice((0, 1, 1000)), tos=random.choice((0, 0x10)))
    if packet.source.version == 6 and (gateway.system.family == "altq" or not uplink.ipv6):
        later = replace(later, payload=1000, tos=0)  # accepted: ipv6-express, ipv6-dscp
    (passage,) = asked.opening(way, opening_view(Exactly(_values(_on_the_wire(uplink, packet, inward), later))))[0]
    if passage.action == "block":
        assert inward
        assert uplink.inbound
        return
    shaped = {uplink.queue_on} | ({uplink.down.interface} if uplink.down and uplink.down.where == "inside" else set())
    # What the link brings for an inside that is on its interface too is not the link's when it leaves again.
    down = None if inside == uplink.interface else flow
    _expect(way, passage, uplink, gateway, packet, down if inward else flow, shaped)
    for reply in (False, True):
        algebra = Exactly(_values(_on_the_wire(uplink, packet, inward), later, reply))
        memory = asked.opening(way, opening_view(algebra))[1]
        (passage,) = asked.following(memory, way.back() if reply else way, later_view(algebra, reply))
        _expect(way.back() if reply else way, passage, uplink, gateway, later, down if inward != reply else flow, shaped)


def _expect(way: Way, passage: Passage, uplink: Uplink, gateway: Gateway, packet: Packet, flow: str | None, shaped: set[str]) -> None:
    device = uplink.queue_on if way.leaves == uplink.interface else way.leaves
    assert passage.action == "pass"
    if device in shaped:
        assert dict(passage.queues)[device] == _expected(uplink, gateway, packet, flow), (packet, way)


@pytest.mark.parametrize("seed", range(40))
def test_packets_of_connections_without_state_get_a_queue_too(seed: int) -> None:
    random = Random(seed)
    made = plan(seeded(seed, SYSTEMS))
    for gateway in made.gateways:
        try:
            (file,) = TARGETS[gateway.system.family].render(made, gateway, None)
        except Refused:
            continue
        tree = read(file.text, gateway.system.name)
        asked = _asked(tree, gateway)
        for uplink in gateway.uplinks:
            for packet in _packets(uplink, gateway, False, random):
                if packet.protocol == TCP and packet.source.version == 4:
                    middle = replace(packet, flags=ACK, payload=random.choice((0, 1000)), tos=0)
                    anything = replace(middle, source=NEAR[4], destination=FAR[4], port=0, source_port=1, protocol=255)
                    flow = flow_class(uplink.classifier, packet, "inside")
                    flow = flow and flow_class(uplink.classifier, anything, "inside")
                    way = Way(_inside(gateway, packet.source), uplink.interface)
                    (passage,) = asked.opening(way, opening_view(Exactly(_values(middle, middle))))[0]
                    _expect(way, passage, uplink, gateway, middle, flow, {uplink.queue_on})
