"""What every queue offers, whatever it does inside."""

from typing import Protocol

from pfq.simulate.packet import Packet


class Counted(Protocol):
    """count: packets in it. drops: packets it has dropped."""

    @property
    def count(self) -> int: ...

    @property
    def drops(self) -> int: ...


class Queue(Counted, Protocol):
    """`peek` gives the packet that the next `dequeue` gives."""

    def enqueue(self, now: int, packet: Packet) -> bool:
        """Whether the packet was taken; another one may have been dropped for it."""

    def dequeue(self, now: int) -> Packet | None: ...

    def peek(self, now: int) -> Packet | None: ...
