"""One number of the model at a row of values, to see what it trades for what."""

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pfq.diagnostics import Refused, refuse
from pfq.simulate.comparison import Progress, Subject, simulate, subject_of
from pfq.simulate.scenario import Scenario
from pfq.simulate.world import Result
from pfq.site.load import read_bytes, read_tables
from pfq.site.positions import Source

POINTS, MOST_POINTS = 7, 100
_FORM = re.compile(r"([^=]{1,200})=(\d{1,12}(?:\.\d{1,6})?)\.\.(\d{1,12}(?:\.\d{1,6})?)(?:/(\d{1,12}(?:\.\d{1,6})?))? ?([A-Za-z%/]{0,10})\Z", re.ASCII)
# Short words for values of the simulated host's own link.
SHORT = {"up": "shaped_up", "down": "shaped_down", "burst": "burst", "txqueuelen": "txqueuelen"}


@dataclass(frozen=True, slots=True)
class Sweep:
    """name: as it was written; values: as the model would spell them."""

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...]
    unit: str


@dataclass(frozen=True, slots=True)
class Swept:
    sweep: Sweep
    runs: tuple[Result, ...]


def parse_sweep(text: str) -> Sweep:
    """'up=90..120kbit': seven values from the first to the last; 'up=90..120/5kbit': in steps of 5. Raises Refused."""
    found = _FORM.match(text.strip())
    hint = "write NAME=FIRST..LAST[/STEP]UNIT, such as 'up=90..120kbit' or 'links.adsl.mtu=1000..1492/100'"
    if not found:
        raise refuse("bad-sweep", f"{text[:60]!r} is no row of values", hint=hint)
    first, last = Decimal(found[2]), Decimal(found[3])
    if first >= last:
        raise refuse("bad-sweep", f"{text[:60]!r}: the first value must be below the last", hint=hint)
    if found[4] is not None:
        step = Decimal(found[4])
        if not step or (last - first) / step >= MOST_POINTS:
            raise refuse("bad-sweep", f"{text[:60]!r} has more than {MOST_POINTS} values", hint="take a larger step")
        values = [first + index * step for index in range(int((last - first) / step) + 1)]
    else:
        # As many digits as it takes to tell the values apart, and no more than a thousandth of the distance.
        digits = Decimal(1).scaleb((last - first).adjusted() - 2) if (last - first) < 100 else Decimal(1)
        digits = min(digits, Decimal(1)) if found[5] else Decimal(1)
        values = list(dict.fromkeys((first + (last - first) * index / (POINTS - 1)).quantize(digits) for index in range(POINTS)))
    shown = [format(value.normalize(), "f") for value in values]
    unit = found[5]
    return Sweep(found[1].strip(), tuple(f"{value} {unit}".strip() for value in shown), tuple(float(value) for value in values), unit)


def run_sweep(path: str, host: str | None, link: str | None, sweep: Sweep, scenario: Scenario, seed: int, progress: Progress | None = None) -> Swept:
    """The plan's run at every value. Raises Refused where the model has no such number or a value makes it impossible."""
    data = read_bytes(path)
    text = data.decode("utf-8-sig")
    runs = []
    for value in sweep.values:
        raw = tomllib.loads(text)
        _set(raw, sweep, value, host, link)
        site, faults = read_tables(raw, Source(path, text))
        try:
            subject: Subject = subject_of(site, faults, host, link)
        except Refused as refused:
            found = refused.diagnostics[0]
            raise refuse("bad-sweep", f"{sweep.name} = {value}: {found.message}", hint=found.hint) from None
        runs.append(simulate(subject, scenario, "plan", seed, value, progress))
    return Swept(sweep, tuple(runs))


def _set(raw: dict[str, Any], sweep: Sweep, value: str, host: str | None, link: str | None) -> None:
    """Puts the value where the name leads. Raises Refused if nothing is there that it could belong to."""
    parts = sweep.name.split(".")
    if sweep.name in SHORT:
        hosts = raw.get("hosts", {})
        name = host if host in hosts else next(iter(hosts), "")
        links = hosts.get(name, {}).get("links", {})
        parts = ["hosts", str(name), "links", str(link if link in links else next(iter(links), "")), SHORT[sweep.name]]
    at: Any = raw
    for index, part in enumerate(parts[:-1]):
        inner = _step(at, part)
        if isinstance(inner, str) and parts[0] == "hosts":
            # A link written as its interface alone.
            inner = at[part] = {"interface": inner}
        if not isinstance(inner, dict | list):
            raise refuse("bad-sweep", f"the model has no {'.'.join(parts[: index + 1])!r}", hint="a path of its keys, such as links.adsl.mtu")
        at = inner
    if not isinstance(at, dict):
        raise refuse("bad-sweep", f"{sweep.name!r} is no key of a table", hint="a path of the model's keys, such as links.adsl.mtu")
    at[parts[-1]] = value if sweep.unit else int(value)


def _step(at: Any, part: str) -> Any:
    if isinstance(at, list):
        # A class is found by its name, anything by its number.
        named = next((item for item in at if isinstance(item, dict) and item.get("name") == part), None)
        return named if named is not None else at[int(part)] if part.isdigit() and int(part) < len(at) else None
    return at.get(part) if isinstance(at, dict) else None
