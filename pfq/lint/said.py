"""What pfctl itself says about a ruleset, as findings. Imported only when it says something."""

import re

from pfq.pf.nodes import Statement

from .finding import ERROR, WARNING, Finding, Text
from .ruleset import Ruleset

_AT_LINE = re.compile(r"(.*?):(\d+): (.*)", re.DOTALL)

# What pfctl says without a line, and where in the ruleset that is: the statement (by its first word) that has the name.
_NAMED = (
    (re.compile(r"one (?:default|root) queue on (\S+)"), ("altq",)),
    (re.compile(r"interface (\S+) does not know its bandwidth"), ("altq",)),
    (re.compile(r"unique priority on interface (\S+)"), ("altq",)),
    (re.compile(r"\bqueue (\S+?):? (?:on \S+ )?(?:parent|no bandwidth|respecified|already|is too slow|is not a leaf)"), ("queue",)),
    (re.compile(r"(?:root|default|flow) queue (\S+) "), ("queue",)),
    (re.compile(r"queue (\S+): packets"), ("pass", "match", "block")),
    (re.compile(r"bandwidth for (\S+) higher"), ("queue",)),
    (re.compile(r"child bandwidth higher than parent \"([^\"]+)\""), ("queue", "altq")),
    (re.compile(r"(\S+) does not have a unique"), ("queue",)),
    (re.compile(r"\S+ and (\S+) have the same priority"), ("queue",)),
    (re.compile(r"A root queue is already defined on (\S+)"), ("queue",)),
)


# Statements that a release has no more, or not yet: their first words, the feature that has them, and what is there instead.
_GONE = (
    (("altq",), "altq", "OpenBSD 5.5 and later have no altq: queues are defined with queue alone; pfq convert rewrites them"),
    (("nat", "rdr", "binat", "no"), "translation_rules", "OpenBSD 4.7 and later have nat-to and rdr-to on match and pass rules; pfq convert rewrites them"),
    (("scrub",), "scrub_rules", "OpenBSD 4.6 and later scrub by match rules: match in all scrub (no-df); pfq convert rewrites them"),
    (("match",), "match_rules", "this release has no match rules: OpenBSD has them since 4.6, FreeBSD since 14.0"),
)

# So many messages without a line are looked for in the ruleset; the rest are about its beginning.
_MOST_LOOKED_FOR = 200


def said(ruleset: Ruleset, findings: list[Finding], active: frozenset[str]) -> list[Finding]:
    """pfctl's own messages, but for those that a rule has said better."""
    verdict = ruleset.tree.verdict
    if verdict.status == 0 and not verdict.stderr and not verdict.stdout:
        return []
    code, severity = ("PFQ002", WARNING) if verdict.status == 0 else ("PFQ001", ERROR)
    if code not in active:
        return []
    covered = [part for finding in findings for part in finding.covers]
    found: list[Finding] = []
    # Without -v, standard output has messages only.
    lines = (verdict.stdout + verdict.stderr).split("\n")
    for line in lines:
        if line and not any(part in line for part in covered):
            found.append(_message(ruleset, line, code, severity, len(found) < _MOST_LOOKED_FOR))
    if not found and code == "PFQ001" and not any(finding.covers for finding in findings):
        found.append(Finding(ruleset.file, *ruleset.texts[ruleset.file].line_span(1), "pfctl refuses the ruleset", code=code, severity=severity))
    return found


def _message(ruleset: Ruleset, line: str, code: str, severity: str, look: bool) -> Finding:
    match = _AT_LINE.fullmatch(line)
    if match and match[1] in ruleset.texts:
        text = ruleset.texts[match[1]]
        start, end = text.line_span(int(match[2]))
        hint = _why(ruleset, text, int(match[2])) if match[3] == "syntax error" else ""
        return Finding(match[1], start, end, f"pfctl: {match[3]}", hint, code=code, severity=severity)
    message = line.removeprefix("pfctl: ")
    statement = _named(ruleset, message) if look else None
    if statement is not None:
        return Finding(statement.file, statement.start, statement.end, f"pfctl: {message}", code=code, severity=severity)
    start, end = ruleset.texts[ruleset.file].line_span(1)
    return Finding(ruleset.file, start, end, f"pfctl: {message}", code=code, severity=severity)


def _why(ruleset: Ruleset, text: Text, number: int) -> str:
    """What a syntax error most likely comes from, where the line tells it; '' otherwise."""
    start = text.starts()[min(number, len(text.starts())) - 1]
    if start == 0 and text.text.startswith("\ufeff"):
        return "the file begins with a byte order mark, which pfctl takes for a word: save it without"
    end = text.text.find("\n", start)
    if text.text[start : len(text.text) if end < 0 else end].endswith("\r"):
        return "the line ends as on Windows, and pfctl takes the CR for a part of a word: save the file with LF alone"
    if end < 0 and not ruleset.dialect.final_newline_supplied:
        return "the last line has no end, which this pfctl wants"
    word = text.line(number).split(maxsplit=1)[:1]
    return next((hint for words, feature, hint in _GONE if word and word[0] in words and not getattr(ruleset.dialect, feature)), "")


def _named(ruleset: Ruleset, message: str) -> Statement | None:
    for pattern, kinds in _NAMED:
        match = pattern.search(message)
        if match is None:
            continue
        name = re.compile(rf"(?<![\w.-]){re.escape(match[1])}(?![\w.-])")
        for statement in ruleset.statements_of(*kinds):
            if name.search(ruleset.source(statement)):
                return statement
    return None
