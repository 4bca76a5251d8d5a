"""The classifier as classic BPF programs for `tc filter ... bpf`: for packets that arrive from the link and wait on an IFB device.

The netdev egress hook of nftables is not run for packets that tc redirects (measured on 6.1 and 6.18), and conntrack knows no
packet there but through its mark, so mark, rules and express test stand in one program; in several, asked one after another, where they
do not fit into one. Marks and ports are searched for, so a packet of a thousand classes costs little more than one of three.

Sources: linux/filter.h, linux/bpf_common.h (opcodes, SKF_AD_*, SKF_NET_OFF), cls_bpf.c (0: no match, -1: the filter's classid, else a classid).
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pfq.plan.classify import TCP, UDP
from pfq.plan.model import Classifier, FlowRule, Uplink
from pfq.site.model import Match, Network, OneToOne
from pfq.targets.linux_assembler import (
    AND_K,
    JEQ,
    JGE,
    JGT,
    LD_IMM,
    LD_MEM,
    LD_W_ABS,
    RET_K,
    Assembler,
    TooLong,
)
from pfq.targets.linux_marks import LinkMarks
from pfq.targets.linux_packet import (
    AD_MARK,
    AD_PROTOCOL,
    EXPRESS,
    IPV4,
    IPV6,
    M_PORT,
    M_VERSION,
    destination,
    express_test,
    in_network,
    matches,
    parse,
    port_keys,
    source_word,
    unknown,
)

# What a program returns for a packet it leaves to the next filter, and for one that gets the filter's own class.
NO_MATCH, MATCH = 0, 0xFFFFFFFF

# So many comparisons stand in a row; more are a tree with rows at its ends.
_CHAIN = 8


class _Same:
    """A classifier as a cache's key: by identity, since gateways of one policy share it and its rules may be many."""

    __slots__ = ("classifier",)

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.classifier is self.classifier

    def __hash__(self) -> int:
        return id(self.classifier)


@dataclass(frozen=True, slots=True)
class _Marks:
    """Flows that have a class: mark and class, in the order of the marks."""

    classes: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class _Ports:
    """Rules that ask for destination ports of a protocol and nothing else: first and last key (as in M_PORT) and class, in the order of the
    keys, none overlapping."""

    ranges: tuple[tuple[int, int, str], ...]


_Step = _Marks | _Ports | FlowRule


def programs(uplink: Uplink, marks: LinkMarks, values: dict[str, int]) -> tuple[str, ...]:
    """The bytecodes that return `values[class]` for a packet of a class. Each is asked where those before it return NO_MATCH.

    Packets of a flow without a mark go by the rules for flows opened from outside; packets that are not shaped do not come here.
    Raises TooLong for a rule that alone is too long.
    """
    classes = tuple((leaf.name, marks.classes[leaf.name], values[leaf.name]) for leaf in uplink.up.leaves())
    return _programs(_Same(uplink.classifier), classes, marks.mask, uplink.one_to_one)


@lru_cache(maxsize=256)
def unshaped_program(networks: tuple[Network, ...], mask: int, mark: int) -> str:
    """The bytecode that returns MATCH for a packet that is not shaped, else NO_MATCH: of a flow with that mark, or from one of the networks,
    since what comes from there did not come from the link, whatever its flow. Raises TooLong."""
    a = Assembler()
    for version, ethertype in ((4, IPV4), (6, IPV6)):
        own = [network for network in networks if network.version == version]
        if own:
            other = a.new()
            a.put(LD_W_ABS, AD_PROTOCOL)
            a.branch(JEQ, ethertype, None, other)
            for network in own:
                in_network(a, network, "unshaped", source_word(version))
            a.label(other)
    a.put(LD_W_ABS, AD_MARK)
    a.put(AND_K, mask)
    a.branch(JEQ, mark, "unshaped")
    a.put(RET_K, NO_MATCH)
    a.label("unshaped")
    a.put(RET_K, MATCH)
    return a.bytecode()


@lru_cache(maxsize=256)
def _programs(same: _Same, classes: tuple[tuple[str, int, int], ...], mask: int, pairs: tuple[OneToOne, ...]) -> tuple[str, ...]:
    """classes: name, mark, value. mask: that of the link's marks."""
    builder = _Builder(same.classifier, {name: value for name, _, value in classes}, mask, pairs)
    known = _Marks(tuple(sorted((mark, name) for name, mark, _ in classes)))
    rules = [rule for rule in same.classifier.rules if rule.match.opened != "inside"]
    return tuple(builder.split((known, *_steps(rules)), True, True))


def _steps(rules: list[FlowRule]) -> list[_Step]:
    """The rules in their order; those that follow each other and look at ports alone become one step."""
    found: list[_Step] = []
    run: list[tuple[int, int, str]] = []
    for rule in rules:
        keys = _plain_ports(rule.match)
        if keys:
            run += ((first, last, rule.queue) for first, last in keys)
            continue
        if run:
            found.append(_Ports(first_wins(run)))
            run = []
        found.append(rule)
    return [*found, _Ports(first_wins(run))] if run else found


