"""One evaluation, two algebras: what diagrams say of all packets is what is said of each."""

from hypothesis import given
from hypothesis import strategies as st

from pfq.headers.algebra import Algebra, Condition, Exactly
from pfq.headers.bits import add, at_least, between, constant, masked, subtract, widened
from pfq.headers.decide import decide
from pfq.headers.diagrams import Diagrams
from pfq.headers.fields import TOS

_DIAGRAMS = Diagrams()
_RANGES = st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 3), st.booleans())


def _steps(algebra: Algebra, rules: list[tuple[int, int, int, bool]]) -> list[tuple[Condition, int, bool]]:
    tos = algebra.field(TOS)
    return [(between(algebra, tos, low, high), outcome, quick) for low, high, outcome, quick in rules]


def _by_hand(rules: list[tuple[int, int, int, bool]], tos: int) -> int:
    found = 9
    for low, high, outcome, quick in rules:
        if low <= tos <= high:
            found = outcome
            if quick:
                break
    return found


@given(st.lists(_RANGES, max_size=8), st.integers(0, 255))
def test_the_last_that_matches_or_the_first_quick_one_decides(rules: list[tuple[int, int, int, bool]], tos: int) -> None:
    algebra = Exactly({TOS: tos})
    assert list(decide(algebra, _steps(algebra, rules), 9)) == [_by_hand(rules, tos)]


@given(st.lists(_RANGES, max_size=8))
def test_diagrams_agree_with_every_single_packet(rules: list[tuple[int, int, int, bool]]) -> None:
    cases = decide(_DIAGRAMS, _steps(_DIAGRAMS, rules), 9)
    for tos in range(0, 256, 7):
        one = masked(_DIAGRAMS, _DIAGRAMS.field(TOS), tos)
        assert [outcome for outcome, where in cases.items() if (where & one).satisfiable()] == [_by_hand(rules, tos)]


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 300))
def test_arithmetic(value: int, other: int, low: int) -> None:
    algebra = Exactly({TOS: value})
    bits = algebra.field(TOS)
    assert masked(algebra, add(algebra, bits, constant(algebra, other, 8)), (value + other) & 255).satisfiable()
    assert masked(algebra, subtract(algebra, bits, constant(algebra, other, 8)), (value - other) & 255).satisfiable()
    assert at_least(algebra, bits, low).satisfiable() == (value >= low)
    assert masked(algebra, widened(algebra, bits, 12), value).satisfiable()
    assert masked(algebra, bits, other, 0x0F).satisfiable() == ((value ^ other) & 0x0F == 0 and other < 16)
