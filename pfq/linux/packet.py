"""Where everything is in a packet, for every packet at once: bits from a header's beginning, and how long the packet is.

What the header space does not hold (TTL, identification, sequence numbers, checksums, options, the payload itself) reads as 0.
Sources: RFC 791, 8200, 9293, 768, 792, 4443; nft_payload.c (Linux 6.1) for loads that fail.
"""

from functools import cached_property

from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.asking import View
from pfq.headers.bits import add, any_of, at_least, choose, constant, masked, widened
from pfq.headers.fields import (
    DESTINATION,
    DESTINATION_PORT,
    EXTENSION_WORDS,
    FAMILY,
    FLAGS,
    FRAGMENT,
    HEADER_WORDS,
    ICMP_CODE,
    ICMP_TYPE,
    OFFSET_WORDS,
    PAYLOAD,
    PROTOCOL,
    SOURCE,
    SOURCE_PORT,
    TOS,
)

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
IPV4_TYPE, IPV6_TYPE = 0x0800, 0x86DD
_DESTINATION_OPTIONS, _FRAGMENT_HEADER, _NO_NEXT_HEADER = 60, 44, 59
_EXTENSIONS = (0, 43, 44, 51, 60)
# Bits of the headers without options.
_TCP, _UDP = 160, 64
_LEAST_WORDS, _MOST_WORDS = 5, 15
_MOST_EXTENSIONS = 3


def _five(algebra: Algebra, words: Bits) -> Bits:
    """A number of four bits that is five at least."""
    return choose(at_least(algebra, words, _LEAST_WORDS), words, constant(algebra, _LEAST_WORDS, 4))


