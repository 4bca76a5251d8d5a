"""nft expressions and comparisons over all packets at once. Sources: nft_payload.c, nft_meta.c, nft_ct.c, nft_cmp.c, nft_lookup.c (Linux 6.1)."""

from collections.abc import Sequence

from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.bits import any_of, at_least, between, choose, constant, masked, same
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, PROTOCOL, SOURCE, SOURCE_PORT
from pfq.linux.expressions import (
    NAME_BITS,
    Binary,
    Concatenation,
    Constant,
    Ct,
    Element,
    Expression,
    Extension,
    Fib,
    Interval,
    Load,
    Lookup,
    Meta,
    Unknown,
    width_of,
)
from pfq.linux.nft_names import DNAT_STATUS, ESTABLISHED, INVALID, LOCAL, NAMES, NEW, SEEN_REPLY, SNAT_STATUS, UNICAST, UNTRACKED
from pfq.linux.packet import IPV4_TYPE, IPV6_TYPE
from pfq.linux.rules import Match
from pfq.linux.state import Packet

Value = tuple[Bits, Condition]


def within(algebra: Algebra, bits: Bits, interval: Interval) -> Condition:
    """Where a number is in an interval."""
    low, high = interval.low, interval.high
    if low == high:
        return masked(algebra, bits, low)
    size = high - low + 1
    if size & size - 1 == 0 and low % size == 0:
        return masked(algebra, bits, low, ~(size - 1))
    return between(algebra, bits, low, high)


def one_of(algebra: Algebra, bits: Bits, widths: Sequence[int], elements: Sequence[Element]) -> Condition:
    """Where a concatenation is one of the elements."""
    return any_of(algebra, (equals(algebra, bits, widths, element) for element in elements))


def equals(algebra: Algebra, bits: Bits, widths: Sequence[int], element: Element) -> Condition:
    """Where each part of a concatenation is in its interval. Parts from the last on, which are lowest in a diagram."""
    result = algebra.everything
    end = len(bits)
    for interval, width in zip(reversed(element), reversed(widths), strict=True):
        result = within(algebra, bits[end - width : end], interval) & result
        end -= width
    return result


def widths_of(expression: Expression) -> tuple[int, ...]:
    """Bits of each part of a concatenation."""
    return tuple(width_of(part) for part in expression.parts) if isinstance(expression, Concatenation) else (width_of(expression),)


def lookup(algebra: Algebra, key: Bits, widths: Sequence[int], entries: Sequence[tuple[Element, int]], width: int) -> Value:
    """The value of the first element that holds, and where one does. Merged in pairs, as in pfq.headers.decide."""
    runs = [(equals(algebra, key, widths, element), constant(algebra, number, width)) for element, number in entries]
    while len(runs) > 1:
        runs = [
            (runs[i][0] | runs[i + 1][0], choose(runs[i][0], runs[i][1], runs[i + 1][1])) if i + 1 < len(runs) else runs[i] for i in range(0, len(runs), 2)
        ]
    if not runs:
        return constant(algebra, 0, width), algebra.nothing
    return runs[0][1], runs[0][0]


