"""What is wrong, where, and what to write instead: the one form in which every part of pfq reports a fault."""

import json
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]

# The most diagnostics shown for one input. A file that is wrong in every line needs no second screen.
MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file: line and column count from 1, a column counts characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault. `code` never changes its meaning; `hint` says what to write instead ('' where there is nothing to say)."""

    code: str
    message: str
    place: Place | None = None
    hint: str = ""
    severity: Severity = "error"


class Refused(Exception):
    """The input cannot be used; carries every fault that was found in it."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(f"{len(diagnostics)} faults")
        self.diagnostics = tuple(diagnostics)


def refuse(code: str, message: str, place: Place | None = None, hint: str = "") -> Refused:
    """A `Refused` with one fault."""
    return Refused([Diagnostic(code, message, place, hint)])


def visible(text: str) -> str:
    """The text with every character that a terminal could act on written as an escape (`\\x1b`)."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def in_order(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    """By file, line and column, those without a place first, each said once."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: (d.place.file, d.place.line, d.place.column) if d.place else ("", 0, 0))


_COLOURS = {"error": "\x1b[31m", "warning": "\x1b[33m", "note": "\x1b[36m"}


def as_text(diagnostics: tuple[Diagnostic, ...], colour: bool = False) -> str:
    """One line a fault, `FILE:LINE:COLUMN: error[CODE]: message; hint`, ending with a newline."""
    lines = []
    ordered = in_order(diagnostics)
    for d in ordered[:MOST_SHOWN]:
        severity = f"{_COLOURS[d.severity]}{d.severity}\x1b[0m" if colour else d.severity
        place = f"{visible(str(d.place))}: " if d.place else "pfq: "
        hint = f"; {visible(d.hint)}" if d.hint else ""
        lines.append(f"{place}{severity}[{d.code}]: {visible(d.message)}{hint}\n")
    if len(ordered) > MOST_SHOWN:
        lines.append(f"pfq: and {len(ordered) - MOST_SHOWN} more\n")
    return "".join(lines)


def as_json(diagnostics: tuple[Diagnostic, ...]) -> str:
    """A JSON array of objects with code, severity, message, hint, file, line, column (the last three null where unknown)."""
    rows = [
        {
            "code": d.code,
            "severity": d.severity,
            "message": d.message,
            "hint": d.hint,
            "file": d.place.file if d.place else None,
            "line": d.place.line if d.place else None,
            "column": d.place.column if d.place else None,
        }
        for d in in_order(diagnostics)
    ]
    return json.dumps(rows, indent=2) + "\n"
