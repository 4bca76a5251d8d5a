"""A strict order of queues: priq of ALTQ (altq_priq.c priq_dequeue) and prio of Linux (sch_prio.c prio_dequeue). The first queue that has
a packet gives it; nothing protects the later ones from starving."""

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import Packet
from pfq.simulate.queues import Queue


class Strict(Discipline):
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


class Bands:
    """A strict order as the one queue of a class: sch_prio.c inside sch_htb.c. `queues` and `order` as of `Strict`."""

    __slots__ = ("count", "drops", "ordered", "queues")

    def __init__(self, queues: list[Queue], order: list[int]) -> None:
        self.queues = queues
        self.ordered = [queues[index] for index in order]
        self.count = 0
        # The bands count their own.
        self.drops = 0

    def enqueue(self, now: int, packet: Packet) -> bool:
        queue = self.queues[packet[1]]
        before = queue.count
        taken = queue.enqueue(now, packet)
        self.count += queue.count - before
        return taken

    def dequeue(self, now: int) -> Packet | None:
        for queue in self.ordered:
            before = queue.count
            if before:
                packet = queue.dequeue(now)
                self.count += queue.count - before
                if packet is not None:
                    return packet
        return None

    def peek(self, now: int) -> Packet | None:
        for queue in self.ordered:
            before = queue.count
            if before:
                packet = queue.peek(now)
                self.count += queue.count - before
                if packet is not None:
                    return packet
        return None
