"""Queue definitions of ALTQ: `altq on` and `queue` statements for priq, cbq and hfsc.

Rules of admission: pfctl_altq.c and altq_hfsc.c of OpenBSD 4.4 and FreeBSD 12.1.
"""

from dataclasses import dataclass

from pfq.plan.model import Plan, Queue, Tree, Uplink
from pfq.site.kinds import Faults
from pfq.site.units import show_rate
from pfq.targets.altq_curves import Curve, curve_of, exceeds, room_below
from pfq.targets.pf_dialects import Dialect
from pfq.targets.pf_names import Names, Placed, local_note, rest_of
from pfq.targets.pf_text import Statement, altq_rate, comments, reason

# altq_priq.h PRIQ_MAXPRI, altq_cbq.h CBQ_MAXPRI, altq_hfsc.h HFSC_MAX_CLASSES, altq_cbq.h CBQ_MAX_CLASSES; roots are counted too.
PRIQ_MOST, CBQ_PRIORITIES = 16, 8
CLASSES_MOST = {"priq": 16, "cbq": 256, "hfsc": 64}
# Real-time curves may take 80 % of an interface (pfctl_altq.c eval_pfqueue_hfsc).
REALTIME_PERCENT = 80
# Below this, one packet takes longer than cbq can count (pfctl warns below 5.59Kb at MTU 1500), and an hfsc slope is rounded to nothing.
LEAST_RATE = {"cbq": 6_000, "hfsc": 1_000}
# A machine that does nothing else looks into the token bucket at every tick only (altq_subr.c tbr_timeout; HZ 100).
TICKS = 100


