"""What a gateway's queues did so far, under the model's names."""

from dataclasses import dataclass, replace

from pfq.diagnostics import Diagnostic
from pfq.site.model import Direction


@dataclass(frozen=True, slots=True)
class Counters:
    """packets, bytes: sent so far, as the discipline counts them. dropped: packets thrown away so far.

    waiting, waiting_bytes: in the queue now; None where the system does not say.
    filtered: ACKs that CAKE took out because a later one says the same.
    """

    packets: int
    bytes: int
    dropped: int
    waiting: int | None
    waiting_bytes: int | None
    filtered: int = 0


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the model on one interface. address: its name there (1:10, q_def). depth: how many classes it is inside of.

    share, guarantee, ceiling: bit/s, from the plan. inner: classes are inside of it, and the counters are their sum.
    counters: None where the class is not there. rate: bit/s now, as the discipline counts; None before there are two looks.
    """

    name: str
    address: str
    depth: int
    inner: bool
    express: bool
    default: bool
    share: int | None
    guarantee: int | None
    ceiling: int | None
    counters: Counters | None
    rate: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The classes of one link in one direction; of no link (''), what else leaves by the interface. shaped: bit/s, from the plan."""

    link: str
    direction: Direction | None
    interface: str
    scheduler: str
    shaped: int | None
    classes: tuple[Class, ...]

    def total(self) -> Counters | None:
        """All its classes together; None if none is there."""
        return added([each.counters for each in self.classes if not each.inner])

    def express_packets(self) -> int | None:
        """Packets that were sent ahead of the rest; None where no class is for them."""
        counted = [each.counters for each in self.classes if each.express and each.counters]
        return sum(each.packets for each in counted) if counted else None

    def rate(self) -> int | None:
        """bit/s of all its classes now."""
        rates = [each.rate for each in self.classes if not each.inner and each.rate is not None]
        return sum(rates) if rates else None


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one moment (seconds of a clock that only runs forward), and where that is not what the model compiles to."""

    at: float
    groups: tuple[Group, ...]
    findings: tuple[Diagnostic, ...]


def added(counters: list[Counters | None]) -> Counters | None:
    """The sum of what is known."""
    known = [each for each in counters if each is not None]
    if not known:
        return None
    return Counters(
        sum(each.packets for each in known),
        sum(each.bytes for each in known),
        sum(each.dropped for each in known),
        _sum([each.waiting for each in known]),
        _sum([each.waiting_bytes for each in known]),
        sum(each.filtered for each in known),
    )


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def with_rates(before: Look, now: Look) -> Look:
    """The later look, with the rates over the time between the two. A class whose counters began anew has no rate."""
    seconds = now.at - before.at
    bytes_then = {
        (group.link, group.direction, group.interface, each.name): each.counters.bytes for group in before.groups for each in group.classes if each.counters
    }

    def rate(group: Group, each: Class) -> int | None:
        then = bytes_then.get((group.link, group.direction, group.interface, each.name))
        if then is None or each.counters is None or each.counters.bytes < then or seconds <= 0:
            return each.rate
        return round((each.counters.bytes - then) * 8 / seconds)

    groups = tuple(replace(group, classes=tuple(replace(each, rate=rate(group, each)) for each in group.classes)) for group in now.groups)
    return replace(now, groups=groups)
