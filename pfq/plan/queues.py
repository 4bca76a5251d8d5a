"""The queue tree of a policy at a rate: shares, guarantees, ceilings, limits."""

from dataclasses import dataclass, replace

from pfq.plan.model import Accounting, Figure, Queue, ServiceCurve
from pfq.plan.rates import AckDemand, counted
from pfq.site.check import default_class
from pfq.site.encapsulation import EMPTY_ACK_WITH_TIMESTAMPS, Encapsulation, ceil_div
from pfq.site.kinds import Faults
from pfq.site.model import Amount, Curve, Demand, Direction, Policy, TrafficClass
from pfq.site.positions import Path
from pfq.site.units import show_rate, show_time, tidy

# A class in a strict order that names no guarantee gets this part of the rate, so that nothing above can starve it for good.
STRICT_PERCENT = 10
# ACKs come in bursts: their class gets a quarter more than their mean.
ACK_HEADROOM_PERCENT = 125
# Real-time guarantees above 80 % of an interface are refused by ALTQ's hfsc (pfctl_altq.c); computed ones stay below.
MOST_COMPUTED_PERCENT = 75
# Where the model's own guarantees leave less than that, the computed ones get one part of so many of what is left.
LEAST_ROOM = 4
# At least this much of a rate must be left for classes without a guarantee.
LEAST_REST_PERCENT = 1

