"""fq_codel, sfq, codel, red, the policer and OpenBSD's eight lists, by hand and by their laws."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.simulate.gate import Lengths
from pfq.simulate.packet import CAPABLE, EXPERIENCED, SECOND, Packet
from pfq.simulate.queues import Queue
from pfq.simulate.schedulers.codel import Codel, CodelState
from pfq.simulate.schedulers.fifo import Fifo
from pfq.simulate.schedulers.fq_codel import FqCodel, bucket
from pfq.simulate.schedulers.openbsd_prio import EightLists
from pfq.simulate.schedulers.policer import Policer
from pfq.simulate.schedulers.red import Red
from pfq.simulate.schedulers.sfq import Sfq
from pfq.simulate.schedulers.strict import Strict
from tests.simulate.driving import packet

MS = SECOND // 1000
TARGET, INTERVAL = 5 * MS, 100 * MS


def _fq(limit: int = 1000, quantum: int = 1500, batch: int = 64) -> FqCodel:
    return FqCodel(limit, quantum, TARGET, INTERVAL, 1500, 0, batch)


def _keys(queue: Queue, now: int = 0) -> list[int]:
    found = []
    while (item := queue.dequeue(now)) is not None:
        found.append(item[2])
    return found


def test_fq_codel_serves_new_flows_before_old_ones() -> None:
    queue = _fq()
    for _ in range(4):
        queue.enqueue(0, packet(1500, key=1))
    assert queue.dequeue(0)[2] == 1  # type: ignore[index]
    queue.enqueue(0, packet(100, key=2))
    # Flow 1 has used its quantum; flow 2 is new.
    assert _keys(queue) == [2, 1, 1, 1]


def test_fq_codel_shares_bytes_not_packets() -> None:
    queue = _fq()
    for _ in range(30):
        queue.enqueue(0, packet(1500, key=1))
    for _ in range(300):
        queue.enqueue(0, packet(150, key=2))
    sums = {1: 0, 2: 0}
    for _ in range(110):
        taken = queue.dequeue(0)
        assert taken is not None
        sums[taken[2]] += taken[7]
    assert abs(sums[1] - sums[2]) <= 1500 + 150


def test_fq_codel_that_is_full_drops_from_the_fattest_flow() -> None:
    queue = _fq(limit=10, batch=1)
    for _ in range(9):
        queue.enqueue(0, packet(1000, key=1))
    assert queue.enqueue(0, packet(100, key=2))
    assert queue.enqueue(0, packet(100, key=2))
    assert (queue.count, queue.drops) == (10, 1)
    assert sorted(_keys(queue)) == [1] * 8 + [2] * 2


def test_linux_drops_half_of_the_fattest_flow_at_once() -> None:
    queue = _fq(limit=10)
    for _ in range(11):
        queue.enqueue(0, packet(1000, key=1))
    # 11 packets are 11000 bytes, half of them 5500: six go.
    assert (queue.count, queue.drops) == (5, 6)


def test_codel_leaves_a_short_queue_alone() -> None:
    state = CodelState(TARGET, INTERVAL, 1500)
    for time in range(0, 1000 * MS, 10 * MS):
        state.put(time, packet(1500))
        assert state.take(time + TARGET - 1) is not None
    assert state.drops == 0


def test_codel_drops_after_an_interval_and_then_faster() -> None:
    # Packets always wait 50 ms. The first one seen late is at 0; dropping begins 100 ms later, the next drop comes 100 ms after that, then
    # 100/sqrt(2) ms, 100/sqrt(3) ms.
    state = CodelState(TARGET, INTERVAL, 1500)
    for time in range(-50 * MS, 800 * MS, MS):
        state.put(time, packet(1500))
    drops, at, now = 0, [], 0
    while now < 500 * MS:
        state.take(now)
        if state.drops > drops:
            drops = state.drops
            at.append(now // MS)
            # What was dropped shortens the queue; keep its head 50 ms old.
        while state.queue and now - state.queue[0][8] > 50 * MS:
            state.backlog -= state.queue.popleft()[7]
        now += MS
    assert at[:4] == [101, 201, 272, 330]


def test_codel_marks_what_it_would_drop() -> None:
    state, seen = CodelState(TARGET, INTERVAL, 1500, ecn=True), []
    for time in range(-50 * MS, 800 * MS, MS):
        item = packet(1500)
        item[9] = CAPABLE
        state.put(time, item)
    for now in range(0, 400 * MS, MS):
        taken = state.take(now)
        assert taken is not None
        seen.append(bool(taken[9] & EXPERIENCED))
    # Nothing is dropped, and marks come when drops would: 100 ms after the first late packet, then 100, 100/sqrt(2), 100/sqrt(3) ms later.
    assert state.drops == 0
    assert [index for index, marked in enumerate(seen) if marked] == [101, 201, 272, 330, 380]


def test_codel_with_one_packet_left_does_not_drop() -> None:
    queue = Codel(100, TARGET, INTERVAL, 1500)
    for time in range(0, 2000 * MS, 500 * MS):
        queue.enqueue(time, packet(1500))
        assert queue.dequeue(time + 400 * MS) is not None
    assert queue.drops == 0


def test_sfq_takes_turns_by_bytes() -> None:
    queue = Sfq(127, 1500, 0)
    for _ in range(10):
        queue.enqueue(0, packet(1500, key=1))
        queue.enqueue(0, packet(500, key=2))
    # A turn is 1500 bytes: one large packet, three small ones.
    assert _keys(queue)[:8] == [1, 2, 2, 2, 1, 2, 2, 2]


def test_sfq_drops_the_last_packet_of_the_longest_flow() -> None:
    queue = Sfq(4, 1500, 0)
    for size in (101, 102, 103):
        queue.enqueue(0, packet(size, key=1))
    queue.enqueue(0, packet(200, key=2))
    assert queue.enqueue(0, packet(201, key=2))
    sizes = []
    while (item := queue.dequeue(0)) is not None:
        sizes.append(item[0])
    assert sorted(sizes) == [101, 102, 200, 201]
    assert queue.drops == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(40, 1500)), max_size=300))
def test_no_packet_is_lost_or_made(arrivals: list[tuple[int, int]]) -> None:
    for queue in (_fq(limit=50), Sfq(50, 1500, 3), Codel(50, TARGET, INTERVAL, 1500), Fifo(50), Red("packets", 5, 15, 50, 0.1, 512, MS, Random(1))):
        given_back = 0
        for number, (key, size) in enumerate(arrivals):
            queue.enqueue(number * MS, packet(size, key=key))
            if number % 3 == 2:
                head = queue.peek(number * MS)
                taken = queue.dequeue(number * MS)
                assert taken is head
                given_back += taken is not None
        given_back += len(_keys(queue, len(arrivals) * MS))
        assert given_back + queue.drops == len(arrivals)
        assert queue.count == 0


def test_flows_share_a_bucket_as_rarely_as_chance_has_it() -> None:
    # 20 flows in 1024 buckets: 190 pairs, each with a chance of 1/1024, so 0.186 pairs a salt.
    pairs = sum(20 - len({bucket(key, salt * 7919, 1024) for key in range(20)}) for salt in range(2000)) / 2000
    assert pairs == pytest.approx(190 / 1024, rel=0.2)


def test_red_never_drops_below_its_lower_threshold_and_always_above_the_upper() -> None:
    red = Red("packets", 5, 15, 100, 0.1, 1, MS, Random(1))
    # With a weight of 1 the average is the length itself.
    taken = [red.enqueue(0, packet(100)) for _ in range(60)]
    assert all(taken[:5])
    assert red.count <= 15
    assert not any(taken[40:])


def test_red_marks_between_its_thresholds() -> None:
    for unit, most in (("packets", 15), ("bytes", 60)):
        size = 1 if unit == "packets" else 100
        red = Red(unit, 5 * size, 15 * size, 60 * size, 0.1, 1, MS, Random(1), ecn=True)
        for _ in range(100):
            item = packet(100)
            item[9] = CAPABLE
            red.enqueue(0, item)
        # ALTQ's drops above the upper threshold all the same; Linux's marks there too.
        assert red.count == most
        marked = [item[9] & EXPERIENCED for item in red.queue]
        assert not any(marked[:5])
        assert any(marked[5:15])


def test_red_spreads_its_drops() -> None:
    red = Red("packets", 5, 105, 1000, 0.1, 1, MS, Random(7))
    for _ in range(55):
        while not red.enqueue(0, packet(100)):
            pass
    gaps, gap = [], 0
    for _ in range(4000):
        gap += 1
        if not red.enqueue(0, packet(100)):
            gaps.append(gap)
            gap = 0
        else:
            red.dequeue(0)
    # Halfway between the thresholds the chance is 0.05; spread evenly, gaps are 1 to 20 long, 10.5 on average.
    assert max(gaps) <= 21
    assert sum(gaps) / len(gaps) == pytest.approx(10.5, rel=0.1)


def test_the_policer_passes_its_burst_and_then_its_rate() -> None:
    passed: list[int] = []

    def deliver(now: int, item: Packet) -> None:
        passed.append(now)

    policer = Policer(800_000, 10_000, Lengths(0), deliver)
    for _ in range(20):
        policer.send(0, packet(1000))
    assert (len(passed), policer.drops) == (10, 10)
    passed.clear()
    for time in range(0, SECOND, 5 * MS):
        policer.send(SECOND + time, packet(1000))
    # Full again (10000 bytes), and 100 packets a second.
    assert len(passed) == pytest.approx(110, abs=1)


def test_the_policer_lets_pass_what_is_not_the_links() -> None:
    passed: list[int] = []
    policer = Policer(8000, 1000, Lengths(0), lambda now, item: passed.append(now))
    for _ in range(5):
        policer.send(0, [1500, None, 0, None, 0, 0, None, 0, 0, 0])
    assert len(passed) == 5


def test_the_eight_lists_serve_the_highest_first_and_drop_the_oldest_of_the_lowest() -> None:
    lists = EightLists([7, 3, 0], 3)
    for size, label in ((1, 2), (2, 2), (3, 1)):
        assert lists.enqueue(0, packet(size, label))
    assert lists.enqueue(0, packet(4, 0))
    assert not lists.enqueue(0, packet(5, 2))
    order = []
    while (item := lists.dequeue(0)) is not None:
        order.append(item[0])
    assert order == [4, 3, 2]
    assert lists.drops == [0, 0, 2]


def test_bands_are_served_in_their_order() -> None:
    queues: list[Queue] = [Fifo(10), Fifo(10), Fifo(10)]
    strict = Strict(queues, [1, 2, 0])
    for label in (0, 1, 2, 0, 1):
        strict.enqueue(0, packet(100, label))
    order = []
    while (item := strict.dequeue(0)) is not None:
        order.append(item[1])
    assert order == [1, 1, 2, 0, 0]