def first_wins(ranges: Iterable[tuple[int, int, str]]) -> tuple[tuple[int, int, str], ...]:
    """Ranges (first, last, class) of which the earlier one counts where two overlap, as ranges in order that do not; neighbours of one class are one."""
    taken: list[tuple[int, int, str]] = []
    for start, last, name in ranges:
        first = start
        at = end = bisect_left(taken, first, key=lambda each: each[1])
        free: list[tuple[int, int, str]] = []
        while end < len(taken) and taken[end][0] <= last:
            if first < taken[end][0]:
                free.append((first, taken[end][0] - 1, name))
            free.append(taken[end])
            first = taken[end][1] + 1
            end += 1
        if first <= last:
            free.append((first, last, name))
        taken[at:end] = free
    merged: list[tuple[int, int, str]] = []
    for first, last, name in taken:
        if merged and merged[-1][1] + 1 == first and merged[-1][2] == name:
            merged[-1] = (merged[-1][0], last, name)
        else:
            merged.append((first, last, name))
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Writes steps as programs. values: what is returned for a class. mask: that of the link's marks."""

    classifier: Classifier
    values: dict[str, int]
    mask: int
    pairs: tuple[OneToOne, ...]

    def split(self, steps: tuple[_Step, ...], first: bool, last: bool) -> list[str]:
        """The steps as one program, or as two halves of them where that is too long. first, last: whether it is the first or the last program."""
        try:
            return [self._program(steps, first, last)]
        except TooLong:
            parts = _halves(steps)
            if parts is None:
                raise
            return [*self.split(parts[0], first, False), *self.split(parts[1], False, last)]

    def _program(self, steps: tuple[_Step, ...], first: bool, last: bool) -> str:
        a = Assembler()
        classifier = self.classifier
        parse(a)
        if first and classifier.unclassified is not None:
            a.put(LD_MEM, M_VERSION)
            a.branch(JEQ, 0, f"class {classifier.unclassified}")
        rules_begun = False
        for step in steps:
            if not rules_begun and not isinstance(step, _Marks):
                unknown(a, f"class {classifier.default}")
                port_keys(a)
                if any(isinstance(each, FlowRule) and each.match.destinations for each in steps):
                    destination(a, self.pairs)
                rules_begun = True
            self._step(a, step)
        if last:
            a.jump(f"class {classifier.default}")
        else:
            a.put(RET_K, NO_MATCH)
        asked_for = a.targets()
        for name in self.values:
            if f"class {name}" in asked_for:
                a.label(f"class {name}")
                self._return(a, name)
        if classifier.express and EXPRESS in a.targets():
            express_test(a, classifier.express.families, self.values[classifier.express.queue])
        return a.bytecode()

    def _return(self, a: Assembler, name: str) -> None:
        """What becomes of a packet of a flow of the class."""
        express = self.classifier.express
        if express and name in express.upgraded:
            a.put(LD_IMM, self.values[name])
            a.jump(EXPRESS)
        else:
            a.put(RET_K, self.values[name])

    def _step(self, a: Assembler, step: _Step) -> None:
        """Goes on behind it if it does not decide."""
        if isinstance(step, _Marks):
            a.put(LD_W_ABS, AD_MARK)
            a.put(AND_K, self.mask)
            self._search(a, [(mark, mark, name) for mark, name in step.classes])
        elif isinstance(step, _Ports):
            a.put(LD_MEM, M_PORT)
            self._search(a, list(step.ranges))
        else:
            other = a.new()
            matches(a, step.match, f"class {step.queue}", other)
            a.label(other)

    def _search(self, a: Assembler, ranges: list[tuple[int, int, str]]) -> None:
        """Goes to the class of the range that the accumulator is in."""
        missed = a.new()
        if len(ranges) <= _CHAIN:
            self._chain(a, ranges, {name: f"class {name}" for _, _, name in ranges}, missed)
        else:
            self._tree(a, ranges, missed)
        a.label(missed)

    def _tree(self, a: Assembler, ranges: list[tuple[int, int, str]], missed: str) -> None:
        if len(ranges) > _CHAIN:
            middle, upper = len(ranges) // 2, a.new()
            a.branch(JGE, ranges[middle][0], upper)
            self._tree(a, ranges[:middle], missed)
            a.label(upper)
            self._tree(a, ranges[middle:], missed)
            return
        # What is returned stands beside the comparisons: a class's own place would be a far jump away.
        near = {name: a.new() for name in dict.fromkeys(name for _, _, name in ranges)}
        self._chain(a, ranges, near, missed)
        a.jump(missed)
        for name, label in near.items():
            a.label(label)
            self._return(a, name)

    def _chain(self, a: Assembler, ranges: list[tuple[int, int, str]], targets: dict[str, str], missed: str) -> None:
        for first, last, name in ranges:
            if first == last:
                a.branch(JEQ, first, targets[name])
                continue
            above = a.new()
            a.branch(JGT, last, above)
            a.branch(JGE, first, targets[name], missed)
            a.label(above)


def _halves(steps: tuple[_Step, ...]) -> tuple[tuple[_Step, ...], tuple[_Step, ...]] | None:
    """The steps in two parts; one step alone is taken apart. None for one that cannot be."""
    if len(steps) > 1:
        return steps[: len(steps) // 2], steps[len(steps) // 2 :]
    (step,) = steps
    if isinstance(step, _Marks) and len(step.classes) > 1:
        middle = len(step.classes) // 2
        return (_Marks(step.classes[:middle]),), (_Marks(step.classes[middle:]),)
    if isinstance(step, _Ports) and len(step.ranges) > 1:
        middle = len(step.ranges) // 2
        return (_Ports(step.ranges[:middle]),), (_Ports(step.ranges[middle:]),)
    return None


def _plain_ports(match: Match) -> list[tuple[int, int]]:
    """First and last key (as in M_PORT) of each range of a match that asks for a protocol and ports and nothing else; else none."""
    if match.protocol not in (TCP, UDP) or not match.ports:
        return []
    if match.source_ports or match.sources or match.destinations or match.dscp or match.family is not None:
        return []
    return [(match.protocol << 16 | low, match.protocol << 16 | high) for low, high in match.ports]
