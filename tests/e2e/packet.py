"""IP packets written byte by byte, for what an ordinary socket cannot send. No dependency: it runs on an emulated machine."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_address

ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS = 0, 43, 44, 60

# TCP options, padded to whole words: two NOPs, then timestamps or SACK (RFC 7323, RFC 2018).
TIMESTAMPS = b"\x01\x01\x08\x0a" + struct.pack("!II", 100_000, 90_000)


def sack(blocks: int) -> bytes:
    """The TCP option with 1 to 4 SACK blocks; 3 at most fit beside timestamps."""
    edges = b"".join(struct.pack("!II", 5_000 + 3_000 * n, 6_000 + 3_000 * n) for n in range(blocks))
    return b"\x01\x01\x05" + bytes([2 + 8 * blocks]) + edges


@dataclass(frozen=True, slots=True)
class Packet:
    """An IP packet as a test means it; `data` gives its bytes. The addresses' version decides IPv4 or IPv6.

    payload: bytes after the transport header, a length (filled with a pattern) or the bytes themselves.
    tos: the whole ToS byte or traffic class. flags: of TCP. ip_options: IPv4, whole words, 40 bytes at most (IHL 5 to 15).
    tcp_options: whole words, 40 bytes at most (data offset 5 to 15). extensions: IPv6 extension headers by number, in order;
    FRAGMENT makes an atomic fragment. icmp: type and code. identifier: of an echo, and IPv4's identification.
    bad_checksum: the transport checksum is wrong.
    """

    source: str
    destination: str
    protocol: int = TCP
    source_port: int = 0
    port: int = 0
    flags: int = 0
    payload: int | bytes = 0
    tos: int = 0
    ip_options: bytes = b""
    tcp_options: bytes = b""
    extensions: tuple[int, ...] = ()
    icmp: tuple[int, int] = (8, 0)
    identifier: int = 1
    sequence: int = 1_000
    acknowledgement: int = 2_000
    hop_limit: int = 64
    bad_checksum: bool = False

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.source else 4

    def body(self) -> bytes:
        """The payload's bytes."""
        if isinstance(self.payload, bytes):
            return self.payload
        return (b"pfq-test" * (self.payload // 8 + 1))[: self.payload]

    def data(self) -> bytes:
        """The packet from the first byte of the IP header on."""
        upper = _transport(self)
        return _ipv4(self, upper) if self.version == 4 else _ipv6(self, upper)

    def back(self, **changes: object) -> "Packet":
        """A packet of the same flow in the other direction: addresses and ports exchanged, then `changes`."""
        turned = replace(
            self,
            source=self.destination,
            destination=self.source,
            source_port=self.port,
            port=self.source_port,
            icmp=_ANSWERS.get(self.icmp, self.icmp),
        )
        return replace(turned, **changes)  # type: ignore[arg-type]


_ANSWERS: dict[tuple[int, int], tuple[int, int]] = {(8, 0): (0, 0), (0, 0): (8, 0), (128, 0): (129, 0), (129, 0): (128, 0)}


def _checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _addresses(packet: Packet) -> bytes:
    return ip_address(packet.source).packed + ip_address(packet.destination).packed


def _transport(packet: Packet) -> bytes:
    """Transport header with its checksum, and payload."""
    body = packet.body()
    ports = struct.pack("!HH", packet.source_port, packet.port)
    if packet.protocol == TCP:
        words = 5 + len(packet.tcp_options) // 4
        numbers = struct.pack("!IIBBH", packet.sequence, packet.acknowledgement, words << 4, packet.flags, 64_000)
        before, after = ports + numbers, b"\0\0" + packet.tcp_options + body
    elif packet.protocol == UDP:
        before, after = ports + struct.pack("!H", 8 + len(body)), body
    elif packet.protocol in (ICMP, ICMP6):
        before, after = bytes(packet.icmp), struct.pack("!HH", packet.identifier, 1) + body
    else:
        return body
    covered = before + b"\0\0" + after
    if packet.protocol != ICMP:
        covered = _addresses(packet) + struct.pack("!II", packet.protocol, len(covered)) + covered
    checksum = _checksum(covered)
    if packet.protocol == UDP and not checksum:
        checksum = 0xFFFF
    return before + struct.pack("!H", checksum ^ packet.bad_checksum) + after


def _ipv4(packet: Packet, upper: bytes, offset: int = 0, more: bool = False) -> bytes:
    """offset: of a fragment, in bytes."""
    words = 5 + len(packet.ip_options) // 4
    total = words * 4 + len(upper)
    fragment = offset // 8 | more << 13
    start = struct.pack("!BBHHHBB", 4 << 4 | words, packet.tos, total, packet.identifier, fragment, packet.hop_limit, packet.protocol)
    rest = _addresses(packet) + packet.ip_options
    return start + struct.pack("!H", _checksum(start + b"\0\0" + rest)) + rest + upper


def _extension(number: int, following: int, identifier: int) -> bytes:
    """One IPv6 extension header of 8 bytes: options hold a PadN, the routing header's type is 4 with no segment left."""
    if number == FRAGMENT:
        return struct.pack("!BBHI", following, 0, 0, identifier)
    if number == ROUTING:
        return bytes([following, 0, 4, 0, 0, 0, 0, 0])
    return bytes([following, 0, 1, 4, 0, 0, 0, 0])


def _ipv6(packet: Packet, upper: bytes) -> bytes:
    following = packet.protocol
    chain = b""
    for number in reversed(packet.extensions):
        chain = _extension(number, following, packet.identifier) + chain
        following = number
    first = 6 << 28 | packet.tos << 20
    return struct.pack("!IHBB", first, len(chain) + len(upper), following, packet.hop_limit) + _addresses(packet) + chain + upper


def fragments(packet: Packet, size: int) -> tuple[bytes, ...]:
    """The packet cut into IP fragments with `size` bytes (a multiple of 8) of its payload each, transport header included."""
    upper = _transport(packet)
    cuts = [(offset, upper[offset : offset + size], offset + size < len(upper)) for offset in range(0, len(upper), size)]
    if packet.version == 4:
        return tuple(_ipv4(packet, part, offset, more) for offset, part, more in cuts)
    first = 6 << 28 | packet.tos << 20
    start = struct.pack("!I", first)
    last = struct.pack("!BB", FRAGMENT, packet.hop_limit) + _addresses(packet)
    headers = ((struct.pack("!BBHI", packet.protocol, 0, offset | more, packet.identifier), part) for offset, part, more in cuts)
    return tuple(start + struct.pack("!H", 8 + len(part)) + last + header + part for header, part in headers)


def _upper_layer(data: bytes) -> Iterator[tuple[int, int]]:
    """Protocol number and offset of each header that follows the IP header."""
    if data[0] >> 4 == 4:
        yield data[9], (data[0] & 15) * 4
        return
    number, offset = data[6], 40
    yield number, offset
    while number in (HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS):
        length = 8 if number == FRAGMENT else 8 * (data[offset + 1] + 1)
        number, offset = data[offset], offset + length
        yield number, offset


def read(data: bytes) -> Packet:
    """What an arrived packet says of itself: addresses, ports, flags, ToS, payload length. Options are not kept."""
    if data[0] >> 4 == 4:
        source, destination, tos = data[12:16], data[16:20], data[1]
        total = struct.unpack_from("!H", data, 2)[0]
    else:
        source, destination, tos = data[8:24], data[24:40], data[0] << 4 & 0xF0 | data[1] >> 4
        total = 40 + struct.unpack_from("!H", data, 4)[0]
    *_, (protocol, start) = _upper_layer(data)
    packet = Packet(str(ip_address(source)), str(ip_address(destination)), protocol, tos=tos)
    if protocol == TCP:
        source_port, port, sequence, acknowledgement, words, flags = struct.unpack_from("!HHIIBB", data, start)
        length = total - start - (words >> 4) * 4
        return replace(
            packet,
            source_port=source_port,
            port=port,
            sequence=sequence,
            acknowledgement=acknowledgement,
            flags=flags,
            payload=length,
        )
    if protocol == UDP:
        source_port, port = struct.unpack_from("!HH", data, start)
        return replace(packet, source_port=source_port, port=port, payload=total - start - 8)
    if protocol in (ICMP, ICMP6):
        identifier = struct.unpack_from("!H", data, start + 4)[0]
        return replace(packet, icmp=(data[start], data[start + 1]), identifier=identifier, payload=total - start - 8)
    return replace(packet, payload=total - start)
