"""sch_htb.c as it is written there, with its rows, feeds, modes and wait queues, to compare pfq's shorter form with: row, feed, mode, charge."""

from pfq.simulate.packet import SECOND, Packet
from pfq.simulate.queues import Queue

CAN_SEND, MAY_BORROW, CANT_SEND = 2, 1, 0
MBUFFER = 60 * SECOND
LEVELS = 8
_NEVER = 1 << 62


class Feed:
    """Classes of one priority in the order of their ids, and whose turn it is."""

    __slots__ = ("last", "members", "turn")

    def __init__(self) -> None:
        self.members: list[HtbClass] = []
        self.turn: HtbClass | None = None
        self.last = -1

    def add(self, item: "HtbClass") -> None:
        members = self.members
        position = len(members)
        while position and members[position - 1].number > item.number:
            position -= 1
        members.insert(position, item)

    def remove(self, item: "HtbClass") -> None:
        if self.turn is item:
            self.turn = None
            self.last = item.number
        self.members.remove(item)

    def current(self) -> "HtbClass | None":
        """Whose turn it is; where that one has left, the next by id; None at the right end."""
        if self.turn is None and self.last >= 0:
            self.turn = next((item for item in self.members if item.number >= self.last), None)
        self.last = -1
        return self.turn

    def advance(self) -> None:
        if self.turn is not None:
            after = self.members.index(self.turn) + 1
            self.turn = self.members[after] if after < len(self.members) else None


class HtbClass:
    """rate, ceil: bit/s; burst, cburst: bytes; priority: 0 first; quantum: bytes of a turn. A leaf has a `queue`."""

    __slots__ = (
        "active", "buffer", "cbuffer", "ceil", "ctokens", "deficit", "feeds", "level", "mode", "number", "parent", "priority", "quantum", "queue", "rate",
        "then", "tokens", "wait",
    )

    def __init__(
        self, number: int, parent: "HtbClass | None", rate: int, ceil: int, burst: int, cburst: int, priority: int, quantum: int, queue: Queue | None
    ) -> None:
        self.number = number
        self.parent = parent
        self.rate = rate
        self.ceil = ceil
        self.buffer = self.tokens = burst * 8 * SECOND // rate
        self.cbuffer = self.ctokens = cburst * 8 * SECOND // ceil
        self.priority = priority
        self.quantum = quantum
        self.queue = queue
        self.level = 0
        self.deficit = [0] * LEVELS
        self.mode = CAN_SEND
        self.then = 0
        self.active = 0
        self.feeds: dict[int, Feed] = {}
        self.wait = _NEVER

    def feed(self, priority: int) -> Feed:
        found = self.feeds.get(priority)
        if found is None:
            found = self.feeds[priority] = Feed()
        return found


# The priorities in each mask.
_BITS = tuple(tuple(bit for bit in range(8) if mask >> bit & 1) for mask in range(256))


