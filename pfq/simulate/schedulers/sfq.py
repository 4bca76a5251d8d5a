"""Stochastic fairness queueing of Linux (sch_sfq.c sfq_enqueue, sfq_drop, sfq_dequeue): round robin over hashed flows by bytes; a full queue
drops the last packet of the longest flow. The hash is not changed in time here (`perturb`)."""

from collections import deque

from pfq.simulate.packet import Packet
from pfq.simulate.schedulers.fq_codel import bucket

DIVISOR, DEPTH, MOST_FLOWS = 1024, 127, 128


class _Slot:
    __slots__ = ("allot", "changed", "index", "queue")

    def __init__(self, index: int) -> None:
        self.index = index
        self.queue: deque[Packet] = deque()
        self.allot = 0
        self.changed = 0


class Sfq:
    """limit: packets in all flows; quantum: bytes of a turn (one packet of the interface's MTU)."""

    __slots__ = ("changes", "count", "drops", "head", "limit", "quantum", "ring", "salt", "slots")

    def __init__(self, limit: int, quantum: int, salt: int) -> None:
        self.limit = limit
        self.quantum = quantum
        self.salt = salt
        self.slots: dict[int, _Slot] = {}
        self.ring: deque[_Slot] = deque()
        self.head: Packet | None = None
        self.changes = 0
        self.count = 0
        self.drops = 0

    def enqueue(self, now: int, packet: Packet) -> bool:
        index = bucket(packet[2], self.salt, DIVISOR)
        slot = self.slots.get(index)
        if slot is None:
            if len(self.slots) >= MOST_FLOWS:
                self.drops += 1
                return False
            slot = self.slots[index] = _Slot(index)
        if len(slot.queue) >= DEPTH:
            self.drops += 1
            return False
        slot.queue.append(packet)
        self.count += 1
        self._changed(slot)
        if len(slot.queue) == 1:
            # A new flow waits for its turn behind all others.
            slot.allot = self.quantum
            self.ring.append(slot)
        return self.count <= self.limit or self._drop() is not slot

    def _changed(self, slot: _Slot) -> None:
        self.changes += 1
        slot.changed = self.changes

    def _drop(self) -> _Slot:
        """Drops the last packet of the longest flow, of those of one length the one that came to it last."""
        slot = max(self.ring, key=lambda item: (len(item.queue), item.changed))
        slot.queue.pop()
        self.count -= 1
        self.drops += 1
        self._changed(slot)
        if not slot.queue:
            self.ring.remove(slot)
            del self.slots[slot.index]
        return slot

    def dequeue(self, now: int) -> Packet | None:
        head = self.head
        if head is not None:
            self.head = None
        else:
            head = self._take()
        if head is not None:
            self.count -= 1
        return head

    def _take(self) -> Packet | None:
        ring = self.ring
        if not ring:
            return None
        while ring[0].allot <= 0:
            ring[0].allot += self.quantum
            ring.rotate(-1)
        slot = ring[0]
        packet = slot.queue.popleft()
        self._changed(slot)
        if slot.queue:
            slot.allot -= packet[7]
        else:
            ring.popleft()
            del self.slots[slot.index]
        return packet

    def peek(self, now: int) -> Packet | None:
        if self.head is None:
            self.head = self._take()
        return self.head
