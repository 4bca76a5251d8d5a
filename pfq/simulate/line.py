"""A line: first in, first out, at a rate, in cells or frames, behind a buffer, with a delay.

When a packet comes in, it is known when it will be out: one event carries it to the far end.
"""

from collections import deque
from heapq import heappush

from pfq.simulate.events import Events
from pfq.simulate.packet import Deliver, Packet
from pfq.site.encapsulation import Encapsulation


class _Times(dict[int, int]):
    """Nanoseconds (rounded up) on the line for an IP packet of so many bytes, computed once a size."""

    def __init__(self, encapsulation: Encapsulation, rate: int) -> None:
        super().__init__()
        self.encapsulation = encapsulation
        self.rate = rate

    def __missing__(self, size: int) -> int:
        self[size] = time = -(-self.encapsulation.line_bytes(size) * 8_000_000_000 // self.rate)
        return time


class Line:
    """`rate` bit/s; `delay` ns from the last bit sent to its arrival; the buffer holds `packets` (the one being sent not counted)
    or, if that is None, `buffer` bytes of the line. `deliver`: what stands at the far end; None: the packet's own sink.

    A packet that does not fit is dropped (tail drop).
    """

    __slots__ = ("buffer", "delay", "deliver", "departures", "drops", "events", "free", "packets", "rate", "room", "sent", "times")

    def __init__(
        self, events: Events, rate: int, encapsulation: Encapsulation, delay: int, packets: int | None, buffer: int = 0, deliver: Deliver | None = None
    ) -> None:
        self.events = events
        self.rate = rate
        self.times = _Times(encapsulation, rate)
        self.delay = delay
        self.packets = packets
        self.buffer = buffer
        self.room = buffer * 8_000_000_000 // rate
        self.deliver = deliver
        self.departures: deque[int] = deque()
        self.free = 0
        self.drops = 0
        self.sent = 0

    def send(self, now: int, packet: Packet) -> None:
        free = self.free
        time = self.times[packet[0]]
        if free > now:
            if self.packets is None:
                # The bytes that wait, the one being sent not counted in full: what is left of it is on its way.
                if free - now + time > self.room:
                    self.drops += 1
                    return
            else:
                departures = self.departures
                while departures and departures[0] <= now:
                    departures.popleft()
                if len(departures) > self.packets:
                    self.drops += 1
                    return
                departures.append(free + time)
            free += time
        else:
            free = now + time
            if self.packets is not None:
                self.departures.clear()
                self.departures.append(free)
        self.free = free
        self.sent += 1
        events = self.events
        heappush(events.heap, (free + self.delay, next(events.order), self.deliver or packet[3], packet))

    def backlog(self, now: int) -> int:
        """Bytes of the line that are waiting or being sent."""
        return max(0, self.free - now) * self.rate // 8_000_000_000
