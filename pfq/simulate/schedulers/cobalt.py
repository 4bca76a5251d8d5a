"""COBALT, the queue management of CAKE: CoDel for flows that listen, BLUE for those that do not (sch_cake.c cobalt_queue_full,
cobalt_queue_empty, cobalt_should_drop, cobalt_control; cake_set_rate for the numbers). Times are ns."""

from dataclasses import dataclass
from random import Random

from pfq.simulate.packet import CAPABLE, EXPERIENCED, SECOND, Packet

_ONE = (1 << 32) - 1
# Probabilities have 32 bits: a drop at a full queue adds 1/256, an empty queue takes away 1/4096.
_MORE, _LESS = 1 << 24, 1 << 20
_CACHED = 16


def _step(count: int, inverse: int) -> int:
    """One step of Newton's towards 1 / sqrt(count), in 32 bits (cobalt_newton_step)."""
    square = inverse * inverse >> 32
    value = ((3 << 32) - count * square) >> 2
    return (value * inverse >> 31) & _ONE


def _cache() -> list[int]:
    """The first values, four steps each from the one before (cobalt_cache_init)."""
    found, inverse = [_ONE], _ONE
    for count in range(1, _CACHED):
        for _ in range(4):
            inverse = _step(count, inverse)
        found.append(inverse)
    return found


_INVERSE = _cache()


@dataclass(frozen=True, slots=True)
class CobaltNumbers:
    """target, interval: of CoDel; mtu_time: what a full packet takes at the tin's rate."""

    target: int
    interval: int
    mtu_time: int


def cobalt_numbers(rate: int | None, mtu: int, target: int = SECOND // 200, interval: int = SECOND // 10) -> CobaltNumbers:
    """As CAKE sets them for a tin of `rate` bit/s (None: unlimited): at least one and a half packets' time must be allowed to wait."""
    mtu_time = mtu * 8 * SECOND // max(rate, 512) if rate is not None else 0
    own = max(mtu_time * 3 // 2, target)
    return CobaltNumbers(own, max(interval + own - target, 2 * own), mtu_time)


class Cobalt:
    """The state of one flow."""

    __slots__ = ("blue_at", "chance", "count", "drop_next", "dropping", "inverse")

    def __init__(self) -> None:
        self.count = 0
        self.inverse = 0
        self.drop_next = 0
        self.blue_at = 0
        self.chance = 0
        self.dropping = False

    def _slow_down(self, numbers: CobaltNumbers) -> None:
        """The next signal is due an interval over the square root of the count after the last one."""
        count = self.count
        self.inverse = _INVERSE[count] if count < _CACHED else _step(count, self.inverse)
        self.drop_next += (numbers.interval & _ONE) * self.inverse >> 32

    def full(self, now: int, numbers: CobaltNumbers) -> None:
        """A packet of the flow had to go because memory ran out."""
        if now - self.blue_at > numbers.target:
            self.chance = min(self.chance + _MORE, _ONE)
            self.blue_at = now
        self.dropping = True
        self.drop_next = now
        self.count = self.count or 1

    def empty(self, now: int, numbers: CobaltNumbers) -> None:
        """The flow's turn came and it had nothing."""
        if self.chance and now - self.blue_at > numbers.target:
            self.chance = max(self.chance - _LESS, 0)
            self.blue_at = now
        self.dropping = False
        if self.count and now >= self.drop_next:
            self.count -= 1
            self._slow_down(numbers)

    def at_rest(self, now: int) -> bool:
        """Whether an empty flow may be forgotten."""
        return not self.chance and not self.count and now >= self.drop_next

    def drops(self, now: int, packet: Packet, bulk_flows: int, numbers: CobaltNumbers, random: Random) -> bool:
        """Whether the packet is to be dropped. bulk_flows: flows that a packet's time is allowed for (of an ingress shaper; else 0)."""
        waited = now - packet[8]
        late = waited > numbers.target and waited > numbers.mtu_time * bulk_flows * 2 and waited > numbers.mtu_time * 4
        due = self.count > 0 and now >= self.drop_next
        overdue = now > self.drop_next
        drop = False
        if late:
            if not self.dropping:
                self.dropping = True
                # An interval of more than 4.29 s overflows in reciprocal_scale.
                self.drop_next = now + ((numbers.interval & _ONE) * self.inverse >> 32)
            self.count = self.count or 1
        else:
            self.dropping = False
        if due and self.dropping:
            if packet[9] & CAPABLE:
                packet[9] |= EXPERIENCED
            else:
                drop = True
            self.count += 1
            self._slow_down(numbers)
            overdue = now > self.drop_next
        else:
            while due:
                self.count -= 1
                self._slow_down(numbers)
                overdue = now > self.drop_next
                due = self.count > 0 and now >= self.drop_next
        if self.chance and random.getrandbits(32) < self.chance:
            drop = True
        if not self.count:
            self.drop_next = now + numbers.interval
        elif overdue and not drop:
            self.drop_next = now
        return drop
