"""Class-based queueing of ALTQ (altq_cbq.c, altq_rmclass.c, after Floyd and Jacobson 1995; its numbers from pfctl_altq.c cbq_compute_idletime).

Priorities first, weighted round robin within one. An estimator of each class's idle time says whether it is above its rate; if it is, it may
borrow from an ancestor that is not, else it sleeps. Times are whole microseconds, as in the source.
"""

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import Packet
from pfq.simulate.queues import Queue

PRIORITIES = 8
GAIN = 5
POWER = 1 << GAIN
DEPTH = 32
_IDLE = 2_000_000


class CbqClass:
    """rate: bit/s; interface: bit/s of the whole; mtu: bytes. `borrow`: whether it may take from its parent."""

    __slots__ = (
        "alloc",
        "allotment",
        "average_idle",
        "borrow",
        "callout",
        "children",
        "depth",
        "last",
        "last_packet_time",
        "least_idle",
        "most_idle",
        "ns_per_byte",
        "number",
        "off_time",
        "parent",
        "priority",
        "queue",
        "sleeping",
        "under",
        "weight",
    )

    def __init__(self, parent: "CbqClass | None", rate: int, interface: int, mtu: int, priority: int, borrow: bool, queue: Queue | None) -> None:
        self.parent = parent
        self.borrow = parent if borrow else None
        self.priority = priority
        self.queue = queue
        self.children: list[CbqClass] = []
        if parent is not None:
            parent.children.append(self)
        self.depth = 0
        self.number = 0
        self.sleeping = False
        self.callout: int | None = None
        self.under = self.last = self.last_packet_time = self.alloc = self.weight = 0
        self._idle_times(rate, interface, mtu)
        self.allotment = 1_000_000_000 // self.ns_per_byte

    def _idle_times(self, rate: int, interface: int, mtu: int) -> None:
        part = rate / interface
        per_byte = 8e9 / interface
        own = per_byte / part
        packet = mtu * per_byte
        class_packet = packet * (1 - part) / part
        most_burst = 4 if class_packet > 10e6 else 16
        gain = 1 - 1 / POWER
        to_most = gain**most_burst
        to_least = gain ** (2 - 1)
        idle = max((1 / part - 1) * (1 - to_most) / to_most, 1 - gain) * packet
        off = class_packet * (1 + (1 / (1 - gain)) * (1 - to_least) / to_least)
        self.ns_per_byte = max(1, int(own))
        # pfctl scales by 8 / ns_per_byte * 2^5 / 1000, the kernel by ns_per_byte / 8: what remains is us, the idle times times 2^5.
        self.most_idle = max(1, int(idle * POWER / 1000))
        self.least_idle = -int(mtu * own * POWER / 1000)
        self.off_time = max(1, int(off / 1000))
        self.average_idle = self.most_idle


