"""Random early detection (Floyd and Jacobson 1993): ALTQ's (altq_red.c red_addq), which counts packets, and Linux's (include/net/red.h,
sch_red.c), which counts bytes. The average is a moving one; between the thresholds a packet is dropped with rising probability.

With ECN it is marked instead, if it can be: between the thresholds, and with Linux's above them too (red_addq DTYPE_FORCED, red_enqueue)."""

from collections import deque
from random import Random

from pfq.simulate.packet import CAPABLE, EXPERIENCED, Packet


class Red:
    """A queue with early drops. unit: 'packets' or 'bytes', of which low, high and limit are. weight: the newest length counts 1/weight.
    probability: the highest between the thresholds. idle: ns that stand for one packet of an empty queue."""

    __slots__ = (
        "average", "backlog", "count", "drops", "ecn", "empty_since", "high", "idle", "limit", "low", "packets", "probability", "queue", "random", "since_drop",
        "weight",
    )

    def __init__(self, unit: str, low: int, high: int, limit: int, probability: float, weight: int, idle: int, random: Random, ecn: bool = False) -> None:
        self.ecn = ecn
        self.packets = unit == "packets"
        self.low = low
        self.high = high
        self.limit = limit
        self.probability = probability
        self.weight = weight
        self.idle = idle
        self.random = random
        self.average = 0.0
        self.since_drop = 0
        self.empty_since: int | None = 0
        self.queue: deque[Packet] = deque()
        self.count = 0
        self.backlog = 0
        self.drops = 0

    def enqueue(self, now: int, packet: Packet) -> bool:
        if self.empty_since is not None:
            # As if so many small packets had met an empty queue.
            self.average *= (1 - 1 / self.weight) ** min((now - self.empty_since) // max(self.idle, 1), 10**6)
            self.empty_since = None
        length = self.count if self.packets else self.backlog
        self.average += (length - self.average) / self.weight
        size = 1 if self.packets else packet[7]
        if length + size > self.limit or (self._early() and not self._marked(packet)):
            self.drops += 1
            if not self.count:
                self.empty_since = now
            return False
        self.queue.append(packet)
        self.count += 1
        self.backlog += packet[7]
        return True

    def _early(self) -> bool:
        if self.average < self.low:
            self.since_drop = 0
            return False
        if self.average >= self.high:
            self.since_drop = 0
            return True
        self.since_drop += 1
        base = self.probability * (self.average - self.low) / (self.high - self.low)
        # Spreads drops evenly: the chance rises with every packet let through since the last one.
        if self.since_drop * base < 1 and self.random.random() >= base / (1 - self.since_drop * base):
            return False
        self.since_drop = 0
        return True

    def _marked(self, packet: Packet) -> bool:
        """Whether a mark does instead of a drop."""
        if not self.ecn or not packet[9] & CAPABLE or (self.packets and self.average >= self.high):
            return False
        packet[9] |= EXPERIENCED
        return True

    def dequeue(self, now: int) -> Packet | None:
        if not self.count:
            return None
        packet = self.queue.popleft()
        self.count -= 1
        self.backlog -= packet[7]
        if not self.count:
            self.empty_since = now
        return packet

    def peek(self, now: int) -> Packet | None:
        return self.queue[0] if self.count else None
