"""How pf.conf spells numbers and comments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.targets.altq_curves import Curve, exceeds, room_below
from pfq.targets.pf_text import COLUMNS, altq_rate, comment, queue_rate

UNITS = {"b": 1, "Kb": 10**3, "Mb": 10**6, "Gb": 10**9, "": 1, "K": 10**3, "M": 10**6, "G": 10**9}


@pytest.mark.parametrize(
    ("rate", "altq", "queue"),
    [
        (100_000, "100Kb", "100K"), (103_898, "103898b", "103898"), (20_000_000, "20Mb", "20M"), (1_500_000, "1500Kb", "1500K"), (10**9, "1Gb", "1G"),
        (999, "999b", "999"),
    ],
)
def test_rates(rate: int, altq: str, queue: str) -> None:
    assert (altq_rate(rate), queue_rate(rate)) == (altq, queue)


@given(st.integers(1, 2**40))
def test_no_bit_is_lost_in_spelling(rate: int) -> None:
    for spelled in (altq_rate(rate), queue_rate(rate)):
        digits = spelled.rstrip("bKMG")
        assert int(digits) * UNITS[spelled[len(digits) :]] == rate


@given(st.text(max_size=400))
def test_a_comment_is_printable_ascii_and_never_swallows_the_next_line(text: str) -> None:
    for line in comment(text):
        assert line.isascii()
        assert line.isprintable()
        assert not line.endswith("\\")


def test_long_comments_are_wrapped_and_statements_in_comments_are_not() -> None:
    assert all(len(line) <= COLUMNS for line in comment("word " * 100))
    assert len(comment("    pass " + "word " * 100)) == 1


CURVES = st.lists(st.builds(lambda m1, d, m2: Curve(m1 if d else m2, d, m2), st.integers(0, 1000), st.integers(0, 50), st.integers(1, 1000)), max_size=4)


@given(CURVES, st.integers(1, 4000))
def test_a_sum_of_curves_exceeds_a_line_where_it_does_at_any_time(curves: list[Curve], rate: int) -> None:
    anywhere = any(sum(curve.bits(time) for curve in curves) > rate * time for time in range(1, 4_000_000, 997)) or any(
        sum(curve.bits(time) for curve in curves) > rate * time for time in range(1, 60)
    )
    assert exceeds(curves, rate) == anywhere


@given(CURVES, st.integers(1, 4000))
def test_what_fits_below_a_line_fits_and_no_more_does(curves: list[Curve], rate: int) -> None:
    room = room_below(curves, rate)
    if not exceeds(curves, rate):
        assert not exceeds([*curves, Curve(room, 0, room)], rate)
        assert exceeds([*curves, Curve(room + 1, 0, room + 1)], rate)
    else:
        assert room == 0
