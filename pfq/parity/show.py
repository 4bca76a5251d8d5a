"""What `pfq verify` found about a model's gateways: for people, for programs, for GitHub."""

import json
from collections.abc import Iterator
from typing import Any

from pfq.diagnostics import visible
from pfq.headers.asking import Decision
from pfq.parity.judging import Finding, Verdict
from pfq.parity.packet import packet_of
from pfq.parity.packet_text import packet_text
from pfq.parity.proof import Moment, Said, Witness
from pfq.parity.site import Pair
from pfq.site.differences import DIFFERENCES

MOMENTS: dict[Moment, str] = {"first": "the first packet of a flow", "later": "a later packet of a flow", "reply": "a reply"}


def packets(witness: Witness) -> tuple[str, str]:
    """The packet that shows a difference, and the one that opened its flow ('' if it is the same)."""
    first = packet_text(packet_of(witness.values))
    if witness.moment == "first":
        return first, ""
    return packet_text(packet_of(witness.values, True, witness.moment == "reply")), first


def line_text(line: Decision) -> str:
    """A line that decided, with its place."""
    return visible(f"{line.place}: {line.text} ({line.why})" if line.text else f"{line.place.file}: {line.why}")


def queues_text(said: Said) -> str:
    """The queues that a packet waits in."""
    return ", ".join(f"queue {queue or '(none)'} on {device}" for device, queue in said.passage.queues)


def witness_lines(number: int, witness: Witness, names: tuple[str, str], about: str) -> Iterator[str]:
    """A witness in lines of text. names: what the two parties are called."""
    packet, opener = packets(witness)
    yield f"  {number}. {packet}"
    yield f"     {about}, {MOMENTS[witness.moment]}" + (f" that began with: {opener}" if opener else "")
    for name, said in zip(names, (witness.one, witness.other), strict=True):
        yield f"     {name}: {said.outcome}" + (f", {queues_text(said)}" if name == "here" and said.passage.queues else "")
        yield from (f"       {line_text(line)}" for line in said.lines)


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield from witness_lines(number, finding.witness, ("plan", "here"), finding.case.title)
    if finding.names:
        yield f"     this is {' and '.join(finding.names)}, which the model does not accept"
    if finding.also:
        shown = dict.fromkeys(f"{case.title}: {MOMENTS[moment]}" for case, moment in finding.also)
        yield f"     also {'; '.join(shown)}"


def as_text(verdicts: list[Verdict], together: list[Pair]) -> str:
    """A paragraph for each link of each gateway, and what follows for every two gateways on a link."""
    lines: list[str] = []
    for verdict in verdicts:
        head = f"{verdict.gateway.name} ({verdict.gateway.system.name}), link {verdict.uplink.link}: "
        count = len(verdict.findings)
        if count:
            lines.append(head + f"{count} difference{'s' if count > 1 else ''} from the plan")
        else:
            lines.append(head + f"every packet has the plan's class{', but for what is accepted' if verdict.accepted else ''}")
        for number, finding in enumerate(verdict.findings, 1):
            lines += _finding(number, finding)
        for names, finding in verdict.accepted.items():
            packet, _ = packets(finding.witness)
            lines.append(f"  accepted: {', '.join(names)}: {'; '.join(DIFFERENCES[name] for name in names)}")
            lines.append(f"    {packet}: plan: {finding.witness.one.outcome}; here: {finding.witness.other.outcome}")
    for pair in together:
        both = f"link {pair.link}: {pair.one.name} and {pair.other.name}: "
        but = f" but for {', '.join(pair.but)}" if pair.but else ""
        lines.append(both + (f"the same class for every packet{but}" if pair.equal else "not the same"))
    return "".join(f"{line}\n" for line in lines)


def said_json(said: Said) -> dict[str, Any]:
    """What a party says about a packet."""
    return {
        "outcome": str(said.outcome),
        "queues": [{"device": device, "queue": queue} for device, queue in said.passage.queues],
        "lines": [
            {"file": line.place.file, "line": line.place.line, "column": line.place.column, "text": line.text, "why": line.why} for line in said.lines
        ],
    }


def witness_json(witness: Witness, names: tuple[str, str]) -> dict[str, Any]:
    """A witness with what both parties say."""
    packet, opener = packets(witness)
    return {
        "moment": witness.moment, "packet": packet, "opener": opener or packet,
        names[0]: said_json(witness.one), names[1]: said_json(witness.other),
    }  # fmt: skip


def _finding_json(finding: Finding) -> dict[str, Any]:
    also = [{"flows": case.title, "moment": moment} for case, moment in finding.also]
    return {"flows": finding.case.title} | witness_json(finding.witness, ("plan", "gateway")) | {"names": list(finding.names), "also": also}


def as_json(verdicts: list[Verdict], together: list[Pair]) -> str:
    """One object: the verdict on each link of each gateway, and on every two gateways on a link."""
    gateways = [
        {
            "gateway": verdict.gateway.name,
            "system": verdict.gateway.system.name,
            "link": verdict.uplink.link,
            "equal": not verdict.findings,
            "accepted": [_finding_json(finding) for finding in verdict.accepted.values()],
            "differences": [_finding_json(finding) for finding in verdict.findings],
        }
        for verdict in verdicts
    ]
    rows = [{"link": p.link, "gateways": [p.one.name, p.other.name], "equal": p.equal, "but": list(p.but)} for p in together]
    return json.dumps({"version": 1, "gateways": gateways, "pairs": rows}, indent=2) + "\n"


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def annotation(witness: Witness, message: str) -> str:
    """A workflow command of GitHub at the line that decided, the second party's if it has one."""
    lines = witness.other.lines or witness.one.lines
    place = f" file={_escaped(visible(lines[-1].place.file), ':,')},line={lines[-1].place.line}," if lines else " "
    return f"::error{place}title=pfq verify::{_escaped(visible(message))}\n"


def as_github(verdicts: list[Verdict], together: list[Pair]) -> str:
    """A workflow command for every difference."""
    del together
    parts = []
    for verdict in verdicts:
        for finding in verdict.findings:
            packet, _ = packets(finding.witness)
            says = f"{verdict.gateway.name}, {finding.case.title}: {packet}: {finding.witness.other.outcome}, and the plan says {finding.witness.one.outcome}"
            parts.append(annotation(finding.witness, says))
    return "".join(parts)


FORMATS = {"text": as_text, "json": as_json, "github": as_github}
