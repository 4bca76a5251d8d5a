"""A packet in a line: what is printed is read back, and faults are shown where they are."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.parity.packet import Packet, packet_of, values
from pfq.parity.packet_text import PacketFault, packet_text, parse_packet
from pfq.plan.classify import TCP, UDP
from pfq.site.model import Address


@st.composite
def packets(draw: st.DrawFn) -> Packet:
    """Packets of every kind, with everything that the short form can say."""
    addresses: st.SearchStrategy[Address] = draw(st.sampled_from([st.ip_addresses(v=4), st.ip_addresses(v=6)]))
    source, destination = draw(addresses), draw(addresses)
    family = source.version
    protocol = draw(st.sampled_from([TCP, UDP, 1, 58, 47, 50, 132, 0, 255]))
    icmp = protocol == (1 if family == 4 else 58)
    ports = st.integers(0, 65_535) if protocol in (TCP, UDP) else st.just(0)
    byte, words = st.integers(0, 255), st.integers(5, 15)
    return Packet(
        source, destination, protocol, draw(ports), draw(ports), draw(byte) if protocol == TCP else 0, draw(byte), draw(st.integers(0, 65_535)),
        draw(st.integers(0, 2 if family == 4 else 3)), draw(words) if family == 4 else 0, draw(st.integers(0, 3)) if family == 6 else 0,
        draw(words) if protocol == TCP else 0, draw(byte) if icmp else 0, draw(byte) if icmp else 0,
    )


@given(packets())
def test_a_printed_packet_is_read_back(packet: Packet) -> None:
    assert parse_packet(packet_text(packet)) == packet


@given(packets())
def test_values_are_read_back(packet: Packet) -> None:
    assert packet_of(values(packet)) == packet


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 0 tos 0x10", "tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 0 tos 0x10"),
        ("TCP 192.168.1.5:40000 > 198.51.100.7:443", "tcp 192.168.1.5:40000 > 198.51.100.7:443 syn len 0"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 noflags", "tcp 1.2.3.4:1 > 5.6.7.8:2 noflags len 0"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 fin ack psh doff 8 ihl 6", "tcp 1.2.3.4:1 > 5.6.7.8:2 fin psh ack len 0 ihl 6 doff 8"),
        ("udp [2001:db8::1]:5060 > [2001:db8::2]:5060 len 160 dscp ef ecn ce", "udp [2001:db8::1]:5060 > [2001:db8::2]:5060 len 160 tos 0xbb"),
        ("udp 1.2.3.4:1 > 5.6.7.8:53 tos lowdelay frag first", "udp 1.2.3.4:1 > 5.6.7.8:53 len 0 tos 0x10 frag first"),
        ("icmp 1.2.3.4 > 5.6.7.8", "icmp 1.2.3.4 > 5.6.7.8 type echoreq len 0"),
        ("icmp 1.2.3.4 > 5.6.7.8 unreach needfrag len 56", "icmp 1.2.3.4 > 5.6.7.8 type unreach code needfrag len 56"),
        ("icmp6 2001:db8::1 > [2001:db8::2] type toobig", "icmp6 2001:db8::1 > 2001:db8::2 type toobig len 0"),
        ("proto 47 1.2.3.4 > 5.6.7.8", "gre 1.2.3.4 > 5.6.7.8 len 0"),
        ("proto 99 2001:db8::1 > 2001:db8::2 ext 2 frag atomic", "proto 99 2001:db8::1 > 2001:db8::2 len 0 frag atomic ext 2"),
    ],
)
def test_what_is_understood(text: str, printed: str) -> None:
    assert packet_text(parse_packet(text)) == printed


@pytest.mark.parametrize(
    ("text", "under", "message"),
    [
        ("", "", "a protocol is missing"),
        ("tpc 1.2.3.4:1 > 5.6.7.8:2", "tpc", "is no protocol"),
        ("tcp 1.2.3.4.5:1 > 5.6.7.8:2", "1.2.3.4.5", "is no address"),
        ("tcp 1.2.3.4:99999 > 5.6.7.8:2", "99999", "is no port"),
        ("tcp 1.2.3.4: > 5.6.7.8:2", ":", "the port is missing"),
        ("tcp 1.2.3.4 > 5.6.7.8:2", "1.2.3.4", "the port is missing"),
        ("tcp 1.2.3.4:1 >", "", "the destination is missing"),
        ("tcp 1.2.3.4:1 -> 5.6.7.8:2", "->", "instead of '>'"),
        ("tcp 1.2.3.4:1 > [2001:db8::1]:2", "[2001:db8::1]:2", "the source is IPv4, the destination IPv6"),
        ("udp [2001:db8::1:53 > [2001:db8::1]:2", "[2001:db8::1:53", "the bracket does not end"),
        ("gre 1.2.3.4:7 > 5.6.7.8", "7", "only TCP and UDP have ports"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 akc", "akc", "is not understood"),
        ("udp 1.2.3.4:1 > 5.6.7.8:2 ack", "ack", "only TCP has the flag ack"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 len", "", "is missing"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 len 70000", "70000", "is no length"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 tos 0x100", "0x100", "is no ToS byte"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 tos 4 dscp ef", "dscp", "are parts of one byte"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 len 1 len 2", "len", "is said twice"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 ext 1", "ext", "only IPv6"),
        ("tcp 1.2.3.4:1 > 5.6.7.8:2 ihl 4", "4", "is no IPv4 header length"),
        ("tcp [::1]:1 > [::2]:2 ihl 6", "ihl", "only IPv4"),
        ("icmp 1.2.3.4 > 5.6.7.8 type unreech", "unreech", "is no ICMP type"),
        ("tcp fe80::1%em0 > 1.2.3.4:5", "%em0", "names no interface"),
    ],
)
def test_the_caret_stands_under_the_fault(text: str, under: str, message: str) -> None:
    with pytest.raises(PacketFault) as caught:
        parse_packet(text)
    assert message in caught.value.message
    assert text[caught.value.start : caught.value.end] == under
    first, carets, said = caught.value.shown().splitlines()
    assert first == text
    assert carets.strip() == "^" * max(len(under), 1)
    assert said.startswith(caught.value.message)


@given(st.text(max_size=60))
def test_no_text_is_worse_than_a_fault(text: str) -> None:
    try:
        found = packet_text(parse_packet(text))
    except PacketFault as fault:
        found = fault.shown()
    assert found.count("\n") in (0, 3)


def test_addresses_of_one_family() -> None:
    assert parse_packet("udp 1.2.3.4:5 > 6.7.8.9:10").destination == ip_address("6.7.8.9")
