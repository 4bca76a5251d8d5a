"""Linux's htb against schedules and shares computed by hand from sch_htb.c."""

from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import SECOND
from pfq.simulate.schedulers import htb
from pfq.simulate.schedulers.fifo import Fifo
from pfq.simulate.schedulers.htb import Htb, HtbClass
from tests.simulate import reference_htb
from tests.simulate.driving import departures, packet, rates, steady

MS = SECOND // 1000


def _htb(rows: list[tuple[int, int, int, int]], rate: int = 4_000_000, burst: int = 1600) -> Htb:
    """rows: (rate, ceil, prio, quantum) of leaves below one class of `rate`."""
    top = HtbClass(1, None, rate, rate, burst, burst, 0, 1500, None)
    leaves = [HtbClass(10 + i, top, own, ceil, burst, burst, prio, quantum, Fifo(200)) for i, (own, ceil, prio, quantum) in enumerate(rows)]
    return Htb([top, *leaves], leaves)


def test_a_lone_class_pays_for_each_packet_in_time() -> None:
    # 8 kbit/s are a byte a millisecond; the burst of 100 bytes goes on credit, and a class may send while its tokens are not negative.
    leaf = HtbClass(1, None, 8_000, 8_000, 100, 100, 0, 1500, Fifo(10))
    htb = Htb([leaf], [leaf])
    left = departures(htb, [(0, packet(100)) for _ in range(4)], SECOND)
    # Tokens 100 -> 0 -> -100: the third packet waits 100 ms, until they are 0 again, and so on.
    assert [time // MS for time, _ in left] == [0, 0, 100, 200]


def test_a_class_borrows_what_its_parent_has() -> None:
    htb = _htb([(1_000_000, 4_000_000, 0, 1500), (3_000_000, 4_000_000, 0, 1500)])
    left = departures(htb, steady(8_000_000, 1000, 0, 3 * SECOND), 3 * SECOND)
    assert rates(left, 2, SECOND, 3 * SECOND)[0] == pytest.approx(4_000_000, rel=0.01)


def test_a_ceil_bounds_what_is_borrowed() -> None:
    htb = _htb([(1_000_000, 2_000_000, 0, 1500), (3_000_000, 4_000_000, 0, 1500)])
    left = departures(htb, steady(8_000_000, 1000, 0, 3 * SECOND), 3 * SECOND)
    assert rates(left, 2, SECOND, 3 * SECOND)[0] == pytest.approx(2_000_000, rel=0.01)


def test_rates_are_kept_when_both_want_more() -> None:
    htb = _htb([(1_000_000, 4_000_000, 0, 1500), (3_000_000, 4_000_000, 1, 1500)])
    arrivals = steady(8_000_000, 1500, 0, 3 * SECOND) + steady(8_000_000, 1500, 1, 3 * SECOND)
    first, second = rates(departures(htb, arrivals, 3 * SECOND), 2, SECOND, 3 * SECOND)
    assert first == pytest.approx(1_000_000, rel=0.02)
    assert second == pytest.approx(3_000_000, rel=0.02)


def test_excess_goes_to_the_better_priority_first() -> None:
    htb = _htb([(500_000, 4_000_000, 0, 1500), (500_000, 4_000_000, 1, 1500)])
    arrivals = steady(8_000_000, 1500, 0, 3 * SECOND) + steady(8_000_000, 1500, 1, 3 * SECOND)
    first, second = rates(departures(htb, arrivals, 3 * SECOND), 2, SECOND, 3 * SECOND)
    assert first == pytest.approx(3_500_000, rel=0.02)
    assert second == pytest.approx(500_000, rel=0.02)


def test_excess_within_a_priority_goes_by_quantum() -> None:
    htb = _htb([(100_000, 4_000_000, 0, 1500), (100_000, 4_000_000, 0, 4500)])
    arrivals = steady(8_000_000, 1500, 0, 4 * SECOND) + steady(8_000_000, 1500, 1, 4 * SECOND)
    first, second = rates(departures(htb, arrivals, 4 * SECOND), 2, SECOND, 4 * SECOND)
    assert (second - 100_000) / (first - 100_000) == pytest.approx(3, rel=0.05)
    assert first + second == pytest.approx(4_000_000, rel=0.01)


def test_round_robin_takes_turns_by_quantum() -> None:
    # Two leaves that may both send at once (no rate is used up): each sends until its deficit is below zero.
    htb = _htb([(4_000_000, 4_000_000, 0, 1000), (4_000_000, 4_000_000, 0, 1000)], burst=100_000)
    for _ in range(4):
        htb.enqueue(0, packet(1000, 0))
        htb.enqueue(0, packet(1000, 1))
    order = [htb.dequeue(0)[1] for _ in range(8)]  # type: ignore[index]
    # The first deficit is 0: 0 - 1000 + 1000 = 0 after one packet each, in turn.
    assert order == [0, 1, 0, 1, 0, 1, 0, 1]


def test_classes_within_classes_keep_their_rates() -> None:
    top = HtbClass(1, None, 4_000_000, 4_000_000, 3000, 3000, 0, 1500, None)
    inner = HtbClass(2, top, 3_000_000, 3_000_000, 3000, 3000, 0, 1500, None)
    leaves = [
        HtbClass(3, inner, 1_000_000, 3_000_000, 1600, 3000, 0, 1500, Fifo(50)),
        HtbClass(4, inner, 2_000_000, 3_000_000, 1600, 3000, 0, 1500, Fifo(50)),
        HtbClass(5, top, 1_000_000, 4_000_000, 1600, 3000, 0, 1500, Fifo(50)),
    ]
    htb = Htb([top, inner, *leaves], leaves)
    arrivals = [item for label in range(3) for item in steady(8_000_000, 1500, label, 3 * SECOND)]
    found = rates(departures(htb, arrivals, 3 * SECOND), 3, SECOND, 3 * SECOND)
    assert found == [pytest.approx(1_000_000, rel=0.02), pytest.approx(2_000_000, rel=0.02), pytest.approx(1_000_000, rel=0.02)]


def test_idle_then_busy_spends_no_more_than_the_burst() -> None:
    htb = _htb([(1_000_000, 1_000_000, 0, 1500)], burst=5000)
    arrivals = [(10 * SECOND, packet(1000)) for _ in range(20)]
    left = departures(htb, arrivals, 10 * SECOND + MS)
    # 5000 bytes of tokens, and the one that takes them below zero.
    assert len(left) == 6


# Of each leaf: which class above (0: the top, 1 and 2: inner ones, 2 inside 1), rate, ceil, priority, quantum.
_LEAF = st.tuples(st.integers(0, 2), st.integers(100_000, 2_000_000), st.integers(2_000_000, 4_000_000), st.integers(0, 2), st.sampled_from([500, 1500, 3000]))


def _tree(source: ModuleType, leaves: list[tuple[int, int, int, int, int]]) -> Discipline:
    top = source.HtbClass(1, None, 4_000_000, 4_000_000, 3000, 3000, 0, 1500, None)
    outer = source.HtbClass(2, top, 2_000_000, 3_500_000, 2000, 3000, 0, 1500, None)
    inner = source.HtbClass(3, outer, 1_000_000, 3_000_000, 1600, 2500, 0, 1500, None)
    # No class without a leaf of its own.
    wanted = [*leaves, (1, 100_000, 4_000_000, 1, 1500), (2, 100_000, 4_000_000, 1, 1500)]
    made = [
        source.HtbClass(10 + index, (top, outer, inner)[above], rate, ceil, 1600, 2000, priority, quantum, Fifo(30))
        for index, (above, rate, ceil, priority, quantum) in enumerate(wanted)
    ]
    found: Discipline = source.Htb([top, outer, inner, *made], made)
    return found


@settings(max_examples=60, deadline=None)
@given(
    leaves=st.lists(_LEAF, min_size=1, max_size=4),
    arrivals=st.lists(st.tuples(st.integers(0, 5), st.integers(40, 1500), st.integers(0, 8000)), min_size=1, max_size=150),
)
def test_it_does_what_the_kernels_lists_do(leaves: list[tuple[int, int, int, int, int]], arrivals: list[tuple[int, int, int]]) -> None:
    found = []
    for source in (reference_htb, htb):
        tree, now, planned = _tree(source, leaves), 0, []
        for number, (label, size, wait) in enumerate(arrivals):
            now += wait * 1000 if wait > 1000 else 0
            planned.append((now, packet(size, label % (len(leaves) + 2), number)))
        found.append([(time, item[2]) for time, item in departures(tree, planned, 60 * SECOND)])
    assert found[0] == found[1]
