"""First in, first out with a limit in packets: pfifo of Linux (sch_fifo.c), the class queue of ALTQ (altq_priq.c, altq_hfsc.c) and of
OpenBSD's hfsc (hfsc.c hfsc_addq): a packet that finds the queue full is dropped."""

from collections import deque

from pfq.simulate.packet import Packet


class Fifo:
    __slots__ = ("count", "drops", "limit", "queue")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.queue: deque[Packet] = deque()
        self.count = 0
        self.drops = 0

    def enqueue(self, now: int, packet: Packet) -> bool:
        if self.count >= self.limit:
            self.drops += 1
            return False
        self.queue.append(packet)
        self.count += 1
        return True

    def dequeue(self, now: int) -> Packet | None:
        if not self.count:
            return None
        self.count -= 1
        return self.queue.popleft()

    def peek(self, now: int) -> Packet | None:
        return self.queue[0] if self.count else None


class HeadDrop(Fifo):
    """cbq of ALTQ takes the packet in and drops the oldest one if the queue is then over its limit (altq_rmclass.c rmc_queue_packet)."""

    __slots__ = ()

    def enqueue(self, now: int, packet: Packet) -> bool:
        self.queue.append(packet)
        self.count += 1
        if self.count > self.limit:
            self.queue.popleft()
            self.count -= 1
            self.drops += 1
            return False
        return True
