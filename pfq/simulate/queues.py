"""What every queue offers, whatever it does inside."""

from typing import Protocol

from pfq.simulate.packet import Packet


class Queue(Protocol):
    """count: packets in it. drops: packets it has dropped. `peek` gives the packet that the next `dequeue` gives."""

    @property
    def count(self) -> int: ...

    @property
    def drops(self) -> int: ...

    def enqueue(self, now: int, packet: Packet) -> bool:
        """Whether the packet was taken; another one may have been dropped for it."""

    def dequeue(self, now: int) -> Packet | None: ...

    def peek(self, now: int) -> Packet | None: ...
