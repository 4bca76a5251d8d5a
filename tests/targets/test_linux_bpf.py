"""The program for arriving packets, interpreted, against the reference: random models, random packets."""

import random
from dataclasses import replace
from ipaddress import ip_address
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.diagnostics import Refused
from pfq.plan.build import build
from pfq.plan.classify import EXCLUDED, classify, flow_class
from pfq.plan.classify import Packet as Seen
from pfq.plan.model import Uplink
from pfq.site.load import load_text
from pfq.targets.linux_bpf import MATCH, NO_MATCH, first_wins, programs, unshaped_program
from pfq.targets.linux_marks import LinkMarks, flow_marks
from tests.e2e.packet import ACK, DESTINATION_OPTIONS, FIN, FRAGMENT, HOP_BY_HOP, ICMP, ICMP6, PSH, ROUTING, SYN, TCP, TIMESTAMPS, UDP, Packet, fragments, sack
from tests.strategies import seeded
from tests.targets.cbpf import run

_ETHERTYPES = {4: 0x0800, 6: 0x86DD}
_AH = 51


def _uplinks(seed: int) -> list[tuple[Uplink, LinkMarks]]:
    try:
        plan = build(load_text(seeded(seed, ("linux-6.1",)), "site.toml"))
    except Refused:
        return []
    return [(uplink, flow_marks(gateway)[uplink.link]) for gateway in plan.gateways for uplink in gateway.uplinks]


def _result(uplink: Uplink, marks: LinkMarks, values: dict[str, int], data: bytes, ethertype: int, mark: int) -> int | None:
    """What becomes of a packet that arrives: None if it is not shaped, else what the first program that decides returns."""
    exclude = uplink.classifier.exclude
    if exclude and run(unshaped_program(exclude, marks.mask, marks.unshaped), data, ethertype, mark) == MATCH:
        return None
    return next((result for code in programs(uplink, marks, values) if (result := run(code, data, ethertype, mark)) != NO_MATCH), NO_MATCH)


def _address(chance: random.Random, uplink: Uplink, version: int) -> str:
    """Of a network that the rules or the exclusions name, or of any."""
    matches = [rule.match for rule in uplink.classifier.rules]
    networks = [n for match in matches for n in (*match.sources, *match.destinations) if n.version == version]
    networks += [n for n in uplink.classifier.exclude if n.version == version]
    pairs = [str(pair.outside) for pair in uplink.one_to_one if pair.outside.version == version]
    if pairs and chance.randrange(4) == 0:
        return chance.choice(pairs)
    if networks and chance.randrange(3):
        network = chance.choice(networks)
        return str(network[chance.randrange(min(network.num_addresses, 1000))])
    return str(ip_address(chance.getrandbits(32 if version == 4 else 128)))


def _packet(chance: random.Random, uplink: Uplink) -> Packet:
    version = chance.choice((4, 4, 6))
    matches = [rule.match for rule in uplink.classifier.rules]
    ports = [port for match in matches for pair in (*match.ports, *match.source_ports) for port in pair] or [80]
    named = [match.protocol for match in matches if isinstance(match.protocol, int)] or [TCP]
    protocol = chance.choice((TCP, TCP, UDP, ICMP if version == 4 else ICMP6, chance.choice(named)))
    if protocol == _AH and version == 6:
        protocol = TCP  # an extension header there: netfilter, conntrack and the program all look at what it covers
    codes = [code << 2 for match in matches for code in match.dscp] or [0]
    headers = chance.choice(((), (), (HOP_BY_HOP,), (DESTINATION_OPTIONS, ROUTING), (FRAGMENT,), (HOP_BY_HOP, FRAGMENT, DESTINATION_OPTIONS)))
    return Packet(
        _address(chance, uplink, version), _address(chance, uplink, version), protocol,
        max(1, chance.choice(ports) + chance.randrange(-1, 2)) if chance.randrange(2) else 40_000,
        min(65535, max(1, chance.choice(ports) + chance.randrange(-1, 2))),
        chance.choice((ACK, ACK, ACK | PSH, ACK | FIN, SYN, SYN | ACK)), chance.choice((0, 0, 1, 6, 500)),
        chance.choice((0, 0, 0x02, 0x10, 0x08, *codes)) & 0xFF, b"\x01" * chance.choice((0, 0, 4, 40)) if version == 4 else b"",
        chance.choice((b"", TIMESTAMPS, sack(3), TIMESTAMPS + sack(2))), headers if version == 6 else (),
    )


