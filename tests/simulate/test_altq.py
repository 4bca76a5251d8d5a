"""ALTQ's token bucket, priq and cbq, against schedules computed by hand from altq_subr.c, altq_priq.c and altq_rmclass.c."""

import pytest

from pfq.simulate.packet import SECOND
from pfq.simulate.queues import Queue
from pfq.simulate.schedulers.cbq import Cbq, CbqClass
from pfq.simulate.schedulers.fifo import Fifo, HeadDrop
from pfq.simulate.schedulers.strict import Strict
from pfq.simulate.schedulers.tokens import TokenBucket
from tests.simulate.driving import departures, packet, rates, steady

MS = SECOND // 1000


def _priq(limits: list[int], rate: int, depth: int, hz: int = 100) -> TokenBucket:
    queues: list[Queue] = [Fifo(limit) for limit in limits]
    return TokenBucket(Strict(queues, list(range(len(limits)))), rate, depth, hz)


def test_the_bucket_lets_a_burst_and_one_packet_through_then_repays_at_ticks() -> None:
    # 100 kbit/s, 1500 bytes deep: the first packet empties the bucket to 0, nothing is above 0, so the second must wait for a token:
    # at the first tick there are 125 bytes. It leaves a debt of 1375 bytes, which takes 110 ms: 11 ticks, and at 0 it is not yet
    # above 0, so the third goes at the tick after.
    bucket = _priq([10], 100_000, 1500)
    left = departures(bucket, [(0, packet(1500)) for _ in range(3)], SECOND)
    assert [time for time, _ in left] == [0, 10 * MS, 130 * MS]


def test_a_deep_bucket_sends_depth_and_one_packet_at_once() -> None:
    bucket = _priq([20], 1_000_000, 4000)
    left = departures(bucket, [(0, packet(1500)) for _ in range(10)], 5 * MS)
    # 4000, 2500, 1000 are above 0, -500 is not.
    assert len(left) == 3


def test_the_bucket_holds_its_rate_whatever_the_clock() -> None:
    for hz in (100, 1000):
        bucket = _priq([50], 2_000_000, 6000, hz)
        left = departures(bucket, steady(4_000_000, 1500, 0, 5 * SECOND), 5 * SECOND)
        assert rates(left, 1, SECOND, 5 * SECOND)[0] == pytest.approx(2_000_000, rel=0.01)


def test_a_shallow_bucket_and_a_slow_clock_cap_the_rate() -> None:
    # Arrivals come rarely enough that the clock alone asks: depth and a packet each tick of 10 ms, not 10 Mbit/s.
    bucket = _priq([1000], 10_000_000, 1500, 100)
    left = departures(bucket, [(0, packet(1500)) for _ in range(900)], SECOND)
    assert rates(left, 1, 0, SECOND)[0] == pytest.approx(1500 * 8 * 100 * 1, rel=0.02)


def test_priq_serves_the_first_class_first_and_starves_the_last() -> None:
    bucket = _priq([50, 50], 1_000_000, 1500)
    arrivals = steady(1_200_000, 1000, 0, 2 * SECOND) + steady(500_000, 1000, 1, 2 * SECOND)
    high, low = rates(departures(bucket, arrivals, 2 * SECOND), 2, SECOND, 2 * SECOND)
    assert high == pytest.approx(1_000_000, rel=0.01)
    assert low == 0


def test_priq_drops_what_finds_its_queue_full() -> None:
    queue = Fifo(2)
    assert [queue.enqueue(0, packet(100, key=key)) for key in range(3)] == [True, True, False]
    assert [queue.dequeue(0)[2] for _ in range(2)] == [0, 1]  # type: ignore[index]
    assert queue.dequeue(0) is None


def test_cbq_drops_the_oldest() -> None:
    queue = HeadDrop(2)
    assert [queue.enqueue(0, packet(100, key=key)) for key in range(3)] == [True, True, False]
    assert [queue.dequeue(0)[2] for _ in range(2)] == [1, 2]  # type: ignore[index]


def _cbq(shares: list[int], priorities: list[int], borrow: list[bool], rate: int = 10_000_000, tick: int = 1000) -> TokenBucket:
    root = CbqClass(None, rate, rate, 1500, 0, False, None)
    leaves = [
        CbqClass(root, share, rate, 1500, priority, may, Fifo(50)) for share, priority, may in zip(shares, priorities, borrow, strict=True)
    ]
    return TokenBucket(Cbq([root, *leaves], leaves, rate, 1500, tick), rate, 12_000, 1_000_000 // tick)


def test_a_cbq_class_that_may_not_borrow_stays_near_its_rate() -> None:
    left = departures(_cbq([2_000_000], [1], [False]), steady(9_000_000, 1500, 0, 5 * SECOND), 5 * SECOND)
    assert rates(left, 1, SECOND, 5 * SECOND)[0] == pytest.approx(2_000_000, rel=0.15)


def test_a_cbq_class_that_borrows_takes_what_is_left() -> None:
    left = departures(_cbq([2_000_000, 8_000_000], [1, 1], [True, True]), steady(12_000_000, 1500, 0, 5 * SECOND), 5 * SECOND)
    assert rates(left, 1, SECOND, 5 * SECOND)[0] > 9_000_000


def test_cbq_classes_of_one_priority_share_by_weight() -> None:
    arrivals = steady(9_000_000, 1500, 0, 5 * SECOND) + steady(9_000_000, 1500, 1, 5 * SECOND)
    first, second = rates(departures(_cbq([2_500_000, 7_500_000], [1, 1], [True, True]), arrivals, 5 * SECOND), 2, SECOND, 5 * SECOND)
    assert first / second == pytest.approx(1 / 3, rel=0.15)
    assert first + second == pytest.approx(10_000_000, rel=0.03)


def test_cbq_serves_a_higher_priority_first() -> None:
    arrivals = steady(6_000_000, 1500, 0, 3 * SECOND) + steady(9_000_000, 1500, 1, 3 * SECOND)
    high, low = rates(departures(_cbq([7_000_000, 3_000_000], [7, 1], [True, True]), arrivals, 3 * SECOND), 2, SECOND, 3 * SECOND)
    assert high == pytest.approx(6_000_000, rel=0.03)
    assert low == pytest.approx(4_000_000, rel=0.05)
