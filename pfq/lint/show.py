"""How findings are shown: for people, with the line and carets; as JSON; as workflow commands of GitHub. SARIF is in `sarif`."""

from .finding import Finding, Text
from .run import Result

FORMATS = ("text", "json", "sarif", "github")

_COLOURS = {"error": "\x1b[31m", "warning": "\x1b[33m", "note": "\x1b[36m"}
_BOLD, _FAINT, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
# A line that is longer is shown in part, around the finding.
_MOST_SHOWN = 160


def visible(text: str) -> str:
    """As `pfq.diagnostics.visible`, which most texts do not need."""
    if text.isprintable():
        return text
    from pfq.diagnostics import visible as escaped

    return escaped(text)


def _excerpt(text: Text, finding: Finding, colour: bool) -> str:
    """The line a finding begins in, with carets under what it is about."""
    number, column = text.place(finding.start)
    line = text.line(number)
    start = min(column - 1, len(line))
    end = min(max(start + finding.end - finding.start, start + 1), max(len(line), start + 1))
    cut_before, cut_behind = "", ""
    if len(line) > _MOST_SHOWN:
        begin = max(0, start - _MOST_SHOWN // 2)
        cut_before = "..." if begin else ""
        cut_behind = "..." if begin + _MOST_SHOWN < len(line) else ""
        line, start, end = line[begin : begin + _MOST_SHOWN], start - begin, min(end - begin, _MOST_SHOWN)
        end = max(end, start + 1)
    shown = cut_before + visible(line.replace("\t", " ")) + cut_behind
    before = " " * (len(cut_before) + len(visible(line[:start].replace("\t", " "))))
    carets = "^" * max(len(visible(line[start:end].replace("\t", " "))), 1)
    margin = " " * len(str(number))
    mark = _COLOURS[finding.severity] if colour else ""
    plain = _PLAIN if colour else ""
    return f"{margin} |\n{number} | {shown}\n{margin} | {before}{mark}{carets}{plain}\n"


def as_text(results: list[Result], colour: bool = False) -> str:
    """Every finding with its line, and how many there are."""
    parts = []
    counts: dict[str, int] = {}
    safe = 0
    for result in results:
        for finding in result.findings:
            text = result.texts[finding.file]
            line, column = text.place(finding.start)
            counts[finding.severity] = counts.get(finding.severity, 0) + 1
            severity = finding.severity
            place = f"{visible(finding.file)}:{line}:{column}"
            if colour:
                place, severity = f"{_BOLD}{place}{_PLAIN}", f"{_COLOURS[severity]}{severity}{_PLAIN}"
            parts.append(f"{place}: {severity}[{finding.code}]: {visible(finding.message)}\n")
            parts.append(_excerpt(text, finding, colour))
            if finding.hint:
                parts.append(f"{' ' * len(str(line))} = {visible(finding.hint)}\n")
            if finding.fix is not None:
                how = "--fix" if finding.fix.safe else "by hand"
                safe += finding.fix.safe
                parts.append(f"{' ' * len(str(line))} = fix ({how}): {visible(finding.fix.what)}\n")
            parts.append("\n")
    if counts:
        total = ", ".join(f"{counts[one]} {one}{'s' if counts[one] > 1 else ''}" for one in ("error", "warning", "note") if one in counts)
        parts.append(total + (f"; --fix mends {safe}" if safe else "") + "\n")
    return "".join(parts)


def as_json(results: list[Result]) -> str:
    """One object: `files` with the dialect each was read in, and `findings`; columns count characters from 1."""
    import json

    rows = []
    for result in results:
        for finding in result.findings:
            text = result.texts[finding.file]
            line, column = text.place(finding.start)
            end_line, end_column = text.place(max(finding.end, finding.start))
            rows.append(
                {
                    "code": finding.code,
                    "severity": finding.severity,
                    "message": visible(finding.message),
                    "hint": visible(finding.hint),
                    "file": visible(finding.file),
                    "line": line,
                    "column": column,
                    "end_line": end_line,
                    "end_column": end_column,
                    "fix": _fix(text, finding),
                }
            )
    files = [{"file": visible(one.file), "dialect": one.dialect, "guessed": one.guessed is not None} for one in results]
    return json.dumps({"version": 1, "files": files, "findings": rows}, indent=2) + "\n"


def _fix(text: Text, finding: Finding) -> dict[str, object] | None:
    fix = finding.fix
    if fix is None:
        return None
    edits = []
    for start, end, new in fix.edits:
        (line, column), (end_line, end_column) = text.place(start), text.place(end)
        edits.append({"line": line, "column": column, "end_line": end_line, "end_column": end_column, "text": new})
    return {"what": visible(fix.what), "safety": "safe" if fix.safe else "unsafe", "edits": edits}


def _escaped(text: str, more: str = "") -> str:
    """As workflow commands want it: percent signs and line ends as %XX, in properties `:` and `,` too."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def as_github(results: list[Result]) -> str:
    """One workflow command a finding, which GitHub shows beside the line."""
    parts = []
    for result in results:
        for finding in result.findings:
            text = result.texts[finding.file]
            line, column = text.place(finding.start)
            end_line, end_column = text.place(max(finding.end - 1, finding.start))
            kind = "notice" if finding.severity == "note" else finding.severity
            places = f"file={_escaped(visible(finding.file), ':,')},line={line},endLine={end_line}"
            if line == end_line:
                # GitHub takes columns only where the lines are the same.
                places += f",col={column},endColumn={end_column}"
            message = f"{finding.message}; {finding.hint}" if finding.hint else finding.message
            parts.append(f"::{kind} {places},title={finding.code}::{_escaped(visible(message))}\n")
    return "".join(parts)
