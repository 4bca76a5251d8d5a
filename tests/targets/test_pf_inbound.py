"""The inbound policy is alike on every pf: what comes in, what does not, and whom a load must not cut off."""

from ipaddress import ip_address

import pytest

from pfq.pf.verdict import Tree, read
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP, Packet
from tests.targets.pf_evaluate import from_inside, from_outside
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
UNREACH, ECHO, ECHO6, TOO_BIG, NEIGHBOUR = 3, 8, 128, 2, 135


def _packet(source: str, protocol: int, port: int, flags: int = 0) -> Packet:
    """From outside; the port of ICMP is its type."""
    far = ip_address(source)
    return Packet(far, ip_address("203.0.113.1" if far.version == 4 else "2001:db8::1"), protocol, 40000, port, flags)


def _tree(system: str, inside: str = "em1") -> Tree:
    return read(compiled(MODEL.replace("SYSTEM", system).replace("INSIDE", inside).replace("INBOUND", INBOUND)), system)


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
    found = from_outside(_tree(system), "em0", packet)
    assert found.action == action
    if action == "pass":
        assert found.queue
        assert found.stateful == (packet.flags != ACK)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_inside_stays_open(system: str) -> None:
    first = Packet(ip_address("192.168.1.5"), ip_address("192.0.2.1"), TCP, 40000, 25, SYN)
    found = from_inside(_tree(system), "em1", "em0", first)
    assert (found.action, found.stateful) == ("pass", True)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("flags", [SYN, ACK])
def test_the_lan_on_the_same_interface_stays_open(system: str, flags: int) -> None:
    packet = Packet(ip_address("192.168.1.5"), ip_address("192.168.1.1"), TCP, 40000, 22, flags)
    found = from_outside(_tree(system, "em0"), "em0", packet)
    assert (found.action, found.queue, found.stateful) == ("pass", "local", flags == SYN)
