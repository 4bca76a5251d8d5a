"""Two rulesets and all packets: where they put a packet differently, and one packet for every cause."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pfq.diagnostics import Place
from pfq.headers.algebra import Algebra, Condition, Exactly
from pfq.headers.asking import Decision, Passage, Ruleset, Way, later_view, opening_view
from pfq.parity.outcomes import Result, merged
from pfq.parity.witness import Usual, simplest

# The package is wanted for proofs only.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.headers.diagrams import Diagrams

Moment = Literal["first", "later", "reply"]
MOMENTS: tuple[Moment, ...] = ("first", "later", "reply")
# Causes that are shown of one pair of classes: who has more has enough to begin with.
MOST_CAUSES = 50
_NAMES_A_QUEUE = re.compile(r"\bqueue\b")


class Disagreement(Exception):
    """The proof and the evaluation of a single packet say different things: a fault of pfq's."""


@dataclass(frozen=True)
class Party:
    """A ruleset, the way that it sees the flow go, and how its passages are read."""

    ruleset: Ruleset
    way: Way
    read: Callable[[Passage], Result]


@dataclass(frozen=True, slots=True)
class Said:
    """What a party says about one packet: the outcome, its queues, and the lines that decided, those of the flow's first packet apart."""

    outcome: Result
    passage: Passage
    decisions: tuple[Decision, ...]
    opened_by: tuple[Decision, ...] = ()

    @property
    def lines(self) -> tuple[Decision, ...]:
        """The lines that decided about the packet."""
        return self.decisions or self.opened_by


@dataclass(frozen=True)
class Answers:
    """What a party says about all packets: the packets of each outcome, at each moment of a flow. regions: which packets a line decided about."""

    found: Mapping[Moment, Mapping[Result, Condition]]
    regions: Mapping[Moment, Mapping[Decision, Condition]]

    def by_place(self, moment: Moment) -> dict[Place, Condition]:
        """Which packets each line decided about."""
        found: dict[Place, Condition] = {}
        for line, where in self.regions[moment].items():
            if not line.text:
                continue
            found[line.place] = found[line.place] | where if line.place in found else where
        return found

    def passed(self, algebra: Algebra) -> Condition:
        """Where the first packet is not blocked."""
        where = algebra.everything
        for outcome, part in self.found["first"].items():
            if outcome.blocked:
                where = where & ~part
        return where


def answers(party: Party, algebra: Algebra, wants_regions: bool = False, moments: Sequence[Moment] = MOMENTS) -> Answers:
    """What a party says about all packets of an algebra."""
    regions: dict[Moment, dict[Decision, Condition] | None] = {moment: {} if wants_regions else None for moment in MOMENTS}
    passages, memory = party.ruleset.opening(party.way, opening_view(algebra, regions=regions["first"]))
    found: dict[Moment, Mapping[Result, Condition]] = {"first": _outcomes(party, passages)}
    for moment in moments:
        if moment != "first":
            reply = moment == "reply"
            view = later_view(algebra, reply, regions=regions[moment])
            found[moment] = _outcomes(party, party.ruleset.following(memory, party.way.back() if reply else party.way, view))
    return Answers(found, {moment: kept or {} for moment, kept in regions.items()})


def _outcomes(party: Party, passages: Mapping[Passage, Condition]) -> dict[Result, Condition]:
    return merged((party.read(passage), where) for passage, where in passages.items())


def tell(party: Party, values: Mapping[str, int], moment: Moment) -> Said:
    """What a party says about one packet. Raises Disagreement if that is not one thing."""
    algebra = Exactly(values)
    first: list[Decision] = []
    passages, memory = party.ruleset.opening(party.way, opening_view(algebra, first))
    later: list[Decision] = []
    if moment != "first":
        reply = moment == "reply"
        passages = party.ruleset.following(memory, party.way.back() if reply else party.way, later_view(algebra, reply, later))
    possible = [passage for passage, where in passages.items() if where.satisfiable()]
    if len(possible) != 1:
        raise Disagreement(f"{dict(values)}: {len(possible)} answers for one packet")
    (passage,) = possible
    once = tuple(dict.fromkeys(first)), tuple(dict.fromkeys(later))
    return Said(party.read(passage), passage, once[0] if moment == "first" else once[1], () if moment == "first" else once[0])


