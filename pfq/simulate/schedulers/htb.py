"""Hierarchical token bucket of Linux (sch_htb.c): rates by token buckets, excess lent by parents, priorities and deficit round robin among
those who may send at one level. Names follow the source: level, prio, quantum, deficit, lookup, charge.

Without hysteresis, as the kernel has had it since 2.6.32 (module parameter htb_hysteresis). Two things are kept otherwise than there, and come to
the same: a bucket is the time at which its tokens are no longer negative, so that nothing need be done when that time comes; and rows and feeds
are not lists but what the classes' modes make of them at the moment of looking.
"""

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import NEVER, SECOND, Deliver, Packet
from pfq.simulate.queues import Queue

MBUFFER = 60 * SECOND
LEVELS = 8


class _Costs(dict[int, int]):
    """Nanoseconds of a rate that so many bytes take; no packet puts a class deeper into debt than the kernel lets it be."""

    def __init__(self, rate: int) -> None:
        super().__init__()
        self.rate = rate

    def __missing__(self, length: int) -> int:
        self[length] = cost = min(length * 8 * SECOND // self.rate, MBUFFER - 1)
        return cost


class HtbClass:
    """rate, ceil: bit/s; burst, cburst: bytes; priority: 0 first; quantum: bytes of a turn. A leaf has a `queue`.

    rate_at, ceil_at: when the tokens of rate and ceil are 0 or more. Until ceil_at the class cannot send, until rate_at it may borrow.
    """

    __slots__ = (
        "alike", "alone", "buffer", "busy", "cbuffer", "ceil_at", "ceil_costs", "chain", "deficit", "level", "number", "parent", "priority", "quantum",
        "queue", "rate_at", "rate_costs", "turns",
    )

    def __init__(
        self, number: int, parent: "HtbClass | None", rate: int, ceil: int, burst: int, cburst: int, priority: int, quantum: int, queue: Queue | None
    ) -> None:
        self.number = number
        self.parent = parent
        self.rate_costs = _Costs(rate)
        self.ceil_costs = self.rate_costs if rate == ceil else _Costs(ceil)
        self.buffer = burst * 8 * SECOND // rate
        self.cbuffer = cburst * 8 * SECOND // ceil
        self.rate_at = -self.buffer
        self.ceil_at = -self.cbuffer
        self.priority = priority
        self.quantum = quantum
        self.queue = queue
        self.level = 0
        self.deficit = [0] * LEVELS
        self.busy = False
        # The only leaf of its priority: whose turn it is needs no thought.
        self.alone = False
        # A root whose two buckets are one: it never borrows, so both are charged the same.
        self.alike = parent is None and rate == ceil and burst == cburst
        # Those above, the root first.
        self.chain: tuple[HtbClass, ...] = () if parent is None else (*parent.chain, parent)
        # By priority: from which number on the next child to be served is looked for; nothing yet is past the last.
        self.turns: dict[int, int] = {}


class Htb(Discipline):
    """leaves: by class index. Every class must come after its parent in `classes`."""

    __slots__ = ("busy", "leaves", "queues", "ready", "rows")

    def __init__(self, classes: list[HtbClass], leaves: list[HtbClass]) -> None:
        self.leaves = leaves
        bottom = [item for item in classes if item.queue is not None]
        self.queues = [item.queue for item in bottom if item.queue is not None]
        for item in classes:
            # A root stands at the top level whatever its depth (htb_change_class: TC_HTB_MAXDEPTH - 1), inner ones below it, leaves at 0.
            item.level = 0 if item.queue is not None else LEVELS - 1 - len(item.chain)
            item.alone = sum(other.priority == item.priority for other in bottom) == 1
        # Leaves with something to send, in the order of priority and number.
        self.busy: list[HtbClass] = []
        # When the first of them may send.
        self.ready = NEVER
        # By level and priority, as a class's `turns`.
        self.rows: list[dict[int, int]] = [{} for _ in range(LEVELS)]

    def waiting(self) -> int:
        return sum([queue.count for queue in self.queues])

    def wake(self, now: int) -> int | None:
        """When a class may send, as long as packets wait."""
        ready = self.ready
        if ready == NEVER:
            return None
        return ready if ready > now else now + 1

    def enqueue(self, now: int, packet: Packet) -> bool:
        leaf = self.leaves[packet[1]]
        queue = leaf.queue
        taken = queue.enqueue(now, packet)  # type: ignore[union-attr]
        if not leaf.busy and queue.count:  # type: ignore[union-attr]
            leaf.busy = True
            busy = self.busy
            position = len(busy)
            while position and (busy[position - 1].priority, busy[position - 1].number) > (leaf.priority, leaf.number):
                position -= 1
            busy.insert(position, leaf)
            time = self._first((leaf,))
            self.ready = time if time < self.ready else self.ready
        return taken

    @staticmethod
    def _first(leaves: "list[HtbClass] | tuple[HtbClass]") -> int:
        """When one of the leaves may send: as soon as its ceil lets it, and its rate, or those above, in the same way."""
        first = NEVER
        # Conditions and not min() and max(): this is done for every packet.
        for leaf in leaves:
            time = NEVER
            for item in leaf.chain:
                at = item.rate_at
                time = at if at < time else time
                at = item.ceil_at
                time = at if at > time else time
            at = leaf.rate_at
            time = at if at < time else time
            at = leaf.ceil_at
            time = at if at > time else time
            first = time if time < first else first
        return first

    def drain(self, now: int, forward: Deliver | None) -> int:
        while self.ready <= now and (packet := self.dequeue(now)) is not None:
            if forward is None:
                packet[3](now, packet)
            else:
                forward(now, packet)
        return self.ready

    def dequeue(self, now: int) -> Packet | None:
        if now < self.ready:
            return None
        while True:
            # One of them may send, since the time is there: of those at the lowest level the first one.
            least = LEVELS
            for leaf in self.busy:
                if leaf.rate_at <= now:
                    if leaf.ceil_at <= now:
                        found, least = leaf, 0
                        break
                elif leaf.ceil_at <= now:
                    level = self._lender(leaf, now)
                    if level < least:
                        found, least = leaf, level
            if not found.alone:
                found = self._turn(now, least, found.priority)
            packet = found.queue.dequeue(now)  # type: ignore[union-attr]
            if packet is not None:
                break
            # The queue has dropped what it had.
            self._idle(found)
            self.ready = self._first(self.busy)
            if now < self.ready:
                return None
        length = packet[7]
        if not found.alone:
            found.deficit[least] -= length
            if found.deficit[least] < 0:
                found.deficit[least] += found.quantum
                self._advance(now, found, least)
        if not found.queue.count:  # type: ignore[union-attr]
            self._idle(found)
        # Takes the packet out of the buckets (htb_charge_class): of rate only from the lender's level on, of ceil everywhere.
        if not least:
            full, at = now - found.buffer, found.rate_at
            found.rate_at = (at if at > full else full) + found.rate_costs[length]
        full, at = now - found.cbuffer, found.ceil_at
        found.ceil_at = (at if at > full else full) + found.ceil_costs[length]
        for item in found.chain:
            if item.level >= least:
                full, at = now - item.buffer, item.rate_at
                at = (at if at > full else full) + item.rate_costs[length]
                item.rate_at = at if at - now < MBUFFER else now + MBUFFER - 1
                if item.alike:
                    item.ceil_at = item.rate_at
                    continue
            full, at = now - item.cbuffer, item.ceil_at
            at = (at if at > full else full) + item.ceil_costs[length]
            item.ceil_at = at if at - now < MBUFFER else now + MBUFFER - 1
        self.ready = self._first(self.busy) if self.busy else NEVER
        return packet

    def _idle(self, leaf: HtbClass) -> None:
        leaf.busy = False
        self.busy.remove(leaf)

    @staticmethod
    def _lender(leaf: HtbClass, now: int) -> int:
        """The level of the class above that lends to a leaf which may borrow; LEVELS if none does."""
        above = leaf.parent
        while above is not None and above.ceil_at <= now:
            if above.rate_at <= now:
                return above.level
            above = above.parent
        return LEVELS

    # --- turns among leaves of one priority

    def _members(self, now: int, level: int, priority: int) -> list[list[HtbClass]]:
        """The ways from the classes of a row (of those that may send at `level`) down to the leaves that send through them."""
        ways = []
        for leaf in self.busy:
            if leaf.priority == priority and leaf.ceil_at <= now and (level == 0) == (leaf.rate_at <= now):
                if level == 0:
                    ways.append([leaf])
                elif self._lender(leaf, now) == level:
                    ways.append([*(item for item in leaf.chain if item.level <= level), leaf])
        return ways

    def _turn(self, now: int, level: int, priority: int) -> HtbClass:
        """The leaf whose turn it is in a row (htb_lookup_leaf): at each class the next one by number; past the last one, back to the first, and
        the class above goes on to its next."""
        every = self._members(now, level, priority)
        if len(every) == 1:
            turns = self.rows[level]
            for item in every[0]:
                turns[priority] = item.number
                turns = item.turns
            return every[0][-1]
        stack = [(self.rows[level], every, 0)]
        while True:
            turns, ways, depth = stack[-1]
            numbers = [way[depth].number for way in ways]
            number = _after(turns.get(priority, NEVER) - 1, numbers)
            if number == NEVER:
                turns[priority] = min(numbers)
                if len(stack) > 1:
                    stack.pop()
                    above, others, depth = stack[-1]
                    above[priority] = _after(above[priority], [way[depth].number for way in others])
                continue
            turns[priority] = number
            inner = [way for way in ways if way[depth].number == number]
            item = inner[0][depth]
            if item.queue is not None:
                return item
            stack.append((item.turns, inner, depth + 1))

    def _advance(self, now: int, leaf: HtbClass, level: int) -> None:
        """The leaf's turn is over (htb_next_rb_node)."""
        turns = self.rows[0] if not level else leaf.parent.turns  # type: ignore[union-attr]
        depth = sum(item.level <= level for item in leaf.chain) if level else 0
        ways = self._members(now, level, leaf.priority)
        beside = [way[depth].number for way in ways if not depth or (len(way) > depth and way[depth - 1] is leaf.parent)]
        turns[leaf.priority] = _after(leaf.number, beside)


def _after(number: int, numbers: list[int]) -> int:
    """The next one of `numbers`; NEVER past the last."""
    return min((other for other in numbers if other > number), default=NEVER)
