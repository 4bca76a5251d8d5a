"""What was seen, for people and for programs."""

import json
from collections.abc import Iterator
from typing import Any

from pfq.diagnostics import Diagnostic, as_json, as_text
from pfq.site.units import show_rate
from pfq.status.state import Class, Group, Look

_HEADS = ("class", "now", "share", "guarantee", "ceiling", "packets", "bytes", "waiting", "dropped")


def text(gateway: str, look: Look, colour: bool = False) -> str:
    """A table for each link and direction, then what differs from the compiled configuration. Ends with a newline."""
    rows = [[_HEADS[0], *_HEADS[1:]], *(_row(each) for group in look.groups for each in group.classes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    lines = []
    for group in look.groups:
        lines += ["", *_group_lines(gateway, group, widths)]
    found = as_text(look.findings, colour)
    closing = found if found else f"{gateway}: what runs is what the model compiles to\n"
    return "\n".join(lines[1:]) + f"\n\n{closing}"


def _line(row: list[str], widths: list[int]) -> str:
    return "  " + "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]).rstrip()


def _group_lines(gateway: str, group: Group, widths: list[int]) -> Iterator[str]:
    if not group.link:
        yield f"{gateway}: what else leaves by {group.interface}"
    else:
        shaped = show_rate(group.shaped) if group.shaped is not None else "no limit"
        yield f"{gateway}: link {group.link} {group.direction} on {group.interface} ({group.scheduler}), {shaped}{_summary(group)}"
    yield _line(list(_HEADS), widths)
    for each in group.classes:
        yield _line(_row(each), widths)


def _summary(group: Group) -> str:
    now, total, express = group.rate(), group.total(), group.express_packets()
    words = "" if now is None else f"; now {show_rate(now)}"
    if total is not None and express is not None:
        words += f"; {express} of {total.packets} packets express"
        if total.filtered:
            words += f", {total.filtered} ACKs filtered"
    return words


def _rate(value: int | None) -> str:
    return "-" if value is None else show_rate(value)


def _row(each: Class) -> list[str]:
    marks = [mark for mark, is_so in (("express", each.express), ("default", each.default)) if is_so]
    name = "  " * each.depth + each.name + (f" ({', '.join(marks)})" if marks else "")
    rates = [_rate(each.rate), _rate(each.share), _rate(each.guarantee), _rate(each.ceiling)]
    counters = each.counters
    if counters is None:
        return [name, *rates, *["missing", "", "", ""]]
    waiting = "-" if counters.waiting is None else str(counters.waiting)
    if counters.waiting is None and counters.waiting_bytes is not None:
        waiting = f"{counters.waiting_bytes} bytes"
    return [name, *rates, str(counters.packets), str(counters.bytes), waiting, str(counters.dropped)]


def as_object(gateway: str, system: str, look: Look) -> dict[str, Any]:
    """For JSON: rates in bit/s, sizes in bytes, null where something is not known."""
    return {
        "gateway": gateway,
        "system": system,
        "as_compiled": not look.findings,
        "links": [_group_object(group) for group in look.groups],
        "findings": [_finding(each) for each in look.findings],
    }


def json_line(gateway: str, system: str, look: Look) -> str:
    """One line, for a stream of them."""
    return json.dumps(as_object(gateway, system, look)) + "\n"


def json_text(gateway: str, system: str, look: Look) -> str:
    return json.dumps(as_object(gateway, system, look), indent=2) + "\n"


def _finding(found: Diagnostic) -> Any:
    (row,) = json.loads(as_json((found,)))
    return {key: row[key] for key in ("code", "severity", "message", "hint")}


def _group_object(group: Group) -> dict[str, Any]:
    total = group.total()
    return {
        "link": group.link or None,
        "direction": group.direction,
        "interface": group.interface,
        "scheduler": group.scheduler,
        "shaped": group.shaped,
        "rate": group.rate(),
        "packets": total.packets if total else None,
        "express_packets": group.express_packets(),
        "classes": [_class_object(each) for each in group.classes],
    }


def _class_object(each: Class) -> dict[str, Any]:
    counters = each.counters
    return {
        "class": each.name,
        "address": each.address,
        "depth": each.depth,
        "inner": each.inner,
        "express": each.express,
        "default": each.default,
        "rate": each.rate,
        "share": each.share,
        "guarantee": each.guarantee,
        "ceiling": each.ceiling,
        "packets": counters.packets if counters else None,
        "bytes": counters.bytes if counters else None,
        "dropped": counters.dropped if counters else None,
        "waiting": counters.waiting if counters else None,
        "waiting_bytes": counters.waiting_bytes if counters else None,
        "filtered": counters.filtered if counters else None,
    }
