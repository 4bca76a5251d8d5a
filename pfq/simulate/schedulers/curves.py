"""Service curves of hfsc at run time: bytes against nanoseconds, two straight pieces (Stoica, Zhang, Ng 1997; altq_hfsc.c, hfsc.c, sch_hfsc.c
rtsc_init, rtsc_min, rtsc_x2y, rtsc_y2x). The kernels' fixed point (slopes in steps of some 477 bit/s in OpenBSD) is not simulated."""

from dataclasses import dataclass

from pfq.simulate.packet import NEVER

# Bytes at one bit/s take so many ns each.
BYTES = 8_000_000_000


@dataclass(frozen=True, slots=True)
class ServiceLine:
    """m1 bit/s for the first d ns of a backlog, then m2 bit/s."""

    m1: int
    d: int
    m2: int

    @property
    def dy(self) -> int:
        """Bytes of the first piece."""
        return self.d * self.m1 // BYTES


def straight(rate: int) -> ServiceLine:
    return ServiceLine(rate, 0, rate)


def _time(length: int, rate: int) -> int:
    if not length:
        return 0
    return length * BYTES // rate if rate else NEVER


class RunningCurve:
    """A service curve that begins at (x ns, y bytes)."""

    __slots__ = ("dx", "dy", "m1", "m2", "straight", "x", "y")

    def __init__(self, line: ServiceLine, x: int = 0, y: int = 0) -> None:
        self.x, self.y = x, y
        self.m1, self.dx, self.dy, self.m2 = line.m1, line.d, line.dy, line.m2
        # One piece, now and later: the minimum of two such curves is such a curve.
        self.straight = line.m1 == line.m2 > 0 == line.d

    def when(self, y: int) -> int:
        """The time at which the curve reaches `y` bytes."""
        if y < self.y:
            return self.x
        above = y - self.y
        if self.straight:
            return self.x + above * BYTES // self.m2
        if above <= self.dy:
            return self.x + (_time(above, self.m1) if self.dy else self.dx)
        return self.x + self.dx + _time(above - self.dy, self.m2)

    def bytes_at(self, x: int) -> int:
        if x <= self.x:
            return self.y
        after = x - self.x
        if after <= self.dx:
            return self.y + after * self.m1 // BYTES
        return self.y + self.dy + (after - self.dx) * self.m2 // BYTES

    def lower_to(self, line: ServiceLine, x: int, y: int) -> None:
        """The minimum of this curve and of `line` begun at (x, y)."""
        here = self.bytes_at(x)
        if line.m1 <= line.m2:
            if here >= y:
                self.x, self.y = x, y
            return
        if here <= y:
            return
        if self.bytes_at(x + line.d) >= y + line.dy:
            self.x, self.y, self.dx, self.dy = x, y, line.d, line.dy
            return
        # The two cross: the first piece of the new one lasts until it meets the old one's second piece.
        dx = (here - y) * BYTES // (line.m1 - line.m2)
        if self.x + self.dx > x:
            dx += self.x + self.dx - x
        self.x, self.y, self.dx, self.dy = x, y, dx, dx * line.m1 // BYTES
