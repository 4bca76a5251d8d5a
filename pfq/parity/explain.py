"""What every gateway does with packets, one by one, and why."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pfq.diagnostics import visible
from pfq.headers.asking import Ruleset, Way
from pfq.parity.judging import gateway_party, plan_party
from pfq.parity.outcomes import Result, trees_of
from pfq.parity.packet import flow_values, values
from pfq.parity.packet_text import packet_text
from pfq.parity.proof import Moment, Party, Said, tell
from pfq.parity.show import MOMENTS, line_text, queues_text, said_json
from pfq.parity.sides import Origin, case_of, origin_of
from pfq.parity.story import Step
from pfq.plan.model import Gateway, Plan, Uplink


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of a packet on a link of a gateway (or in a ruleset, `subject`), and what the plan says (None: there is no plan)."""

    subject: str
    here: Said
    plan: Said | None


@dataclass(frozen=True, slots=True)
class Explained:
    """A packet, what is known of it, and the answers; `note` says why there are none."""

    number: int
    step: Step | None
    origin: Origin | None
    answers: tuple[Answer, ...] = ()
    note: str = ""


def _values(step: Step) -> Mapping[str, int]:
    if step.moment == "first":
        return values(step.packet)
    return flow_values(step.opener, step.packet)


def explain(
    plan: Plan, rulesets: Mapping[str, Ruleset], links: list[tuple[Gateway, Uplink]], step: Step, number: int, origin: Origin | None
) -> Explained:
    """What every link's gateway does with a packet. origin: where its flow comes from, if somebody has said so."""
    came = origin or origin_of(step.opener, plan.gateways)
    if came is None:
        return Explained(number, step, None, note="neither end is in the model's inside networks: --from says where its flow comes from")
    answers = []
    for gateway, uplink in links:
        case, trees = case_of(step.opener, came, gateway, uplink), trees_of(gateway, uplink, plan.source)
        said = [tell(party, _values(step), step.moment) for party in (gateway_party(case, trees, rulesets[gateway.name]), plan_party(plan, case, trees))]
        answers.append(Answer(f"{gateway.name} ({gateway.system.name}), link {uplink.link}", said[0], said[1]))
    return Explained(number, step, came, tuple(answers))


@dataclass(frozen=True, slots=True)
class Waits:
    """What becomes of a packet where there is no plan."""

    blocked: bool

    @property
    def kind(self) -> object:
        return self.blocked

    def __str__(self) -> str:
        return "blocked" if self.blocked else "passed"


def explain_ruleset(name: str, ruleset: Ruleset, way: Way, step: Step, number: int) -> Explained:
    """What a ruleset does with a packet whose flow goes this way."""

    def read(passage: Any) -> Result:
        return Waits(passage.action == "block")

    return Explained(number, step, None, (Answer(name, tell(Party(ruleset, way, read), _values(step), step.moment), None),))


_ABOUT: dict[Moment, str] = MOMENTS


def _said(said: Said) -> str:
    return str(said.outcome) + (f", {queues_text(said)}" if said.passage.queues else "")


def _lines(found: Explained) -> Iterator[str]:
    if found.step is None:
        yield f"{found.number}. {found.note}"
        return
    yield f"{found.number}. {packet_text(found.step.packet)}"
    origin = {"inside": "from inside", "outside": "from outside", "gateway": "from the gateway itself", None: ""}[found.origin]
    began = "" if found.step.moment == "first" else f" that began with {packet_text(found.step.opener)}"
    yield "   " + ", ".join(part for part in (_ABOUT[found.step.moment] + began, origin and f"opened {origin}") if part)
    if found.note:
        yield f"   {found.note}"
    for answer in found.answers:
        yield f"   {answer.subject}: {_said(answer.here)}"
        yield from (f"     {line_text(line)}" for line in answer.here.lines)
        if answer.plan is not None:
            same = answer.plan.outcome == answer.here.outcome
            yield f"     the plan: {answer.plan.outcome}" if same else f"     NOT what the plan says: {answer.plan.outcome}"
            yield from (f"       {line_text(line)}" for line in answer.plan.lines)


def as_text(found: list[Explained]) -> str:
    """A paragraph for each packet."""
    return "".join(f"{line}\n" for one in found for line in _lines(one))


def _json(found: Explained) -> dict[str, Any]:
    step = found.step
    return {
        "number": found.number,
        "packet": packet_text(step.packet) if step else None,
        "opener": packet_text(step.opener) if step else None,
        "moment": step.moment if step else None,
        "from": found.origin,
        "note": visible(found.note),
        "answers": [
            {
                "subject": answer.subject,
                "here": said_json(answer.here),
                "plan": said_json(answer.plan) if answer.plan else None,
                "equal": answer.plan is None or answer.plan.outcome == answer.here.outcome,
            }
            for answer in found.answers
        ],
    }


def as_json(found: list[Explained]) -> str:
    """One object with every packet."""
    return json.dumps({"version": 1, "packets": [_json(one) for one in found]}, indent=2) + "\n"
