"""The program for arriving packets, interpreted, against the reference: random models, random packets."""

import random
from dataclasses import replace
from ipaddress import ip_address

import pytest

from pfq.diagnostics import Refused
from pfq.plan.build import build
from pfq.plan.classify import EXCLUDED, classify, flow_class
from pfq.plan.classify import Packet as Seen
from pfq.plan.model import Uplink
from pfq.site.load import load_text
from pfq.targets.linux_bpf import MATCH, TooLong, program
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
        code = program(uplink, marks, values, 0x1FFFF)
        inward = {str(pair.outside): str(pair.inside) for pair in uplink.one_to_one}
        results: dict[str | None, int] = {EXCLUDED: 0x1FFFF}
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
            assert run(code, data, ethertype, 0x2345) & MATCH == results[classify(uplink.classifier, seen, flow)], packet
            flow = chance.choice(names)
            wanted = EXCLUDED if beside else classify(uplink.classifier, seen, flow)
            mark = marks.unshaped if flow is EXCLUDED else marks.classes[flow]
            assert run(code, data, ethertype, mark | marks.rest & 0xA5A5A5A5) == results[wanted], packet


@pytest.mark.parametrize("version", [4, 6])
def test_later_fragments_have_no_header_to_be_read(version: int) -> None:
    for uplink, marks in (each for seed in range(8) for each in _uplinks(seed)):
        express = uplink.classifier.express
        if not express or version not in express.families or uplink.classifier.exclude:
            continue
        name = sorted(express.upgraded)[0]
        values = {leaf.name: number for number, leaf in enumerate(uplink.up.leaves(), 1)}
        code = program(uplink, marks, values, 0)
        source, destination = ("198.51.100.7", "203.0.113.2") if version == 4 else ("2001:db8:f::7", "2001:db8:e::2")
        # The second fragment holds what would be an empty ACK's header.
        inner = Packet(source, destination, TCP, 1, 2, ACK).data()[20 if version == 4 else 40 :]
        whole = Packet(source, destination, TCP, 1, 2, ACK, payload=bytes(12) + inner)
        later = fragments(whole, 32)[1]
        mark = marks.classes[name]
        assert run(code, later, _ETHERTYPES[version], mark) == values[name]
        assert run(code, replace(whole, payload=0).data(), _ETHERTYPES[version], mark) == values[express.queue]


def test_frames_without_an_ip_header_are_where_the_model_puts_them_or_in_the_default_class() -> None:
    said = set()
    for uplink, marks in (each for seed in range(40) for each in _uplinks(seed)):
        values = {leaf.name: number for number, leaf in enumerate(uplink.up.leaves(), 1)}
        name = uplink.classifier.unclassified or uplink.classifier.default
        said.add(uplink.classifier.unclassified is None)
        assert run(program(uplink, marks, values, 0), bytes(60), 0x0806, 0) == values[name]
    assert said == {True, False}


def test_a_thousand_ports_fit_and_too_many_are_refused() -> None:
    model = """
[links.wan]
up = "2 Mbit"
down = "20 Mbit"
policy = "p"
[policies.p]
classes = [{{ name = "a", match = [{}] }}, {{ name = "b" }}]
[hosts.gw]
system = "linux-6.1"
links.wan = "eth0"
"""
    for count, fits in ((1000, True), (3000, False)):
        plan = build(load_text(model.format(", ".join(f'"tcp/{n}"' for n in range(1, count + 1))), "site.toml"))
        uplink = plan.gateways[0].uplinks[0]
        marks = flow_marks(plan.gateways[0])[uplink.link]
        if fits:
            data = Packet("198.51.100.7", "203.0.113.2", TCP, 9, 999, SYN).data()
            assert run(program(uplink, marks, {"a": 1, "b": 2}, 0), data, 0x0800, 0) == 1
        else:
            with pytest.raises(TooLong):
                program(uplink, marks, {"a": 1, "b": 2}, 0)
