"""What the rules do with a packet that has no state: translation statements, filter rules, and the state that comes of them.

Source: pf_test_rule and pf_test of pf.c (OpenBSD 4.4 and 5.4, FreeBSD 12.1); pf_match_rule, pf_rule_to_actions and pf_create_state of OpenBSD 7.6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import BLOCK, View
from pfq.headers.bits import any_of, choose, constant
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, SOURCE, SOURCE_PORT, TOS
from pfq.pf.evaluate.final import Final, final
from pfq.pf.evaluate.matching import Matcher, Spot, World
from pfq.pf.evaluate.normalizing import options
from pfq.pf.evaluate.packet import Packet, empty_ack, icmp_error, low_delay, whole
from pfq.pf.evaluate.runs import outcomes
from pfq.pf.evaluate.statements import statement_translation
from pfq.pf.evaluate.steps import Step
from pfq.pf.evaluate.translating import translated
from pfq.pf.evaluate.walk import Hit, Walk
from pfq.pf.nodes import Rule

ADDRESSING = (SOURCE, DESTINATION, SOURCE_PORT, DESTINATION_PORT)


# Rules that a state comes from, each with where it does.
Makers = tuple[tuple[Condition, Step], ...]


@dataclass(frozen=True)
class Marks:
    """What a rule, or a state, writes on a packet that it lets pass: numbers of queues (0: none), a tag and a ToS byte where there is one."""

    first: Bits
    second: Bits
    tagged: Condition
    tag: Bits
    with_tos: Condition
    tos: Bits


@dataclass(frozen=True)
class Judged:
    """`packet` after the rules; `state`: where they made one, with its `marks`, where it lets IP options pass, and which rule made it."""

    packet: Packet
    state: Condition
    marks: Marks
    allows_options: Condition
    makers: Makers


@dataclass(frozen=True)
class Judging:
    """The rules of a tree. `queues`: a number from 1 for each queue that a rule names."""

    world: World
    filters: Sequence[Step]
    statements: Mapping[str, Sequence[Step]]
    queues: Mapping[str, int]
    queue_width: int

    def __call__(self, packet: Packet, spot: Spot, tracked: Condition, among: Condition) -> Judged:
        """What becomes of a packet; notes only for those of `among`."""
        packet, moved, bare = statement_translation(self.world, self.statements, packet, spot, among)
        walk = Walk(self.world, spot, Matcher(self.world, spot, packet.view), packet.view, packet.tag)
        walk.through(self.filters, ~bare)
        last = final(walk, self.queues, self.queue_width, packet.view.wants_notes)
        passed = last.passed
        # Translation needs a state, and so does `scrub reassemble tcp`.
        keeps = (last.keeps | (moved | tracked) & passed) & whole(packet.view) & ~icmp_error(packet.view)
        barred = options(packet.view, self.world) & ~last.allows
        self.world.note(packet.view, passed & barred & among & packet.alive, "dropped: IP options, and the rule has no allow-opts")
        passed = passed & ~barred
        state = keeps & passed
        makers = self._explain(packet, walk, last, state, among & ~bare)
        marks = self._marks(packet, walk, last, state)
        before = packet.view
        packet = self._translated(packet, walk, last, state)
        packet = replace(packet, alive=packet.alive & passed, strayed=packet.strayed | moved)
        return Judged(marked(packet, marks, self.second(before)), state & packet.alive, marks, last.allows, makers)

    def second(self, view: View) -> Condition:
        """Where a packet takes the second queue."""
        return empty_ack(view, self.world.features) | low_delay(view, self.world.features)

    def _marks(self, packet: Packet, walk: Walk, last: Final, state: Condition) -> Marks:
        algebra, width = packet.algebra, self.queue_width
        first, second, with_tos, tos, own = last.first, last.second, last.with_tos, last.tos, last.queued
        # What match rules wrote counts only where there is a state that keeps it; the final rule's own comes last.
        counts = state if self.world.features.match_needs_state else algebra.everything
        matched = {index: hit.step.rule for index, hit in enumerate(walk.hits) if hit.step is not None and hit.step.rule.action == "match"}
        queued = {index: rule for index, rule in matched.items() if rule.queue}
        if queued:
            for_first = walk.run({index: constant(algebra, self.queues[rule.queue], width) for index, rule in queued.items()}, width)
            for_second = walk.run({index: constant(algebra, self.queues[rule.ack_queue or rule.queue], width) for index, rule in queued.items()}, width)
            nothing = constant(algebra, 0, width)
            takes = counts & for_first.where
            first = choose(own, first, choose(takes, for_first.value, nothing))
            second = choose(own, second, choose(takes, for_second.value, nothing))
        toses = {index: constant(algebra, rule.set_tos, 8) for index, rule in matched.items() if rule.set_tos >= 0}
        if toses:
            run = walk.run(toses, 8)
            takes = counts & run.where & ~with_tos
            tos, with_tos = choose(takes, run.value, tos), with_tos | takes
        tags = walk.run({index: hit.tag for index, hit in enumerate(walk.hits) if hit.tag is not None}, self.world.tag_width)
        return Marks(first, second, tags.where, tags.value, with_tos, tos)

    def _translated(self, packet: Packet, walk: Walk, last: Final, state: Condition) -> Packet:
        """The packet as match rules with nat-to or rdr-to, and the final rule's own, make it: where there is a state."""
        view = packet.view
        found = {name: view.bits[name] for name in ADDRESSING}
        strayed = packet.strayed
        for fields, option in (((SOURCE, SOURCE_PORT), "nat"), ((DESTINATION, DESTINATION_PORT), "rdr")):
            views = {index: hit.view for index, hit in enumerate(walk.hits) if hit.view is not None and getattr(_rule(hit), option) is not None}
            for field in fields if views else ():
                run = walk.run({index: one.bits[field] for index, one in views.items()}, len(found[field]))
                found[field] = choose(run.where & state, run.value, found[field])
                strayed = strayed | run.where & state
        moved = view.seen(**found)
        for step, where in last.steps.items():
            if step.rule.nat is not None or step.rule.rdr is not None:
                own = translated(moved, self.world.facts, step.rule)
                found = {name: choose(where & state, own.bits[name], bits) for name, bits in found.items()}
                strayed = strayed | where & state
        return replace(packet, view=view.seen(**found), strayed=strayed)

    def _explain(self, packet: Packet, walk: Walk, last: Final, state: Condition, among: Condition) -> Makers:
        """Note which rules decided, and tell which of them a state comes from: the final one, and the one that named its queue."""
        view, algebra = packet.view, packet.algebra
        if not view.wants_notes:
            return ()
        among = among & packet.alive
        finals = [(where, step) for step, where in last.steps.items()]
        self.world.note(view, last.none & among, "no rule matches: it passes, and no state is kept")
        counts = state if self.world.features.match_needs_state else algebra.everything
        named = outcomes(algebra, [(hit.where, hit.ended, hit.step if _names_queue(hit) else None) for hit in walk.hits])
        queuers = [(where & ~last.queued, step) for step, where in named.items() if step is not None]
        for where, step in queuers:
            view.note(where & among & ~counts, step.place, step.text, "match: its queue is lost, since there is no state to keep it")
            for there, why in self.queue_reasons(view, step):
                view.note(where & among & counts & there, step.place, step.text, f"match: {why}")
        for where, step in finals:
            if not step.rule.queue:
                view.note(where & among, step.place, step.text, _why(step))
            for there, why in self.queue_reasons(view, step) if step.rule.queue else ():
                view.note(where & among & there, step.place, step.text, f"{_why(step)}, {why}")
        return tuple((where & state, step) for where, step in (*queuers, *finals))

    def queue_reasons(self, view: View, step: Step) -> list[tuple[Condition, str]]:
        """Which of a rule's queues a packet takes, and why."""
        names = f"queue {_names(step)}"
        if not step.rule.ack_queue:
            return [(view.algebra.everything, names)]
        empty, low = empty_ack(view, self.world.features), low_delay(view, self.world.features)
        return [(empty, f"{names}: ACK without payload"), (low & ~empty, f"{names}: ToS bit 0x10"), (~(empty | low), f"{names}: the first of them")]


def _names_queue(hit: Hit) -> bool:
    return hit.step is not None and hit.step.rule.action == "match" and bool(hit.step.rule.queue)


def _why(step: Step) -> str:
    rule = step.rule
    why = "quick" if rule.quick else "last match"
    return f"{why}, blocks" if rule.action == BLOCK else why if rule.state else f"{why}, keeps no state"


def _names(step: Step) -> str:
    rule = step.rule
    return f"({rule.queue}, {rule.ack_queue})" if rule.ack_queue else rule.queue


def _rule(hit: Hit) -> Rule:
    assert hit.step is not None
    return hit.step.rule


def marked(packet: Packet, marks: Marks, second: Condition) -> Packet:
    """The packet with what a rule or a state writes on it."""
    number = choose(second, marks.second, marks.first)
    queued = any_of(packet.algebra, number)
    view = packet.view.seen(**{TOS: choose(marks.with_tos, marks.tos, packet.view.bits[TOS])})
    return replace(packet, view=view, queue=choose(queued, number, packet.queue), tag=choose(marks.tagged, marks.tag, packet.tag))
