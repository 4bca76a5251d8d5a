"""Class-based queueing of Linux (sch_cbq.c, in kernels before 6.3): an estimator of each class's idle time, borrowing from those above as far as a
cutoff allows, weighted round robin within a priority. Names follow the source.

tc's part (q_cbq.c, tc_cbq.c): without maxburst every class has the device's maxidle, one packet of avpkt at the device's speed; without minburst there
is no offtime. Times are ticks of 64 ns; a packet is counted in cells of 8 bytes (`cell 8`).
"""

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import SECOND, Packet
from pfq.simulate.queues import Queue

PRIORITIES = 8
MOST_LEVEL = 8
GAIN = 5
AVERAGE_PACKET = 1000
_TICK = 64
_LEAST_IDLE = -0x7FFFFFFF
_LONG_AGO = 128 * 1024 * 1024
# PSCHED_PASTPERFECT: not above the limit.
_PAST = 0


class _Times(dict[int, int]):
    """Ticks (rounded up) that so many bytes take at a rate, by cells of 8 bytes."""

    def __init__(self, rate: int) -> None:
        super().__init__()
        self.rate = rate

    def __missing__(self, length: int) -> int:
        self[length] = ticks = -(-(-(-length // 8) * 8) * 8 * SECOND // (self.rate * _TICK))
        return ticks


class LinuxCbqClass:
    """rate: bit/s; priority: 0 first; allot, weight: as told to tc. bounded: it may not borrow; isolated: it does not count for those above."""

    __slots__ = (
        "allot", "average_idle", "borrow", "children", "deficit", "delayed", "last", "level", "next", "parent", "priority", "quantum", "queue", "share",
        "times", "under", "weight",
    )

    def __init__(
        self, parent: "LinuxCbqClass | None", rate: int, priority: int, allot: int, weight: int, bounded: bool, isolated: bool, queue: Queue | None
    ) -> None:
        self.parent = parent
        self.borrow = None if bounded else parent
        self.share = None if isolated else parent
        self.children: list[LinuxCbqClass] = []
        self.level = 0
        self.priority = priority
        self.allot = allot
        self.weight = weight
        self.quantum = allot
        self.queue = queue
        self.times = _Times(rate)
        self.average_idle = self.last = self.deficit = 0
        self.under = _PAST
        self.delayed = False
        # The next one of its priority that has packets; None: it has none itself.
        self.next: LinuxCbqClass | None = None
        above, level = parent, 0
        if above is not None:
            above.children.append(self)
        while above is not None:
            level += 1
            above.level = max(above.level, level)
            above = above.parent


class LinuxCbq(Discipline):
    """classes: every class but the device, which stands above them; leaves: by class index. speed: bit/s of the device; mtu: bytes of it."""

    __slots__ = ("active", "device", "expires", "leaves", "most_idle", "now", "queues", "sent", "toplevel", "watchdog")

    def __init__(self, device: LinuxCbqClass, classes: list[LinuxCbqClass], leaves: list[LinuxCbqClass], speed: int, mtu: int) -> None:
        self.device = device
        self.leaves = leaves
        self.queues = [leaf.queue for leaf in leaves if leaf.queue is not None]
        self.most_idle = AVERAGE_PACKET * 8 * SECOND // (speed * _TICK)
        for item in classes:
            peers = [other for other in (device, *classes) if other.priority == item.priority]
            item.quantum = item.weight * item.allot * len(peers) // sum(other.weight for other in peers)
            if not 0 < item.quantum <= 32 * mtu:
                item.quantum = mtu // 2 + 1
        # By priority, the last of the ring of classes with packets.
        self.active: list[LinuxCbqClass | None] = [None] * PRIORITIES
        self.toplevel = MOST_LEVEL
        self.now = 0
        # (class, lender, length) of the packet that was given last.
        self.sent: tuple[LinuxCbqClass, LinuxCbqClass, int] | None = None
        # In how many ticks to look again, 0: not at all; and when that is (ns).
        self.expires = 0
        self.watchdog: int | None = None

    def waiting(self) -> int:
        return sum([queue.count for queue in self.queues])

    def wake(self, now: int) -> int | None:
        return self.watchdog

    # --- packets in

    def enqueue(self, now: int, packet: Packet) -> bool:
        leaf = self.leaves[packet[1]]
        taken = leaf.queue.enqueue(now, packet)  # type: ignore[union-attr]
        self._mark(leaf, now // _TICK)
        if leaf.next is None and leaf.queue.count:  # type: ignore[union-attr]
            self._activate(leaf)
        return taken

    def _mark(self, item: LinuxCbqClass, time: int) -> None:
        """A packet has come: borrowing is allowed up to the first class that is not above its limit."""
        at: LinuxCbqClass | None = item
        while at is not None and self.toplevel > at.level:
            if at.under < time:
                self.toplevel = at.level
                return
            at = at.borrow

    def _activate(self, leaf: LinuxCbqClass) -> None:
        """To the end of the ring of its priority."""
        tail = self.active[leaf.priority]
        self.active[leaf.priority] = leaf
        if tail is None:
            leaf.next = leaf
        else:
            leaf.next = tail.next
            tail.next = leaf

    # --- packets out

    def dequeue(self, now: int) -> Packet | None:
        if self.sent is not None:
            self._update(*self.sent)
            self.sent = None
        self.now = now // _TICK
        self.watchdog = None
        while True:
            self.expires = 0
            for priority in range(PRIORITIES):
                if self.active[priority] is not None:
                    packet = self._from(priority, now)
                    if packet is not None:
                        return packet
            if self.toplevel == MOST_LEVEL and self.device.under == _PAST:
                break
            # Nobody may send: once more, with borrowing from everybody.
            self.toplevel = MOST_LEVEL
            self.device.under = _PAST
        if self.expires and self.waiting():
            self.watchdog = (self.now + self.expires) * _TICK
        return None

    def _from(self, priority: int, now: int) -> Packet | None:
        """Weighted round robin in one priority (cbq_dequeue_prio). As there, a class that is found empty first ends the round, and the others wait
        until the next packet comes in."""
        tail = before = self.active[priority]
        assert tail is not None
        assert before is not None
        item = before.next
        while True:
            again = False
            while True:
                assert item is not None
                queue = item.queue
                assert queue is not None
                lender: LinuxCbqClass | None = self._under_limit(item) if queue.count else item
                packet = None
                if lender is not None:
                    if item.deficit <= 0:
                        again = True
                        item.deficit += item.quantum
                    else:
                        packet = queue.dequeue(now)
                        if packet is not None:
                            item.deficit -= packet[7]
                            self.sent = (item, lender, packet[7])
                            if item.deficit <= 0:
                                self.active[priority] = item
                                assert item.next is not None
                                item.next.deficit += item.next.quantum
                            return packet
                if packet is None and not queue.count:
                    # It has nothing (more): out of the ring.
                    before.next, item.next = item.next, None
                    if item is tail:
                        tail = before
                        if item is tail:
                            self.active[priority] = None
                            return None
                        self.active[priority] = tail
                    item = before
                before, item = item, item.next
                if before is tail:
                    break
            if not again:
                break
        self.active[priority] = before
        return None

    def _under_limit(self, item: LinuxCbqClass) -> LinuxCbqClass | None:
        """The class itself or one that it may borrow from; None if there is none now."""
        at: LinuxCbqClass = item
        while at.under != _PAST and self.now < at.under:
            above = at.borrow
            if above is None:
                self._over_limit(item)
                return None
            if above.level > self.toplevel:
                return None
            at = above
        at.delayed = False
        return at

    def _over_limit(self, item: LinuxCbqClass) -> None:
        """The class waits (cbq_ovl_classic); who lends to it may be ready before."""
        delay = item.under - self.now
        if not item.delayed:
            if item.average_idle < 0:
                # It will sleep, and so cannot work its debt off: that is forgiven.
                delay -= -item.average_idle - (-item.average_idle >> GAIN)
            item.average_idle = max(item.average_idle, _LEAST_IDLE)
            delay = max(delay, 1)
            item.under = self.now + delay
            item.delayed = True
        if not self.expires or self.expires > delay:
            self.expires = delay
        if self.toplevel == MOST_LEVEL:
            above = item.borrow
            while above is not None:
                self.expires = min(self.expires, max(above.under - self.now, 1))
                above = above.borrow

    def _update(self, item: LinuxCbqClass, lender: LinuxCbqClass, length: int) -> None:
        """Charges the packet that was given last, once it is known to be gone (cbq_update)."""
        on_device = self.device.times[length]
        end = self.now + on_device
        at: LinuxCbqClass | None = item
        while at is not None:
            average, idle = at.average_idle, end - at.last
            if not 0 <= idle <= _LONG_AGO:
                average = self.most_idle
            else:
                average += idle - at.times[length] - (average >> GAIN)
            if average <= 0:
                average = max(average, _LEAST_IDLE)
                at.average_idle = average
                at.under = end + -average - (-average >> GAIN) - on_device + at.times[length]
            else:
                at.under = _PAST
                at.average_idle = min(average, self.most_idle)
            at.last = max(at.last, end)
            at = at.share
        # cbq_update_toplevel
        if self.toplevel >= lender.level and item.queue.count > 1:  # type: ignore[union-attr]
            above: LinuxCbqClass | None = lender
            while above is not None:
                if above.under == _PAST:
                    self.toplevel = above.level
                    return
                above = above.borrow