def _seen(packet: Packet, inward: dict[str, str]) -> Seen:
    flagged = packet.protocol == TCP
    ported = packet.protocol in (TCP, UDP)
    return Seen(
        ip_address(packet.source), ip_address(inward.get(packet.destination, packet.destination)), packet.protocol, packet.source_port if ported else 0,
        packet.port if ported else 0, packet.flags if flagged else 0, len(packet.body()), packet.tos,
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_program_says_what_the_reference_says(seed: int) -> None:
    chance = random.Random(seed)
    for uplink, marks in _uplinks(seed):
        names = [leaf.name for leaf in uplink.up.leaves()]
        values = {name: 0x10000 + number for number, name in enumerate(names, 1)}
        inward = {str(pair.outside): str(pair.inside) for pair in uplink.one_to_one}
        results: dict[str | None, int | None] = {EXCLUDED: None}
        results.update(values)
        for _ in range(40):
            packet = _packet(chance, uplink)
            seen = _seen(packet, inward)
            beside = any(n.version == packet.version and seen.source in n for n in uplink.classifier.exclude)
            data, ethertype = packet.data(), _ETHERTYPES[packet.version]
            picked_up = packet.protocol == TCP and packet.flags & (SYN | ACK) != SYN
            flow = flow_class(uplink.classifier, seen, "outside")
            if picked_up and not beside:
                flow = uplink.classifier.default
            assert _result(uplink, marks, values, data, ethertype, 0x2345) == results[classify(uplink.classifier, seen, flow)], packet
            flow = chance.choice(names)
            wanted = EXCLUDED if beside else classify(uplink.classifier, seen, flow)
            mark = marks.unshaped if flow is EXCLUDED else marks.classes[flow]
            assert _result(uplink, marks, values, data, ethertype, mark | marks.rest & 0xA5A5A5A5) == results[wanted], packet


@pytest.mark.parametrize("version", [4, 6])
def test_later_fragments_have_no_header_to_be_read(version: int) -> None:
    for uplink, marks in (each for seed in range(8) for each in _uplinks(seed)):
        express = uplink.classifier.express
        if not express or version not in express.families or uplink.classifier.exclude:
            continue
        name = sorted(express.upgraded)[0]
        values = {leaf.name: number for number, leaf in enumerate(uplink.up.leaves(), 1)}
        source, destination = ("198.51.100.7", "203.0.113.2") if version == 4 else ("2001:db8:f::7", "2001:db8:e::2")
        # The second fragment holds what would be an empty ACK's header.
        inner = Packet(source, destination, TCP, 1, 2, ACK).data()[20 if version == 4 else 40 :]
        whole = Packet(source, destination, TCP, 1, 2, ACK, payload=bytes(12) + inner)
        later = fragments(whole, 32)[1]
        mark = marks.classes[name]
        assert _result(uplink, marks, values, later, _ETHERTYPES[version], mark) == values[name]
        assert _result(uplink, marks, values, replace(whole, payload=0).data(), _ETHERTYPES[version], mark) == values[express.queue]


def test_frames_without_an_ip_header_are_where_the_model_puts_them_or_in_the_default_class() -> None:
    said = set()
    for uplink, marks in (each for seed in range(40) for each in _uplinks(seed)):
        values = {leaf.name: number for number, leaf in enumerate(uplink.up.leaves(), 1)}
        name = uplink.classifier.unclassified or uplink.classifier.default
        said.add(uplink.classifier.unclassified is None)
        assert _result(uplink, marks, values, bytes(60), 0x0806, 0) == values[name]
    assert said == {True, False}


# Classes that a model can have, less one.
_MOST = 999
_MANY = """
[links.wan]
up = "2 Mbit"
down = "20 Mbit"
policy = "p"
[policies.p]
classes = [{classes}]
[hosts.gw]
system = "linux-6.1"
links.wan = "eth0"
"""


def _many(classes: list[str]) -> tuple[Uplink, LinkMarks]:
    plan = build(load_text(_MANY.format(classes=", ".join(classes)), "site.toml"))
    return plan.gateways[0].uplinks[0], flow_marks(plan.gateways[0])["wan"]


def _opening(port: int) -> bytes:
    return Packet("198.51.100.7", "203.0.113.2", TCP, 9, port, SYN).data()


def _steps_taken(uplink: Uplink, marks: LinkMarks, values: dict[str, int], data: bytes, mark: int) -> int:
    """Instructions until a program decides."""
    taken = 0
    for code in programs(uplink, marks, values):
        count = [0]
        result = run(code, data, 0x0800, mark, count)
        taken += count[0]
        if result != NO_MATCH:
            break
    return taken


@pytest.mark.parametrize("step", [1, 3])
def test_thousands_of_ports_of_a_class(step: int) -> None:
    """Neighbours are one range; others are spread over several programs, each as long as tc takes."""
    ports = range(1, 20_000 * step // 2, step)
    uplink, marks = _many([f'{{ name = "a", match = [{", ".join(f"{chr(34)}tcp/{n}{chr(34)}" for n in ports)}] }}', '{ name = "b" }'])
    values = {"a": 1, "b": 2}
    codes = programs(uplink, marks, values)
    assert max(int(code.partition(",")[0]) for code in codes) <= 1900
    assert len(codes) == 1 if step == 1 else len(codes) > 5
    chance = random.Random(step)
    for port in [1, 2, 3, ports[-1], ports[-1] + 1, *(chance.randrange(1, 30_000) for _ in range(200))]:
        assert _result(uplink, marks, values, _opening(port), 0x0800, 0) == (1 if port in ports else 2), port


def _classes_of_one_port(count: int) -> list[str]:
    return [f'{{ name = "c{n}", match = "tcp/{2 * n}", share = 1 }}' for n in range(1, count + 1)] + ['{ name = "rest", share = 1, default = true }']


def test_as_many_classes_as_a_model_can_have_of_one_port_each() -> None:
    uplink, marks = _many(_classes_of_one_port(_MOST))
    values = {leaf.name: number for number, leaf in enumerate(uplink.up.leaves(), 1)}
    for number in (1, 2, 3, _MOST // 2, _MOST - 1, _MOST):
        name = f"c{number}"
        assert _result(uplink, marks, values, _opening(2 * number), 0x0800, 0) == values[name]
        assert _result(uplink, marks, values, _opening(2 * number + 1), 0x0800, 0) == values["rest"]
        assert _result(uplink, marks, values, _opening(7), 0x0800, marks.classes[name]) == values[name]


def test_the_way_of_a_marked_packet_hardly_grows_with_the_classes() -> None:
    data = Packet("198.51.100.7", "203.0.113.2", TCP, 9, 99, ACK, payload=100).data()
    longest = {}
    for count in (10, _MOST):
        uplink, marks = _many(_classes_of_one_port(count))
        values = {leaf.name: number for number, leaf in enumerate(uplink.up.leaves(), 1)}
        longest[count] = max(_steps_taken(uplink, marks, values, data, mark) for mark in list(marks.classes.values())[:: max(count // 50, 1)])
    # A hundred times the classes; they take three programs.
    assert longest[_MOST] < 3 * longest[10]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12), st.sampled_from("abc")), max_size=12))
def test_of_overlapping_ranges_the_first_counts(ranges: list[tuple[int, int, str]]) -> None:
    found = first_wins([(first, first + more, name) for first, more, name in ranges])
    for key in range(60):
        wanted = next((name for first, more, name in ranges if first <= key <= first + more), None)
        assert next((name for first, last, name in found if first <= key <= last), None) == wanted
    # In order, apart, and no two neighbours of one class.
    assert all(one[1] < other[0] and not (one[1] + 1 == other[0] and one[2] == other[2]) for one, other in pairwise(found))
