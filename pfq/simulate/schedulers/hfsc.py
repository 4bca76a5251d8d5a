"""Hierarchical fair service curve: ALTQ's (altq_hfsc.c), OpenBSD's own since 5.5 (hfsc.c) and Linux's (sch_hfsc.c), which share one algorithm.

If a class is eligible by its real-time curve, the eligible one with the earliest deadline is served, whatever the upper limits say; otherwise
the tree is walked from the root, at each level to the active child of least virtual time whose fit time has come. Names follow the sources.

The three differ in when they look again and in how they forgive: the BSDs look once a tick and, where a class lags behind its upper limit by
more than a tick, forget the lag (`tick`); Linux sets a timer for the very time and forgets nothing.
"""

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import NEVER, Deliver, Packet
from pfq.simulate.queues import Queue
from pfq.simulate.schedulers.curves import BYTES, RunningCurve, ServiceLine


class HfscClass:
    """realtime, share, upper: service curves, None where the class has none. A leaf has a `queue`."""

    __slots__ = (
        "active", "active_children", "children", "children_fit", "cumulative", "deadline", "deadline_curve", "eligible", "eligible_curve", "fit",
        "largest_passive", "least_virtual", "number_active", "own_fit", "own_fit_shift", "parent", "parent_period", "period", "queue", "realtime", "share",
        "total", "upper", "upper_curve", "virtual", "virtual_curve", "virtual_offset", "virtual_shift",
    )

    def __init__(
        self, parent: "HfscClass | None", realtime: ServiceLine | None, share: ServiceLine | None, upper: ServiceLine | None, queue: Queue | None
    ) -> None:
        self.parent = parent
        self.realtime, self.share, self.upper = realtime, share, upper
        self.queue = queue
        self.children: list[HfscClass] = []
        self.active_children: list[HfscClass] = []
        if parent is not None:
            parent.children.append(self)
        self.deadline_curve = RunningCurve(realtime) if realtime else None
        self.eligible_curve = RunningCurve(realtime) if realtime else None
        self.virtual_curve = RunningCurve(share) if share else None
        self.upper_curve = RunningCurve(upper) if upper else None
        self.active = False
        # cl_total, cl_cumul, cl_d, cl_e, cl_vt, cl_f, cl_myf, cl_myfadj, cl_cfmin, cl_cvtmin, cl_cvtmax, cl_vtoff, cl_vtadj.
        self.total = self.cumulative = self.deadline = self.eligible = self.virtual = 0
        self.fit = self.own_fit = self.own_fit_shift = self.children_fit = 0
        self.least_virtual = self.largest_passive = self.virtual_offset = self.virtual_shift = 0
        self.period = self.parent_period = self.number_active = 0