# Queue limits are times at the class's highest rate: longer waits help nobody. A TCP flow needs a few packets to find its rate,
# a fair queue holds many flows. What the model says is bounded by pf's qlimit alone, which has 16 bits.
QLIMIT_MOST = 65_535
LIMIT_US, FAIR_LIMIT_US = 250_000, 1_000_000
LEAST_PACKETS, MOST_PACKETS = 8, 1_000
LEAST_FAIR_PACKETS, MOST_FAIR_PACKETS = 64, 10_000
# CoDel's figures, and how CAKE widens them where one packet takes longer (RFC 8289; sch_cake.c cake_set_rate).
CODEL_TARGET_US, CODEL_INTERVAL_US = 5_000, 100_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What a tree is built for."""

    link: str
    direction: Direction
    rate: Figure
    accounting: Accounting
    encapsulation: Encapsulation
    mtu: int
    acks: AckDemand
    path: Path


def build_queues(policy: Policy, terms: Terms, faults: Faults) -> tuple[Queue, ...]:
    """The tree of the policy's classes. Reports guarantees that exceed what there is, ceilings below guarantees, an express class
    too small for the ACKs."""
    default = default_class(policy.classes)
    children: dict[str | None, list[TrafficClass]] = {}
    for item in policy.classes:
        children.setdefault(item.parent, []).append(item)
    rate = max(1, terms.rate.value)  # A rate of nothing is reported already.
    queues = _Level(terms, children, default, faults).build(None, rate, rate)
    # Each level has kept its computed guarantees within bounds; classes within classes add theirs.
    given, computed = _guaranteed(queues)
    room = _room(rate, given)
    return _lowered(queues, room, computed) if computed > room else queues


def _room(rate: int, given: int) -> int:
    """What computed guarantees may take together of `rate` where the model's own take `given`."""
    return max(rate * MOST_COMPUTED_PERCENT // 100 - given, (rate - given) // LEAST_ROOM, 0)


def _guaranteed(queues: tuple[Queue, ...]) -> tuple[int, int]:
    """Sums of the guarantees of the queues that packets wait in: the model's, the computed ones."""
    given = computed = 0
    for queue in queues:
        if queue.guarantee and queue.guarantee.rate.given:
            given += queue.guarantee.rate.value
        elif queue.guarantee:
            computed += queue.guarantee.rate.value
        below = _guaranteed(queue.children)
        given, computed = given + below[0], computed + below[1]
    return given, computed


def _lowered(queues: tuple[Queue, ...], room: int, total: int) -> tuple[Queue, ...]:
    """The same queues, their computed guarantees, which are `total` together, cut to `room`."""
    found = []
    for queue in queues:
        curve = queue.guarantee
        if curve and not curve.rate.given:
            curve = ServiceCurve(_cut(curve.rate, room, total), None, 0)
        found.append(replace(queue, guarantee=curve, children=_lowered(queue.children, room, total)))
    return tuple(found)


def ranks(classes: list[TrafficClass]) -> list[int]:
    """Position in the strict order: one more for each class, but neighbours that have a share stand together."""
    found: list[int] = []
    for index, item in enumerate(classes):
        together = index > 0 and item.share is not None and classes[index - 1].share is not None
        found.append(found[-1] if together else (found[-1] + 1 if found else 0))
    return found


def steps(policy: Policy) -> int:
    """The most steps of strict order among the parts of one class, or among the classes that are part of none."""
    siblings: dict[str | None, list[TrafficClass]] = {}
    for item in policy.classes:
        siblings.setdefault(item.parent, []).append(item)
    return max(ranks(classes)[-1] + 1 for classes in siblings.values())


def _amount(amount: Amount, rate: int) -> int:
    return amount if isinstance(amount, int) else int(amount * rate / 100)


_CUT = ", cut to what the line has"


def _cut(figure: Figure, room: int, total: int) -> Figure:
    """The part of `room` that falls to one of the computed guarantees that want `total` together."""
    why = figure.why if figure.why.endswith(_CUT) else f"{show_rate(figure.value)} wanted ({figure.why}){_CUT}"
    return Figure(max(1, tidy(figure.value * room // total)), "bit/s", False, why, figure.path)


class _Level:
    """Builds siblings, and through them their children."""

    def __init__(
        self, terms: Terms, children: dict[str | None, list[TrafficClass]], default: TrafficClass | None, faults: Faults
    ) -> None:
        self.terms = terms
        self.children = children
        self.default = default
        self.faults = faults

    def build(self, parent: str | None, rate: int, top: int) -> tuple[Queue, ...]:
        """The parts of `parent`, which gets `rate` when everything is busy and at most `top`."""
        classes = self.children.get(parent, [])
        guarantees = self._guarantees(classes, rate, top)
        shares = self._shares(classes, guarantees, rate)
        return tuple(
            self._queue(item, rank, guarantee, share, top)
            for item, rank, guarantee, share in zip(classes, ranks(classes), guarantees, shares, strict=True)
        )

    def _wanted(self, demand: Demand | None) -> Curve | None:
        return demand.of(self.terms.direction) if demand else None

    def _given(self, item: TrafficClass, key: str, curve: Curve, rate: int) -> ServiceCurve:
        """A curve of the model in bit/s; percentages are of `rate`."""
        path = (*item.path, key, self.terms.direction)  # Where it is the same for both directions, the place is that of `key`.
        value = _amount(curve.rate, rate)
        burst = None if curve.burst is None else _amount(curve.burst, rate)
        for what, amount in ((key, value), (f"burst of the {key}", burst)):
            if amount is not None and amount > rate:
                message = f"{self._class(item)}: the {what} {show_rate(amount)} is more than the {show_rate(rate)} there is"
                self.faults.at(path, "above-link", message, f"at most {show_rate(rate)} here; percentages fit every link")
            if amount is not None and amount < 1:
                self.faults.at(path, "too-small", f"{self._class(item)}: the {what} comes to less than 1 bit/s of {show_rate(rate)}", "write a rate")
        why = "as the model says" if isinstance(curve.rate, int) else f"{curve.rate} % of {show_rate(rate)}"
        return ServiceCurve(Figure(value, "bit/s", True, why, path), burst, curve.microseconds)

    def _line(self) -> str:
        return f"link {self.terms.link!r} {self.terms.direction}"

    def _class(self, item: TrafficClass) -> str:
        return f"class {item.name!r}, {self._line()}"

    def _guarantees(self, classes: list[TrafficClass], rate: int, top: int) -> list[ServiceCurve | None]:
        """Given ones as given; computed ones from what those leave."""
        found: list[ServiceCurve | None] = []
        for item in classes:
            curve = self._wanted(item.guarantee)
            found.append(self._given(item, "guarantee", curve, rate) if curve else None)
        given = sum(curve.rate.value for curve in found if curve)
        if given > rate and all(curve.rate.value <= rate for curve in found if curve):
            named = [item for item, curve in zip(classes, found, strict=True) if curve]
            path = (*named[0].path, "guarantee", self.terms.direction)
            names = ", ".join(item.name for item in named)
            message = f"{self._line()}: the guarantees of {names} add up to {show_rate(given)}, and there are {show_rate(rate)}"
            self.faults.at(path, "impossible-sum", message, "lower one, or write percentages")
        wanted = {index: self._computed(item, rate, top) for index, item in enumerate(classes) if found[index] is None}
        asked = {index: figure for index, figure in wanted.items() if figure}
        total = sum(figure.value for figure in asked.values())
        room = _room(rate, given)
        for index, figure in asked.items():
            found[index] = ServiceCurve(_cut(figure, room, total) if total > room else figure, None, 0)
            if classes[index].express and (given or rate < self.terms.rate.value):
                self._check_acks(classes[index], room, given)
        return found

    def _check_acks(self, item: TrafficClass, room: int, given: int) -> None:
        """Reports an express class for whose ACKs the guarantees of the model, or the class it is a part of, leave too little."""
        acks = self.terms.acks
        if acks.capped or room >= acks.rate:
            return
        what = "the guarantees beside it leave" if given else f"its part of {item.parent!r} is"
        message = f"{self._class(item)}: {what} {show_rate(room)}, too little for the ACKs of a full transfer the other way"
        hint = f"they need {show_rate(acks.rate)} ({acks.packets} a second): {'lower a guarantee' if given else 'leave its `parent` out'}"
        self.faults.at(item.path, "express-too-small", message, hint)

    def _computed(self, item: TrafficClass, rate: int, top: int) -> Figure | None:
        """The guarantee of a class that names none; None where it takes what is left."""
        if item is self.default or item.share is not None or item.name in self.children:
            return None
        acks = self.terms.acks
        if item.express and acks.rate * ACK_HEADROOM_PERCENT > rate * STRICT_PERCENT:
            size = counted(EMPTY_ACK_WITH_TIMESTAMPS, self.terms.accounting, self.terms.encapsulation)
            why = f"{acks.packets} ACKs/s of {size} bytes = {show_rate(acks.rate)}, and a quarter more"
            return Figure(tidy(acks.rate * ACK_HEADROOM_PERCENT // 100), "bit/s", False, why, item.path)
        value, why = rate * STRICT_PERCENT // 100, f"{STRICT_PERCENT} % of {show_rate(rate)}"
        ceiling = self._wanted(item.ceiling)
        if ceiling and not item.express and _amount(ceiling.rate, top) < value:
            value, why = _amount(ceiling.rate, top), f"its ceiling, less than {why}"
        return Figure(max(1, tidy(value)), "bit/s", False, why, item.path)

    def _shares(self, classes: list[TrafficClass], guarantees: list[ServiceCurve | None], rate: int) -> list[Figure]:
        """Guaranteed classes outside a proportion get their guarantee; the rest is divided among the others, each getting its guarantee."""
        floors = [guarantee.rate.value if guarantee else 0 for guarantee in guarantees]
        dividing = [item.share is not None or not floor for item, floor in zip(classes, floors, strict=True)]
        short = True
        while short:
            taken = sum(floor for floor, divides in zip(floors, dividing, strict=True) if not divides)
            rest = rate - taken
            weights = [item.share or 1 for item, divides in zip(classes, dividing, strict=True) if divides]
            parts, short = sum(weights), False
            for index, item in enumerate(classes):
                if dividing[index] and floors[index] and rest * (item.share or 1) // parts < floors[index]:
                    dividing[index], short = False, True
        if weights and 0 <= rest < max(len(weights), rate * LEAST_REST_PERCENT // 100):
            left = [item for item, divides in zip(classes, dividing, strict=True) if divides]
            message = f"{self._line()}: the guarantees leave nothing for the class {left[0].name!r}"
            self.faults.at(left[0].path or self.terms.path, "impossible-sum", message, "lower a guarantee")
        figures: list[Figure] = []
        for item, guarantee, divides in zip(classes, guarantees, dividing, strict=True):
            if not divides and guarantee:
                figures.append(guarantee.rate)
                continue
            weight = item.share or 1
            value = max(1, tidy(rest * weight // parts))
            of = f"{weight} of {parts} parts of " if len(weights) > 1 else ""
            left_of = f"{show_rate(max(rest, 0))} that the guarantees leave" if taken else f"{show_rate(rate)}"
            figures.append(Figure(value, "bit/s", False, f"{of}{left_of}", item.path))
        return figures

    def _queue(self, item: TrafficClass, rank: int, guarantee: ServiceCurve | None, share: Figure, top: int) -> Queue:
        curve = self._wanted(item.ceiling)
        ceiling = self._given(item, "ceiling", curve, top) if curve else None
        self._check(item, guarantee, ceiling)
        inner = item.name in self.children
        if ceiling:
            top = max(1, ceiling.rate.value)
            if share.value > top:
                share = Figure(top, "bit/s", ceiling.rate.given, f"its ceiling, less than {share.why}", ceiling.rate.path)
        children = self.build(item.name, share.value, top) if inner else ()
        fair = item.fair if item.fair is not None else "flow" if item is self.default else "none"
        full = counted(self.terms.mtu, self.terms.accounting, self.terms.encapsulation)
        packet_us = ceil_div(full * 8 * 1_000_000, top)
        target = max(CODEL_TARGET_US, packet_us * 3 // 2)
        interval = max(CODEL_INTERVAL_US + target - CODEL_TARGET_US, 2 * target)
        return Queue(
            item.path, item.name, rank, share, None if inner else guarantee, ceiling, self._limit(item, top, False),
            self._limit(item, top, True), target, interval, fair, item.fair is not None, item.drop, item.express, item is self.default, children,
        )

    def _check(self, item: TrafficClass, guarantee: ServiceCurve | None, ceiling: ServiceCurve | None) -> None:
        if ceiling and guarantee and guarantee.rate.value > ceiling.rate.value:
            need = "guarantee" if guarantee.rate.given else f"need ({guarantee.rate.why})"
            message = f"{self._class(item)}: the ceiling {show_rate(ceiling.rate.value)} is below the {need} of {show_rate(guarantee.rate.value)}"
            self.faults.at(ceiling.rate.path, "contradiction", message, "raise the ceiling or lower the guarantee")
        acks = self.terms.acks
        if item.express and guarantee and guarantee.rate.given and guarantee.rate.value < acks.rate:
            message = f"{self._class(item)}: {show_rate(guarantee.rate.value)} is too small for the ACKs of a full transfer the other way"
            hint = f"they need {show_rate(acks.rate)} ({acks.packets} a second): leave the guarantee out to have it computed"
            self.faults.at(guarantee.rate.path, "express-too-small", message, hint)

    def _limit(self, item: TrafficClass, rate: int, fair: bool) -> Figure:
        """Packets. A time in the model is turned into full-size packets at the class's highest rate."""
        path = (*item.path, "limit")
        if item.limit is not None and item.limit_unit == "packets":
            return Figure(item.limit, "packets", True, "as the model says", path)
        size = EMPTY_ACK_WITH_TIMESTAMPS if item.express else self.terms.mtu
        size = counted(size, self.terms.accounting, self.terms.encapsulation)
        time = item.limit if item.limit is not None else FAIR_LIMIT_US if fair else LIMIT_US
        packets = ceil_div(time * rate, size * 8 * 1_000_000)
        least, most = (LEAST_FAIR_PACKETS, MOST_FAIR_PACKETS) if fair else (LEAST_PACKETS, MOST_PACKETS)
        if item.limit is not None:
            least, most = 1, QLIMIT_MOST
        value = min(max(packets, least), most)
        if value == packets:
            why = f"{show_time(time)} at {show_rate(rate)}, packets of {size} bytes"
        else:
            why = f"at least {least} packets" if value == least else f"at most {most} packets"
        return Figure(value, "packets", item.limit is not None, why, path)
