"""Every gateway of a model against the plan, and so against each other."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from pfq.diagnostics import Diagnostic, Refused, refuse
from pfq.parity.gateways import ruleset_of
from pfq.parity.judging import Verdict, judge
from pfq.plan.model import Gateway, Plan

# The file of a gateway's folder that holds its rules, by the system's family.
_MAIN = {"linux": "pfq.sh", "altq": "pf.conf", "queue": "pf.conf"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two gateways on a link. but: the names of accepted differences that one of them has and the other has not."""

    link: str
    one: Gateway
    other: Gateway
    equal: bool
    but: tuple[str, ...]


def verify(plan: Plan, texts: Mapping[str, Mapping[str, str]], progress: Callable[[str], None]) -> list[Verdict]:
    """The verdict on every link of every gateway. texts: each gateway's files. Raises Refused for everything that is not modelled."""
    faults: list[Diagnostic] = []
    rulesets = {}
    for gateway in plan.gateways:
        try:
            rulesets[gateway.name] = ruleset_of(gateway, texts[gateway.name])
        except Refused as refused:
            faults += refused.diagnostics
    if faults:
        raise Refused(faults)
    from pfq.headers.diagrams import Diagrams

    diagrams = Diagrams()
    found = []
    for gateway in plan.gateways:
        for uplink in gateway.uplinks:
            progress(f"{gateway.name}, link {uplink.link}")
            found.append(judge(plan, gateway, uplink, rulesets[gateway.name], diagrams))
    return found


def pairs(verdicts: list[Verdict]) -> list[Pair]:
    """Every two gateways on one link: what both put where the plan does, or where the plan less some abilities does, they put alike."""
    found = []
    for one, other in combinations(verdicts, 2):
        if one.uplink.link == other.uplink.link:
            mine, theirs = ({name for names in verdict.accepted for name in names} for verdict in (one, other))
            same_plan = one.uplink.classifier == other.uplink.classifier
            equal = same_plan and not one.findings and not other.findings
            found.append(Pair(one.uplink.link, one.gateway, other.gateway, equal, tuple(sorted(mine ^ theirs))))
    return found


def texts_in(folder: str, gateway: Gateway) -> dict[str, str]:
    """The files of a gateway below a folder, by path: the one that `pfq compile -o` writes, or else all that were recorded there. Raises
    Refused if there is none, or one cannot be read."""
    own = os.path.join(folder, gateway.name)
    main = os.path.join(own, _MAIN[gateway.system.family])
    try:
        paths = [main] if os.path.isfile(main) else sorted(entry.path for entry in os.scandir(own) if entry.is_file())
        if not paths:
            raise refuse("no-files", f"there is no file in {own}")
        return {path: _text(path) for path in paths}
    except OSError as error:
        hint = f"a folder a host is wanted, as `pfq compile -o {folder}` writes them"
        raise refuse("unreadable", f"{error.filename or own} cannot be read: {error.strerror}", hint=hint) from None


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.read()
