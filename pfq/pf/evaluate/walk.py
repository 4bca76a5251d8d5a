"""One walk through the filter rules: which rule decides, and what the others wrote on the way, for every packet.

Source: pf_test_rule, pf_step_into_anchor and pf_step_out_of_anchor of pf.c (OpenBSD 4.4, 5.4; FreeBSD 12.1), pf_match_rule of OpenBSD 7.6.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.asking import View
from pfq.headers.bits import choose, constant
from pfq.pf.evaluate.matching import Matcher, Spot, World
from pfq.pf.evaluate.runs import Write, written
from pfq.pf.evaluate.steps import Step
from pfq.pf.evaluate.translating import translated


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a rule matches, and where that ends the walk. `view`: the packet as the rule leaves it, if it translates.

    Without a step: what else happens on the way, a tag set or looked at (`tag`: what it is then), or the end of a quick anchor.
    """

    where: Condition
    ended: Condition
    step: Step | None
    view: View | None = None
    tag: Bits | None = None


@dataclass
class Walk:
    """The hits of a walk, in order."""

    world: World
    spot: Spot
    matcher: Matcher
    view: View
    tag: Bits
    hits: list[Hit] = field(default_factory=list)
    # Tags written since `tag` was brought up to date.
    _pending: list[Write] = field(default_factory=list)
    # Of each open quick anchor: where a rule matched that makes it end the walk.
    _open: list[Condition] = field(default_factory=list)
    _depth: int = 0

    @property
    def _algebra(self) -> Algebra:
        return self.view.algebra

    def through(self, steps: Sequence[Step], within: Condition) -> None:
        """Walk through a ruleset, for the packets of `within`."""
        for step in steps:
            rule = step.rule
            if not self.matcher.here(rule):
                continue
            where = within & self.matcher.matches(rule)
            if rule.tagged:
                # Whoever looks at the tag keeps it for the state.
                tag = self._tag()
                self.hits.append(Hit(where, self._algebra.nothing, None, tag=tag))
                where = where & self.matcher.tagged(rule, tag)
            if not where.satisfiable():
                continue
            if rule.tag:
                number = constant(self._algebra, self.world.tags[rule.tag], self.world.tag_width)
                self._pending.append(Write(where, self._algebra.nothing, number))
                self.hits.append(Hit(where, self._algebra.nothing, None, tag=number))
            if step.calls is None:
                self._rule(step, where)
            else:
                self._anchor(step, where)

    def _tag(self) -> Bits:
        """The tag that the packet has by now. What quick rules have ended is asked no more, so that nothing need be said of it here."""
        if self._pending:
            last = written(self._algebra, self._pending, self.world.tag_width)
            self.tag = choose(last.where, last.value, self.tag)
            self._pending.clear()
        return self.tag

    def _rule(self, step: Step, where: Condition) -> None:
        rule = step.rule
        view: View | None = None
        if rule.action == "match":
            if rule.nat is not None or rule.rdr is not None:
                view = translated(self.view, self.world.facts, rule)
                bits = {name: choose(where, view.bits[name], self.view.bits[name]) for name in view.bits if view.bits[name] is not self.view.bits[name]}
                self.view = self.view.seen(**bits)
                self.matcher = Matcher(self.world, self.spot, self.view)
        else:
            self._matched(where)
        self.hits.append(Hit(where, where if rule.quick else self._algebra.nothing, step, view))

    def _matched(self, where: Condition) -> None:
        """Remember in the open anchors that a pass or block rule matched."""
        if not self._open:
            return
        if self.world.features.quick_anchor_directly:
            self._open = [one & ~where for one in self._open]
            self._open[-1] = self._open[-1] | where
        else:
            self._open = [one | where for one in self._open]

    def _anchor(self, step: Step, where: Condition) -> None:
        nothing = self._algebra.nothing
        if not self.world.features.quick_anchor_directly:
            # Whoever goes into an anchor forgets what matched before.
            self._open = [one & ~where for one in self._open]
        self._open.append(nothing)
        assert step.calls is not None
        for ruleset in step.calls:
            self.through(ruleset, where)
        inside = self._open.pop()
        if step.rule.quick and not (self.world.features.quick_anchor_directly and _wildcard(step)):
            self.hits.append(Hit(nothing, inside & where, None))

    def run(self, writers: dict[int, Bits], width: int) -> Write:
        """What the hits with these positions wrote in the end."""
        nothing, zero = self._algebra.nothing, constant(self._algebra, 0, width)
        return written(
            self._algebra,
            [
                Write(hit.where, hit.ended, writers[index]) if index in writers else Write(nothing, hit.ended, zero)
                for index, hit in enumerate(self.hits)
                if index in writers or hit.ended is not nothing
            ],
            width,
        )


def _wildcard(step: Step) -> bool:
    return step.rule.anchor is not None and step.rule.anchor.path.endswith("/*")
