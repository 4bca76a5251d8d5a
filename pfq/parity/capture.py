"""Captures: the frames of pcap and pcapng files.

Sources: pcap-savefile(5), draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pfq.diagnostics import refuse

_CLASSIC = {0xA1B2C3D4, 0xA1B23C4D}
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_BYTE_ORDER = 0x1A2B3C4D
# A frame that claims to be longer is no frame: libpcap's own bound (pcap-int.h MAXIMUM_SNAPLEN).
_MOST_FRAME = 262_144
Order = Literal["<", ">"]
_ORDERS: tuple[Order, Order] = ("<", ">")


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as captured: `number` counts from 1, `link_type` is a LINKTYPE_ number, `data` may be cut at the capture's length."""

    number: int
    link_type: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Capture:
    """The frames of a file; `cut` says where the file ends too early, '' if it does not."""

    frames: tuple[Frame, ...]
    cut: str


class _Cut(Exception):
    """The file ends in the middle of something."""


def read_capture(data: bytes, name: str) -> Capture:
    """The frames of a capture file. Raises Refused for what is no capture."""
    order: Order | None = None
    walk: Iterator[tuple[int, bytes]] | None = None
    for candidate in _ORDERS:
        if len(data) >= 4:
            (magic,) = struct.unpack_from(f"{candidate}I", data)
            if magic in _CLASSIC:
                order, walk = candidate, _classic(data, candidate)
            elif magic == _SECTION and walk is None:
                order, walk = candidate, _blocks(data, name)
    if walk is None or order is None:
        raise refuse("no-capture", f"{name} is no capture", hint="pcap and pcapng are read: tcpdump -w FILE")
    frames: list[Frame] = []
    try:
        for link_type, frame in walk:
            frames.append(Frame(len(frames) + 1, link_type, frame))
    except _Cut as cut:
        return Capture(tuple(frames), f"{name} ends in the middle of {cut}, after {len(frames)} packet{'' if len(frames) == 1 else 's'}")
    return Capture(tuple(frames), "")


def _take(data: bytes, at: int, length: int, what: str) -> bytes:
    if at + length > len(data):
        raise _Cut(what)
    return data[at : at + length]


def _classic(data: bytes, order: Order) -> Iterator[tuple[int, bytes]]:
    header = _take(data, 0, 24, "its header")
    # The high half of the word tells about frame check sequences.
    link_type = struct.unpack_from(f"{order}I", header, 20)[0] & 0xFFFF
    at = 24
    while at < len(data):
        length: int = struct.unpack_from(f"{order}I", _take(data, at, 16, "a packet's header"), 8)[0]
        if length > _MOST_FRAME:
            raise _Cut(f"nonsense (a packet of {length} bytes)")
        yield link_type, _take(data, at + 16, length, "a packet")
        at += 16 + length


def _blocks(data: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    order: Order = "<"
    interfaces: list[tuple[int, int]] = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack(f"{order}II", _take(data, at, 8, "a block"))
        if kind == _SECTION:
            order = _section_order(_take(data, at + 8, 4, "a block"), name)
            (length,) = struct.unpack_from(f"{order}I", data, at + 4)
            interfaces = []
        if length < 12 or length % 4 or length > 16 * _MOST_FRAME:
            raise _Cut(f"nonsense (a block of {length} bytes)")
        body = _take(data, at + 8, length - 12, "a block")
        _take(data, at, length, "a block")
        at += length
        if kind == _INTERFACE:
            link_type, _, most = struct.unpack_from(f"{order}HHI", _whole(body, 8))
            interfaces.append((link_type, most or _MOST_FRAME))
        elif kind in (_PACKET, _OLD_PACKET):
            interface, _, _, captured, _ = struct.unpack_from(f"{order}{'I' if kind == _PACKET else 'Hxx'}IIII", _whole(body, 20))
            yield _link_type(interfaces, interface), _take(body, 20, captured, "a packet")
        elif kind == _SIMPLE_PACKET:
            (original,) = struct.unpack_from(f"{order}I", _whole(body, 4))
            link_type = _link_type(interfaces, 0)
            yield link_type, _take(body, 4, min(original, interfaces[0][1], len(body) - 4), "a packet")


def _section_order(magic: bytes, name: str) -> Order:
    for order in _ORDERS:
        if struct.unpack(f"{order}I", magic)[0] == _BYTE_ORDER:
            return order
    raise refuse("no-capture", f"{name}: a section of pcapng without its byte-order magic", hint="capture it again: tcpdump -w FILE")


def _whole(body: bytes, length: int) -> bytes:
    if len(body) < length:
        raise _Cut("a block")
    return body


def _link_type(interfaces: list[tuple[int, int]], number: int) -> int:
    if number >= len(interfaces):
        raise _Cut("nonsense (a packet of an interface that is not described)")
    return interfaces[number][0]
