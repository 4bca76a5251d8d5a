"""Which of an ordered list of rules decides, for every packet at once.

Rules are merged in pairs, pairs in fours, and so on: a list taken one after the other costs the square of its length.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.bits import choose, constant, masked

T = TypeVar("T", bound=Hashable)




class _Run(NamedTuple):
    """Rules that follow each other: where one of them matches, where a quick one does, and the number of the outcome there."""

    covered: Condition
    ended: Condition
    outcome: Bits


def _after(first: _Run, second: _Run) -> _Run:
    takes = second.covered & ~first.ended
    return _Run(first.covered | second.covered, first.ended | second.ended, choose(takes, second.outcome, first.outcome))


def decide(algebra: Algebra, steps: Sequence[tuple[Condition, T, bool]], otherwise: T) -> dict[T, Condition]:
    """The last step that matches decides, or the first quick one; `otherwise` where none does. Only outcomes that some packet has."""
    numbers: dict[T, int] = {otherwise: 0}
    for _, outcome, _ in steps:
        numbers.setdefault(outcome, len(numbers))
    width = max(1, (len(numbers) - 1).bit_length())
    runs = [
        _Run(where, where if quick else algebra.nothing, constant(algebra, numbers[outcome], width)) for where, outcome, quick in steps
    ]
    while len(runs) > 1:
        runs = [_after(runs[i], runs[i + 1]) if i + 1 < len(runs) else runs[i] for i in range(0, len(runs), 2)]
    if not runs:
        return {otherwise: algebra.everything}
    covered, _, bits = runs[0]
    bits = choose(covered, bits, constant(algebra, 0, width))
    cases = ((outcome, masked(algebra, bits, number)) for outcome, number in numbers.items())
    return {outcome: where for outcome, where in cases if where.satisfiable()}