class Layout:
    """The bits of the packets of a view."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.algebra: Algebra = view.algebra
        self.bits = view.bits
        # A header has five words at least; what the space holds beyond that are no packets.
        self.header_words = _five(self.algebra, view.bits[HEADER_WORDS])
        self.offset_words = _five(self.algebra, view.bits[OFFSET_WORDS])
        self._bytes: dict[int, Bits] = {}
        self._loads: dict[tuple[str, int, int], tuple[Bits, Condition]] = {}

    # --- kinds of packets

    @cached_property
    def six(self) -> Condition:
        """IPv6."""
        return self.bits[FAMILY][0]

    def protocol(self, number: int) -> Condition:
        """Where the transport protocol has a number."""
        return masked(self.algebra, self.bits[PROTOCOL], number)

    @cached_property
    def tcp(self) -> Condition:
        return self.protocol(TCP)

    @cached_property
    def udp(self) -> Condition:
        return self.protocol(UDP)

    @cached_property
    def icmp(self) -> Condition:
        """ICMP of the packet's own family."""
        return self.six.ite(self.protocol(ICMP6), self.protocol(ICMP))

    @cached_property
    def later(self) -> Condition:
        """A later fragment, which has no transport header."""
        high, low = self.bits[FRAGMENT]
        return high & ~low

    @cached_property
    def fragment_header(self) -> Condition:
        """IPv6 with a fragment header."""
        high, low = self.bits[FRAGMENT]
        return self.six & (high | low)

    # --- lengths, in bytes, 16 bits

    def _number(self, value: int, width: int = 16) -> Bits:
        return constant(self.algebra, value, width)

    @cached_property
    def transport_length(self) -> Bits:
        """Of the transport header; 0 of a later fragment and of protocols that have none here."""
        none = self._number(0)
        words = widened(self.algebra, (*self.offset_words, self.algebra.nothing, self.algebra.nothing), 16)
        found = choose(self.tcp, words, choose(self.udp | self.icmp, self._number(8), none))
        return choose(self.later, none, found)

    @cached_property
    def network_length(self) -> Bits:
        """From the IP header's beginning to the transport header."""
        zero = self.algebra.nothing
        four = widened(self.algebra, (*self.header_words, zero, zero), 16)
        extensions = widened(self.algebra, (*self.bits[EXTENSION_WORDS], zero, zero, zero), 16)
        six = add(self.algebra, self._number(40), extensions)
        six = add(self.algebra, six, choose(self.fragment_header, self._number(8), self._number(0)))
        return choose(self.six, six, four)

    @cached_property
    def transport_size(self) -> Bits:
        """Transport header and payload."""
        return add(self.algebra, self.transport_length, self.bits[PAYLOAD])

    @cached_property
    def length(self) -> Bits:
        """The whole packet from the IP header on."""
        return add(self.algebra, self.network_length, self.transport_size)

    def reaches(self, size: Bits, count: int) -> Condition:
        """Where a size is `count` bytes or more."""
        return self.algebra.everything if count <= 0 else at_least(self.algebra, size, count)

    # --- loads

    def load(self, base: str, offset: int, width: int) -> tuple[Bits, Condition]:
        """`width` bits from bit `offset` of a header on, and where there are so many.

        base: link, network, transport, inner; IPv4 and IPv6 are the network header of packets that are known to be of that family.
        """
        key = (base, offset, width)
        found = self._loads.get(key)
        if found is None:
            found = self._loads[key] = self._load(base, offset, width)
        return found

    def _load(self, base: str, offset: int, width: int) -> tuple[Bits, Condition]:
        last = (offset + width + 7) // 8
        if base in ("network", "IPv4", "IPv6"):
            first, end = offset // 8, last
            byte = {"network": self.byte, "IPv4": self._byte4, "IPv6": self._byte6}[base]
            bits = tuple(bit for index in range(first, end) for bit in byte(index))
            start = offset - 8 * first
            return bits[start : start + width], self.has(end)
        if base == "transport":
            bits = tuple(bit for index in range(offset // 8, last) for bit in self.transport_byte(index))
            start = offset % 8
            return bits[start : start + width], ~self.later & self.reaches(self.transport_size, last)
        if base == "inner":
            # nft_payload_inner_offset (6.1) knows TCP and UDP only.
            return self._number(0, width), (self.tcp | self.udp) & ~self.later & self.reaches(self.bits[PAYLOAD], last)
        return self._number(0, width), self.algebra.everything

    def has(self, count: int) -> Condition:
        """Where the packet has `count` bytes from the network header on."""
        if count <= _LEAST_WORDS * 4:
            return self.algebra.everything
        if count <= 40:
            return self.six | self.reaches(self.length, count)
        return self.reaches(self.length, count)

    # --- bytes, from the network header on

    def byte(self, index: int) -> Bits:
        """A byte of the packet, 0 behind its end."""
        found = self._bytes.get(index)
        if found is None:
            found = self._bytes[index] = choose(self.six, self._byte6(index), self._byte4(index))
        return found

    @cached_property
    def _header4(self) -> Bits:
        a, b = self.algebra, self.bits
        offset = (*self._number(0, 12), self.later)
        more = masked(a, b[FRAGMENT], 1)
        return (
            *self._number(4, 4), *self.header_words, *b[TOS], *self.length, *self._number(0, 16), a.nothing, a.nothing, more, *offset, *self._number(0, 8),
            *b[PROTOCOL], *self._number(0, 16), *b[SOURCE][96:], *b[DESTINATION][96:],
        )  # fmt: skip

    @cached_property
    def _header6(self) -> Bits:
        a, b = self.algebra, self.bits
        size = add(a, self.length, self._number(0x10000 - 40))
        return (*self._number(6, 4), *b[TOS], *self._number(0, 20), *size, *self._first_next, *self._number(0, 8), *b[SOURCE], *b[DESTINATION])

    @cached_property
    def _upper(self) -> Bits:
        """The number of the transport protocol, as an IPv6 header says it: that of an extension header would be one more such header."""
        own = self.bits[PROTOCOL]
        return choose(any_of(self.algebra, map(self.protocol, _EXTENSIONS)), self._number(_NO_NEXT_HEADER, 8), own)

    @cached_property
    def _behind_options(self) -> Bits:
        return choose(self.fragment_header, self._number(_FRAGMENT_HEADER, 8), self._upper)

    @cached_property
    def _first_next(self) -> Bits:
        none = masked(self.algebra, self.bits[EXTENSION_WORDS], 0)
        return choose(none, self._behind_options, self._number(_DESTINATION_OPTIONS, 8))

    def _byte4(self, index: int) -> Bits:
        if index < 20:
            return self._header4[8 * index : 8 * index + 8]
        found = self._number(0, 8)
        for words in range(_LEAST_WORDS, _MOST_WORDS + 1):
            if index >= 4 * words:
                found = choose(masked(self.algebra, self.header_words, words), self.transport_byte(index - 4 * words), found)
        return found

    def _byte6(self, index: int) -> Bits:
        if index < 40:
            return self._header6[8 * index : 8 * index + 8]
        found = self._number(0, 8)
        for words in range(_MOST_EXTENSIONS + 1):
            end = 40 + 8 * words
            here = masked(self.algebra, self.bits[EXTENSION_WORDS], words)
            plain = self.transport_byte(index - end) if index >= end else self._options_byte(index - 40, words)
            with_header = plain if index < end else self._fragment_byte(index - end) if index < end + 8 else self.transport_byte(index - end - 8)
            found = choose(here, choose(self.fragment_header, with_header, plain), found)
        return found

    def _options_byte(self, index: int, words: int) -> Bits:
        if index == 0:
            return self._behind_options
        return self._number(words - 1 if index == 1 else 0, 8)

    def _fragment_byte(self, index: int) -> Bits:
        nothing = self.algebra.nothing
        if index == 0:
            return self._upper
        if index == 3:
            return (*self._number(0, 4), self.later, nothing, nothing, masked(self.algebra, self.bits[FRAGMENT], 1))
        return self._number(0, 8)

    @cached_property
    def _transport(self) -> Bits:
        """The first 20 bytes of the transport header."""
        b = self.bits
        ports = (*b[SOURCE_PORT], *b[DESTINATION_PORT])
        none = self._number(0, _TCP)
        tcp = (*ports, *self._number(0, 64), *self.offset_words, *self._number(0, 4), *b[FLAGS], *self._number(0, 48))
        udp = (*ports, *self.transport_size, *none[_UDP - 16 :])
        icmp = (*b[ICMP_TYPE], *b[ICMP_CODE], *none[16:])
        found = choose(self.tcp, tcp, choose(self.udp, udp, choose(self.icmp, icmp, none)))
        return choose(self.later, none, found) if self.later.satisfiable() else found

    def transport_byte(self, index: int) -> Bits:
        """A byte from the transport header's beginning on, 0 behind what is known of it."""
        return self._transport[8 * index : 8 * index + 8] if 0 <= index < _TCP // 8 else self._number(0, 8)

    def fragment_field(self, field: str) -> tuple[Bits, Condition]:
        """A field of IPv6's fragment header, and where there is one."""
        if field == "exists":
            return (self.fragment_header,), self.algebra.everything
        more = masked(self.algebra, self.bits[FRAGMENT], 1)
        bits = {"nexthdr": self.bits[PROTOCOL], "frag-off": (*self._number(0, 12), self.later), "more-fragments": (more,)}[field]
        return bits, self.fragment_header
