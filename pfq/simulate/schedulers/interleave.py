"""The other way to share a line, of the seed project on aggregation: a tunnel whose frames carry an equal part of every sender's bytes.

A packet has arrived when the frame with its last byte has. Nothing that a gateway's kernel has; it stands here to be compared with.
"""

from collections import deque
from heapq import heappush

from pfq.simulate.events import Events
from pfq.simulate.packet import SECOND, Packet

FRAME = 1500


class Interleave:
    """`rate` bit/s, `delay` ns; each sender (the packet's key) may have `limit` packets waiting."""

    __slots__ = ("delay", "drops", "events", "limit", "rate", "sending", "waiting")

    def __init__(self, events: Events, rate: int, delay: int, limit: int) -> None:
        self.events = events
        self.rate = rate
        self.delay = delay
        self.limit = limit
        # Of each sender: [bytes of it still to be sent, packet].
        self.waiting: dict[int, deque[tuple[list[int], Packet]]] = {}
        self.sending = False
        self.drops = 0

    def send(self, now: int, packet: Packet) -> None:
        queue = self.waiting.setdefault(packet[2], deque())
        if len(queue) >= self.limit:
            self.drops += 1
            return
        queue.append(([packet[0]], packet))
        if not self.sending:
            self._frame(now, None)

    def _frame(self, now: int, _nothing: None) -> None:
        """Fills a frame: the same for each sender that has enough, what others leave divided among those."""
        left, senders, done = FRAME, [queue for queue in self.waiting.values() if queue], []
        while senders and left:
            part = max(left // len(senders), 1)
            for queue in list(senders):
                room = min(part, left)
                while room and queue:
                    rest, packet = queue[0]
                    taken = min(rest[0], room)
                    rest[0] -= taken
                    room -= taken
                    left -= taken
                    if not rest[0]:
                        queue.popleft()
                        done.append(packet)
                if not queue:
                    senders.remove(queue)
        self.waiting = {key: queue for key, queue in self.waiting.items() if queue}
        end = now + (FRAME - left) * 8 * SECOND // self.rate
        for packet in done:
            heappush(self.events.heap, (end + self.delay, next(self.events.order), packet[3], packet))
        self.sending = left < FRAME
        if self.sending:
            self.events.at(end, self._frame)
