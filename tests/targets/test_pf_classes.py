"""What a compiled pf.conf does with a flow is what the plan says, for random models."""

import re
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from random import Random

import pytest

from pfq.diagnostics import Refused
from pfq.pf.verdict import Tree, read
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP, Packet, flow_class
from pfq.plan.model import Gateway, Plan, Uplink
from pfq.site.model import Address, Match, Network
from tests.strategies import seeded
from tests.targets.pf_evaluate import Outcome, from_inside, from_outside
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


def _expected(uplink: Uplink, gateway: Gateway, packet: Packet, inward: bool) -> tuple[str, str]:
    name = flow_class(uplink.classifier, packet, "outside" if inward else "inside")
    if name is None:
        return "local", "local"
    prefix = f"{uplink.link}_" if len(gateway.uplinks) > 1 else ""
    express = uplink.classifier.express
    second = express.queue if express and name in express.upgraded else name
    return prefix + name, prefix + second


def _outcome(tree: Tree, uplink: Uplink, gateway: Gateway, packet: Packet, inward: bool) -> Outcome:
    if not inward:
        inside = next((item.interface for item in gateway.inside if any(_holds(packet.source, net) for net in item.networks)), "none")
        return from_inside(tree, inside, uplink.interface, packet)
    return from_outside(tree, uplink.interface, _after_nat(gateway, uplink, packet))


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


def _after_nat(gateway: Gateway, uplink: Uplink, packet: Packet) -> Packet:
    """A packet from outside, as it is on the link where NAT is a match rule: 1:1 NAT has not happened yet."""
    for pair in uplink.one_to_one:
        if gateway.system.family == "queue" and packet.destination == pair.inside:
            return replace(packet, destination=pair.outside)
    return packet


def _compare(made: Plan, random: Random) -> None:
    for gateway in made.gateways:
        try:
            (file,) = TARGETS[gateway.system.family].render(made, gateway, None)
        except Refused:
            continue
        tree = read(file.text, gateway.system.name)
        assert tree.verdict.status == 0
        for uplink in gateway.uplinks:
            for inward in (False, True):
                for packet in _packets(uplink, gateway, inward, random):
                    if gateway.system.family == "altq" and packet.source.version == 6 and packet.tos:
                        continue  # accepted: ipv6-dscp
                    found = _outcome(tree, uplink, gateway, packet, inward)
                    if found.action == "block":
                        assert inward
                        assert uplink.inbound
                        continue
                    assert found.stateful
                    assert (found.queue, found.second) == _expected(uplink, gateway, packet, inward), (packet, file.text)


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
        for uplink in gateway.uplinks:
            for packet in _packets(uplink, gateway, False, random):
                if packet.protocol == TCP and packet.source.version == 4:
                    found = _outcome(tree, uplink, gateway, replace(packet, flags=ACK), False)
                    local = not isinstance(flow_class(uplink.classifier, packet, "inside"), str)
                    anything = replace(packet, source=NEAR[4], destination=FAR[4], port=0, source_port=1, tos=0, protocol=255)
                    expected = ("local", "local") if local else _expected(uplink, gateway, anything, False)
                    assert (found.queue, found.second, found.stateful) == (*expected, False)
