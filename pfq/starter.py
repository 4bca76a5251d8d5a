"""`pfq init`: a commented model to begin with, from options or a few questions."""

import sys
from argparse import Namespace
from dataclasses import dataclass

from pfq.diagnostics import Diagnostic, Refused
from pfq.plan.build import plan_site
from pfq.site.differences import DIFFERENCES
from pfq.site.encapsulation import ENCAPSULATIONS
from pfq.site.load import read_text
from pfq.site.units import parse_rate
from pfq.targets.registry import compile_all
from pfq.targets.rendering import render


@dataclass(frozen=True, slots=True)
class Question:
    option: str
    text: str
    default: str


QUESTIONS = (
    Question("system", "System of the gateway (openbsd-7.6, freebsd-14, linux-6.1, ...)", "openbsd-7.6"),
    Question("interface", "Its interface to the line (pppoe0, em0, ppp0, ...)", "em0"),
    Question("up", "Rate towards the Internet", "1 Mbit"),
    Question("down", "Rate from the Internet", "16 Mbit"),
    Question("encapsulation", "What the line wraps round a packet (? lists them)", "ethernet"),
    Question("inside", "Interface to the inside network (empty: none)", ""),
)


# The fastest ADSL (ITU-T G.992.5), bit/s: a line that is no faster is taken for one.
_ADSL_MOST = 24_000_000


def answers(arguments: Namespace) -> dict[str, str]:
    """What the options say; the rest is asked for on a terminal, and takes its default elsewhere."""
    found: dict[str, str] = {}
    somebody_there = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    for question in QUESTIONS:
        given = getattr(arguments, question.option)
        default = _encapsulation(found) if question.option == "encapsulation" else question.default
        if given is None and somebody_there:
            given = _ask(question, default)
        found[question.option] = default if given is None else given
    return found


def _encapsulation(found: dict[str, str]) -> str:
    """What the line most likely wraps round a packet: PPPoE where the interface is a PPP session, over ATM where it may be ADSL."""
    if found["interface"].rstrip("0123456789") not in ("pppoe", "ppp"):
        return "ethernet"
    try:
        return "pppoe-llc" if parse_rate(found["down"]) <= _ADSL_MOST else "pppoe-ptm"
    except ValueError:
        return "pppoe-llc"


def _ask(question: Question, default: str) -> str | None:
    """The answer, or None for the default. Asks on standard error: standard output is for the model."""
    while True:
        sys.stderr.write(f"{question.text}{f' [{default}]' if default else ''}: ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip()
        if answer != "?":
            return answer or None
        for row in ENCAPSULATIONS.values():
            sys.stderr.write(f"  {row.name:<20} {row.meaning}\n")


def starter(values: dict[str, str]) -> str:
    """The model's text. Raises Refused where an answer makes no model, naming the option."""
    text = _text(values, ())
    _, faults = read_text(text, "site.toml")
    if faults:
        raise Refused([_as_option(fault, text) for fault in faults])
    return _text(values, _to_accept(values))


def _text(values: dict[str, str], accept: tuple[str, ...]) -> str:
    differences = [(name, DIFFERENCES[name]) for name in accept]
    written = {name: _toml(value) for name, value in values.items()}
    return render("starter/site.toml.j2", values=written, inside=values["inside"] != "", differences=differences)


def _to_accept(values: dict[str, str]) -> tuple[str, ...]:
    """The differences without which the model does not compile for its system: a model to begin with should."""
    needed = tuple(DIFFERENCES)
    most = _faults(_text(values, needed))
    for name in DIFFERENCES:
        fewer = tuple(other for other in needed if other != name)
        if _faults(_text(values, fewer)) == most:
            needed = fewer
    return needed


def _faults(text: str) -> int:
    """How much is wrong with a model, compiled for its own systems."""
    site, faults = read_text(text, "site.toml")
    plan, more = plan_site(site)
    faults = [*faults, *more]
    compile_all(plan, None, faults)
    return len(faults)


def _toml(value: str) -> str:
    """A TOML string of the value."""
    import json

    return json.dumps(value).replace("\x7f", "\\u007f")


def _as_option(fault: Diagnostic, text: str) -> Diagnostic:
    """The fault without its place in a file that the user has never seen."""
    line = text.splitlines()[fault.place.line - 1] if fault.place else ""
    key = line.partition("=")[0].strip().removeprefix("links.line.").removeprefix("links.")
    option = {"line": "interface", "interface": "interface"}.get(key, key)
    known = option in {question.option for question in QUESTIONS}
    return Diagnostic(fault.code, f"--{option}: {fault.message}" if known else fault.message, None, fault.hint)
