"""The inbound policy is alike on every pf: what comes in, what does not, and whom a load must not cut off."""

from ipaddress import ip_address

import pytest

from pfq.headers.algebra import Exactly
from pfq.headers.asking import Passage, Ruleset, Way, later_view, opening_view
from pfq.pf.evaluate import ruleset
from pfq.pf.verdict import read
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP, Packet
from tests.targets.pf_render import compiled

SYN, ACK = 0x02, 0x10
MODEL = """
accept = ["ipv6-express"]
[links.dsl]
up = "2 Mbit"
[hosts.gw]
system = "SYSTEM"
inside = { interface = "INSIDE", networks = ["192.168.1.0/24"] }
links.dsl = { interface = "em0", nat = true, inbound = INBOUND }
"""
INBOUND = '{ services = ["tcp/443", "udp/5000-5010", "icmp/echo"], operator = { port = 2222, from = "198.51.100.0/24" } }'
SYSTEMS = ["openbsd-4.4", "freebsd-12.1", "openbsd-7.6"]
NEEDFRAG, UNREACH, ECHO, ECHO6, TOO_BIG, NEIGHBOUR = 4, 3, 8, 128, 2, 135
ANSWERS = {8: 0, 13: 14, 128: 129, 135: 136, 139: 140}


def _packet(source: str, protocol: int, port: int, flags: int = 0) -> Packet:
    """From outside; the port of ICMP is its type."""
    far = ip_address(source)
    return Packet(far, ip_address("203.0.113.1" if far.version == 4 else "2001:db8::1"), protocol, 40000, port, flags)


def _asked(system: str, inside: str = "em1") -> Ruleset:
    return ruleset(read(compiled(MODEL.replace("SYSTEM", system).replace("INSIDE", inside).replace("INBOUND", INBOUND)), system))


def _fate(asked: Ruleset, way: Way, packet: Packet) -> tuple[Passage, Passage]:
    """What becomes of a first packet, and of an answer to it: its acknowledgement, or any datagram."""
    icmp = packet.port if packet.protocol in (ICMP, ICMP6) else 0
    values = {
        "family": int(packet.source.version == 6), "protocol": packet.protocol, "source": int(packet.source), "destination": int(packet.destination),
        "source_port": packet.source_port, "destination_port": packet.port, "flags": packet.flags,
        "icmp_type": icmp, "icmp_code": NEEDFRAG if icmp == UNREACH else 0, "header_words": 5, "offset_words": 5,
        "later_flags": ACK, "later_header_words": 5, "later_offset_words": 5, "later_icmp_type": ANSWERS.get(icmp, icmp), "translated_port": 60000,
    }
    algebra = Exactly(values)
    found, memory = asked.opening(way, opening_view(algebra))
    (first,) = found
    (answer,) = asked.following(memory, way.back(), later_view(algebra, reply=True))
    return first, answer


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("packet", "action"),
    [
        (_packet("192.0.2.1", TCP, 443, SYN), "pass"),
        (_packet("2001:db8:9::1", TCP, 443, SYN), "pass"),
        (_packet("192.0.2.1", TCP, 80, SYN), "block"),
        (_packet("192.0.2.1", UDP, 443), "block"),
        (_packet("192.0.2.1", UDP, 5005), "pass"),
        (_packet("192.0.2.1", UDP, 5011), "block"),
        (_packet("192.0.2.1", ICMP, ECHO), "pass"),
        (_packet("192.0.2.1", ICMP, UNREACH), "pass"),
        (_packet("192.0.2.1", ICMP, 13), "block"),
        (_packet("2001:db8:9::1", ICMP6, ECHO6), "pass"),
        (_packet("2001:db8:9::1", ICMP6, TOO_BIG), "pass"),
        (_packet("2001:db8:9::1", ICMP6, NEIGHBOUR), "pass"),
        (_packet("2001:db8:9::1", ICMP6, 139), "block"),
        (_packet("192.0.2.1", 47, 0), "block"),
        (_packet("198.51.100.9", TCP, 2222, SYN), "pass"),
        (_packet("198.51.100.9", TCP, 2222, ACK), "pass"),
        (_packet("192.0.2.1", TCP, 2222, SYN), "block"),
        (_packet("192.0.2.1", TCP, 2222, ACK), "block"),
        (_packet("192.0.2.1", TCP, 12345, ACK), "block"),
    ],
)
def test_what_comes_in(system: str, packet: Packet, action: str) -> None:
    first, answer = _fate(_asked(system), Way("em0", None), packet)
    assert first.action == action
    assert answer.action == "pass"
    assert action == "block" or "em0" in dict(answer.queues)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_inside_stays_open(system: str) -> None:
    first = Packet(ip_address("192.168.1.5"), ip_address("192.0.2.1"), TCP, 40000, 25, SYN)
    assert [one.action for one in _fate(_asked(system), Way("em1", "em0"), first)] == ["pass", "pass"]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("flags", [SYN, ACK])
def test_the_lan_on_the_same_interface_stays_open(system: str, flags: int) -> None:
    packet = Packet(ip_address("192.168.1.5"), ip_address("192.168.1.1"), TCP, 40000, 22, flags)
    first, answer = _fate(_asked(system, "em0"), Way("em0", None), packet)
    assert first.action == "pass"
    assert answer == Passage("pass", (("em0", "local"),))