@dataclass(frozen=True, slots=True)
class Definitions:
    """Writes the queues of one interface."""

    plan: Plan
    dialect: Dialect
    names: Names
    place: Placed
    faults: Faults
    on: str

    def statements(self) -> list[Statement]:
        """The `altq on` statement and its queues. Reports what the scheduler or the dialect cannot express."""
        scheduler = self._scheduler()
        self._check_count(scheduler)
        if self.place.local:
            return self._shared(scheduler)
        uplink, tree = self.place.trees[0]
        queues = tree.queues
        self._check_rate(tree.rate.value, scheduler, tree)
        first = [f"bandwidth {altq_rate(tree.rate.value)}: {reason(tree.rate)}", *tree.notes, *self._order(uplink, scheduler)]
        default = unclassified(self.plan, uplink, scheduler, self.faults)
        own = self.names.queues[uplink.link]
        top = ", ".join(own[queue.name] for queue in queues)
        depth, why = self._bucket(tree, tree.rate.value)
        head = f"altq on {self._interface()} {scheduler} bandwidth {altq_rate(tree.rate.value)} tbrsize {depth} queue {{ {top} }}"
        written = [Statement(head, comments([*first, why]))]
        return written + self._level(uplink, tree, queues, tree.rate.value, scheduler, default)

    def _interface(self) -> str:
        return self.names.interfaces.get(self.place.interface, self.place.interface)

    def _scheduler(self) -> str:
        """The one of the uplink; where trees share an interface, one that can divide it."""
        uplink, tree = self.place.trees[0]
        if tree.where == "egress":
            return uplink.scheduler
        return "cbq" if not self.dialect.hfsc or all(up.scheduler == "cbq" for up, _ in self.place.trees) else "hfsc"

    def _or_hfsc(self) -> str:
        """The end of a hint, where the dialect has that way out."""
        return ", or choose scheduler = 'hfsc'" if self.dialect.hfsc else ""

    def _order(self, uplink: Uplink, scheduler: str) -> list[str]:
        return [f"{uplink.scheduler} on the link cannot divide this interface, so here it is {scheduler}."] if scheduler != uplink.scheduler else []

    def _check_count(self, scheduler: str) -> None:
        count = sum(_count(tree.queues) + 1 for _, tree in self.place.trees) + (2 if self.place.local else 0) - (scheduler == "priq")
        if count > CLASSES_MOST[scheduler]:
            _, tree = self.place.trees[0]
            message = f"{count} queues on {self.place.interface}: {scheduler} has {CLASSES_MOST[scheduler]} at most"
            self.faults.at(tree.path, "too-many-classes", message, "use fewer classes" + (self._or_hfsc() if scheduler == "priq" else ""))

    def _check_rate(self, rate: int, scheduler: str, tree: Tree) -> None:
        most = self.dialect.hfsc_rate_most if scheduler == "hfsc" else self.dialect.rate_most
        if rate > most:
            message = f"{show_rate(rate)} on {tree.interface}: {scheduler} of {self.dialect.name} counts in 32 bits and would wrap round"
            way_out = self._or_hfsc() if rate <= self.dialect.hfsc_rate_most else ""
            self.faults.at(tree.rate.path if tree.rate.value == rate else tree.path, "rate-too-high", message, f"at most {most} bit/s{way_out}")

    def _bucket(self, tree: Tree, rate: int) -> tuple[int, str]:
        """Bytes of the token bucket and the reason."""
        most, burst = self.dialect.tbrsize_most, tree.burst
        if burst.given and self.place.local:
            if tree.direction == "up":
                message = f"a burst for the link on {tree.interface}: its token bucket serves other traffic too"
                self.faults.at(burst.path, "unsupported", message, "leave `burst` out")
        elif burst.given:
            if burst.value > most:
                message = f"a burst of {burst.value} bytes: tbrsize has 16 bits in {self.dialect.name}"
                self.faults.at(burst.path, "burst-too-large", message, f"at most {most} bytes")
            return min(burst.value, most), f"tbrsize {burst.value} bytes: {reason(burst)}"
        tick = rate // (8 * TICKS)
        if tick <= burst.value and not self.place.local:
            depth, why = burst.value, reason(burst)
        else:
            depth, why = tick, f"computed, what {show_rate(rate)} carries in a tick of 10 ms"
        return (depth, f"tbrsize {depth} bytes: {why}") if depth <= most else (most, f"tbrsize {most} bytes: the most there is ({depth} wanted)")

    # --- one interface for the link's traffic and other traffic

    def _shared(self, scheduler: str) -> list[Statement]:
        place = self.place
        uplink, first = place.trees[0]
        if scheduler == "priq":
            return []  # reported by the plan: priq has one rate for all traffic
        rest = rest_of(place, LEAST_RATE[scheduler], self.faults)
        self._check_rate(place.speed, scheduler, first)
        depth, why = self._bucket(first, place.speed)
        tops = ", ".join([place.local, *(self.names.subtrees[up.link, tree.direction] for up, tree in place.trees)])
        head = f"altq on {self._interface()} {scheduler} bandwidth {altq_rate(place.speed)} tbrsize {depth} queue {{ {tops} }}"
        about = [f"bandwidth {altq_rate(place.speed)}: the speed of {place.interface}, where other traffic leaves too", why]
        written = [Statement(head, comments(about + self._order(uplink, scheduler)))]
        options = "cbq(borrow default)" if scheduler == "cbq" else "hfsc(default)"
        written.append(Statement(f"queue {place.local}{self.on} bandwidth {altq_rate(rest)} {options}", comments([local_note(place)])))
        for uplink, tree in place.trees:
            rate = altq_rate(tree.rate.value)
            own = self.names.queues[uplink.link]
            parts = ", ".join(own[queue.name] for queue in tree.queues)
            root = self.names.subtrees[uplink.link, tree.direction]
            bound = f" hfsc(upperlimit {rate})" if scheduler == "hfsc" else " cbq"
            about = [f"link {uplink.link} {tree.direction}, bandwidth {rate}: {reason(tree.rate)}", *tree.notes]
            written.append(Statement(f"queue {root}{self.on} bandwidth {rate}{bound} {{ {parts} }}", comments(about)))
            written += self._level(uplink, tree, tree.queues, tree.rate.value, scheduler, "")
        return written

    # --- classes

    def _level(self, uplink: Uplink, tree: Tree, queues: tuple[Queue, ...], rate: int, scheduler: str, default: str) -> list[Statement]:
        """The statements of siblings, which share `rate`, and of their children. default: the class of packets that no rule assigns, '' if it is elsewhere."""
        if scheduler == "priq":
            return self._priq(uplink, queues, default)
        least = LEAST_RATE[scheduler]
        shares = _fitted(queues, rate, least)
        for queue, share in zip(queues, shares, strict=True):
            if share < least:
                message = f"class {queue.name!r}: {show_rate(share)} is too little for {scheduler}"
                self.faults.at(queue.share.path or tree.path, "too-small", message, f"at least {show_rate(least)}: use fewer classes, or give it more")
        if scheduler == "cbq":
            return self._cbq(uplink, tree, queues, shares, default)
        return self._hfsc(uplink, tree, queues, shares, default)

    def _head(self, uplink: Uplink, queue: Queue) -> str:
        return f"queue {self.names.queues[uplink.link][queue.name]}{self.on}"

    def _options(self, queue: Queue, default: str) -> list[str]:
        """Options that every scheduler has: default, red, ecn, codel."""
        found = ["default"] if queue.name == default else []
        if queue.drop == "codel" and not self.dialect.codel:
            message = f"class {queue.name!r}: {self.dialect.name} has no CoDel"
            self.faults.at((*queue.path, "drop"), "unsupported", message, "drop = 'red' or 'ecn', or leave it out")
        elif queue.drop != "tail":
            found += ["red", "ecn"] if queue.drop == "ecn" else [queue.drop]
        return found

    def _fairness(self, queue: Queue) -> list[str]:
        """A comment where flows are not told apart, though they should be."""
        if queue.fair == "none":
            return []
        if queue.fair_given and "fifo" not in self.plan.accept:
            message = f"class {queue.name!r}: ALTQ has no queue that shares by {queue.fair}"
            self.faults.at((*queue.path, "fair"), "difference", message, "leave `fair` out, or add accept = ['fifo'] to the model")
        accepted = " (accepted: fifo)" if queue.fair_given else ""
        return [f"{queue.name}: first in, first out; ALTQ has no queue that tells flows apart{accepted}"]

    def _priq(self, uplink: Uplink, queues: tuple[Queue, ...], default: str) -> list[Statement]:
        written = []
        ordered = sorted(queues, key=lambda queue: queue.rank)
        for queue, priority in zip(ordered, priorities(len(ordered)), strict=True):
            limit, why = _limit(queue)
            options = self._options(queue, default)
            about = [why, *self._fairness(queue), *_default_note(queue, uplink, default)]
            text = f"{self._head(uplink, queue)} priority {priority}{limit}{_in_brackets(' priq', options)}"
            written.append(Statement(text, comments(about)))
        return written

    def _cbq(self, uplink: Uplink, tree: Tree, queues: tuple[Queue, ...], shares: list[int], default: str) -> list[Statement]:
        ranks = sorted({queue.rank for queue in queues})
        if len(ranks) > CBQ_PRIORITIES:
            message = f"{len(ranks)} classes in a strict order: cbq has {CBQ_PRIORITIES} priorities"
            self.faults.at(tree.path, "too-many-classes", message, f"use fewer classes{self._or_hfsc()}")
        by_rank = dict(zip(ranks, priorities(len(ranks)), strict=True))
        written: list[Statement] = []
        for queue, share in zip(queues, shares, strict=True):
            options = self._options(queue, default)
            about = [_share_reason(queue, share)]
            if queue.ceiling is None:
                options.insert(0, "borrow")
            elif queue.ceiling.burst is not None or queue.ceiling.rate.value != share:
                wanted = show_rate(queue.ceiling.rate.value)
                message = f"class {queue.name!r}: under cbq a ceiling is the class's own bandwidth without borrowing: {wanted} is not {show_rate(share)}"
                self.faults.at(queue.ceiling.rate.path, "unsupported", message, f"write the guarantee {wanted} too{self._or_hfsc()}")
            else:
                about.append(f"ceiling: {reason(queue.ceiling.rate)}; so it does not borrow")
            if queue.guarantee and (queue.guarantee.burst is not None or (queue.guarantee.rate.given and queue.guarantee.rate.value > share)):
                message = f"class {queue.name!r}: under cbq a guarantee is the class's bandwidth, {show_rate(share)}"
                self.faults.at(queue.guarantee.rate.path, "unsupported", message, f"leave `share` out{self._or_hfsc()}")
            limit, why = ("", "") if queue.children else _limit(queue)
            about += ([why] if why else []) + ([] if queue.children else self._fairness(queue)) + _default_note(queue, uplink, default)
            parts = _parts(queue, self.names.queues[uplink.link])
            numbers = f"bandwidth {altq_rate(share)} priority {by_rank[queue.rank]}{limit}"
            text = f"{self._head(uplink, queue)} {numbers}{_in_brackets(' cbq', options)}{parts}"
            written.append(Statement(text, comments(about)))
            if queue.children:
                written += self._level(uplink, tree, queue.children, share, "cbq", default)
        return written

    def _hfsc(self, uplink: Uplink, tree: Tree, queues: tuple[Queue, ...], shares: list[int], default: str) -> list[Statement]:
        realtime = self._realtime(tree)
        written: list[Statement] = []
        for queue, share in zip(queues, shares, strict=True):
            options = self._options(queue, default)
            about = [_share_reason(queue, share)]
            curve = realtime.get(queue.name)
            if curve and queue.guarantee:
                options.append(f"realtime {curve.text()}")
                cut = "" if curve.m2 == queue.guarantee.rate.value else f", cut from {show_rate(queue.guarantee.rate.value)}"
                about.append(f"realtime {curve.text()}: {reason(queue.guarantee.rate)}{cut}")
            if queue.ceiling:
                bound = self._bound(queue, tree)
                options.append(f"upperlimit {bound.text()}")
                about.append(f"upperlimit {bound.text()}: {reason(queue.ceiling.rate)}")
            limit, why = ("", "") if queue.children else _limit(queue)
            about += ([why] if why else []) + ([] if queue.children else self._fairness(queue)) + _default_note(queue, uplink, default)
            parts = _parts(queue, self.names.queues[uplink.link])
            text = f"{self._head(uplink, queue)} bandwidth {altq_rate(share)}{limit}{_in_brackets(' hfsc', options)}{parts}"
            written.append(Statement(text, comments(about)))
            if queue.children:
                written += self._level(uplink, tree, queue.children, share, "hfsc", default)
        return written

    def _bound(self, queue: Queue, tree: Tree) -> Curve:
        """The upper limit of a class with a ceiling."""
        assert queue.ceiling is not None
        bound = curve_of(queue.ceiling, queue.name, "ceiling", self.faults)
        whole = self.place.speed or tree.rate.value
        if max(bound.m1, bound.m2) > whole:
            message = f"class {queue.name!r}: the ceiling is more than the {show_rate(whole)} of {tree.interface}"
            self.faults.at(queue.ceiling.rate.path, "above-link", message, "lower its `rate` and `burst`")
        return bound

    def _realtime(self, tree: Tree) -> dict[str, Curve]:
        """The real-time curve of each class that has a guarantee: given ones as they are, computed ones cut to what may be promised."""
        leaves = [(leaf, leaf.guarantee) for leaf in tree.leaves() if leaf.guarantee]
        given = {leaf.name: curve_of(asked, leaf.name, "guarantee", self.faults) for leaf, asked in leaves if asked.rate.given}
        computed = {leaf.name: asked.rate.value for leaf, asked in leaves if not asked.rate.given}
        most = (self.place.speed or tree.rate.value) * REALTIME_PERCENT // 100
        most = min(most, tree.rate.value) if self.place.speed else most
        if exceeds(list(given.values()), most):
            asked = next(asked for _, asked in leaves if asked.rate.given)
            message = f"the guarantees of {', '.join(given)} add up to more than hfsc may promise, {show_rate(most)} ({REALTIME_PERCENT} % of the interface)"
            self.faults.at(asked.rate.path, "realtime-sum", message, "lower a guarantee, or its `burst`")
            return given
        room, wanted = room_below(list(given.values()), most), sum(computed.values())
        for name, rate in computed.items():
            value = rate if wanted <= room else rate * room // wanted
            if value >= LEAST_RATE["hfsc"]:
                given[name] = Curve(value, 0, value)
        return given


