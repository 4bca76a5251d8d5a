"""Arithmetic on numbers whose bits are conditions. All widths are in bits; numbers are unsigned."""

from collections.abc import Iterable

from pfq.headers.algebra import Algebra, Bits, Condition


def constant(algebra: Algebra, value: int, width: int) -> Bits:
    """A number that is the same for every packet."""
    return tuple(algebra.everything if value >> bit & 1 else algebra.nothing for bit in reversed(range(width)))


def masked(algebra: Algebra, bits: Bits, value: int, mask: int = -1) -> Condition:
    """Where number & mask == value: nowhere, if `value` has bits outside the mask."""
    result = algebra.everything
    # From the least significant bit up: a diagram is then built from its bottom, which costs least.
    for bit in reversed(bits):
        if mask & 1:
            result = (bit if value & 1 else ~bit) & result
        elif value & 1:
            return algebra.nothing
        value, mask = value >> 1, mask >> 1
    return algebra.nothing if value else result


def at_least(algebra: Algebra, bits: Bits, low: int) -> Condition:
    """Where the number is `low` or more."""
    if low >= 1 << len(bits):
        return algebra.nothing
    result = algebra.everything
    for bit in reversed(bits):
        result = bit & result if low & 1 else bit | result
        low >>= 1
    return result


def between(algebra: Algebra, bits: Bits, low: int, high: int) -> Condition:
    """Where the number is neither below `low` nor above `high`."""
    return at_least(algebra, bits, low) & ~at_least(algebra, bits, high + 1)


def same(algebra: Algebra, one: Bits, other: Bits) -> Condition:
    """Where two numbers of one width are equal."""
    result = algebra.everything
    for mine, theirs in zip(reversed(one), reversed(other), strict=True):
        result = ~(mine ^ theirs) & result
    return result


def choose(condition: Condition, then: Bits, otherwise: Bits) -> Bits:
    """`then` where the condition holds, `otherwise` elsewhere."""
    return tuple(condition.ite(one, other) for one, other in zip(then, otherwise, strict=True))


def any_of(algebra: Algebra, conditions: Iterable[Condition]) -> Condition:
    """Where one of them holds. Merged in pairs: a chain of ors over many addresses costs its square."""
    level = list(conditions)
    while len(level) > 1:
        level = [level[i] | level[i + 1] if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0] if level else algebra.nothing


def add(algebra: Algebra, one: Bits, other: Bits, carry: Condition | None = None) -> Bits:
    """The sum, modulo 2 to the power of the width."""
    carried = algebra.nothing if carry is None else carry
    result: list[Condition] = []
    for a, b in zip(reversed(one), reversed(other), strict=True):
        half = a ^ b
        result.append(half ^ carried)
        carried = half.ite(carried, a)
    return tuple(reversed(result))


def subtract(algebra: Algebra, one: Bits, other: Bits) -> Bits:
    """The difference, modulo 2 to the power of the width."""
    return add(algebra, one, tuple(~bit for bit in other), algebra.everything)


def widened(algebra: Algebra, bits: Bits, width: int) -> Bits:
    """The same number in more bits, or its low bits in fewer."""
    missing = width - len(bits)
    return (algebra.nothing,) * missing + bits if missing >= 0 else bits[-width:]
