"""ALTQ's disciplines and queues as the queue definitions of OpenBSD 5.5 and later.

hfsc: the same curves by other names. cbq: bandwidth is the share, and a queue that may not borrow has it as its `max`. priq: a strict order becomes
guarantees, as `pfq compile` makes them. Sources: pf.conf(5) of OpenBSD 5.4 and 7.6, PF's hfsc.c and altq_cbq.c; rates are bit/s.
"""

from pfq.convert.script import Written
from pfq.convert.work import Work
from pfq.pf.altq_nodes import Altq
from pfq.pf.curves import ServiceCurve
from pfq.pf.nodes import Rule
from pfq.plan.queues import MOST_COMPUTED_PERCENT, STRICT_PERCENT
from pfq.site.units import tidy
from pfq.targets.pf_text import queue_rate

# hfsc.c counts in steps of 477 bit/s and in 32 bits.
LEAST_RATE = 1000
MOST_RATE = 2**32 - 1


class Discipline:
    """A discipline with its queues, and what its root queue is called."""

    def __init__(self, work: Work, altq: Altq, several: bool, taken: set[str]) -> None:
        self.work = work
        self.altq = altq
        # With several disciplines a queue may have its name on more than one interface.
        self.on = f" on {altq.interface}" if several else ""
        self.leaves: list[Altq] = []
        self.inner: set[str] = set()
        self.queues = [one for one in altq.queues if not one.root]
        self.root = f"root_{altq.interface}"
        while self.root in taken:
            self.root += "_"
        parents = {one.parent for one in self.queues}
        self.leaves = [one for one in self.queues if one.name not in parents]
        self.inner = {one.name for one in self.queues if one.name in parents}
        self.default = next((one.name for one in self.queues if "default" in one.written.flags), "")
        self.shares, self.floors = self._strict() if altq.scheduler == "priq" else ({}, {})
        if altq.scheduler == "cbq" and len({one.priority for one in self.leaves}) > 1:
            lowest = min(one.priority for one in self.leaves)
            self.floors = {one.name: one.bandwidth for one in self.leaves if one.priority > lowest}

    def _strict(self) -> tuple[dict[str, int], dict[str, int]]:
        """Bandwidth and guarantee of each priq queue: a part of the rate for each but the default queue, which gets the rest."""
        rate = self.altq.interface_bandwidth
        ahead = [one.name for one in self.queues if one.name != self.default]
        part = rate * STRICT_PERCENT // 100
        if ahead:
            part = min(part, rate * MOST_COMPUTED_PERCENT // 100 // len(ahead))
        floors = {name: max(tidy(part), LEAST_RATE) for name in ahead}
        return floors | {self.default: max(rate - sum(floors.values()), LEAST_RATE)}, floors

    def root_line(self, interface: str, bandwidth: str) -> str:
        """The root queue's definition."""
        if self.altq.scheduler != "codelq":
            # Queues that are announced and never defined do not exist.
            default = "" if self.queues else " default"
            return f"queue {self.root} on {interface} bandwidth {bandwidth}, max {bandwidth}{default}"
        flows = " flows 1" if self.work.target.flow_queues else ""
        return f"queue {self.root} on {interface} bandwidth {bandwidth}, max {bandwidth}{flows} default"

    def lines(self, statement: Written, queue: Altq) -> list[str]:
        """The definition of a queue, and of the one for its own packets if it needs one."""
        scheduler = queue.scheduler
        parent = self.root if queue.parent in ("", f"root_{queue.interface}") else queue.parent
        text = f"queue {self._quoted(queue.name)}{self.on} parent {self._quoted(parent)} bandwidth "
        share = ServiceCurve(0, 0, self.shares.get(queue.name, queue.bandwidth))
        least: ServiceCurve | None = None
        most: ServiceCurve | None = None
        if scheduler == "hfsc":
            share = queue.curves.get("linkshare", share)
            least = queue.curves.get("realtime")
            most = queue.curves.get("upperlimit")
        elif scheduler == "cbq" and "borrow" not in queue.written.flags:
            most = ServiceCurve(0, 0, queue.bandwidth)
        if queue.name in self.floors:
            least = ServiceCurve(0, 0, self.floors[queue.name])
        text += self._curve(statement, queue, share, LEAST_RATE)
        for word, curve in (("min", least), ("max", most)):
            if curve is not None and (curve.m1 or curve.m2):
                text += f", {word} {self._curve(statement, queue, curve, 0)}"
        default = queue.name == self.default
        if "codel" in queue.written.flags and least is None and self.work.target.flow_queues and queue.name not in self.inner:
            text += " flows 1"
        own = self.work.renamed.get(queue.name) if queue.name in self.inner else None
        if default and own is None:
            text += " default"
        if queue.qlimit != 50 and queue.name not in self.inner:
            text += f" qlimit {queue.qlimit}"
        if own is None:
            return [text]
        rest = max(queue.bandwidth - sum(one.bandwidth for one in self.queues if one.parent == queue.name), LEAST_RATE)
        return [text, f"queue {own}{self.on} parent {self._quoted(queue.name)} bandwidth {queue_rate(rest)}{' default' if default else ''}"]

    def _quoted(self, name: str) -> str:
        return f'"{name}"' if name in self.work.target.keywords else name

    def _curve(self, statement: Written, queue: Altq, curve: ServiceCurve, least: int) -> str:
        rates = []
        for rate in (curve.m2, curve.m1):
            if rate > MOST_RATE:
                self.work.lose("rate-too-high", statement, statement.start, f"queue {queue.name}")
            rates.append(min(rate, MOST_RATE))
        if rates[0] < least and not (rates[0] == 0 and curve.d and rates[1] >= least):
            self.work.lose("rate-too-low", statement, statement.start, f"queue {queue.name}")
            rates[0] = least
        text = queue_rate(rates[0])
        return f"{text} burst {queue_rate(rates[1])} for {curve.d}ms" if curve.d and rates[1] != rates[0] else text


def convert_queues(work: Work) -> None:
    """Rewrite every altq and queue statement of a source that has ALTQ."""
    found = [one for one in work.tree.reading.altqs if not one.name]
    names = {one.name for one in work.tree.reading.altqs if one.name and not one.root}
    disciplines = {one.interface: Discipline(work, one, len(found) > 1, names) for one in found}
    for discipline in disciplines.values():
        if not discipline.default and discipline.leaves:
            discipline.default = discipline.leaves[0].name
        work.defined |= {one.name for one in discipline.queues}
    _inner_queues(work, disciplines)
    for statement in work.script:
        if statement.kind == "altq":
            _altq(work, statement, [one for one in disciplines.values() if one.altq.line == statement.line])
        elif statement.kind == "queue":
            _queue(work, statement, disciplines)


def _inner_queues(work: Work, disciplines: dict[str, Discipline]) -> None:
    """Queues with children that packets of their own wait in, which only cbq has."""
    named = {name for rule in _rules(work) for name in (rule.queue, rule.ack_queue)}
    cbq = [one for one in disciplines.values() if one.altq.scheduler == "cbq"]
    for name in sorted({name for one in cbq for name in one.inner if name in named or name == one.default}):
        own = f"{name[:59]}_own"
        while own in work.defined:
            own += "_"
        leaf = any(one.name == name for discipline in disciplines.values() for one in discipline.leaves)
        if not leaf:
            work.renamed[name] = own


def _rules(work: Work) -> list[Rule]:
    return [rule for statement in work.tree.statements for rule in statement.rules]


def _altq(work: Work, statement: Written, disciplines: list[Discipline]) -> None:
    on = statement.find("on")
    single = len(disciplines) == 1 and statement.tokens[on + 1].kind != "{" and not statement.tokens[on + 1].macro
    lines = []
    for discipline in disciplines:
        altq = discipline.altq
        rate = altq.interface_bandwidth
        if altq.spec.absolute <= 0 and altq.interface not in work.known:
            work.lose("interface-speed", statement, statement.start, altq.interface)
        if rate > MOST_RATE:
            work.lose("rate-too-high", statement, statement.start, altq.interface)
            rate = MOST_RATE
        if rate < LEAST_RATE:
            work.lose("rate-too-low", statement, statement.start, altq.interface)
            rate = LEAST_RATE
        if altq.scheduler == "priq" and len(discipline.queues) > 1:
            work.lose("soft-order", statement, statement.start, altq.interface)
        if altq.scheduler == "cbq" and discipline.floors:
            work.lose("cbq-priority", statement, statement.start, altq.interface)
        if altq.scheduler != "codelq" and not any("default" in one.written.flags for one in discipline.queues):
            work.lose("no-default", statement, statement.start, altq.interface)
        written = altq.written
        if altq.scheduler == "codelq" and (written.target or written.interval or written.flags or not work.target.flow_queues):
            work.lose("codel", statement, statement.start)
        interface = work.source_of(statement.tokens[on + 1]) if single else altq.interface
        lines.append(discipline.root_line(interface, _rate(work, statement, rate)))
    at = statement.find("tbrsize")
    if at >= 0:
        work.lose("tbrsize", statement, statement.tokens[at].start)
    _flags(work, statement, disciplines[0].altq if disciplines and disciplines[0].altq.scheduler != "codelq" else None)
    work.rewrite(statement, lines)


def _rate(work: Work, statement: Written, rate: int) -> str:
    """The rate, by the macro that it stands in if that means the same in the target."""
    at = statement.find("bandwidth")
    if at >= 0:
        token = statement.tokens[at + 1]
        if token.expanded and not token.macro:
            digits = token.value.rstrip("KMGbit")
            unit = {"": 1, "b": 1, "Kb": 1000, "Mb": 10**6, "Gb": 10**9, "K": 1000, "M": 10**6, "G": 10**9}.get(token.value[len(digits) :])
            if unit is not None and digits.isdigit() and int(digits) * unit == rate:
                return work.source_of(token)
    return queue_rate(rate)


def _flags(work: Work, statement: Written, queue: Altq | None) -> None:
    flags = queue.written.flags if queue is not None else set()
    code = "ecn" if "ecn" in flags else "red" if flags & {"red", "rio"} else ""
    for one in (code, "codel" if "codel" in flags else ""):
        if one:
            token = next((token for token in statement.tokens if token.value in (one, "rio")), statement.tokens[0])
            work.lose(one, statement, token.start, f"queue {queue.name}" if queue is not None and queue.name else "")


def _queue(work: Work, statement: Written, disciplines: dict[str, Discipline]) -> None:
    lines: list[str] = []
    if statement.tokens[1].value.startswith("_") and work.target.underscored_queues_refused:
        work.fail("rejected", statement.tokens[1].start, f"{work.target.name} takes no queue name that begins with _", "rename it, then convert")
    for discipline in disciplines.values():
        for queue in discipline.queues:
            if queue.line != statement.line or queue.name != statement.tokens[1].value:
                continue
            if queue.name in work.renamed:
                work.lose("inner-queue", statement, statement.start, f"queue {queue.name}")
            if not lines:
                _flags(work, statement, queue)
            lines += discipline.lines(statement, queue)
    work.rewrite(statement, lines)
