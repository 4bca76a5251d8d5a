"""Two rulesets, of any two dialects, or two versions of one: the packets whose class changes."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pfq.diagnostics import refuse
from pfq.headers.algebra import Condition
from pfq.headers.asking import BLOCK, Passage, Way, later_view, opening_view
from pfq.headers.diagrams import Diagrams
from pfq.parity.judging import belongs
from pfq.parity.ordinary import begins_no_flow, is_answer, well_formed_flow, well_formed_packet
from pfq.parity.proof import MOMENTS, Moment, Pair, Party, Witness, answers, deciding, differences, within
from pfq.parity.reference import is_later_fragment
from pfq.parity.rulesets import Loaded, load
from pfq.parity.show import annotation, packets, witness_json, witness_lines
from pfq.parity.unavoidable import has_options
from pfq.parity.witness import FAR, usual

# The gateway itself, as an end of a way; and an interface that no rule names.
SELF, ELSEWHERE = "self", "elsewhere0"
_HERE = (0xC0A80105, 0xFD << 120 | 5)


@dataclass(frozen=True, slots=True)
class Waits:
    """What becomes of a packet, in the words of the second ruleset: blocked, or the queues it waits in."""

    blocked: bool
    queues: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> object:
        return self.blocked, frozenset(queue for _, queue in self.queues)

    def __str__(self) -> str:
        if self.blocked:
            return "blocked"
        return " and ".join(f"queue {queue or '(none)'} on {device}" for device, queue in self.queues) or "passed without a queue"


@dataclass
class Change:
    """A cause for which packets are treated differently, with one packet. also: the other ways and moments where it shows."""

    way: tuple[Way, Way]
    witness: Witness
    also: list[tuple[Way, Moment]] = field(default_factory=list)


@dataclass(frozen=True)
class Comparison:
    one: Loaded
    other: Loaded
    ways: tuple[tuple[Way, Way], ...]
    changes: tuple[Change, ...]


def compare(paths: Sequence[str], arguments: Namespace, progress: Callable[[str], None]) -> Comparison:
    """What changes between two rulesets. Raises Refused."""
    systems = arguments.systems if len(arguments.systems) != 1 else arguments.systems * 2
    if len(systems) not in (0, 2):
        raise refuse("wrong-use", f"--as is said {len(systems)} times", hint="once for both rulesets, or once for each")
    one, other = (load(path, system) for path, system in zip(paths, systems or (None, None), strict=True))
    queues = dict(_pair(text, "--same", "QUEUE=QUEUE", both=True) for text in arguments.same)
    interfaces = dict(_pair(text, "--in or --out", "IF=IF") for text in (arguments.enters, arguments.leaves) if text)
    diagrams = Diagrams()
    causes: dict[tuple[object, ...], Change] = {}
    ways = tuple(_ways(one, other, arguments.enters, arguments.leaves))
    for way in ways:
        progress(f"{way[0].enters or SELF} to {way[0].leaves or SELF}")
        for witness in _witnesses(diagrams, (one, other), way, queues, interfaces):
            cause = (witness.outcomes, deciding(witness.one), deciding(witness.other))
            known = causes.setdefault(cause, Change(way, witness))
            if known.witness is not witness:
                known.also.append((way[0], witness.moment))
    return Comparison(one, other, ways, tuple(causes.values()))


def _pair(text: str, option: str, wanted: str, both: bool = False) -> tuple[str, str]:
    one, equals, other = text.partition("=")
    if not one or (equals and not other) or (both and not equals):
        raise refuse("wrong-use", f"{option} {text[:60]}: {wanted} is wanted")
    return one, other if equals else one


def _end(name: str) -> str | None:
    return None if name == SELF else name


def _ways(one: Loaded, other: Loaded, enters: str | None, leaves: str | None) -> Iterator[tuple[Way, Way]]:
    """The ways that packets can go through both gateways: between the interfaces that a ruleset names, others, and the gateway itself."""
    names = dict.fromkeys([*one.interfaces, *other.interfaces])
    first = [_pair(enters, "--in", "IF[=IF]")] if enters else [(name, name) for name in (ELSEWHERE, *names, SELF)]
    second = [_pair(leaves, "--out", "IF[=IF]")] if leaves else [(name, name) for name in (*names, ELSEWHERE, SELF)]
    for mine, theirs in first:
        for to_mine, to_theirs in second:
            if mine != to_mine or (enters and leaves and mine != SELF):
                yield Way(_end(mine), _end(to_mine)), Way(_end(theirs), _end(to_theirs))


def _reader(queues: Mapping[str, str], interfaces: Mapping[str, str]) -> Callable[[Passage], Waits]:
    def read(passage: Passage) -> Waits:
        if passage.action == BLOCK:
            return Waits(True)
        return Waits(False, tuple((interfaces.get(device, device), queues.get(queue, queue)) for device, queue in passage.queues))

    return read


def _witnesses(
    diagrams: Diagrams, rulesets: tuple[Loaded, Loaded], way: tuple[Way, Way], queues: Mapping[str, str], interfaces: Mapping[str, str]
) -> Iterator[Witness]:
    one, other = rulesets
    pair = Pair(diagrams, Party(one.ruleset, way[0], _reader(queues, interfaces)), Party(other.ruleset, way[1], _reader({}, {})))
    mine, theirs = answers(pair.one, diagrams), answers(pair.other, diagrams)
    first = opening_view(diagrams)
    possible: list[Condition] = [well_formed_flow(first), well_formed_packet(first), ~is_later_fragment(first)]
    alike = one.is_linux == other.is_linux
    if not alike:
        # What pf and Linux treat differently by nature says nothing about two rulesets.
        possible += [~is_answer(first), ~begins_no_flow(first), ~has_options(first)]
    universe: dict[Moment, list[Condition]] = {"first": possible}
    for moment in MOMENTS[1:]:
        view = later_view(diagrams, moment == "reply")
        universe[moment] = [well_formed_packet(view), belongs(first, view, moment == "reply"), mine.passed(diagrams), theirs.passed(diagrams), *possible]
        if not alike:
            universe[moment].append(~has_options(view))
    order = usual([*_HERE, *map(int, FAR)], [*map(int, FAR), *_HERE])
    for difference in differences(mine, theirs, {}):
        real = within(difference, universe[difference.moment])
        if real is not None:
            yield from pair.witnesses(real, order)


def _way_text(way: Way) -> str:
    return f"in on {way.enters}" * bool(way.enters) + ", " * bool(way.enters and way.leaves) + f"out on {way.leaves}" * bool(way.leaves)


def _text(found: Comparison) -> str:
    if not found.changes:
        return f"{found.one.name} and {found.other.name}: the same for every packet ({len(found.ways)} ways through the gateway)\n"
    count = len(found.changes)
    lines = [f"{found.one.name} and {found.other.name}: {count} difference{'s' if count > 1 else ''}"]
    for number, change in enumerate(found.changes, 1):
        lines += witness_lines(number, change.witness, (found.one.name, found.other.name), _way_text(change.way[0]))
        if change.also:
            shown = dict.fromkeys(f"{_way_text(way)}: {moment}" for way, moment in change.also)
            lines.append(f"     also {'; '.join(shown)}")
    return "".join(f"{line}\n" for line in lines)


def _json(found: Comparison) -> str:
    rows = [
        {"in": change.way[0].enters, "out": change.way[0].leaves} | witness_json(change.witness, ("one", "other"))
        | {"also": [{"in": way.enters, "out": way.leaves, "moment": moment} for way, moment in change.also]}
        for change in found.changes
    ]  # fmt: skip
    rulesets = [{"name": loaded.name, "system": loaded.system} for loaded in (found.one, found.other)]
    return json.dumps({"version": 1, "rulesets": rulesets, "equal": not rows, "differences": rows}, indent=2) + "\n"


def _github(found: Comparison) -> str:
    parts = []
    for change in found.changes:
        packet, _ = packets(change.witness)
        says = f"{packet} ({_way_text(change.way[0])}): {change.witness.other.outcome}; in {found.one.name}: {change.witness.one.outcome}"
        parts.append(annotation(change.witness, says))
    return "".join(parts)


def shown(found: Comparison, form: str) -> str:
    """The comparison as text, json or github."""
    return {"text": _text, "json": _json, "github": _github}[form](found)