class Comparison:
    """Evaluates the expressions of rules about a packet as it is at this moment."""

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        self.algebra = packet.view.algebra

    def match(self, match: Match) -> Condition:
        """Where a comparison holds. One that cannot be made (there is no such header, no entry) does not."""
        left, ok = self.value(match.left)
        if not isinstance(match.right, tuple):
            right, also = self.value(match.right)
            equal = same(self.algebra, left, right)
            return (equal if match.operator == "==" else ~equal) & ok & also
        return self._compare(match, left) & ok

    def _compare(self, match: Match, left: Bits) -> Condition:
        algebra = self.algebra
        assert isinstance(match.right, tuple), "the caller has seen to expressions"
        if match.operator in ("==", "!="):
            found = one_of(algebra, left, widths_of(match.left), match.right)
            return found if match.operator == "==" else ~found
        number = match.right[0][0].low
        if match.operator == "any":
            return ~masked(algebra, left, 0, number) if number else algebra.nothing
        if match.operator in (">=", "<"):
            found = at_least(algebra, left, number)
            return found if match.operator == ">=" else ~found
        found = at_least(algebra, left, number + 1)
        return found if match.operator == ">" else ~found

    def value(self, expression: Expression) -> Value:
        """The bits of an expression, and where it has a value."""
        algebra, everything = self.algebra, self.algebra.everything
        match expression:
            case Constant():
                return constant(algebra, expression.value, expression.width), everything
            case Load():
                bits, ok = self.packet.layout.load(expression.base, expression.offset, expression.width)
                return bits, ok & self._needs(expression.needs)
            case Meta():
                return self._meta(expression)
            case Ct():
                return self._conntrack(expression)
            case Concatenation():
                parts = [self.value(part) for part in expression.parts]
                ok = everything
                for _, one in parts:
                    ok = ok & one
                return tuple(bit for bits, _ in parts for bit in bits), ok
            case Binary():
                return self._binary(expression)
            case Lookup():
                key, ok = self.value(expression.key)
                entries = [(element, numbers[0]) for element, numbers in expression.elements]
                bits, found = lookup(algebra, key, widths_of(expression.key), entries, expression.width)
                return bits, ok & found
            case Extension():
                return self.packet.layout.fragment_field(expression.field)
            case Fib():
                end = self.packet.iif if expression.side == "saddr" else self.packet.oif
                return constant(algebra, LOCAL if end is None else UNICAST, expression.width), everything
            case Unknown():
                raise AssertionError("rules with effects know what they look at")

    def _needs(self, needs: tuple[tuple[str, int], ...]) -> Condition:
        layout, found = self.packet.layout, self.algebra.everything
        for what, number in needs:
            version = layout.six if number == 6 else ~layout.six
            found = found & (version if what == "family" else layout.protocol(number))
        return found

    def _binary(self, expression: Binary) -> Value:
        left, ok = self.value(expression.left)
        if expression.operator in ("<<", ">>"):
            assert isinstance(expression.right, Constant), "the reader takes numbers only"
            shift = min(expression.right.value, len(left))
            zeros = constant(self.algebra, 0, shift)
            return (left[shift:] + zeros if expression.operator == "<<" else zeros + left[: len(left) - shift]), ok
        right, also = self.value(expression.right)
        width = expression.width
        pairs = zip(self._widened(left, width), self._widened(right, width), strict=True)
        if expression.operator == "&":
            return tuple(a & b for a, b in pairs), ok & also
        if expression.operator == "|":
            return tuple(a | b for a, b in pairs), ok & also
        return tuple(a ^ b for a, b in pairs), ok & also

    def _widened(self, bits: Bits, width: int) -> Bits:
        return constant(self.algebra, 0, width - len(bits)) + bits

    def _meta(self, expression: Meta) -> Value:
        packet, layout, algebra = self.packet, self.packet.layout, self.algebra
        match expression.key:
            case "mark":
                return packet.mark, algebra.everything
            case "priority":
                return packet.priority, algebra.everything
            case "l4proto":
                return packet.view.bits[PROTOCOL], algebra.everything
            case "nfproto":
                names = NAMES["nf_proto"]
                return choose(layout.six, constant(algebra, names["ipv6"], 8), constant(algebra, names["ipv4"], 8)), algebra.everything
            case "protocol":
                return choose(layout.six, constant(algebra, IPV6_TYPE, 16), constant(algebra, IPV4_TYPE, 16)), algebra.everything
            case "length":
                return self._widened(layout.length, 32), algebra.everything
            case "iifname" | "oifname":
                name = packet.iif if expression.key == "iifname" else packet.oif
                number = int.from_bytes((name or "").encode()[: NAME_BITS // 8].ljust(NAME_BITS // 8, b"\0"), "big")
                return constant(algebra, number, NAME_BITS), algebra.everything if name else algebra.nothing
        raise AssertionError(f"the reader knows no meta {expression.key}")

    def _conntrack(self, expression: Ct) -> Value:
        packet, algebra = self.packet, self.algebra
        if expression.direction:
            bits = self._tuple(expression)
            return bits, packet.tracked & self._needs(expression.needs)
        match expression.key:
            case "state":
                known = packet.new | packet.established | packet.untracked
                bits = constant(algebra, INVALID, 32)
                for where, number in ((known & packet.new, NEW), (packet.established, ESTABLISHED), (packet.untracked, UNTRACKED)):
                    bits = choose(where, constant(algebra, number, 32), bits)
                return bits, algebra.everything
            case "mark":
                return packet.ct_mark, packet.tracked
            case "direction":
                return constant(algebra, int(packet.reply), 8), packet.tracked
            case "status":
                flags = constant(algebra, 0, 32)
                replied = algebra.everything if packet.reply else algebra.nothing
                memory = packet.memory
                for number, where in ((DNAT_STATUS, memory.destination.where), (SNAT_STATUS, memory.source.where), (SEEN_REPLY, replied)):
                    flags = choose(where, tuple(a | b for a, b in zip(flags, constant(algebra, number, 32), strict=True)), flags)
                return flags, packet.tracked
        raise AssertionError(f"the reader knows no ct {expression.key}")

    def _tuple(self, expression: Ct) -> Bits:
        """A field of conntrack's tuple of a direction; the answer's is that of the far end."""
        packet = self.packet
        opener, memory = packet.memory.opener.bits, packet.memory
        if expression.key == "protocol":
            return opener[PROTOCOL]
        if expression.direction == "original":
            fields = {"saddr": opener[SOURCE], "daddr": opener[DESTINATION], "sport": opener[SOURCE_PORT], "dport": opener[DESTINATION_PORT]}
        else:
            source, destination = memory.destination, memory.source
            fields = {"saddr": source.address, "daddr": destination.address, "sport": source.port, "dport": destination.port}
        return fields[expression.key][-expression.width :]
