"""A gateway's ruleset against the plan: every packet of every link, at every moment of its flow."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pfq.headers import fields as space
from pfq.headers.algebra import Condition
from pfq.headers.asking import BLOCK, Passage, Ruleset, View, later_view, opening_view
from pfq.headers.bits import any_of, masked, same
from pfq.parity.cases import Case, cases, flows, usual_hosts
from pfq.parity.ordinary import QUESTIONS, QUESTIONS6, begins_no_flow, is_answer, well_formed_packet
from pfq.parity.outcomes import Outcome, Trees, trees_of
from pfq.parity.proof import MOMENTS, Answers, Difference, Moment, Pair, Party, Witness, answers, deciding, differences, within
from pfq.parity.reference import DOWN, UP, Reference, is_begun, is_later_fragment
from pfq.parity.unavoidable import dropped_by_nature, fragments_left_out, together, unavoidable
from pfq.parity.witness import FAR, Usual, usual
from pfq.plan.classify import ICMP, ICMP6
from pfq.plan.model import Gateway, Plan, Uplink

# The package is wanted for proofs only.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.headers.diagrams import Diagrams


@dataclass
class Finding:
    """A cause for which a gateway does not do what the plan says, with one packet. names: the differences that explain it, () if none do.

    also: the other flows and moments where it shows.
    """

    case: Case
    witness: Witness
    names: tuple[str, ...] = ()
    also: list[tuple[Case, Moment]] = field(default_factory=list)


@dataclass
class Verdict:
    """What was found about a link of a gateway: nothing unaccepted means that all packets have the plan's class."""

    gateway: Gateway
    uplink: Uplink
    findings: list[Finding] = field(default_factory=list)
    accepted: dict[tuple[str, ...], Finding] = field(default_factory=dict)


def judge(plan: Plan, gateway: Gateway, uplink: Uplink, ruleset: Ruleset, diagrams: "Diagrams") -> Verdict:
    """Proves that the ruleset does with the link's packets what the plan says, or finds a packet for every cause why it does not."""
    verdict = Verdict(gateway, uplink)
    trees = trees_of(gateway, uplink, plan.source)
    causes: dict[tuple[object, ...], Finding] = {}
    for case in cases(gateway, uplink):
        for finding in _case(plan, case, trees, ruleset, diagrams, verdict.accepted):
            if finding.names and set(finding.names) <= set(plan.accept):
                verdict.accepted.setdefault(finding.names, finding)
                continue
            known = causes.setdefault(_cause(finding), finding)
            if known is finding:
                verdict.findings.append(finding)
            else:
                known.also.append((finding.case, finding.witness.moment))
    return verdict


def _cause(finding: Finding) -> tuple[object, ...]:
    """Equal for what goes wrong for one reason: the same line of the model, the same classes, and in pf the same rule's queue."""
    witness = finding.witness
    of_rules = deciding(witness.other) if finding.case.gateway.system.family != "linux" else frozenset()
    return finding.names, witness.outcomes, deciding(witness.one), of_rules


def plan_party(plan: Plan, case: Case, trees: Trees, lost: frozenset[str] = frozenset()) -> Party:
    """The plan as one of the two who are asked."""
    return Party(Reference(plan, case.gateway, case.uplink, lost), case.plan_way, _as_seen(case, trees))


def gateway_party(case: Case, trees: Trees, ruleset: Ruleset) -> Party:
    """The ruleset as one of the two who are asked."""
    return Party(ruleset, case.way, trees.read)


def _as_seen(case: Case, trees: Trees) -> Callable[[Passage], Outcome]:
    """Reads the plan's passages, as far as the gateway has queues that show them."""
    tree = case.uplink.down
    # Queues on the inside see what leaves there; what the gateway keeps for itself they do not.
    away = case.way.enters if case.opened_inside else case.way.leaves
    shown = trees.down is not None and tree is not None and (tree.where == "ingress" or tree.interface == away)

    def read(passage: Passage) -> Outcome:
        queues = dict(passage.queues)
        return Outcome(passage.action == BLOCK, queues.get(UP), queues.get(DOWN) if shown else None)

    return read


