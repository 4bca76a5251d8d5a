"""What pfctl itself says about a ruleset, as findings. Imported only when it says something."""

import re

from pfq.pf.nodes import Statement

from .finding import ERROR, WARNING, Finding
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
        return Finding(match[1], start, end, f"pfctl: {match[3]}", code=code, severity=severity)
    message = line.removeprefix("pfctl: ")
    statement = _named(ruleset, message) if look else None
    if statement is not None:
        return Finding(statement.file, statement.start, statement.end, f"pfctl: {message}", code=code, severity=severity)
    start, end = ruleset.texts[ruleset.file].line_span(1)
    return Finding(ruleset.file, start, end, f"pfctl: {message}", code=code, severity=severity)


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
