"""The crafted packets: well-formed, read back as they were meant, and judged alike by hand and by the reference."""

import struct
from dataclasses import replace

import pytest

from pfq.plan.classify import is_express
from pfq.plan.model import Express
from tests.e2e.harness_cases import CASES, EXPRESS
from tests.e2e.packet import ACK, FRAGMENT, HOP_BY_HOP, ICMP6, ROUTING, TCP, TIMESTAMPS, UDP, Packet, fragments, read, sack
from tests.e2e.reference import seen

V4 = Packet("192.0.2.1", "198.51.100.2", TCP, 1025, 80, ACK, 33, 0x12)
V6 = replace(V4, source="2001:db8::1", destination="2001:db8::2")
PLAIN = (V4, V6, replace(V4, protocol=UDP, flags=0), replace(V6, protocol=UDP, flags=0), replace(V4, flags=0, protocol=50, source_port=0, port=0))


def _sum_of_words(data: bytes) -> int:
    words = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(words) // 2}H", words))
    return total % 0xFFFF


@pytest.mark.parametrize("packet", PLAIN)
def test_read_gives_back_what_was_built(packet: Packet) -> None:
    assert read(packet.data()) == packet


def test_headers_that_read_does_not_keep_do_not_confuse_it() -> None:
    decorated = replace(V4, ip_options=b"\x01" * 40, tcp_options=TIMESTAMPS + sack(3))
    assert read(decorated.data()) == V4
    chained = replace(V6, extensions=(HOP_BY_HOP, ROUTING, FRAGMENT), tcp_options=sack(4))
    assert read(chained.data()) == V6


@pytest.mark.parametrize("packet", [V4, replace(V4, payload=32), replace(V4, ip_options=b"\x01" * 4)])
def test_checksums_of_v4(packet: Packet) -> None:
    data = packet.data()
    header = (data[0] & 15) * 4
    assert _sum_of_words(data[:header]) == 0
    assert _sum_of_words(data[12:20] + struct.pack("!HH", TCP, len(data) - header) + data[header:]) == 0
    wrong = replace(packet, bad_checksum=True).data()
    assert _sum_of_words(wrong[12:20] + struct.pack("!HH", TCP, len(wrong) - header) + wrong[header:]) != 0


@pytest.mark.parametrize("packet", [V6, replace(V6, protocol=ICMP6, icmp=(128, 0)), replace(V6, protocol=UDP)])
def test_checksums_of_v6(packet: Packet) -> None:
    data = packet.data()
    assert _sum_of_words(data[8:40] + struct.pack("!II", packet.protocol, len(data) - 40) + data[40:]) == 0


@pytest.mark.parametrize("packet", [replace(V4, payload=3_000), replace(V6, payload=3_000)])
def test_fragments_together_hold_the_whole(packet: Packet) -> None:
    parts = fragments(packet, 1_000)
    header = 20 if packet.version == 4 else 48
    whole = packet.data()[20 if packet.version == 4 else 40 :]
    assert b"".join(part[header:] for part in parts) == whole
    assert len(parts) == 4


def test_back_goes_the_other_way() -> None:
    turned = V4.back(flags=0)
    assert (turned.source, turned.source_port, turned.destination, turned.port) == (V4.destination, 80, V4.source, 1025)
    assert turned.flags == 0
    assert V4.back().back() == V4
    assert Packet("192.0.2.1", "192.0.2.2", 1).back().icmp == (0, 0)


def test_the_cases_agree_with_the_reference() -> None:
    """Every single packet of the harness's own cases: expected in the express class exactly if the plan's reference says so."""
    express = Express("express", frozenset({"rest"}), (4, 6))
    judged = 0
    for case in CASES.values():
        if case.setup == "htb" and len(case.packets) == 1 and isinstance(case.packets[0], Packet):
            assert is_express(express, seen(case.packets[0])) == (case.expected == EXPRESS), case.name
            judged += 1
    assert judged > 100