def _universe(case: Case, diagrams: "Diagrams", plan: Answers, gateway: Answers) -> dict[Moment, list[Condition]]:
    """The packets of each moment that the proof is about: those for which all of the conditions hold. The later packets are those of flows
    whose first packet both let through."""
    first = opening_view(diagrams)
    begun = is_begun(first)
    system, down = case.gateway.system, case.uplink.down
    ingress = down is not None and down.where == "ingress"
    # A later fragment begins nothing: it is a part of what its first one begins.
    possible = [flows(case, first), well_formed_packet(first), ~is_later_fragment(first), ~is_answer(first)]
    possible.append(~fragments_left_out(system, first, ingress and not case.opened_inside))
    if case.uplink.inbound is not None and not case.opened_inside:
        # Whether a connection from before may go on is the inbound policy's business, in which systems differ.
        possible.append(begun)
    flow = [begun, plan.passed(diagrams), gateway.passed(diagrams), *possible]
    found: dict[Moment, list[Condition]] = {"first": possible}
    for moment in MOMENTS[1:]:
        view = later_view(diagrams, moment == "reply")
        reply = moment == "reply"
        left_out = fragments_left_out(system, view, ingress and case.opened_inside == reply)
        found[moment] = [well_formed_packet(view), ~left_out, belongs(first, view, reply), *flow]
    return found


def belongs(first: View, later: View, reply: bool) -> Condition:
    """Where a later packet can belong to the flow of the first: of ICMP's, questions and their answers."""
    algebra, protocol = first.algebra, first.bits[space.PROTOCOL]
    (six,) = first.bits[space.FAMILY]

    def asked(questions: Mapping[int, int]) -> Condition:
        return any_of(algebra, [
            masked(algebra, first.bits[space.ICMP_TYPE], question) & masked(algebra, later.bits[space.ICMP_TYPE], answer if reply else question)
            for question, answer in questions.items()
        ])  # fmt: skip

    icmp = six.ite(masked(algebra, protocol, ICMP6), masked(algebra, protocol, ICMP))
    code = same(algebra, first.bits[space.ICMP_CODE], later.bits[space.ICMP_CODE])
    return ~icmp | (six.ite(asked(QUESTIONS6), asked(QUESTIONS)) & code)


def _usual(case: Case) -> list[Usual]:
    near, far = usual_hosts(case), [int(address) for address in FAR]
    return usual(near, far) if case.opened_inside else usual(far, near)


def _case(plan: Plan, case: Case, trees: Trees, ruleset: Ruleset, diagrams: "Diagrams", known: Container[tuple[str, ...]]) -> Iterator[Finding]:
    """What is found of one kind of flow. known: names of differences of which nobody needs a further packet."""
    pair = Pair(diagrams, plan_party(plan, case, trees), gateway_party(case, trees, ruleset))
    wanted, seen = (answers(party, diagrams) for party in (pair.one, pair.other))
    left = differences(wanted, seen, _pardoned(case, diagrams))
    universe = _universe(case, diagrams, wanted, seen)
    order = _usual(case)
    for lost, names in together(unavoidable(case.gateway.system)):
        if not left:
            break
        explained, left = _explained(left, answers(plan_party(plan, case, trees, lost), diagrams))
        for difference in explained:
            real = None if names in known else _real(difference, universe, diagrams)
            if real is not None:
                yield Finding(case, pair.simplest_witness(real, order), names)
    for difference in left:
        real = _real(difference, universe, diagrams)
        if real is not None:
            yield from (Finding(case, witness) for witness in pair.witnesses(real, order))


def _pardoned(case: Case, diagrams: "Diagrams") -> dict[Moment, Condition]:
    views = {moment: opening_view(diagrams) if moment == "first" else later_view(diagrams, moment == "reply") for moment in MOMENTS}
    return {moment: dropped_by_nature(case.gateway.system, view) for moment, view in views.items()}


def _real(difference: Difference, universe: Mapping[Moment, Sequence[Condition]], diagrams: "Diagrams") -> Difference | None:
    """The packets of a difference that there can be."""
    conditions = universe[difference.moment]
    if difference.moment == "first" and difference.one.blocked == difference.other.blocked:
        conditions = [*conditions, ~begins_no_flow(opening_view(diagrams))]
    return within(difference, conditions)


def _explained(found: list[Difference], weaker: Answers) -> tuple[list[Difference], list[Difference]]:
    """The packets that go where a plan without some abilities has them too, and the others."""
    explained: list[Difference] = []
    rest: list[Difference] = []
    for one in found:
        agreed = weaker.found[one.moment].get(one.other)
        if agreed is None:
            rest.append(one)
            continue
        for part, into in ((one.where & agreed, explained), (one.where & ~agreed, rest)):
            if part.satisfiable():
                into.append(replace(one, where=part))
    return explained, rest
