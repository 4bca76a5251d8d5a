"""Drives a discipline with packets of a fixed size per class, without a network around it."""

from heapq import heapify, heappop, heappush

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import SECOND, Packet


def packet(size: int, label: int = 0, key: int = 0) -> Packet:
    """A packet whose counted length is its size."""
    return [size, label, key, None, 0, 0, None, size, 0, 0]


def departures(discipline: Discipline, arrivals: list[tuple[int, Packet]], until: int) -> list[tuple[int, Packet]]:
    """(time, packet) of everything that leaves an interface of endless speed before `until` (ns)."""
    events: list[tuple[int, int, Packet | None]] = [(time, order, item) for order, (time, item) in enumerate(arrivals)]
    heapify(events)
    left: list[tuple[int, Packet]] = []
    order, planned = len(events), -1
    while events and events[0][0] < until:
        now, _, item = heappop(events)
        if item is not None and not discipline.enqueue(now, item):
            continue
        while (given := discipline.dequeue(now)) is not None:
            left.append((now, given))
        wake = discipline.wake(now)
        if wake is not None and (planned <= now or wake < planned):
            planned, order = wake, order + 1
            heappush(events, (wake, order, None))
    return left


def steady(rate: int, size: int, label: int, until: int, key: int = 0) -> list[tuple[int, Packet]]:
    """Packets of `size` bytes at `rate` bit/s."""
    every = size * 8 * SECOND // rate
    return [(time, packet(size, label, key)) for time in range(0, until, every)]


def rates(left: list[tuple[int, Packet]], classes: int, since: int, until: int) -> list[float]:
    """Bit/s of each class between two times."""
    sums = [0] * classes
    for time, item in left:
        if since <= time < until:
            sums[item[1]] += item[7]
    return [total * 8 * SECOND / (until - since) for total in sums]
