"""A strict order of queues: priq of ALTQ (altq_priq.c priq_dequeue) and prio of Linux (sch_prio.c prio_dequeue). The first queue that has
a packet gives it; nothing protects the later ones from starving."""

from pfq.simulate.packet import Packet
from pfq.simulate.queues import Queue


class Strict:
    """`queues` by class index; `order`: the class indices, the one to serve first written first."""

    __slots__ = ("ordered", "queues")

    def __init__(self, queues: list[Queue], order: list[int]) -> None:
        self.queues = queues
        self.ordered = [queues[index] for index in order]

    def enqueue(self, now: int, packet: Packet) -> bool:
        return self.queues[packet[1]].enqueue(now, packet)

    def dequeue(self, now: int) -> Packet | None:
        for queue in self.ordered:
            if queue.count and (packet := queue.dequeue(now)) is not None:
                return packet
        return None

    def wake(self, now: int) -> int | None:
        return None

    def waiting(self) -> int:
        return sum([queue.count for queue in self.queues])
