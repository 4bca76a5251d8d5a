"""ALTQ's token bucket regulator, which stands between a discipline and the interface (altq_subr.c tbr_dequeue, tbr_timeout)."""

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import SECOND, Packet

_BIT = SECOND


class TokenBucket(Discipline):
    """Lets packets through while it holds tokens: at most `depth` bytes and one packet at once, then the debt is repaid at `rate` bit/s.

    Tokens are counted anew only when a packet is asked for and none are left; nobody asks but an arrival and the clock, `hz` times a second.
    """

    __slots__ = ("depth", "discipline", "last", "rate", "tick", "tokens")

    def __init__(self, discipline: Discipline, rate: int, depth: int, hz: int) -> None:
        self.discipline = discipline
        self.rate = rate
        self.depth = depth * 8 * _BIT
        self.tokens = self.depth
        self.last = 0
        self.tick = SECOND // hz

    def enqueue(self, now: int, packet: Packet) -> bool:
        return self.discipline.enqueue(now, packet)

    def dequeue(self, now: int) -> Packet | None:
        if self.tokens <= 0:
            self.tokens = min(self.tokens + (now - self.last) * self.rate, self.depth)
            self.last = now
            if self.tokens <= 0:
                return None
        packet = self.discipline.dequeue(now)
        if packet is not None:
            self.tokens -= packet[7] * 8 * _BIT
        return packet

    def wake(self, now: int) -> int | None:
        """The next tick, as long as packets wait."""
        return (now // self.tick + 1) * self.tick if self.discipline.waiting() else None

    def waiting(self) -> int:
        return self.discipline.waiting()
