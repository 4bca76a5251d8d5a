"""Queue definitions of OpenBSD 5.5 and later. The kernel makes an hfsc tree of them: bandwidth is linkshare, min real time, max upper limit.

Sources: pf.conf(5), parse.y queuespec and expand_queue, hfsc.c hfsc_pf_addqueue, fq_codel.c of OpenBSD 5.6 and 7.6.
"""

from dataclasses import dataclass

from pfq.plan.model import Plan, Queue, ServiceCurve, Tree, Uplink
from pfq.site.kinds import Faults
from pfq.site.units import show_rate
from pfq.targets.pf_dialects import Dialect
from pfq.targets.pf_names import Names, Placed, local_note, rest_of
from pfq.targets.pf_text import Statement, comments, queue_rate, reason

# Flow queues of a class: as many as other systems' fq_codel has; the kernel takes 1 to 32767.
FLOWS = 1024
# fq_codel.c fqcodel_enq: a fixed limit, whatever qlimit says.
FLOWS_LIMIT = 1024
# hfsc.c m2sm counts in steps of 477 bit/s (2^-24 bytes a nanosecond); a slope below one step is no service at all.
LEAST_RATE = 1_000


@dataclass(frozen=True, slots=True)
class Definitions:
    """Writes the queues of one interface. on: ` on IF` for every queue, where the gateway has more than one tree."""

    plan: Plan
    dialect: Dialect
    names: Names
    place: Placed
    faults: Faults
    on: str

    def statements(self) -> list[Statement]:
        """The root and its queues. Reports what the dialect cannot express."""
        place = self.place
        root = self.names.roots[place.interface]
        interface = self.names.interfaces.get(place.interface, place.interface)
        uplink, tree = place.trees[0]
        if tree.burst.given and tree.direction == "up":
            message = f"{self.dialect.name} has no token bucket whose depth could be set"
            self.faults.at(tree.burst.path, "unsupported", message, "leave `burst` out")
        if not place.local:
            about = [f"bandwidth {queue_rate(tree.rate.value)}: {reason(tree.rate)}", "max: without it nothing would be limited", *tree.notes]
            self._check_rate(tree.rate.value, tree)
            rate = queue_rate(tree.rate.value)
            written = [Statement(f"queue {root} on {interface} bandwidth {rate}, max {rate}", comments(about))]
            return written + self._level(uplink, tree, tree.queues, root, uplink.classifier.unclassified or uplink.classifier.default)
        rest = rest_of(place, LEAST_RATE, self.faults)
        self._check_rate(place.speed, tree)
        speed = queue_rate(place.speed)
        about = [f"bandwidth {speed}: the speed of {place.interface}, where other traffic leaves too"]
        written = [Statement(f"queue {root} on {interface} bandwidth {speed}, max {speed}", comments(about))]
        about = [local_note(place)]
        written.append(Statement(f"queue {place.local}{self.on} parent {root} bandwidth {queue_rate(rest)} default", comments(about)))
        for uplink, tree in place.trees:
            rate = queue_rate(tree.rate.value)
            name = self.names.subtrees[uplink.link, tree.direction]
            about = [f"link {uplink.link} {tree.direction}, bandwidth {rate}: {reason(tree.rate)}", *tree.notes]
            written.append(Statement(f"queue {name}{self.on} parent {root} bandwidth {rate}, max {rate}", comments(about)))
            written += self._level(uplink, tree, tree.queues, name, "")
        return written

    def _check_rate(self, rate: int, tree: Tree) -> None:
        if rate > self.dialect.hfsc_rate_most:
            message = f"{show_rate(rate)} on {tree.interface}: curves of {self.dialect.name} have 32 bits and would wrap round"
            path = tree.rate.path if rate == tree.rate.value else tree.path
            self.faults.at(path, "rate-too-high", message, f"at most {self.dialect.hfsc_rate_most} bit/s")

    def _level(self, uplink: Uplink, tree: Tree, queues: tuple[Queue, ...], parent: str, default: str) -> list[Statement]:
        written = []
        own = self.names.queues[uplink.link]
        for queue in queues:
            text, about = self._queue(queue, tree)
            if queue.name == default:
                text += " default"
                about.append(_default_note(queue, uplink))
            written.append(Statement(f"queue {own[queue.name]}{self.on} parent {parent} {text}", comments(about)))
            if queue.children:
                written += self._level(uplink, tree, queue.children, own[queue.name], default)
        return written

    def _queue(self, queue: Queue, tree: Tree) -> tuple[str, list[str]]:
        """The queue from `bandwidth` on, and its reasons."""
        self._check_drop(queue)
        share = queue.share.value
        if share < LEAST_RATE:
            if queue.share.given:
                message = f"class {queue.name!r}: {show_rate(share)} is below what the scheduler counts in"
                self.faults.at(queue.share.path, "too-small", message, f"at least {show_rate(LEAST_RATE)}")
            share = LEAST_RATE
        text = f"bandwidth {queue_rate(share)}"
        about = [f"bandwidth {queue_rate(share)}: {reason(queue.share)}"]
        flows, why = self._flows(queue)
        guarantee = queue.guarantee
        if guarantee and flows:
            about.append(f"no min: flows with a min would be one first-in first-out queue; computed was {show_rate(guarantee.rate.value)}")
        elif guarantee:
            text += f", min {self._curve(guarantee, queue, 'guarantee')}"
            about.append(f"min {queue_rate(guarantee.rate.value)}: {reason(guarantee.rate)}")
        if queue.ceiling:
            if queue.ceiling.rate.value > self.dialect.hfsc_rate_most:
                self._check_rate(queue.ceiling.rate.value, tree)
            text += f", max {self._curve(queue.ceiling, queue, 'ceiling')}"
            about.append(f"max {queue_rate(queue.ceiling.rate.value)}: {reason(queue.ceiling.rate)}")
        about += why
        if queue.children:
            return text, about
        if flows:
            return f"{text} flows {flows}", [*about, f"flows: CoDel, and {FLOWS_LIMIT} packets at most, which cannot be set"]
        return f"{text} qlimit {queue.limit.value}", [*about, f"qlimit {queue.limit.value}: {reason(queue.limit)}"]

    def _curve(self, curve: ServiceCurve, queue: Queue, what: str) -> str:
        """`30K`, or `30K burst 60K for 20ms`."""
        rate = queue_rate(curve.rate.value)
        if curve.burst is None:
            return rate
        path = curve.rate.path
        if curve.microseconds % 1000 or not curve.microseconds:
            message = f"class {queue.name!r}: the {what}'s burst lasts {curve.microseconds} us, and pf counts whole milliseconds"
            self.faults.at(path, "unsupported", message, "write `for` in ms")
        if curve.burst > self.dialect.hfsc_rate_most:
            message = f"class {queue.name!r}: a burst of {show_rate(curve.burst)} would wrap round"
            self.faults.at(path, "rate-too-high", message, f"at most {self.dialect.hfsc_rate_most} bit/s")
        return f"{rate} burst {queue_rate(curve.burst)} for {max(1, curve.microseconds // 1000)}ms"

    def _check_drop(self, queue: Queue) -> None:
        if queue.drop in ("red", "ecn"):
            message = f"class {queue.name!r}: {self.dialect.name} has no {'RED' if queue.drop == 'red' else 'ECN marking'} in its queues"
            hint = "drop = 'codel', or leave `drop` out" if self.dialect.flows else "leave `drop` out"
            self.faults.at((*queue.path, "drop"), "unsupported", message, hint)
        if queue.drop == "codel" and not self.dialect.flows:
            message = f"class {queue.name!r}: {self.dialect.name} has no CoDel; it came with 6.2"
            self.faults.at((*queue.path, "drop"), "unsupported", message, "leave `drop` out")

    def _flows(self, queue: Queue) -> tuple[int, list[str]]:
        """How many flow queues the class gets, 0 for one first-in first-out queue, and comments on it.

        What the model asks for comes first; of defaults, fairness gives way to a given guarantee or limit, a computed guarantee to fairness.
        """
        wanted = queue.fair != "none" or queue.drop == "codel"
        if not wanted or queue.children:
            return 0, []
        asked = (queue.fair != "none" and queue.fair_given) or queue.drop == "codel"
        if queue.fair in ("source", "destination") and queue.fair_given and "fair-by-flow" not in self.plan.accept:
            message = f"class {queue.name!r}: {self.dialect.name} shares by flow, not by {queue.fair}"
            hint = "fair = 'flow', or add accept = ['fair-by-flow'] to the model"
            self.faults.at((*queue.path, "fair"), "difference", message, hint)
        if not self.dialect.flows:
            if queue.fair_given and queue.fair != "none" and "fifo" not in self.plan.accept:
                message = f"class {queue.name!r}: {self.dialect.name} has no fair queue; it came with 6.2"
                self.faults.at((*queue.path, "fair"), "difference", message, "leave `fair` out, or add accept = ['fifo'] to the model")
            accepted = " (accepted: fifo)" if queue.fair_given else ""
            return 0, [f"{queue.name}: first in, first out; this pf has no queue that tells flows apart{accepted}"]
        if queue.guarantee and queue.guarantee.rate.given:
            if asked:
                message = f"class {queue.name!r}: a guarantee and fair sharing: under {self.dialect.name} `min` turns `flows` off"
                key = "drop" if queue.drop == "codel" else "fair"
                self.faults.at((*queue.path, key), "unsupported", message, "leave one of the two out")
            return 0, [f"{queue.name}: first in, first out; `flows` would be lost beside the min that the model asks for"]
        if queue.limit.given:
            if asked:
                message = f"class {queue.name!r}: a limit and fair sharing: under {self.dialect.name} a queue with flows holds {FLOWS_LIMIT} packets, always"
                self.faults.at(queue.limit.path, "unsupported", message, "leave one of the two out")
            return 0, [f"{queue.name}: first in, first out; with flows the limit that the model asks for could not be set"]
        by_flow = queue.fair in ("source", "destination")
        note = [f"{queue.name}: shared by flow instead of by {queue.fair} (accepted: fair-by-flow)"] if by_flow else []
        return (1 if queue.fair == "none" else FLOWS), note


def _default_note(queue: Queue, uplink: Uplink) -> str:
    if uplink.classifier.unclassified == queue.name:
        return "default: the model's class for frames without an IP header"
    return "default: the class of everything that no rule names"
