"""fq_codel: deficit round robin over flows, new flows first, CoDel in each (RFC 8290; Linux sch_fq_codel.c; OpenBSD fq_codel.c).

The two differ in what goes when the whole queue is full: Linux drops up to 64 packets, at most half of what waits, from the flow with the
most bytes (fq_codel_drop); OpenBSD one packet, after a limit that is always 1024 (fqcodel_enq).
"""

from collections import deque

from pfq.simulate.packet import Packet
from pfq.simulate.schedulers.codel import CodelState

FLOWS = 1024
LINUX_BATCH = 64
OPENBSD_LIMIT = 1024


def bucket(key: int, salt: int, flows: int) -> int:
    """Which of `flows` queues a flow falls into: any good mixing does, the kernels' differ too."""
    mixed = (key * 0x9E3779B1 + salt * 0x85EBCA6B) & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return (mixed ^ mixed >> 16) % flows


class _Flow(CodelState):
    __slots__ = ("deficit", "listed")

    def __init__(self, target: int, interval: int, mtu: int, ecn: bool) -> None:
        super().__init__(target, interval, mtu, ecn)
        self.deficit = 0
        self.listed = False


class FqCodel:
    """limit: packets in all flows. quantum: bytes of a turn. target, interval: ns. batch: packets that overflow drops at once at most.
    ecn: whether late packets are marked, where they can be, and not dropped."""

    __slots__ = ("batch", "count", "drops", "ecn", "flows", "head", "interval", "keys", "limit", "mtu", "new", "number", "old", "quantum", "salt", "target")

    def __init__(
        self, limit: int, quantum: int, target: int, interval: int, mtu: int, salt: int, batch: int = LINUX_BATCH, flows: int = FLOWS, ecn: bool = False
    ) -> None:
        self.limit = limit
        self.ecn = ecn
        self.quantum = quantum
        self.target = target
        self.interval = interval
        self.mtu = mtu
        self.salt = salt
        self.batch = batch
        self.number = flows
        self.flows: dict[int, _Flow] = {}
        # The queue of each key that was ever seen: as many as there are flows.
        self.keys: dict[int, _Flow] = {}
        self.new: deque[_Flow] = deque()
        self.old: deque[_Flow] = deque()
        self.head: Packet | None = None
        self.count = 0
        self.drops = 0

    def _flow(self, key: int) -> _Flow:
        """The queue of a key that is seen for the first time."""
        index = bucket(key, self.salt, self.number)
        flow = self.flows.get(index)
        if flow is None:
            flow = self.flows[index] = _Flow(self.target, self.interval, self.mtu, self.ecn)
        self.keys[key] = flow
        return flow

    def enqueue(self, now: int, packet: Packet) -> bool:
        flow = self.keys.get(packet[2]) or self._flow(packet[2])
        packet[8] = now
        flow.backlog += packet[7]
        flow.queue.append(packet)
        self.count += 1
        if not flow.listed:
            flow.listed = True
            flow.deficit = self.quantum
            self.new.append(flow)
        if self.count > self.limit:
            return self._overflow() is not packet
        return True

    def _overflow(self) -> Packet:
        """Drops from the flow with the most bytes; returns the last packet dropped."""
        fattest = max(self.flows.values(), key=lambda flow: flow.backlog)
        half = fattest.backlog // 2
        dropped = 0
        for _ in range(self.batch):
            packet = fattest.drop_head()
            dropped += packet[7]
            self.count -= 1
            self.drops += 1
            if dropped >= half or not fattest.queue:
                break
        return packet

    def dequeue(self, now: int) -> Packet | None:
        head = self.head
        if head is not None:
            self.head = None
            self.count -= 1
            return head
        new, old = self.new, self.old
        while True:
            if new:
                group = new
            elif old:
                group = old
            else:
                return None
            flow = group[0]
            if flow.deficit <= 0:
                flow.deficit += self.quantum
                group.popleft()
                old.append(flow)
                continue
            queue = flow.queue
            if queue:
                # What CodelState.take does to a packet that it does not drop, without a call.
                first = queue[0]
                length = first[7]
                late = False
                if now - first[8] < self.target or flow.backlog - length <= self.mtu:
                    flow.above = 0
                elif flow.above:
                    late = now > flow.above
                else:
                    flow.above = now + self.interval
                if not late:
                    flow.dropping = False
                if not late or (flow.dropping and now < flow.next_drop):
                    queue.popleft()
                    flow.backlog -= length
                    flow.deficit -= length
                    self.count -= 1
                    return first
            before = flow.drops
            packet = flow.take(now)
            lost = flow.drops - before
            self.drops += lost
            self.count -= lost
            if packet is None:
                group.popleft()
                # A new flow that runs empty goes through the old ones once, or it would starve them.
                if group is new and old:
                    old.append(flow)
                else:
                    flow.listed = False
                continue
            flow.deficit -= packet[7]
            self.count -= 1
            return packet

    def peek(self, now: int) -> Packet | None:
        if self.head is None:
            self.head = self.dequeue(now)
            if self.head is not None:
                self.count += 1
        return self.head