def unclassified(plan: Plan, uplink: Uplink, scheduler: str, faults: Faults) -> str:
    """The class of frames that no rule assigns: as the model says; under a strict order the one served first, so that ARP and PPPoE
    discovery do not starve; otherwise the default class."""
    classifier = uplink.classifier
    starves = scheduler == "priq" and uplink.control_frames
    first = min(uplink.up.leaves(), key=lambda queue: queue.rank).name
    if classifier.unclassified is None:
        return first if starves else classifier.default
    if starves and classifier.unclassified != first and "starved-control" not in plan.accept:
        message = f"ARP and PPPoE discovery on {uplink.queue_on} would wait in {classifier.unclassified!r}, behind everything else"
        hint = f"leave `unclassified` out, name {first!r}, or add accept = ['starved-control'] to the model"
        faults.at((*uplink.up.queues[0].path[:2], "unclassified"), "difference", message, hint)
    return classifier.unclassified


def priorities(count: int) -> list[int]:
    """`count` different priorities, the highest first: 7 to 1 and evenly spread where they fit, as the seed article has 7 and 1 for two."""
    if count == 1:
        return [1]
    if count <= 7:
        return [1 + 6 * (count - 1 - index) // (count - 1) for index in range(count)]
    lowest = 1 if 8 < count < PRIQ_MOST else 0
    return list(range(lowest + count - 1, lowest - 1, -1))


def _default_note(queue: Queue, uplink: Uplink, default: str) -> list[str]:
    if queue.name != default:
        return []
    if uplink.classifier.unclassified == queue.name:
        starving = uplink.control_frames and uplink.scheduler == "priq" and any(other.rank < queue.rank for other in uplink.up.queues)
        return ["default: the model's class for frames without an IP header" + (" (accepted: starved-control)" if starving else "")]
    if queue.name == uplink.classifier.default:
        return ["default: the class of everything that no rule names"]
    return ["default: every IP packet has a queue by a rule; what is left is ARP and PPPoE discovery, which must not starve"]


def _limit(queue: Queue) -> tuple[str, str]:
    """` qlimit N` and its reason."""
    return f" qlimit {queue.limit.value}", f"qlimit {queue.limit.value}: {reason(queue.limit)}"


def _share_reason(queue: Queue, share: int) -> str:
    raised = "" if share == queue.share.value else f", changed from {show_rate(queue.share.value)} to what this scheduler can count"
    return f"bandwidth {altq_rate(share)}: {reason(queue.share)}{raised}"


def _fitted(queues: tuple[Queue, ...], rate: int, least: int) -> list[int]:
    """The shares, together at most `rate`, which may be less than the plan's where a parent's share was lowered: pfctl refuses a larger
    sum. Computed ones below `least` are raised to it from what is left of `rate`, then at the cost of the largest."""
    total = sum(queue.share.value for queue in queues)
    shares = [queue.share.value * rate // total if total > rate else queue.share.value for queue in queues]
    for index, queue in enumerate(queues):
        lacking = least - shares[index]
        if lacking <= 0 or queue.share.given:
            continue
        left = rate - sum(shares)
        largest = shares.index(max(shares))
        if left >= lacking:
            shares[index] += lacking
        elif largest != index and shares[largest] - lacking > least:
            shares[index] += lacking
            shares[largest] -= lacking
    return shares


def _count(queues: tuple[Queue, ...]) -> int:
    return sum(1 + _count(queue.children) for queue in queues)


def _in_brackets(word: str, options: list[str]) -> str:
    return f"{word}({' '.join(options)})" if options else ""


def _parts(queue: Queue, own: dict[str, str]) -> str:
    return f" {{ {', '.join(own[child.name] for child in queue.children)} }}" if queue.children else ""
