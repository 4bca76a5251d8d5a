"""Captures of every kind that is read: the packets in them, and what is said of the rest."""

import struct
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.diagnostics import Refused
from pfq.parity.capture import Frame, read_capture
from pfq.parity.frames import NoPacket, packet_in
from pfq.parity.packet_text import packet_text

V4 = bytes([192, 168, 1, 5]), bytes([198, 51, 100, 7])
V6 = ip_address("fd00::5").packed, ip_address("2001:db8::7").packed
TCP = struct.pack("!HHIIBBHHH", 40000, 443, 1, 2, 0x80, 0x10, 100, 0, 0) + bytes(12)
UDP = struct.pack("!HHHH", 5060, 5061, 18, 0) + bytes(10)


def ipv4(body: bytes, protocol: int = 6, tos: int = 0, offset: int = 0, options: bytes = b"", total: int | None = None) -> bytes:
    words = 5 + len(options) // 4
    length = 4 * words + len(body) if total is None else total
    return struct.pack("!BBHHHBBH", 0x40 | words, tos, length, 7, offset, 64, protocol, 0) + V4[0] + V4[1] + options + body


def ipv6(body: bytes, following: int = 6, tos: int = 0) -> bytes:
    return struct.pack("!IHBB", 6 << 28 | tos << 20, len(body), following, 64) + V6[0] + V6[1] + body


def pcap(frames: list[bytes], link: int = 101, order: str = "<", magic: int = 0xA1B2C3D4) -> bytes:
    head = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    return head + b"".join(struct.pack(f"{order}IIII", 1, 2, len(frame), len(frame)) + frame for frame in frames)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(f"{order}II", kind, len(body) + 12) + body + struct.pack(f"{order}I", len(body) + 12)


def pcapng(frames: list[bytes], link: int = 1, order: str = "<") -> bytes:
    found = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order) + block(1, struct.pack(f"{order}HHI", link, 0, 0), order)
    for number, frame in enumerate(frames):
        if number % 2:
            found += block(3, struct.pack(f"{order}I", len(frame)) + frame, order)
        else:
            found += block(6, struct.pack(f"{order}IIIII", 0, 0, 0, len(frame), len(frame)) + frame, order)
    return found


def said(frame: bytes, link: int = 101) -> str:
    return packet_text(packet_in(Frame(1, link, frame)))


ACK = "tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 0 doff 8"
ETHERNET = bytes(12)