class Cbq(Discipline):
    """classes: every class, a parent before its children, the first one the root. leaves: by class index. tick: us of the machine's clock."""

    __slots__ = ("active", "cutoff", "interface_time", "leaves", "most_interface_time", "ns_per_byte", "order", "queues", "root", "tick")

    def __init__(self, classes: list[CbqClass], leaves: list[CbqClass], interface: int, mtu: int, tick: int) -> None:
        self.root = classes[0]
        self.leaves = leaves
        self.queues = [leaf.queue for leaf in leaves if leaf.queue is not None]
        self.ns_per_byte = 8_000_000_000 // interface
        self.most_interface_time = mtu * self.ns_per_byte // 1000 * 16
        if mtu * self.ns_per_byte > 10_000_000:
            self.most_interface_time //= 4
        self.interface_time = 0
        self.cutoff = DEPTH
        self.tick = tick
        self.order: list[list[CbqClass]] = [[] for _ in range(PRIORITIES)]
        self.active = [0] * PRIORITIES
        for item in classes:
            level, above = 0, item.parent
            while above is not None:
                level += 1
                above.depth = max(above.depth, level)
                above = above.parent
            item.number = len(self.order[item.priority])
            self.order[item.priority].append(item)
        for peers in self.order:
            if peers:
                most = sum(item.allotment for item in peers) // (len(peers) * mtu)
                for item in peers:
                    item.weight = item.allotment // most if most else 0

    def waiting(self) -> int:
        return sum([queue.count for queue in self.queues])

    def wake(self, now: int) -> int | None:
        """The next tick; the class that sleeps least cannot wake between two."""
        return (now // 1000 // self.tick + 1) * self.tick * 1000 if self.waiting() else None

    def enqueue(self, now: int, packet: Packet) -> bool:
        leaf, time = self.leaves[packet[1]], now // 1000
        if self.cutoff > 0:
            if leaf.under < time:
                self.cutoff = min(self.cutoff, leaf.depth)
            else:
                lender = leaf.borrow
                while lender is not None and lender.depth < self.cutoff:
                    if lender.under < time:
                        self.cutoff = lender.depth
                        break
                    lender = lender.borrow
        return leaf.queue.enqueue(now, packet)  # type: ignore[union-attr]

    def dequeue(self, now: int) -> Packet | None:
        time = now // 1000
        for item in self.leaves:
            if item.callout is not None and item.callout <= time:
                item.callout = None
                if item.sleeping:
                    item.sleeping = False
                    item.under = 0
        found = self._next(time)
        if found is None:
            return None
        item, lender, packet = found[0], found[1], found[0].queue.dequeue(now)  # type: ignore[union-attr]
        if packet is None:
            return None
        if item.alloc > 0:
            item.alloc -= packet[7]
        peers = self.order[item.priority]
        self.active[item.priority] = (item.number + 1) % len(peers) if item.alloc <= 0 else item.number
        self._account(item, lender, packet[7], time)
        return packet

    def _next(self, time: int) -> tuple[CbqClass, CbqClass | None] | None:
        """The class to send, and the one that lends. Raises the cutoff as long as that can help (ADJUST_CUTOFF)."""
        while True:
            candidate = False
            for priority in range(PRIORITIES - 1, -1, -1):
                peers = self.order[priority]
                if not any(item.queue is not None and item.queue.count for item in peers):
                    continue
                deficit, first = 0, self.active[priority]
                again = True
                while again:
                    again = False
                    for step in range(len(peers)):
                        item = peers[(first + step) % len(peers)]
                        if deficit < 2 and item.alloc <= 0:
                            item.alloc += item.weight
                        if item.queue is not None and item.queue.count:
                            fits, lender = self._under_limit(item, time) if item.under else (True, None)
                            if fits:
                                if item.alloc > 0 or deficit > 1:
                                    return item, lender
                                deficit = 1
                            elif item.borrow is not None:
                                candidate = True
                        item.alloc = 0
                    if deficit == 1:
                        deficit, again = 2, True
            if not candidate or self.cutoff >= self.root.depth:
                self.cutoff = DEPTH
                return None
            self.cutoff += 1

    def _under_limit(self, item: CbqClass, time: int) -> tuple[bool, CbqClass | None]:
        """Whether the class is under its limit or can borrow; puts it to sleep if neither (rmc_under_limit, rmc_delay_action)."""
        if item.parent is None:
            return True, None
        if item.sleeping:
            if time < item.under:
                return False, None
            item.sleeping = False
            item.callout = None
            item.under = 0
            return True, None
        at, top = item, None
        while at.under and time < at.under:
            above = at.borrow
            if above is None or above.depth > self.cutoff:
                if above is not None:
                    return False, None
                self._sleep(item, top if top is not None and top.average_idle != top.least_idle else None, time)
                return False, None
            at = top = above
        return True, at if at is not item else None

    def _sleep(self, item: CbqClass, lender: CbqClass | None, time: int) -> None:
        extra = (lender or item).off_time - item.last_packet_time
        delay = item.under - time
        if extra > 0:
            item.under += extra
            delay += extra
        item.sleeping = True
        ticks = -(-(item.under - time) // self.tick) + 1 if delay > 2 * self.tick else 2
        item.callout = (time // self.tick + ticks) * self.tick

    def _account(self, item: CbqClass, lender: CbqClass | None, length: int, time: int) -> None:
        """Estimators of the class and those above it (rmc_update_class_util)."""
        packet_time = length * self.ns_per_byte // 1000
        if time < self.interface_time:
            ahead = self.interface_time - time
            self.interface_time = self.interface_time + packet_time if ahead + packet_time < self.most_interface_time else time + self.most_interface_time
        else:
            self.interface_time = time + packet_time
        at: CbqClass | None = item
        while at is not None:
            idle = min(self.interface_time - at.last, _IDLE)
            if idle >= _IDLE:
                at.average_idle = at.most_idle
            own_time = length * at.ns_per_byte // 1000
            idle -= own_time
            average = at.average_idle
            average += idle - (average >> GAIN)
            if average <= 0:
                average = max(average, at.least_idle)
                at.under = time + own_time + ((1 - POWER) * average >> GAIN)
            else:
                average = min(average, at.most_idle)
                at.under = 0
                at.sleeping = False
                at.callout = None
            at.average_idle = average
            at.last = self.interface_time
            at.last_packet_time = own_time
            at = at.parent
        if lender is not None and self.cutoff >= lender.depth:
            if not item.queue.count or time < lender.under:  # type: ignore[union-attr]
                self._satisfied(time)
            else:
                self.cutoff = lender.depth

    def _satisfied(self, time: int) -> None:
        for peers in reversed(self.order):
            for item in peers:
                if not self._is_satisfied(item, time):
                    self.cutoff = item.depth
                    return
        self.cutoff = DEPTH

    def _is_satisfied(self, item: CbqClass, time: int) -> bool:
        if time < item.under:
            return True
        if item.depth == 0:
            return item.sleeping or item.queue is None or not item.queue.count
        return all(self._is_satisfied(child, time) for child in item.children)
