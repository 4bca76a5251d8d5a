"""Where packets leave a gateway: a discipline, tried when a packet comes in and when the discipline says it may be worth it."""

from heapq import heappush
from typing import Protocol

from pfq.simulate.events import Events
from pfq.simulate.packet import NEVER, Deliver, Packet


class Discipline(Protocol):
    __slots__ = ()

    def enqueue(self, now: int, packet: Packet) -> bool:
        """Whether the packet was taken."""

    def dequeue(self, now: int) -> Packet | None: ...

    def wake(self, now: int) -> int | None: ...

    def waiting(self) -> int:
        """Packets that wait."""

    def drain(self, now: int, forward: Deliver | None) -> int:
        """Sends everything that may leave now (to each packet's own sink, if `forward` is None); returns when to come again, NEVER if not at all."""
        dequeue = self.dequeue
        while (packet := dequeue(now)) is not None:
            (forward or packet[3])(now, packet)
        wake = self.wake(now)
        return NEVER if wake is None else wake


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

    __slots__ = ("discipline", "drain", "enqueue", "events", "forward", "lengths", "wake", "waking")

    def __init__(self, events: Events, discipline: Discipline, lengths: Lengths, forward: Deliver | None) -> None:
        self.events = events
        self.discipline = discipline
        # Bound once: each is called for every packet.
        self.enqueue, self.drain, self.wake = discipline.enqueue, discipline.drain, self._wake
        self.lengths = lengths
        self.forward = forward
        self.waking = -1

    def send(self, now: int, packet: Packet) -> None:
        if packet[1] is None:
            (self.forward or packet[3])(now, packet)
            return
        packet[7] = self.lengths[packet[0]]
        if self.enqueue(now, packet):
            wake = self.drain(now, self.forward)
            if wake < self.waking or (self.waking <= now and wake < NEVER):
                self.waking = wake
                events = self.events
                heappush(events.heap, (wake, next(events.order), self.wake, wake))

    def _wake(self, now: int, made_for: int) -> None:
        """The time has come that the discipline named; it may have named an earlier one since."""
        if made_for == self.waking:
            wake = self.drain(now, self.forward)
            if wake < NEVER:
                self.waking = wake
                events = self.events
                heappush(events.heap, (wake, next(events.order), self.wake, wake))
