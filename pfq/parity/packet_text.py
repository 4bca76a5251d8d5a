"""A packet in a line: `tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 0 tos 0x10`.

    PROTOCOL ADDRESS[:PORT] > ADDRESS[:PORT] [TCP's flags] [ICMP's type [code]] [NAME VALUE]...

IPv6 addresses with a port stand in brackets. What is not said is the usual: no payload, no options, ToS 0, no fragment, an echo
request for ICMP, a SYN for TCP.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import IPv4Address, ip_address

from pfq.parity.packet import SYN, WORDS, Packet, has_ports, is_icmp
from pfq.parity.words import CODE_POINTS, ECN, FLAG_BITS, FRAGMENTS, NO_FLAGS, NUMBERS, PROTOCOL_NAMES, TOS_BYTES, codes, name_of, types
from pfq.plan.classify import TCP
from pfq.site.kinds import meant
from pfq.site.model import Address

_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10}")
# Words that are followed by a value.
_VALUES = ("len", "tos", "dscp", "ecn", "frag", "ihl", "doff", "ext", "type", "code")


class PacketFault(Exception):
    """A packet that cannot be understood: what is wrong at text[start:end], and what to write instead ('' where there is nothing to say)."""

    def __init__(self, text: str, start: int, end: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.text, self.start, self.end, self.message, self.hint = text, start, end, message, hint

    def shown(self) -> str:
        """The packet, a caret under what is wrong, and the message, each with its line end."""
        hint = f"; {self.hint}" if self.hint else ""
        shown = "".join(c if c.isprintable() else "?" for c in self.text)
        return f"{shown}\n{' ' * self.start}{'^' * max(self.end - self.start, 1)}\n{self.message}{hint}\n"


class _Words:
    """The words of a text, one at a time, with their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = [(found.group(), found.start(), found.end()) for found in _WORD.finditer(text)]
        self.next = 0

    def fault(self, message: str, hint: str = "", back: int = 1) -> PacketFault:
        """A fault at the word taken last (or one before)."""
        at = self.next - back
        if at >= len(self.words):
            return PacketFault(self.text, len(self.text.rstrip()) + bool(self.text.strip()), len(self.text), message, hint)
        _, start, end = self.words[at]
        return PacketFault(self.text, start, end, message, hint)

    def take(self, wanted: str) -> str:
        if self.next >= len(self.words):
            raise self.fault(f"{wanted} is missing", back=0)
        self.next += 1
        return self.words[self.next - 1][0]

    def peek(self) -> str:
        return self.words[self.next][0] if self.next < len(self.words) else ""

    def part(self, offset: int, length: int, message: str, hint: str = "") -> PacketFault:
        """A fault at a part of the word taken last."""
        _, start, _ = self.words[self.next - 1]
        return PacketFault(self.text, start + offset, start + offset + length, message, hint)


def _number(words: _Words, what: str, low: int, high: int, names: dict[str, int] | None = None) -> int:
    word = words.take(what)
    if names and word.lower() in names:
        return names[word.lower()]
    if not _NUMBER.fullmatch(word):
        among = f" or one of {', '.join(names)}" if names and len(names) < 12 else ""
        raise words.fault(f"{word[:40]!r} is no {what}", meant(word[:40], list(names)) if names else f"a number from {low} to {high}{among}")
    value = int(word, 16 if word[:2] in ("0x", "0X") else 10)
    if not low <= value <= high:
        raise words.fault(f"{word} is no {what}", f"from {low} to {high}")
    return value


def _protocol(words: _Words) -> int:
    word = words.take("a protocol")
    lower = word.lower()
    if lower in NUMBERS:
        return NUMBERS[lower]
    if lower == "proto":
        return _number(words, "protocol number", 0, 255)
    raise words.fault(f"{word[:40]!r} is no protocol", meant(lower[:40], list(NUMBERS)) or "proto NUMBER for one without a name here")


