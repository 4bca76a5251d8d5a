"""CoDel: drops at the head while packets have waited too long for too long (RFC 8289; Linux codel_impl.h, sch_codel.c; OpenBSD fq_codel.c
codel_getq; FreeBSD altq_codel.c). With ECN, which Linux's has, it marks what can be marked instead of dropping it."""

from collections import deque
from math import isqrt

from pfq.simulate.packet import CAPABLE, EXPERIENCED, Packet

_ROOT = 10**6


class CodelState:
    """One queue under CoDel. Times are ns. `mtu`: bytes that may stay without being late (codel_impl.h codel_should_drop)."""

    __slots__ = ("above", "backlog", "dropping", "drops", "ecn", "in_row", "interval", "last_row", "mtu", "next_drop", "queue", "target")

    def __init__(self, target: int, interval: int, mtu: int, ecn: bool = False) -> None:
        self.ecn = ecn
        self.target = target
        self.interval = interval
        self.mtu = mtu
        self.queue: deque[Packet] = deque()
        self.backlog = 0
        self.drops = 0
        self.above = 0
        self.dropping = False
        self.next_drop = 0
        self.in_row = 0
        self.last_row = 0

    def put(self, now: int, packet: Packet) -> None:
        packet[8] = now
        self.backlog += packet[7]
        self.queue.append(packet)

    def drop_head(self) -> Packet:
        """Takes the oldest packet away to be dropped; there must be one."""
        packet = self.queue.popleft()
        self.backlog -= packet[7]
        self.drops += 1
        return packet

    def _late(self, now: int, packet: Packet) -> bool:
        """Whether the packet just taken may be dropped."""
        if now - packet[8] < self.target or self.backlog <= self.mtu:
            self.above = 0
            return False
        if self.above == 0:
            self.above = now + self.interval
            return False
        return now > self.above

    def _law(self, time: int) -> int:
        return time + self.interval * _ROOT // isqrt(self.in_row * _ROOT * _ROOT)

    def take(self, now: int) -> Packet | None:
        """The packet to send; drops those before it that CoDel drops."""
        queue = self.queue
        if not queue:
            self.dropping = False
            return None
        packet = queue.popleft()
        self.backlog -= packet[7]
        if now - packet[8] < self.target:
            # The usual case, made short.
            self.above = 0
            self.dropping = False
            return packet
        late = self._late(now, packet)
        if self.dropping:
            if not late:
                self.dropping = False
                return packet
            while self.dropping and now >= self.next_drop:
                self.in_row += 1
                if self.ecn and packet[9] & CAPABLE:
                    packet[9] |= EXPERIENCED
                    self.next_drop = self._law(self.next_drop)
                    return packet
                self.drops += 1
                if not queue:
                    self.dropping = False
                    return None
                packet = queue.popleft()
                self.backlog -= packet[7]
                if self._late(now, packet):
                    self.next_drop = self._law(self.next_drop)
                else:
                    self.dropping = False
            return packet
        if late:
            self.dropping = True
            # A queue that was controlled a moment ago goes on at about the rate that held it then.
            since = self.in_row - self.last_row
            self.in_row = since if since > 1 and now - self.next_drop < 16 * self.interval else 1
            self.last_row = self.in_row
            self.next_drop = self._law(now)
            if self.ecn and packet[9] & CAPABLE:
                packet[9] |= EXPERIENCED
                return packet
            self.drops += 1
            if not queue:
                return None
            packet = queue.popleft()
            self.backlog -= packet[7]
            self._late(now, packet)
        return packet


class Codel:
    """A queue of its own under CoDel, as the `codel` qdisc or the `codel` option of ALTQ; `limit` in packets."""

    __slots__ = ("head", "limit", "overflow", "state")

    def __init__(self, limit: int, target: int, interval: int, mtu: int) -> None:
        self.limit = limit
        self.state = CodelState(target, interval, mtu)
        self.head: Packet | None = None
        self.overflow = 0

    @property
    def count(self) -> int:
        return len(self.state.queue) + (self.head is not None)

    @property
    def drops(self) -> int:
        return self.overflow + self.state.drops

    def enqueue(self, now: int, packet: Packet) -> bool:
        if self.count >= self.limit:
            self.overflow += 1
            return False
        self.state.put(now, packet)
        return True

    def dequeue(self, now: int) -> Packet | None:
        head, self.head = self.head, None
        return head if head is not None else self.state.take(now)

    def peek(self, now: int) -> Packet | None:
        """The next packet, which is then past CoDel (as Linux's qdisc_peek_dequeued)."""
        if self.head is None:
            self.head = self.state.take(now)
        return self.head
