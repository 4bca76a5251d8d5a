"""What a list of rules wrote in the end, for every packet at once: merged in pairs, like `pfq.headers.decide`.

Unlike there, a rule may end the evaluation without writing (a quick rule that sets no tag), and written are the bits of a number.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.bits import choose, constant, masked

T = TypeVar("T", bound=Hashable)


class Write(NamedTuple):
    """A rule, or a run of rules: where it writes, where the evaluation ends with it, and what it writes there."""

    where: Condition
    ended: Condition
    value: Bits


def _after(first: Write, second: Write) -> Write:
    takes = second.where & ~first.ended
    return Write(first.where | takes, first.ended | second.ended, choose(takes, second.value, first.value))


def written(algebra: Algebra, writes: Sequence[Write], width: int) -> Write:
    """What all of them come to. Bits mean nothing where nothing is written."""
    runs = list(writes)
    while len(runs) > 1:
        runs = [_after(runs[i], runs[i + 1]) if i + 1 < len(runs) else runs[i] for i in range(0, len(runs), 2)]
    return runs[0] if runs else Write(algebra.nothing, algebra.nothing, constant(algebra, 0, width))


def outcomes(algebra: Algebra, steps: Sequence[tuple[Condition, Condition, T | None]]) -> dict[T | None, Condition]:
    """Which outcome is written last: (where, ended, outcome), None where a step writes none. None where there is none. Only what some packet has."""
    numbers: dict[T, int] = {}
    for _, _, outcome in steps:
        if outcome is not None:
            numbers.setdefault(outcome, len(numbers))
    width = max(1, (len(numbers) - 1).bit_length())
    nowhere, zero = algebra.nothing, constant(algebra, 0, width)
    run = written(
        algebra,
        [
            Write(nowhere, ended, zero) if outcome is None else Write(where, ended, constant(algebra, numbers[outcome], width))
            for where, ended, outcome in steps
        ],
        width,
    )
    found: dict[T | None, Condition] = {outcome: run.where & masked(algebra, run.value, number) for outcome, number in numbers.items()}
    found[None] = ~run.where
    return {outcome: where for outcome, where in found.items() if where.satisfiable()}