def _end(words: _Words, what: str, ports: bool) -> tuple[Address, int | None]:
    """An address and its port, None where there is none."""
    word = words.take(f"the {what}")
    host, port, at = word, "", len(word)
    if word.startswith("["):
        close = word.find("]")
        if close < 0:
            raise words.fault("the bracket does not end", "[ADDRESS]:PORT")
        host, rest = word[1:close], word[close + 1 :]
        if rest and not rest.startswith(":"):
            raise words.part(close + 1, len(rest), f"{rest[:40]!r} after the address", "[ADDRESS]:PORT")
        port, at = rest[1:], close + 2
        if rest == ":":
            raise words.part(close + 1, 1, "the port is missing")
    elif word.count(":") == 1:
        host, _, port = word.partition(":")
        at = len(host) + 1
        if not port:
            raise words.part(len(host), 1, "the port is missing")
    try:
        address = ip_address(host)
    except ValueError:
        hint = "an IPv6 address with a port stands in brackets: [2001:db8::1]:443" if host.count(":") > 1 else "192.0.2.1:443, or [2001:db8::1]:443"
        raise words.part(int(word.startswith("[")), len(host), f"{host[:60]!r} is no address", hint) from None
    if getattr(address, "scope_id", None):
        raise words.part(word.find("%"), len(word) - word.find("%"), "an address of a packet names no interface")
    if not port:
        return address, None
    if not ports:
        raise words.part(at, len(port), "only TCP and UDP have ports")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65_535):
        raise words.part(at, len(port), f"{port[:40]!r} is no port", "from 0 to 65535")
    return address, int(port)


def parse_packet(text: str) -> Packet:
    """The packet that a line describes. Raises PacketFault."""
    words = _Words(text)
    protocol = _protocol(words)
    ports = has_ports(protocol)
    source, source_port = _end(words, "source", ports)
    if words.take("'>'") != ">":
        raise words.fault(f"{words.words[words.next - 1][0][:40]!r} instead of '>'", "SOURCE > DESTINATION")
    destination, destination_port = _end(words, "destination", ports)
    if source.version != destination.version:
        raise words.fault(f"the source is IPv{source.version}, the destination IPv{destination.version}")
    six = source.version == 6
    icmp = is_icmp(source.version, protocol)
    packet = Packet(source, destination, protocol, source_port or 0, destination_port or 0, header_words=0 if six else WORDS)
    if protocol == TCP:
        packet = replace(packet, offset_words=WORDS)
    if icmp:
        packet = replace(packet, icmp_type=128 if six else 8)
    packet = _options(words, packet, icmp)
    if ports:
        for port, at in ((source_port, 1), (destination_port, 3)):
            if port is None:
                _, start, end = words.words[at]
                raise PacketFault(text, start, end, "the port is missing", "TCP and UDP have two; those of a later fragment are its datagram's")
    return packet


def _options(words: _Words, packet: Packet, icmp: bool) -> Packet:
    six, said = packet.source.version == 6, set[str]()
    flags: int | None = None
    while words.next < len(words.words):
        word = words.take("a word")
        lower = word.lower()
        if lower in FLAG_BITS or lower == NO_FLAGS:
            if packet.protocol != TCP:
                raise words.fault(f"only TCP has the flag {lower}" if lower != NO_FLAGS else "only TCP has flags")
            flags = (flags or 0) | FLAG_BITS.get(lower, 0)
            continue
        if lower not in _VALUES:
            if icmp and lower in types(six) and "type" not in said:
                said.add("type")
                packet = replace(packet, icmp_type=types(six)[lower])
                continue
            if icmp and lower in codes(six, packet.icmp_type) and "code" not in said:
                said.add("code")
                packet = replace(packet, icmp_code=codes(six, packet.icmp_type)[lower])
                continue
            known = [*_VALUES, *(FLAG_BITS if packet.protocol == TCP else ()), *(types(six) if icmp else ())]
            raise words.fault(f"{word[:40]!r} is not understood", meant(lower[:40], known) or f"one of {', '.join(_VALUES)}")
        for other in {"tos": ("dscp", "ecn"), "dscp": ("tos",), "ecn": ("tos",)}.get(lower, ()):
            if other in said:
                raise words.fault(f"`{lower}` and `{other}` are parts of one byte", "say `tos`, or `dscp` and `ecn`")
        if lower in said:
            raise words.fault(f"`{lower}` is said twice")
        said.add(lower)
        packet = _VALUE[lower](words, packet)
    if packet.protocol == TCP:
        return replace(packet, flags=SYN if flags is None else flags)
    return packet


