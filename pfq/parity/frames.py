"""From a captured frame to the packet in it.

Sources: the LINKTYPE_ list of tcpdump.org; IEEE 802.1Q; RFC 2516 (PPPoE), 1661 and 1662 (PPP), 791, 8200, 4302 (AH), 9293, 768, 792.
"""

import struct
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from pfq.parity.capture import Frame
from pfq.parity.packet import Packet, is_icmp
from pfq.plan.classify import TCP, UDP

_IPV4, _IPV6, _PPPOE, _VLANS = 0x0800, 0x86DD, 0x8864, (0x8100, 0x88A8, 0x9100)
_PPP_IPV4, _PPP_IPV6 = 0x0021, 0x0057
_FRAGMENT, _AUTHENTICATION, _EXTENSIONS = 44, 51, (0, 43, 60)
_WHOLE, _FIRST, _LATER, _ATOMIC = range(4)
# What the header space tells apart.
_MOST_EXTENSION = 3


class NoPacket(Exception):
    """Why there is no IP packet to explain in a frame."""


def packet_in(frame: Frame) -> Packet:
    """The IP packet in a frame. Raises NoPacket with the reason if there is none, or one that the header space does not know."""
    opened = _LINKS.get(frame.link_type)
    if opened is None:
        raise NoPacket(f"frames of link type {frame.link_type} are not read")
    try:
        return opened(frame.data)
    except (struct.error, IndexError):
        raise NoPacket("cut off before its headers end") from None


def _by_type(kind: int, data: bytes) -> Packet:
    """What follows an EtherType."""
    while kind in _VLANS:
        kind, data = struct.unpack_from("!H", data, 2)[0], data[4:]
    if kind == _PPPOE:
        return _ppp(data[6:])
    if kind not in (_IPV4, _IPV6):
        raise NoPacket(f"no IP packet (type {kind:#06x})")
    return _ip(data)


def _ppp(data: bytes) -> Packet:
    if data[:2] == b"\xff\x03":
        data = data[2:]
    # A protocol may be one byte: it is then odd.
    short = bool(data[0] & 1)
    protocol = data[0] if short else struct.unpack_from("!H", data)[0]
    if protocol not in (_PPP_IPV4, _PPP_IPV6):
        raise NoPacket(f"no IP packet (PPP protocol {protocol:#06x})")
    return _ip(data[1 if short else 2 :])


def _ip(data: bytes) -> Packet:
    version = data[0] >> 4
    if version == 4:
        return _ipv4(data)
    if version == 6:
        return _ipv6(data)
    raise NoPacket(f"no IP packet (version {version})")


def _ipv4(data: bytes) -> Packet:
    words, (tos, total, _, offset, _, protocol) = data[0] & 15, struct.unpack_from("!BHHHBB", data, 1)
    source, destination = struct.unpack_from("!II", data, 12)
    if words < 5 or (total and total < 4 * words):
        raise NoPacket("an IPv4 header with an impossible length")
    # A card that cuts segments itself is handed packets of length 0.
    length = (total or len(data)) - 4 * words
    fragment = _LATER if offset & 0x1FFF else _FIRST if offset & 0x2000 else _WHOLE
    return _transport(data[4 * words :], length, protocol, IPv4Address(source), IPv4Address(destination), tos, fragment, words, 0)


def _ipv6(data: bytes) -> Packet:
    first, length, following = struct.unpack_from("!IHB", data)
    source, destination = IPv6Address(data[8:24]), IPv6Address(data[24:40])
    if len(data) < 40:
        raise struct.error
    rest, fragment, extension = data[40:], _WHOLE, 0
    length = length or len(rest)
    while following in (_FRAGMENT, _AUTHENTICATION, *_EXTENSIONS) and fragment != _LATER:
        size = 8 if following == _FRAGMENT else 4 * (rest[1] + 2) if following == _AUTHENTICATION else 8 * (rest[1] + 1)
        if following == _FRAGMENT:
            offset: int = struct.unpack_from("!H", rest, 2)[0]
            fragment = _LATER if offset & 0xFFF8 else _FIRST if offset & 1 else _ATOMIC
        else:
            extension += (size + 7) // 8
        following, rest, length = rest[0], rest[size:], length - size
    if extension > _MOST_EXTENSION:
        raise NoPacket(f"{8 * extension} bytes of IPv6 extension headers are not modelled ({8 * _MOST_EXTENSION} at most)")
    if length < 0:
        raise NoPacket("an IPv6 packet with an impossible length")
    return _transport(rest, length, following, source, destination, first >> 20 & 0xFF, fragment, 0, extension)


def _transport(
    data: bytes, length: int, protocol: int, source: IPv4Address | IPv6Address, destination: IPv4Address | IPv6Address, tos: int, fragment: int,
    header_words: int, extension_words: int,
) -> Packet:  # fmt: skip
    def made(header: int, **more: int) -> Packet:
        if length < header:
            raise NoPacket("a packet that is shorter than its headers")
        return Packet(
            source, destination, protocol, tos=tos, payload=length - header, fragment=fragment, header_words=header_words,
            extension_words=extension_words, **more,
        )

    if fragment == _LATER:
        return made(0)
    if protocol == TCP:
        source_port, destination_port = struct.unpack_from("!HH", data)
        offset, flags = data[12] >> 4, data[13]
        if offset < 5:
            raise NoPacket("a TCP header with an impossible length")
        return made(4 * offset, source_port=source_port, destination_port=destination_port, flags=flags, offset_words=offset)
    if protocol == UDP:
        source_port, destination_port = struct.unpack_from("!HH", data)
        return made(8, source_port=source_port, destination_port=destination_port)
    if is_icmp(source.version, protocol):
        return made(8 if length >= 8 else 4, icmp_type=data[0], icmp_code=data[1])
    return made(0)


# By LINKTYPE_: BSD's loopback, Ethernet, raw IP, PPP, PPPoE's session, Linux's cooked captures. The IP header itself tells its version.
_LINKS: dict[int, Callable[[bytes], Packet]] = {
    0: lambda data: _ip(data[4:]),
    108: lambda data: _ip(data[4:]),
    1: lambda data: _by_type(struct.unpack_from("!H", data, 12)[0], data[14:]),
    12: _ip, 14: _ip, 101: _ip, 228: _ip, 229: _ip,
    9: _ppp, 50: _ppp,
    51: lambda data: _ppp(data[6:]),
    113: lambda data: _by_type(struct.unpack_from("!H", data, 14)[0], data[16:]),
    276: lambda data: _by_type(struct.unpack_from("!H", data)[0], data[20:]),
}  # fmt: skip