@dataclass(frozen=True)
class Difference:
    """Packets of a moment that one party puts where the other does not."""

    moment: Moment
    one: Result
    other: Result
    where: Condition


def differences(one: Answers, other: Answers, pardoned: Mapping[Moment, Condition]) -> list[Difference]:
    """Every pair of different outcomes that some packet has; but what the other blocks of the packets `pardoned` is none."""
    found = []
    for moment, mine in one.found.items():
        for outcome, where in mine.items():
            theirs = other.found[moment].get(outcome)
            rest = where if theirs is None else where & ~theirs
            if not rest.satisfiable():
                continue
            for another, part in other.found[moment].items():
                both = rest & part
                if another.blocked and moment in pardoned:
                    both = both & ~pardoned[moment]
                if another != outcome and both.satisfiable():
                    found.append(Difference(moment, outcome, another, both))
    return found


def within(difference: Difference, universe: Sequence[Condition]) -> Difference | None:
    """The part of a difference for which all of the conditions hold; None if there is none. They are joined one after the other: most often
    the first few leave nothing, and all of them together are large."""
    where = difference.where
    for condition in universe:
        where = where & condition
        if not where.satisfiable():
            return None
    return replace(difference, where=where)


@dataclass(frozen=True)
class Witness:
    """One packet that shows a difference, and what both parties say about it."""

    moment: Moment
    values: Mapping[str, int]
    one: Said
    other: Said

    @property
    def outcomes(self) -> tuple[object, object]:
        """What both say, whichever way the packet goes."""
        return self.one.outcome.kind, self.other.outcome.kind


def _places(said: Said) -> frozenset[Place]:
    # What no line decided has no text.
    return frozenset(line.place for line in said.lines if line.text)


def deciding(said: Said) -> frozenset[Place]:
    """The places of the lines that name the packet's queue; of all lines that decided, where none names one (nft's do not)."""
    named = frozenset(line.place for line in said.lines if _NAMES_A_QUEUE.search(line.text))
    return named or _places(said)


class Pair:
    """Two parties that are asked about the same packets. What lines decide about is worked out once, if it is asked for."""

    def __init__(self, diagrams: "Diagrams", one: Party, other: Party) -> None:
        self.diagrams = diagrams
        self.one, self.other = one, other
        self._regions: list[Answers] = []

    def _told(self) -> list[Answers]:
        if not self._regions:
            self._regions = [answers(party, self.diagrams, True) for party in (self.one, self.other)]
        return self._regions

    def witness(self, values: Mapping[str, int], moment: Moment) -> Witness:
        """What both say about one packet."""
        return Witness(moment, values, tell(self.one, values, moment), tell(self.other, values, moment))

    def witnesses(self, difference: Difference, order: Sequence[Usual]) -> list[Witness]:
        """The simplest packet for each cause of a difference, every one confirmed by evaluating it alone. Raises Disagreement."""
        found: list[Witness] = []
        rest = difference.where
        while rest.satisfiable() and len(found) < MOST_CAUSES:
            found.append(self.simplest_witness(replace(difference, where=rest), order))
            rest = rest & ~self._same_cause(found[-1], rest)
        return found

    def simplest_witness(self, difference: Difference, order: Sequence[Usual]) -> Witness:
        """The simplest packet of a difference, confirmed by evaluating it alone. Raises Disagreement."""
        values = simplest(self.diagrams, difference.where, order)
        witness = self.witness(values, difference.moment)
        if (witness.one.outcome, witness.other.outcome) != (difference.one, difference.other):
            raise Disagreement(f"{values}: {witness.one.outcome} and {witness.other.outcome} instead of {difference.one} and {difference.other}")
        return witness

    def _same_cause(self, witness: Witness, where: Condition) -> Condition:
        """The packets of which the same lines decided as of the witness."""
        same = where
        for said, told in zip((witness.one, witness.other), self._told(), strict=True):
            places = _places(said)
            for place, part in told.by_place(witness.moment).items():
                same = same & part if place in places else same & ~part
        return same if same.satisfiable() else where