class Hfsc(Discipline):
    """leaves: by class index. tick: ns between two looks of a BSD; None: Linux."""

    __slots__ = ("busy", "eligible", "leaves", "queues", "ready", "root", "tick")

    def __init__(self, root: HfscClass, leaves: list[HfscClass], tick: int | None) -> None:
        self.root = root
        self.leaves = leaves
        self.queues = [leaf.queue for leaf in leaves if leaf.queue is not None]
        self.tick = tick
        # Backlogged classes with a real-time curve.
        self.eligible: list[HfscClass] = []
        # Backlogged leaves, and when one of them may be served.
        self.busy = 0
        self.ready = NEVER

    def waiting(self) -> int:
        return sum([queue.count for queue in self.queues])

    def wake(self, now: int) -> int | None:
        if not self.busy:
            return None
        if self.tick is not None:
            return (now // self.tick + 1) * self.tick
        return max(self.ready, now + 1)

    def _next(self) -> int:
        """When a class becomes eligible or fits."""
        root = self.root
        first = root.children_fit if root.active_children else NEVER
        for item in self.eligible:
            time = item.eligible
            first = time if time < first else first
        return first

    def enqueue(self, now: int, packet: Packet) -> bool:
        leaf = self.leaves[packet[1]]
        taken = leaf.queue.enqueue(now, packet)  # type: ignore[union-attr]
        if not leaf.active and leaf.queue.count:  # type: ignore[union-attr]
            leaf.active = True
            self.busy += 1
            if leaf.realtime:
                self._begin_realtime(leaf, leaf.queue.peek(now)[7], now)  # type: ignore[union-attr, index]
            if leaf.share:
                self._begin_share(leaf, now)
            self.ready = self._next()
        return taken

    def drain(self, now: int, forward: Deliver | None) -> int:
        while self.ready <= now and (packet := self.dequeue(now)) is not None:
            if forward is None:
                packet[3](now, packet)
            else:
                forward(now, packet)
        if not self.busy:
            return NEVER
        tick = self.tick
        if tick is not None:
            return (now // tick + 1) * tick
        return self.ready if self.ready > now else now + 1

    def dequeue(self, now: int) -> Packet | None:
        while True:
            if self.ready > now:
                return None
            leaf, by_deadline = self._choose(now)
            if leaf is None:
                return None
            queue = leaf.queue
            assert queue is not None
            packet = queue.dequeue(now)
            length = packet[7] if packet is not None else 0
            self._served(leaf, length, now)
            if by_deadline:
                leaf.cumulative += length
            following = queue.peek(now) if leaf.realtime else None
            if queue.count:
                if following is not None:
                    if by_deadline:
                        leaf.eligible = leaf.eligible_curve.when(leaf.cumulative)  # type: ignore[union-attr]
                    leaf.deadline = leaf.deadline_curve.when(leaf.cumulative + following[7])  # type: ignore[union-attr]
            else:
                leaf.active = False
                self.busy -= 1
                if leaf.realtime:
                    self.eligible.remove(leaf)
            self.ready = self._next()
            if packet is not None:
                return packet

    def _choose(self, now: int) -> tuple[HfscClass | None, bool]:
        best = None
        for item in self.eligible:
            if item.eligible <= now and (best is None or (item.deadline, item.eligible) < (best.deadline, best.eligible)):
                best = item
        if best is not None:
            return best, True
        item = self.root
        while item.queue is None:
            found = None
            for child in item.active_children:
                if child.fit <= now:
                    found = child
                    break
            if found is None:
                return None, False
            item.least_virtual = found.virtual if found.virtual > item.least_virtual else item.least_virtual
            item = found
        return item, False

    def _begin_realtime(self, leaf: HfscClass, length: int, now: int) -> None:
        """A leaf becomes backlogged (init_ed). For a convex curve the eligible curve is a straight line of its second slope."""
        deadline, eligible, line = leaf.deadline_curve, leaf.eligible_curve, leaf.realtime
        assert deadline
        assert eligible
        assert line
        deadline.lower_to(line, now, leaf.cumulative)
        eligible.x, eligible.y, eligible.dx, eligible.dy = deadline.x, deadline.y, deadline.dx, deadline.dy
        if line.m1 <= line.m2:
            eligible.dx = eligible.dy = 0
        leaf.eligible = eligible.when(leaf.cumulative)
        leaf.deadline = deadline.when(leaf.cumulative + length)
        self.eligible.append(leaf)

    def _begin_share(self, item: HfscClass, now: int) -> None:
        """A leaf becomes backlogged, and with it those above it that were not (init_vf)."""
        going = True
        while (parent := item.parent) is not None:
            if going:
                item.number_active += 1
                going = item.number_active == 1
            if going:
                if parent.active_children:
                    # Between the least and the largest virtual time of those at work, and never back within one period.
                    virtual = parent.active_children[-1].virtual
                    if parent.least_virtual:
                        virtual = (parent.least_virtual + virtual) // 2
                    if parent.period != item.parent_period or virtual > item.virtual:
                        item.virtual = virtual
                else:
                    for child in parent.children:
                        child.virtual_offset += parent.largest_passive
                    item.virtual = 0
                    parent.largest_passive = parent.least_virtual = 0
                begin = item.virtual + item.virtual_offset
                curve = item.virtual_curve
                assert curve is not None
                assert item.share is not None
                curve.lower_to(item.share, begin, item.total)
                if curve.x == begin:
                    curve.x -= item.virtual_offset
                    item.virtual_offset = 0
                item.virtual_shift = 0
                item.period += 1
                item.parent_period = parent.period
                if parent.number_active == 0:
                    item.parent_period += 1
                item.fit = 0
                self._place(item, parent)
                if item.upper and item.upper_curve:
                    item.upper_curve.lower_to(item.upper, now, item.total)
                    item.own_fit = item.upper_curve.when(item.total)
                    item.own_fit_shift = 0
            self._fit(item, parent)
            item = parent

    def _served(self, leaf: HfscClass, length: int, now: int) -> None:
        """Charges `length` bytes to the leaf and those above it; who has nothing more to send leaves (update_vf)."""
        passive = leaf.queue.count == 0  # type: ignore[union-attr]
        item, parent = leaf, leaf.parent
        while parent is not None:
            item.total += length
            if item.number_active and item.share is not None:
                if passive:
                    item.number_active -= 1
                    passive = item.number_active == 0
                active = parent.active_children
                if passive:
                    parent.largest_passive = max(parent.largest_passive, item.virtual)
                    active.remove(item)
                    self._children_fit(parent)
                else:
                    if len(parent.children) > 1:
                        self._advance(item, parent)
                    fit, upper = item.children_fit, item.upper_curve
                    if upper is not None:
                        total = item.total
                        own = item.own_fit_shift + (upper.x + (total - upper.y) * BYTES // upper.m2 if upper.straight else upper.when(total))
                        if self.tick is not None and own < now - self.tick:
                            item.own_fit_shift += now - own
                            own = now
                        item.own_fit = own
                        fit = own if own > fit else fit
                    if fit != item.fit:
                        item.fit = fit
                        if len(active) > 1:
                            self._children_fit(parent)
                        else:
                            parent.children_fit = fit
            item, parent = parent, parent.parent

    def _advance(self, item: HfscClass, parent: HfscClass) -> None:
        """The virtual time of a class that has siblings."""
        virtual = item.virtual_curve.when(item.total) - item.virtual_offset + item.virtual_shift  # type: ignore[union-attr]
        if virtual < parent.least_virtual:
            # It was passed over because it did not fit: it must not catch up.
            item.virtual_shift += parent.least_virtual - virtual
            virtual = parent.least_virtual
        item.virtual = virtual
        active = parent.active_children
        if len(active) > 1:
            active.remove(item)
            self._place(item, parent)

    def _place(self, item: HfscClass, parent: HfscClass) -> None:
        """Among the active children, in the order of virtual time; behind those of the same."""
        active = parent.active_children
        position = len(active)
        while position and active[position - 1].virtual > item.virtual:
            position -= 1
        active.insert(position, item)

    def _fit(self, item: HfscClass, parent: HfscClass) -> None:
        fit = max(item.own_fit, item.children_fit)
        if fit != item.fit:
            item.fit = fit
            self._children_fit(parent)

    def _children_fit(self, item: HfscClass) -> None:
        item.children_fit = min((child.fit for child in item.active_children), default=0)
