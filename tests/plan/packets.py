"""Packets for the reference classifier."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import strategies as st

from pfq.plan.classify import ICMP, ICMP6, TCP, UDP, Packet
from pfq.site.model import Address

ADDRESSES_4 = ("10.1.2.3", "10.200.0.1", "192.168.1.7", "172.16.0.1", "203.0.113.9")
ADDRESSES_6 = ("2001:db8:1::7", "2001:db8:ffff::1", "fd00::5", "2a00::1")


def packet(
    source: str = "192.168.1.7", destination: str = "203.0.113.9", protocol: int = TCP, source_port: int = 40_000, port: int = 80,
    flags: int = 0, payload: int = 0, tos: int = 0, fragment: bool = False,
) -> Packet:  # fmt: skip
    """A packet, from its addresses as text."""
    return Packet(ip_address(source), ip_address(destination), protocol, source_port, port, flags, payload, tos, fragment)


@st.composite
def firsts(draw: st.DrawFn) -> Packet:
    """First packets of flows."""
    pair: st.SearchStrategy[Address] = draw(st.sampled_from([
        st.sampled_from(ADDRESSES_4).map(IPv4Address), st.sampled_from(ADDRESSES_6).map(IPv6Address),
    ]))
    source, destination = draw(pair), draw(pair)
    protocol = draw(st.sampled_from([TCP, UDP, ICMP if source.version == 4 else ICMP6, 47]))
    ports = st.sampled_from([1, 22, 53, 55, 80, 443, 1024, 65_535])
    return Packet(
        source, destination, protocol, draw(ports), draw(ports), draw(st.integers(0, 255)), draw(st.sampled_from([0, 1, 1000])),
        draw(st.integers(0, 255)), draw(st.booleans()),
    )
