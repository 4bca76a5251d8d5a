"""The eight lists that every interface of OpenBSD has unless hfsc or fq_codel replaces them (ifq.c priq_enq, priq_deq_begin)."""

from collections import deque

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import Packet

LISTS = 8


class EightLists(Discipline):
    """`priorities`: of each class index, 0 to 7, 7 first. `limit`: packets in all lists together (net.inet.ip.ifq.maxlen, 2048 today; 256 before).

    When it is full, the oldest packet of the lowest list below the arriving packet's own goes; if there is none, the arriving one.
    """

    __slots__ = ("count", "drops", "limit", "lists", "priorities")

    def __init__(self, priorities: list[int], limit: int) -> None:
        self.priorities = priorities
        self.limit = limit
        self.lists: list[deque[Packet]] = [deque() for _ in range(LISTS)]
        self.count = 0
        self.drops = [0] * len(priorities)

    def enqueue(self, now: int, packet: Packet) -> bool:
        priority = self.priorities[packet[1]]
        if self.count >= self.limit:
            lower = next((queue for queue in self.lists[:priority] if queue), None)
            if lower is None:
                self.drops[packet[1]] += 1
                return False
            self.drops[lower.popleft()[1]] += 1
            self.count -= 1
        self.lists[priority].append(packet)
        self.count += 1
        return True

    def dequeue(self, now: int) -> Packet | None:
        if not self.count:
            return None
        for queue in reversed(self.lists):
            if queue:
                self.count -= 1
                return queue.popleft()
        return None

    def wake(self, now: int) -> int | None:
        return None

    def waiting(self) -> int:
        return self.count
