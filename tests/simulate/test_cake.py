"""CAKE against schedules computed by hand from sch_cake.c, and its laws."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfq.simulate.packet import CAPABLE, ECHO, EXPERIENCED, SECOND, Packet
from pfq.simulate.schedulers.cake import TIN_ORDER, AckFilter, Cake, CakeKind, CakeLeaf, Fairness, Tins
from pfq.simulate.schedulers.cake_flows import BULK, HOST_SHIFT, FlowTable
from pfq.simulate.schedulers.cobalt import _INVERSE, Cobalt, cobalt_numbers
from tests.simulate.driving import departures, packet, rates, steady

MS = SECOND // 1000


def _cake(
    rate: int = 8_000_000, tins: Tins = "besteffort", fairness: Fairness = "flows", ack_filter: AckFilter = "no-ack-filter", ingress: bool = False,
    classes: int = 1,
) -> Cake:
    return Cake(CakeKind(rate, 1514, tins, fairness, ack_filter, ingress), list(TIN_ORDER[tins])[-classes:], Random(1))


def _ack(number: int, blocks: tuple[tuple[int, int], ...] = (), marks: int = 0, echoed: int = 0) -> Packet:
    return [52, 0, 1, None, number, echoed, blocks, 52, 0, marks]


def _numbers(cake: Cake) -> list[int]:
    cake.time_next = cake.failsafe = 0
    found = []
    for now in range(0, 100 * MS, MS):
        item = cake.dequeue(now)
        if item is not None:
            found.append(item[4])
    return found


def test_the_shaper_has_no_burst() -> None:
    # 1000 bytes at 8 Mbit/s take 1 ms; an hour of silence earns nothing.
    left = departures(_cake(), [(3600 * SECOND, packet(1000)) for _ in range(4)], 3601 * SECOND)
    assert [time - 3600 * SECOND for time, _ in left] == [0, MS, 2 * MS, 3 * MS]


def test_the_shaper_holds_its_rate() -> None:
    left = departures(_cake(5_000_000), steady(9_000_000, 700, 0, 3 * SECOND), 3 * SECOND)
    assert rates(left, 1, SECOND, 3 * SECOND)[0] == pytest.approx(5_000_000, rel=0.002)


def test_drops_of_an_ingress_shaper_cost_time_but_not_for_ever() -> None:
    # A drop pushes the schedule on like a packet; the failsafe, half again as late, is pushed on by packets only.
    plain, ingress = _cake(1_000_000), _cake(1_000_000, ingress=True)
    found = []
    for cake in (plain, ingress):
        left = departures(cake, steady(1_300_000, 1000, 0, 20 * SECOND), 20 * SECOND)
        found.append(rates(left, 1, 10 * SECOND, 20 * SECOND)[0])
    assert found[0] == pytest.approx(1_000_000, rel=0.01)
    assert 1_000_000 / 1.5 * 0.99 < found[1] < 0.9 * found[0]


def test_tins_are_in_the_kernels_order_and_have_its_parts_of_the_rate() -> None:
    cake = _cake(16_000_000, "diffserv4", classes=4)
    # 1:1 bulk, 1:2 best effort, 1:3 video, 1:4 voice.
    assert [tin.costs.rate for tin in cake.classes] == [1_000_000, 16_000_000, 8_000_000, 4_000_000]
    # rate >> 12 of bytes a second, 300 to 1514.
    assert [tin.quantum for tin in cake.classes] == [300, 488, 300, 300]


def _shares(voice: int, best: int) -> list[float]:
    cake = Cake(CakeKind(8_000_000, 1514, "diffserv4", "flows"), [3, 0], Random(1))
    arrivals = steady(voice, 200, 0, 5 * SECOND, key=1) + steady(best, 1000, 1, 5 * SECOND, key=2)
    left = departures(cake, arrivals, 5 * SECOND)
    return rates(left, 2, 2 * SECOND, 5 * SECOND)


def test_voice_goes_first_up_to_a_quarter_of_the_rate() -> None:
    voice, best = _shares(1_500_000, 12_000_000)
    assert voice == pytest.approx(1_500_000, rel=0.01)
    assert best == pytest.approx(6_500_000, rel=0.01)


def test_above_its_quarter_voice_waits_for_its_schedule() -> None:
    # Best effort never gets its whole rate, so it is always behind its schedule, and voice goes first only when its own time has come.
    voice, best = _shares(12_000_000, 12_000_000)
    assert voice == pytest.approx(2_000_000, rel=0.02)
    assert best == pytest.approx(6_000_000, rel=0.02)


def _hosts(fairness: Fairness) -> float:
    """What five flows of one host get, over what one flow of another gets."""
    cake = _cake(fairness=fairness)
    keys = [(1 << HOST_SHIFT) + flow for flow in range(1, 6)] + [(2 << HOST_SHIFT) + 6]
    arrivals = [item for key in keys for item in steady(6_000_000, 1000, 0, 4 * SECOND, key=key)]
    sums = {1: 0, 2: 0}
    for time, item in departures(cake, arrivals, 4 * SECOND):
        if time >= SECOND:
            sums[item[2] >> HOST_SHIFT] += item[7]
    return sums[1] / sums[2]


@pytest.mark.parametrize(("fairness", "wanted"), [("flows", 5.0), ("triple-isolate", 1.0), ("dual-srchost", 1.0)])
def test_hosts_or_flows_share(fairness: Fairness, wanted: float) -> None:
    assert _hosts(fairness) == pytest.approx(wanted, rel=0.03)


def test_without_flows_the_first_in_is_the_first_out() -> None:
    cake = _cake(fairness="flowblind")
    left = departures(cake, [(0, packet(500, key=key)) for key in (1, 1, 1, 2, 3, 1)], SECOND)
    assert [item[2] for _, item in left] == [1, 1, 1, 2, 3, 1]


def test_a_new_flow_goes_before_those_with_a_backlog() -> None:
    cake = _cake()
    arrivals = [(0, packet(1400, key=1)) for _ in range(20)] + [(5 * MS, packet(100, key=2))]
    left = departures(cake, arrivals, SECOND)
    # The packet that is being sent at 5 ms has left at 4.2; the next moment is 5.6 ms.
    assert next(time for time, item in left if item[2] == 2) == 5_600_000


def test_of_three_empty_acks_the_first_is_needless() -> None:
    cake = _cake(8_000_000, ack_filter="ack-filter")
    for number in range(1, 7):
        cake.enqueue(0, _ack(number))
    # Two always stay: one alone might be the last of an exchange.
    assert _numbers(cake) == [5, 6]
    assert cake.classes[0].drops == 4


def test_acks_with_news_stay() -> None:
    cake = _cake(ack_filter="ack-filter")
    # The first tells of a hole, the second of the change of the ECN echo; of those after it the first goes.
    for item in (_ack(1, ((5, 9),)), _ack(2), _ack(3, (), ECHO), _ack(4, (), ECHO), _ack(5, (), ECHO)):
        cake.enqueue(0, item)
    assert _numbers(cake) == [1, 2, 4, 5]


def test_acks_with_an_older_echo_of_time_go_only() -> None:
    cake = _cake(ack_filter="ack-filter")
    for number, echoed in ((1, 9), (2, 5), (3, 7)):
        cake.enqueue(0, _ack(number, echoed=echoed))
    assert _numbers(cake) == [1, 2, 3]


def test_the_aggressive_filter_leaves_the_last_ack_only() -> None:
    leaf = CakeLeaf(CakeKind(None, 1514, "besteffort", "flows", "ack-filter-aggressive"), 3, Random(1))
    for number in range(1, 6):
        item = _ack(number)
        item[1] = 2
        leaf.enqueue(0, item)
    assert (leaf.count, leaf.drops) == (1, 4)
    assert leaf.peek(0) is leaf.peek(0)
    assert leaf.count == 1
    assert leaf.dequeue(0)[4] == 5  # type: ignore[index]
    assert (leaf.count, leaf.memory) == (0, 0)


def test_without_a_rate_everything_leaves_at_once() -> None:
    leaf = CakeLeaf(CakeKind(None, 1514, "besteffort", "flows"), 1, Random(1))
    left = departures(leaf, [(5, packet(1000, key=key)) for key in (1, 1, 2)], SECOND)
    assert [(time, item[2]) for time, item in left] == [(5, 1), (5, 1), (5, 2)]


def test_data_is_no_ack() -> None:
    cake = _cake(ack_filter="ack-filter")
    for number in range(5):
        cake.enqueue(0, [1500, 0, 1, None, number, 0, None, 1500, 0, 0])
    assert cake.count == 5


def test_the_square_roots_are_the_kernels() -> None:
    for count in range(1, 16):
        assert _INVERSE[count] / 2**32 == pytest.approx(count**-0.5, rel=0.02)


def test_the_numbers_of_a_slow_tin() -> None:
    # 1514 bytes at 128 kbit/s take 94.6 ms: the target is one and a half of that, the interval twice the target at least.
    numbers = cobalt_numbers(128_000, 1514)
    assert (numbers.mtu_time, numbers.target, numbers.interval) == (94_625_000, 141_937_500, 283_875_000)
    fast = cobalt_numbers(100_000_000, 1514)
    assert (fast.target, fast.interval) == (5 * MS, 100 * MS)


def _late(count: int, marks: int = 0) -> tuple[list[int], list[Packet]]:
    """When of `count` ms in which each packet has waited for 50 ms one is dropped, once the flow has been at rest; and the packets."""
    cobalt, numbers, random = Cobalt(), cobalt_numbers(100_000_000, 1514), Random(1)
    cobalt.inverse = _INVERSE[0]
    fresh = packet(1000)
    fresh[8] = SECOND
    assert not cobalt.drops(SECOND, fresh, 0, numbers, random)
    dropped, seen = [], []
    for now in range(SECOND, SECOND + count * MS, MS):
        item = packet(1000)
        item[8], item[9] = now - 50 * MS, marks
        seen.append(item)
        if cobalt.drops(now, item, 0, numbers, random):
            dropped.append((now - SECOND) // MS)
    return dropped, seen


def test_cobalt_waits_an_interval_and_drops_ever_faster() -> None:
    times, _ = _late(600)
    gaps = [after - before for before, after in pairwise(times)]
    # 100 ms over the square roots of 2, 3, 4, ..., to a millisecond.
    assert times[0] == pytest.approx(100, abs=1)
    assert gaps[:4] == [pytest.approx(100 / root**0.5, abs=2) for root in (2, 3, 4, 5)]


def test_cobalt_marks_what_can_be_marked() -> None:
    times, seen = _late(600, CAPABLE)
    assert not times
    assert 5 < sum(bool(item[9] & EXPERIENCED) for item in seen) < 20


def test_eight_ways_keep_flows_apart_that_one_hash_would_not() -> None:
    table = FlowTable(2, False, 7)
    found = {}
    for key in range(1, 301):
        found[key] = table.find(key)
        found[key].stand = BULK
    assert len({id(flow) for flow in found.values()}) == 300
    assert all(table.find(key) is flow for key, flow in found.items())


@settings(max_examples=60, deadline=None)
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4), st.integers(40, 1500), st.integers(0, 3000)), min_size=1, max_size=200),
    fairness=st.sampled_from(["flowblind", "flows", "dual-dsthost", "triple-isolate"]), ingress=st.booleans(),
)
def test_every_packet_leaves_or_is_dropped(arrivals: list[tuple[int, int, int, int]], fairness: Fairness, ingress: bool) -> None:
    cake = Cake(CakeKind(2_000_000, 1514, "diffserv4", fairness, "ack-filter", ingress), [3, 0], Random(1))
    cake.most_memory = 40_000
    now, planned = 0, []
    for label, key, size, wait in arrivals:
        now += wait * 1000
        planned.append((now, [size, label, (key << HOST_SHIFT) + key, None, 0, 0, () if size < 90 else None, size, 0, 0]))
    left = departures(cake, planned, 1000 * SECOND)
    assert len(left) + sum(tin.drops for tin in cake.tins) == len(arrivals)
    assert (cake.count, cake.memory) == (0, 0)
    # Who counts as bulk is counted for the tin and for the hosts of both sides alike.
    for tin in cake.tins:
        bulk = sum(flow is not None and flow.stand == BULK for flow in tin.table.flows)
        assert [tin.bulk, *map(sum, tin.table.bulk)] == [bulk] * (1 + tin.table.sides)
    # One after the other, each after the time that the one before takes.
    for (first, item), (second, _) in pairwise(left):
        assert second >= first + item[7] * 8 * SECOND // 2_000_000
