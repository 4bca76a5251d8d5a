"""Service curves by hand; hfsc's laws: link sharing in proportion, a real-time curve missed by one packet at most, upper limits kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfq.simulate.packet import SECOND
from pfq.simulate.schedulers.curves import RunningCurve, ServiceLine, straight
from pfq.simulate.schedulers.fifo import Fifo
from pfq.simulate.schedulers.hfsc import Hfsc, HfscClass
from tests.simulate.driving import departures, packet, rates, steady

MS = SECOND // 1000
TICK = 10 * MS


def test_a_curve_of_two_pieces() -> None:
    # 80 kbit/s for 100 ms are 1000 bytes, then 8 kbit/s: one byte a millisecond.
    curve = RunningCurve(ServiceLine(80_000, 100 * MS, 8_000))
    assert [curve.bytes_at(time * MS) for time in (0, 50, 100, 200)] == [0, 500, 1000, 1100]
    assert [curve.when(size) // MS for size in (0, 500, 1000, 1100)] == [0, 50, 100, 200]


def test_a_curve_that_begins_with_nothing() -> None:
    curve = RunningCurve(ServiceLine(0, 100 * MS, 8_000))
    assert curve.bytes_at(100 * MS) == 0
    assert curve.when(10) == 110 * MS


def test_the_minimum_of_two_concave_curves_crosses_once() -> None:
    # By hand: 1000 bytes by 100 ms, then 1 a ms. At 300 ms: 1200. Begun anew at (300 ms, 1100 bytes) it would be 2100 at 400 ms; the old one
    # is at 1300 then. They meet where 1100 + 10 t = 1200 + t: t = 11.11 ms.
    line = ServiceLine(80_000, 100 * MS, 8_000)
    curve = RunningCurve(line)
    curve.lower_to(line, 300 * MS, 1100)
    assert (curve.x, curve.y) == (300 * MS, 1100)
    assert curve.dx == pytest.approx(11.11 * MS, rel=0.01)
    assert curve.bytes_at(400 * MS) == pytest.approx(1300, abs=2)


def test_a_convex_curve_is_lowered_whole() -> None:
    line = ServiceLine(0, 10 * MS, 8_000)
    curve = RunningCurve(line)
    curve.lower_to(line, 50 * MS, 10)
    assert (curve.x, curve.y) == (50 * MS, 10)


def _flat(shares: list[int], realtime: list[ServiceLine | None], upper: list[int | None], rate: int, tick: int | None, limit: int = 50) -> Hfsc:
    root = HfscClass(None, None, None, None, None)
    top = HfscClass(root, None, straight(rate), straight(rate), None)
    leaves = [
        HfscClass(top, real, straight(share), straight(most) if most else None, Fifo(limit))
        for share, real, most in zip(shares, realtime, upper, strict=True)
    ]
    return Hfsc(root, leaves, tick)


@pytest.mark.parametrize("tick", [None, TICK])
def test_shares_divide_the_rate(tick: int | None) -> None:
    hfsc = _flat([1_000_000, 3_000_000], [None, None], [None, None], 4_000_000, tick)
    arrivals = steady(8_000_000, 1500, 0, 4 * SECOND) + steady(8_000_000, 500, 1, 4 * SECOND)
    first, second = rates(departures(hfsc, arrivals, 4 * SECOND), 2, SECOND, 4 * SECOND)
    assert first == pytest.approx(1_000_000, rel=0.01)
    assert second == pytest.approx(3_000_000, rel=0.01)


@pytest.mark.parametrize("tick", [None, TICK])
def test_what_one_leaves_the_other_gets(tick: int | None) -> None:
    hfsc = _flat([3_000_000, 1_000_000], [None, None], [None, None], 4_000_000, tick)
    arrivals = steady(500_000, 1000, 0, 4 * SECOND) + steady(8_000_000, 1500, 1, 4 * SECOND)
    first, second = rates(departures(hfsc, arrivals, 4 * SECOND), 2, SECOND, 4 * SECOND)
    assert first == pytest.approx(500_000, rel=0.02)
    assert second == pytest.approx(3_500_000, rel=0.02)


def test_an_upper_limit_holds_though_the_line_is_idle() -> None:
    hfsc = _flat([1_000_000, 1_000_000], [None, None], [500_000, None], 4_000_000, None)
    left = departures(hfsc, steady(4_000_000, 1000, 0, 4 * SECOND), 4 * SECOND)
    assert rates(left, 2, SECOND, 4 * SECOND)[0] == pytest.approx(500_000, rel=0.01)


def test_realtime_goes_before_everything_and_above_an_upper_limit() -> None:
    hfsc = _flat([100_000, 3_000_000], [straight(2_000_000), None], [500_000, None], 4_000_000, None)
    arrivals = steady(3_000_000, 500, 0, 4 * SECOND) + steady(8_000_000, 1500, 1, 4 * SECOND)
    first, _ = rates(departures(hfsc, arrivals, 4 * SECOND), 2, SECOND, 4 * SECOND)
    assert first == pytest.approx(2_000_000, rel=0.02)


def test_a_burst_at_the_beginning_shortens_the_wait() -> None:
    # A lone packet of 160 bytes every 20 ms: with (1 Mbit/s for 10 ms) its deadline is 1.3 ms after it came, with 64 kbit/s it is 20 ms.
    def deadline(line: ServiceLine) -> int:
        hfsc = _flat([1_000_000, 3_000_000], [line, None], [None, None], 4_000_000, None)
        hfsc.enqueue(0, packet(160))
        return hfsc.leaves[0].deadline

    assert deadline(ServiceLine(1_000_000, 10 * MS, 64_000)) == 1_280_000
    assert deadline(straight(64_000)) == 20 * MS


@settings(max_examples=25, deadline=None)
@given(
    guarantee=st.integers(200_000, 1_500_000), size=st.integers(60, 1500), other=st.integers(60, 1500), seed=st.integers(0, 50),
)
def test_a_realtime_curve_is_missed_by_one_packet_of_the_line_at_most(guarantee: int, size: int, other: int, seed: int) -> None:
    """Theorem 1 of the paper: by its deadline and the time of one largest packet, everything that the curve promised has left."""
    rate, until = 2_000_000, SECOND
    root = HfscClass(None, None, None, None, None)
    leaves = [HfscClass(root, straight(guarantee), straight(1000), None, Fifo(10_000)), HfscClass(root, None, straight(rate), None, Fifo(10_000))]
    hfsc = Hfsc(root, leaves, None)
    begin = seed * MS
    arrivals = sorted(
        [(begin, packet(size, 0)) for _ in range(40)] + [(0, packet(other, 1)) for _ in range(400)], key=lambda item: item[0],
    )
    # An interface of this very rate: it takes a packet when the last one has gone.
    now, served, index = 0, 0, 0
    while now < until and (hfsc.waiting() or index < len(arrivals)):
        while index < len(arrivals) and arrivals[index][0] <= now:
            hfsc.enqueue(*arrivals[index])
            index += 1
        taken = hfsc.dequeue(now)
        if taken is None:
            now = arrivals[index][0] if index < len(arrivals) else until
            continue
        now += taken[7] * 8 * SECOND // rate
        if taken[1] == 0:
            served += size
            due = begin + served * 8 * SECOND // guarantee
            assert now <= due + max(size, other) * 8 * SECOND // rate + 1000
    assert served == 40 * size or now >= until


@settings(max_examples=40, deadline=None)
@given(arrivals=st.lists(st.tuples(st.integers(0, 2), st.integers(40, 1500), st.integers(0, 20)), max_size=80), tick=st.sampled_from([None, TICK]))
def test_without_upper_limits_it_never_holds_anything_back(arrivals: list[tuple[int, int, int]], tick: int | None) -> None:
    root = HfscClass(None, None, None, None, None)
    inner = HfscClass(root, None, straight(2_000_000), None, None)
    leaves = [
        HfscClass(inner, straight(300_000), straight(1_000_000), None, Fifo(1000)), HfscClass(inner, None, straight(1_000_000), None, Fifo(1000)),
        HfscClass(root, ServiceLine(800_000, 10 * MS, 100_000), straight(500_000), None, Fifo(1000)),
    ]
    hfsc, now, taken = Hfsc(root, leaves, tick), 0, 0
    for label, size, wait in arrivals:
        now += wait * MS
        hfsc.enqueue(now, packet(size, label))
        if wait % 2:
            assert hfsc.dequeue(now) is not None
            taken += 1
    while hfsc.waiting():
        now += MS
        assert hfsc.dequeue(now) is not None
        taken += 1
    assert taken == len(arrivals)
    assert hfsc.dequeue(now) is None
    assert not root.active_children
    assert not hfsc.eligible