class Htb:
    """leaves: by class index. Every class must come after its parent in `classes`."""

    __slots__ = ("at_level", "busy", "classes", "events", "first", "leaves", "levels", "masks", "queues", "ready", "rows")

    def __init__(self, classes: list[HtbClass], leaves: list[HtbClass]) -> None:
        self.classes = classes
        self.leaves = leaves
        self.queues = [item.queue for item in classes if item.queue is not None]
        for item in classes:
            level, above = 0, item.parent
            while above is not None:
                level += 1
                above.level = max(above.level, level)
                above = above.parent
        # A root stands at the top level whatever its depth (htb_change_class: TC_HTB_MAXDEPTH - 1); inner ones below it.
        for item in classes:
            if item.queue is None:
                depth, above = 0, item.parent
                while above is not None:
                    depth += 1
                    above = above.parent
                item.level = LEVELS - 1 - depth
        self.rows: list[dict[int, Feed]] = [{} for _ in range(LEVELS)]
        self.masks = [0] * LEVELS
        # When the first waiting class of a level may change its mode.
        self.events = [_NEVER] * LEVELS
        self.first = _NEVER
        # Levels that hold classes, and how many of them have one that may send.
        self.levels = sorted({item.level for item in classes})
        self.ready = 0
        self.busy = 0
        self.at_level = [[item for item in classes if item.level == level] for level in range(LEVELS)]

    # --- who may send

    def _row(self, item: HtbClass, mask: int) -> None:
        rows = self.rows[item.level]
        if not self.masks[item.level]:
            self.ready += 1
        self.masks[item.level] |= mask
        for priority in _BITS[mask]:
            rows.setdefault(priority, Feed()).add(item)

    def _unrow(self, item: HtbClass, mask: int) -> None:
        rows = self.rows[item.level]
        for priority in _BITS[mask]:
            row = rows[priority]
            row.remove(item)
            if not row.members:
                self.masks[item.level] &= ~(1 << priority)
                if not self.masks[item.level]:
                    self.ready -= 1

    def _activate_priorities(self, item: HtbClass) -> None:
        above, mask = item.parent, item.active
        while item.mode == MAY_BORROW and above is not None and mask:
            for priority in _BITS[mask]:
                feed = above.feed(priority)
                if feed.members:
                    mask &= ~(1 << priority)
                feed.add(item)
            above.active |= mask
            item, above = above, above.parent
        if item.mode == CAN_SEND and mask:
            self._row(item, mask)

    def _deactivate_priorities(self, item: HtbClass) -> None:
        above, mask = item.parent, item.active
        while item.mode == MAY_BORROW and above is not None and mask:
            emptied = 0
            for priority in _BITS[mask]:
                feed = above.feeds[priority]
                feed.remove(item)
                if not feed.members:
                    emptied |= 1 << priority
            mask = emptied
            above.active &= ~mask
            item, above = above, above.parent
        if item.mode == CAN_SEND and mask:
            self._unrow(item, mask)

    def _deactivate(self, item: HtbClass) -> None:
        self._deactivate_priorities(item)
        item.active = 0
        self.busy -= 1

    def _set_mode(self, item: HtbClass, elapsed: int) -> int:
        """Sets the mode after `elapsed` ns; returns how long until it can change."""
        tokens = item.ctokens + elapsed
        if tokens < 0:
            mode, missing = CANT_SEND, -tokens
        else:
            tokens = item.tokens + elapsed
            mode, missing = (CAN_SEND, 0) if tokens >= 0 else (MAY_BORROW, -tokens)
        if mode != item.mode:
            if item.active:
                if item.mode != CANT_SEND:
                    self._deactivate_priorities(item)
                item.mode = mode
                if mode != CANT_SEND:
                    self._activate_priorities(item)
            else:
                item.mode = mode
        return missing

    def _await(self, item: HtbClass, now: int, missing: int) -> None:
        item.wait = now + max(missing, 1)
        if item.wait < self.events[item.level]:
            self.events[item.level] = item.wait
            self.first = min(self.first, item.wait)

    def _due(self, level: int, now: int) -> None:
        """Changes the mode of the level's classes whose time has come."""
        while True:
            first, time = None, _NEVER
            for item in self.at_level[level]:
                if item.wait < time:
                    first, time = item, item.wait
            if first is None or time > now:
                self.events[level] = time
                return
            first.wait = _NEVER
            missing = self._set_mode(first, min(now - first.then, MBUFFER))
            if first.mode != CAN_SEND:
                self._await(first, now, missing)

    # --- packets

    def enqueue(self, now: int, packet: Packet) -> bool:
        leaf = self.leaves[packet[1]]
        taken = leaf.queue.enqueue(now, packet)  # type: ignore[union-attr]
        if not leaf.active and leaf.queue.count:  # type: ignore[union-attr]
            leaf.active = 1 << leaf.priority
            self.busy += 1
            self._activate_priorities(leaf)
        return taken

    def dequeue(self, now: int) -> Packet | None:
        if not self.ready and self.first > now:
            return None
        events = self.events
        for level in self.levels:
            if events[level] <= now:
                self._due(level, now)
                self.first = min(events)
            if self.masks[level]:
                for priority in _BITS[self.masks[level]]:
                    packet = self._from_tree(now, level, priority)
                    if packet is not None:
                        return packet
        return None

    def _leaf(self, level: int, priority: int) -> HtbClass | None:
        """The leaf whose turn it is in a row (htb_lookup_leaf)."""
        stack = [self.rows[level][priority]]
        for _ in range(65535):
            feed = stack[-1]
            item = feed.current()
            if item is None:
                if not feed.members:
                    return None
                feed.turn = feed.members[0]
                if len(stack) > 1:
                    stack.pop()
                    if stack[-1].turn is None:
                        return None
                    stack[-1].advance()
            elif item.queue is not None:
                return item
            else:
                stack.append(item.feeds[priority])
        return None

    def _from_tree(self, now: int, level: int, priority: int) -> Packet | None:
        while True:
            leaf = self._leaf(level, priority)
            if leaf is None:
                return None
            packet = leaf.queue.dequeue(now)  # type: ignore[union-attr]
            if packet is not None:
                break
            # The queue has dropped what it had.
            self._deactivate(leaf)
            if not self.masks[level] >> priority & 1:
                return None
        leaf.deficit[level] -= packet[7]
        if leaf.deficit[level] < 0:
            leaf.deficit[level] += leaf.quantum
            if level:
                leaf.parent.feeds[priority].advance()  # type: ignore[union-attr]
            else:
                self.rows[0][priority].advance()
        if not leaf.queue.count:  # type: ignore[union-attr]
            self._deactivate(leaf)
        self._charge(leaf, level, packet[7], now)
        return packet

    def _charge(self, leaf: HtbClass, level: int, length: int, now: int) -> None:
        """Takes the packet out of the buckets of the class and of those above; the ones below the lender lose only of their ceil's."""
        item: HtbClass | None = leaf
        cost = length * 8 * SECOND
        while item is not None:
            elapsed = now - item.then
            elapsed = min(elapsed, MBUFFER)
            tokens = item.tokens + elapsed
            if item.level >= level:
                tokens = min(tokens, item.buffer)
                tokens -= cost // item.rate
                if tokens <= -MBUFFER:
                    tokens = 1 - MBUFFER
            item.tokens = tokens
            ctokens = item.ctokens + elapsed
            ctokens = min(ctokens, item.cbuffer)
            ctokens -= cost // item.ceil
            if ctokens <= -MBUFFER:
                ctokens = 1 - MBUFFER
            item.ctokens = ctokens
            item.then = now
            mode = CANT_SEND if ctokens < 0 else MAY_BORROW if tokens < 0 else CAN_SEND
            if mode != item.mode:
                missing = self._set_mode(item, 0)
                item.wait = _NEVER
                if mode != CAN_SEND:
                    self._await(item, now, missing)
            item = item.parent

    def wake(self, now: int) -> int | None:
        """When the next class may change its mode, as long as packets wait."""
        if not self.busy:
            return None
        return max(self.first, now + 1)

    def waiting(self) -> int:
        return sum([queue.count for queue in self.queues])