def _words_of_4(what: str, wanted: Callable[[Packet], bool], only: str, field: str) -> Callable[[_Words, Packet], Packet]:
    def read(words: _Words, packet: Packet) -> Packet:
        if not wanted(packet):
            raise words.fault(only)
        number = _number(words, what, WORDS, 15)
        return replace(packet, header_words=number) if field == "ihl" else replace(packet, offset_words=number)

    return read


def _fragment(words: _Words, packet: Packet) -> Packet:
    fragment = _number(words, "kind of fragment", 0, 3, FRAGMENTS)
    if fragment == FRAGMENTS["atomic"] and packet.source.version == 4:
        raise words.fault("only IPv6 has atomic fragments")
    return replace(packet, fragment=fragment)


def _extension(words: _Words, packet: Packet) -> Packet:
    if packet.source.version == 4:
        raise words.fault("only IPv6 has extension headers", "`ihl` says the words of an IPv4 header")
    return replace(packet, extension_words=_number(words, "length of destination options in words of 8 bytes", 0, 3))


def _icmp(part: str) -> Callable[[_Words, Packet], Packet]:
    def read(words: _Words, packet: Packet) -> Packet:
        six = packet.source.version == 6
        if not is_icmp(packet.source.version, packet.protocol):
            raise words.fault(f"only ICMP has a {part}")
        names = types(six) if part == "type" else codes(six, packet.icmp_type)
        number = _number(words, f"ICMP {part}", 0, 255, names)
        return replace(packet, icmp_type=number) if part == "type" else replace(packet, icmp_code=number)

    return read


_VALUE: dict[str, Callable[[_Words, Packet], Packet]] = {
    "len": lambda words, packet: replace(packet, payload=_number(words, "length in bytes", 0, 65_535)),
    "tos": lambda words, packet: replace(packet, tos=_number(words, "ToS byte", 0, 255, TOS_BYTES)),
    "dscp": lambda words, packet: replace(packet, tos=packet.tos & 3 | _number(words, "code point", 0, 63, CODE_POINTS) << 2),
    "ecn": lambda words, packet: replace(packet, tos=packet.tos & 0xFC | _number(words, "ECN codepoint", 0, 3, ECN)),
    "frag": _fragment,
    "ihl": _words_of_4("IPv4 header length in words", lambda p: p.source.version == 4, "only IPv4 has an `ihl`", "ihl"),
    "doff": _words_of_4("TCP header length in words", lambda p: p.protocol == TCP, "only TCP has a `doff`", "doff"),
    "ext": _extension,
    "type": _icmp("type"),
    "code": _icmp("code"),
}


def _shown_end(address: Address, port: int, ports: bool) -> str:
    if not ports:
        return str(address)
    return f"{address}:{port}" if isinstance(address, IPv4Address) else f"[{address}]:{port}"


def _shown(packet: Packet) -> Iterator[str]:
    six = packet.source.version == 6
    ports = has_ports(packet.protocol)
    yield PROTOCOL_NAMES.get(packet.protocol, f"proto {packet.protocol}")
    yield _shown_end(packet.source, packet.source_port, ports)
    yield ">"
    yield _shown_end(packet.destination, packet.destination_port, ports)
    if packet.protocol == TCP:
        yield " ".join(name for name, bit in FLAG_BITS.items() if packet.flags & bit) or NO_FLAGS
    if is_icmp(packet.source.version, packet.protocol):
        yield f"type {name_of(types(six), packet.icmp_type)}"
        if packet.icmp_code:
            yield f"code {name_of(codes(six, packet.icmp_type), packet.icmp_code)}"
    yield f"len {packet.payload}"
    if packet.tos:
        yield f"tos {packet.tos:#04x}"
    if packet.fragment:
        yield f"frag {name_of(FRAGMENTS, packet.fragment)}"
    if not six and packet.header_words != WORDS:
        yield f"ihl {packet.header_words}"
    if packet.extension_words:
        yield f"ext {packet.extension_words}"
    if packet.protocol == TCP and packet.offset_words != WORDS:
        yield f"doff {packet.offset_words}"


def packet_text(packet: Packet) -> str:
    """The packet in a line that `parse_packet` reads back."""
    return " ".join(_shown(packet))
