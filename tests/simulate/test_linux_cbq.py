"""Linux's cbq against schedules computed by hand from sch_cbq.c and tc_cbq.c."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfq.simulate.packet import SECOND
from pfq.simulate.schedulers.fifo import Fifo
from pfq.simulate.schedulers.linux_cbq import LinuxCbq, LinuxCbqClass
from tests.simulate.driving import departures, packet, rates, steady

MS = SECOND // 1000
SPEED = 10_000_000


def _cbq(rows: list[tuple[int, int, int, bool]], rate: int = 1_000_000) -> LinuxCbq:
    """rows: (rate, priority, weight, bounded) of leaves below a class of `rate`, which is bounded and isolated."""
    device = LinuxCbqClass(None, SPEED, 7, 1500, SPEED // 8, True, True, None)
    top = LinuxCbqClass(device, rate, 7, 1500, rate // 80, True, True, None)
    leaves = [LinuxCbqClass(top, own, priority, 1500, weight, bounded, False, Fifo(50)) for own, priority, weight, bounded in rows]
    return LinuxCbq(device, [top, *leaves], leaves, SPEED, 1500)


def test_a_bounded_class_sends_two_at_once_and_then_at_its_rate() -> None:
    # 1000 bytes take 8 ms at 1 Mbit/s, 0.8 ms on the device. The first one finds the estimator at its most, 0.8 ms of idle time, and leaves it
    # there. The second brings it to 0.8 - 8 - 0.8/32 = -7.225 ms; its limit ends 7.2 + 8 ms later, but who sleeps is forgiven his debt.
    left = departures(_cbq([(1_000_000, 0, 1, True)]), [(SECOND, packet(1000)) for _ in range(6)], 2 * SECOND)
    assert [(time - SECOND) / MS for time, _ in left] == [0, 0, *(pytest.approx(8 * step, abs=0.05) for step in (1, 2, 3, 4))]


@pytest.mark.parametrize("rate", [200_000, 500_000, 900_000])
def test_a_bounded_class_keeps_its_rate(rate: int) -> None:
    left = departures(_cbq([(rate, 0, 1, True)]), steady(2_000_000, 1000, 0, 10 * SECOND), 10 * SECOND)
    assert rates(left, 1, 2 * SECOND, 10 * SECOND)[0] == pytest.approx(rate, rel=0.02)


def test_who_may_borrow_takes_what_the_class_above_has() -> None:
    left = departures(_cbq([(200_000, 0, 1, False), (800_000, 1, 1, False)]), steady(2_000_000, 1000, 0, 10 * SECOND), 10 * SECOND)
    assert rates(left, 2, 2 * SECOND, 10 * SECOND)[0] == pytest.approx(1_000_000, rel=0.02)


def test_the_class_above_is_bounded() -> None:
    arrivals = steady(2_000_000, 1000, 0, 10 * SECOND) + steady(2_000_000, 1000, 1, 10 * SECOND)
    found = rates(departures(_cbq([(200_000, 0, 1, False), (800_000, 1, 1, False)]), arrivals, 10 * SECOND), 2, 2 * SECOND, 10 * SECOND)
    assert sum(found) == pytest.approx(1_000_000, rel=0.1)


def test_within_a_priority_the_weights_decide() -> None:
    arrivals = steady(2_000_000, 1000, 0, 20 * SECOND) + steady(2_000_000, 1000, 1, 20 * SECOND)
    first, second = rates(departures(_cbq([(250_000, 0, 1, False), (750_000, 0, 3, False)]), arrivals, 20 * SECOND), 2, 4 * SECOND, 20 * SECOND)
    assert second / first == pytest.approx(3, rel=0.05)


def test_a_better_priority_goes_first() -> None:
    arrivals = steady(300_000, 100, 0, 5 * SECOND) + steady(2_000_000, 1000, 1, 5 * SECOND)
    left = departures(_cbq([(400_000, 0, 1, False), (600_000, 1, 1, False)]), arrivals, 5 * SECOND)
    assert rates(left, 2, SECOND, 5 * SECOND)[0] == pytest.approx(300_000, rel=0.02)


def test_a_small_packet_of_a_class_within_its_limit_makes_the_class_above_forget_its_debt() -> None:
    # The known weakness of the estimator: a full packet has just left, and its class must wait 12 ms; a small one of another class, sent halfway,
    # is charged with the idle time since, which makes the class above look idle, and the next full packet leaves at once.
    cbq = _cbq([(500_000, 0, 1, False), (500_000, 1, 1, False)])
    arrivals = [(SECOND, packet(1500, 1)) for _ in range(4)] + [(SECOND + 18 * MS, packet(40, 0))]
    left = [((time - SECOND) // MS, item[1]) for time, item in departures(cbq, arrivals, 2 * SECOND)]
    small = left.index((18, 0))
    assert left[small + 1] == (18, 1)


def test_a_class_that_is_found_empty_first_ends_the_round() -> None:
    # cbq_dequeue_prio: taking the first class out of the ring makes the last one look visited; nobody sets the watchdog for it.
    cbq = _cbq([(300_000, 0, 1, False), (300_000, 0, 1, False)])
    left = departures(cbq, [(0, packet(40, label)) for label in (0, 0, 1, 1)], SECOND)
    assert [item[1] for _, item in left] == [0, 1, 0]
    assert cbq.wake(SECOND) is None
    assert cbq.dequeue(SECOND) is not None


@settings(max_examples=60, deadline=None)
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 2), st.integers(40, 1500), st.integers(0, 20_000)), min_size=1, max_size=120),
    priorities=st.tuples(*[st.integers(0, 1)] * 3), bounded=st.tuples(*[st.booleans()] * 3),
)
def test_every_packet_that_was_taken_leaves(
    arrivals: list[tuple[int, int, int]], priorities: tuple[int, int, int], bounded: tuple[bool, bool, bool]
) -> None:
    cbq = _cbq([(300_000, priority, 1 + index, may) for index, (priority, may) in enumerate(zip(priorities, bounded, strict=True))])
    now, planned = 0, []
    for label, size, wait in arrivals:
        now += wait * 1000
        planned.append((now, packet(size, label)))
    count = len(departures(cbq, planned, 1000 * SECOND))
    # A class that is found empty can end a round: then the others wait until somebody asks again.
    for step in range(3 * len(arrivals)):
        count += cbq.dequeue((1000 + step) * SECOND) is not None
    assert count + sum(queue.drops for queue in cbq.queues) == len(arrivals)
    assert not cbq.waiting()
    assert not any(cbq.active)
