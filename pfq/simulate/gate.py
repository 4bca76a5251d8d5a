"""Where packets leave a gateway: a discipline, tried when a packet comes in and when the discipline says it may be worth it."""

from heapq import heappush
from typing import Protocol

from pfq.simulate.events import Events
from pfq.simulate.packet import Deliver, Packet


class Discipline(Protocol):
    def enqueue(self, now: int, packet: Packet) -> bool:
        """Whether the packet was taken."""

    def dequeue(self, now: int) -> Packet | None: ...

    def wake(self, now: int) -> int | None: ...

    def waiting(self) -> int:
        """Packets that wait."""


class Lengths(dict[int, int]):
    """Bytes that a rate counts for an IP packet of so many bytes; `count` computes them, once a size."""

    def __init__(self, added: int, cells: int = 0, minimum: int = 0) -> None:
        super().__init__()
        self.added = added
        self.cells = cells
        self.minimum = minimum

    def __missing__(self, size: int) -> int:
        frame = max(size + self.added, self.minimum)
        self[size] = frame = -(-frame // 48) * 53 if self.cells else frame
        return frame


class Gate:
    """A discipline on an interface that is never the bottleneck itself: whatever the discipline gives is sent at once.

    Packets of no class (index None: not the link's, or excluded) pass by.
    """

    __slots__ = ("dequeue", "discipline", "enqueue", "events", "forward", "lengths", "next", "wake", "waking")

    def __init__(self, events: Events, discipline: Discipline, lengths: Lengths, forward: Deliver | None) -> None:
        self.events = events
        self.discipline = discipline
        self.enqueue = discipline.enqueue
        self.dequeue = discipline.dequeue
        self.next = discipline.wake
        self.wake = self._wake
        self.lengths = lengths
        self.forward = forward
        self.waking = -1

    def send(self, now: int, packet: Packet) -> None:
        if packet[1] is None:
            (self.forward or packet[3])(now, packet)
            return
        packet[7] = self.lengths[packet[0]]
        if self.enqueue(now, packet):
            self.pump(now)

    def pump(self, now: int) -> None:
        """Sends what the discipline gives, and asks when to come again."""
        dequeue, forward = self.dequeue, self.forward
        while (packet := dequeue(now)) is not None:
            if forward is None:
                packet[3](now, packet)
            else:
                forward(now, packet)
        wake = self.next(now)
        if wake is not None and (wake < self.waking or self.waking <= now):
            self.waking = wake
            events = self.events
            heappush(events.heap, (wake, next(events.order), self.wake, wake))

    def _wake(self, now: int, made_for: int) -> None:
        if made_for == self.waking:
            self.pump(now)