@pytest.mark.parametrize(
    ("link", "before"),
    [
        (101, b""), (12, b""), (228, b""), (0, bytes(4)), (108, bytes(4)), (1, ETHERNET + b"\x08\x00"), (1, ETHERNET + b"\x81\x00\x09\x71\x08\x00"),
        (1, ETHERNET + b"\x88\xa8\x00\x01\x81\x00\x00\x02\x08\x00"), (1, ETHERNET + b"\x88\x64\x11\x00\x00\x01\x00\x00\x00\x21"),
        (1, ETHERNET + b"\x81\x00\x00\x07\x88\x64\x11\x00\x00\x01\x00\x00\x00\x21"), (9, b"\x00\x21"), (9, b"\xff\x03\x00\x21"), (50, b"\xff\x03\x21"),
        (51, b"\x11\x00\x00\x01\x00\x00\x00\x21"), (113, bytes(14) + b"\x08\x00"), (276, b"\x08\x00" + bytes(18)),
    ],
)  # fmt: skip
def test_every_link_layer(link: int, before: bytes) -> None:
    assert said(before + ipv4(TCP), link) == ACK


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (ipv4(TCP + b"x" * 7, tos=0x12), "tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 7 tos 0x12 doff 8"),
        (ipv4(TCP) + b"pad", ACK),
        (ipv4(TCP, options=bytes(8)), ACK.replace("doff", "ihl 7 doff")),
        (ipv4(TCP + bytes(9), total=0), ACK.replace("len 0", "len 9")),
        (ipv4(UDP, 17), "udp 192.168.1.5:5060 > 198.51.100.7:5061 len 10"),
        (ipv4(UDP, 17, offset=0x2000), "udp 192.168.1.5:5060 > 198.51.100.7:5061 len 10 frag first"),
        (ipv4(b"\x03\x04" + bytes(34), 1), "icmp 192.168.1.5 > 198.51.100.7 type unreach code needfrag len 28"),
        (ipv4(bytes(9), 47), "gre 192.168.1.5 > 198.51.100.7 len 9"),
        (ipv6(TCP, tos=0x10), "tcp [fd00::5]:40000 > [2001:db8::7]:443 ack len 0 tos 0x10 doff 8"),
        (ipv6(b"\x06\x00" + bytes(6) + TCP, 60), "tcp [fd00::5]:40000 > [2001:db8::7]:443 ack len 0 ext 1 doff 8"),
        (ipv6(b"\x06\x00\x00\x00" + bytes(4) + TCP, 44), "tcp [fd00::5]:40000 > [2001:db8::7]:443 ack len 0 frag atomic doff 8"),
        (ipv6(b"\x11\x00\x00\x01" + bytes(4) + UDP, 44), "udp [fd00::5]:5060 > [2001:db8::7]:5061 len 10 frag first"),
        (ipv6(b"\x80\x00" + bytes(8), 58), "icmp6 fd00::5 > 2001:db8::7 type echoreq len 2"),
    ],
)
def test_every_packet(frame: bytes, text: str) -> None:
    assert said(frame) == text


@pytest.mark.parametrize(
    ("link", "frame", "reason"),
    [
        (1, ETHERNET + b"\x08\x06" + bytes(28), "no IP packet (type 0x0806)"),
        (9, b"\xc0\x21", "PPP protocol 0xc021"),
        (147, b"", "link type 147"),
        (101, ipv4(TCP)[:30], "cut off"),
        (101, b"", "cut off"),
        (101, b"\x30" + bytes(40), "version 3"),
        (101, ipv4(b"", total=10), "impossible length"),
        (101, ipv4(TCP, total=30), "shorter than its headers"),
        (101, ipv6(b"\x06\x07" + bytes(62) + TCP, 60), "are not modelled"),
    ],
)
def test_what_is_no_packet(link: int, frame: bytes, reason: str) -> None:
    with pytest.raises(NoPacket, match=reason.replace("(", r"\(").replace(")", r"\)")):
        packet_in(Frame(1, link, frame))


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_form_of_file(order: str) -> None:
    frames = [ipv4(TCP), ipv4(UDP, 17)]
    for data in (pcap(frames, order=order), pcap(frames, order=order, magic=0xA1B23C4D), pcapng(frames, 101, order)):
        capture = read_capture(data, "x")
        assert [frame.data[: len(frames[0])] for frame in capture.frames] == frames
        assert [frame.link_type for frame in capture.frames] == [101, 101]
        assert capture.cut == ""


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_a_capture_cut_anywhere_yields_what_it_has(make: Callable[[list[bytes], int], bytes]) -> None:
    data = make([ipv4(TCP), ipv4(UDP, 17), ipv4(TCP + b"more")], 101)
    counts = []
    for end in range(40, len(data)):
        capture = read_capture(data[:end], "x")
        counts.append(len(capture.frames))
        assert capture.cut == "" or f"after {len(capture.frames)} packet" in capture.cut
        assert capture.cut or read_capture(data[:end], "x").frames == read_capture(data, "x").frames[: counts[-1]]
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2} or set(counts) == {0, 1, 2, 3}


@given(st.binary(max_size=200), st.sampled_from([b"", pcap([]), pcapng([])]))
def test_no_file_is_worse_than_refused(data: bytes, head: bytes) -> None:
    with suppress(Refused):
        for frame in read_capture(head + data, "x").frames:
            with suppress(NoPacket):
                assert packet_in(frame).source.version in (4, 6)
