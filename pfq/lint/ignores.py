"""Comments that silence a rule: `# pfq: ignore[PFQ201]` on a line of the statement, or alone on the line above it."""

import re

from .finding import Finding, Fix, Text

_COMMENT = re.compile(r"#[ \t]*pfq:[ \t]*ignore\b(?:[ \t]*\[([^\]\n]*)\])?[^\n]*")
_CODE = re.compile(r"[^\s,]+")


class Ignore:
    """One such comment: the codes with their spans, and the lines it is for."""

    __slots__ = ("codes", "end", "line", "start", "used")

    def __init__(self, start: int, end: int, line: int, codes: list[tuple[str, int, int]]) -> None:
        self.start = start
        self.end = end
        self.line = line
        self.codes = codes
        self.used: set[str] = set()


def find(text: Text) -> list[Ignore]:
    """The comments of a text."""
    found = []
    below: list[int] = []
    for match in _COMMENT.finditer(text.text):
        codes = []
        if match[1] is not None:
            codes = [(m[0], match.start(1) + m.start(), match.start(1) + m.end()) for m in _CODE.finditer(match[1])]
        line = text.place(match.start())[0]
        if text.line(line).lstrip().startswith("#"):
            below = below or _lines_below(text)
            line = below[line]
        found.append(Ignore(match.start(), match.end(), line, codes))
    return found


def _lines_below(text: Text) -> list[int]:
    """For each line the first one below it that has more than a comment (the last line where there is none); lines count from 1."""
    last = len(text.starts())
    found = [last] * (last + 1)
    for line in range(last - 1, -1, -1):
        written = text.line(line + 1).strip()
        found[line] = line + 1 if written and not written.startswith("#") else found[line + 1]
    return found


def apply(findings: list[Finding], texts: dict[str, Text], active: frozenset[str]) -> list[Finding]:
    """The findings that no comment silences, and one (PFQ003) for each comment that silences nothing.

    `active` are the codes whose rules ran: a comment for another one is not complained of.
    """
    comments = {file: find(text) for file, text in texts.items()}
    # By file, code and line.
    wanted: dict[tuple[str, str], dict[int, list[Ignore]]] = {}
    for file, ignores in comments.items():
        for comment in ignores:
            for code, _, _ in comment.codes:
                wanted.setdefault((file, code), {}).setdefault(comment.line, []).append(comment)
    kept = []
    for finding in findings:
        lines = wanted.get((finding.file, finding.code))
        if not lines:
            kept.append(finding)
            continue
        text = texts[finding.file]
        first, last = text.place(finding.start)[0], text.place(max(finding.end - 1, finding.start))[0]
        silencing = [comment for line, ignores in lines.items() if first <= line <= last for comment in ignores]
        for comment in silencing:
            comment.used.add(finding.code)
        if not silencing:
            kept.append(finding)
    if "PFQ003" in active:
        for file, ignores in comments.items():
            for comment in ignores:
                kept += _unused(texts[file], comment, active)
    return kept


def _unused(text: Text, comment: Ignore, active: frozenset[str]) -> list[Finding]:
    from .registry import RULES

    def finding(start: int, end: int, message: str, hint: str = "", fix: Fix | None = None) -> Finding:
        return Finding(text.file, start, end, message, hint, fix, code="PFQ003", severity="warning")

    if not comment.codes:
        return [finding(comment.start, comment.end, "the comment names no rule", "write which: # pfq: ignore[PFQ201]")]
    known = [code for code, _, _ in comment.codes if code in RULES]
    useless = [code for code in known if code in active and code not in comment.used and code != "PFQ003"]
    found = []
    whole = len(useless) == len(comment.codes)
    for code, start, end in comment.codes:
        if code not in RULES:
            found.append(finding(start, end, f"there is no rule {code}", "pfq rule lists them"))
        elif code in useless:
            fix = Fix("remove the comment", [(*_with_blanks(text, comment), "")], True) if whole else None
            found.append(finding(start, end, f"{code} finds nothing here", "remove it", fix))
    return found


def _with_blanks(text: Text, comment: Ignore) -> tuple[int, int]:
    """The span of a comment with the blanks before it, or with its whole line where nothing else stands there."""
    start, end = comment.start, comment.end
    if end > start and text.text[end - 1] == "\r":
        end -= 1
    while start and text.text[start - 1] in " \t":
        start -= 1
    alone = start == 0 or text.text[start - 1] == "\n"
    if alone and end < len(text.text):
        end = text.text.find("\n", end) + 1 or len(text.text)
    return start, end
