"""The clock: events in the order of their time (integer nanoseconds), and of their making where the time is the same."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

Event = tuple[int, int, Callable[[int, Any], None], Any]


class _Reached(Exception):
    """The time to stop at is there."""


def _stop(_now: int, _nothing: Any) -> None:
    raise _Reached


class Events:
    """A heap of (time, order of making, function, argument); the function is called with (time, argument).

    Those who make an event a packet push on `heap` themselves, with `next(order)`: a call less for each packet.
    """

    __slots__ = ("done", "heap", "order")

    def __init__(self) -> None:
        self.heap: list[Event] = []
        self.order = count()
        self.done = 0

    def at(self, time: int, call: Callable[[int, Any], None], argument: Any = None) -> None:
        """Calls `call(time, argument)` at `time`, which must not be past."""
        heappush(self.heap, (time, next(self.order), call, argument))

    def run(self, until: int) -> None:
        """Handles everything before `until`. What happens at `until` itself stays for the next run."""
        heap, pop = self.heap, heappop
        # Orders count from 0: -1 comes before everything else of that time.
        heappush(heap, (until, -1, _stop, None))
        try:
            while True:
                time, _, call, argument = pop(heap)
                call(time, argument)
        except _Reached:
            pass
