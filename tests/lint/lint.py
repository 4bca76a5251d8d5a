"""Linting a text in a test."""

from pfq.lint.finding import Finding
from pfq.lint.model import lint_model
from pfq.lint.registry import RULES
from pfq.lint.run import Result, lint_ruleset

EVERY = frozenset(RULES)


def lint(text: str, dialect: str | None = "openbsd-7.6", codes: frozenset[str] = EVERY) -> Result:
    """The result for a ruleset, or for a model where the dialect is 'site'."""
    if dialect == "site":
        return lint_model("site.toml", text, codes)
    return lint_ruleset("pf.conf", text, dialect, codes)


def codes(text: str, dialect: str | None = "openbsd-7.6") -> list[str]:
    """The codes found, in the order of the text."""
    return [finding.code for finding in lint(text, dialect).findings]


def under(result: Result, finding: Finding) -> str:
    """What a finding's carets are under."""
    return result.texts[finding.file].text[finding.start : finding.end]


def only(text: str, code: str, dialect: str = "openbsd-7.6") -> tuple[str, Finding]:
    """The one finding of a code, and what is under its carets."""
    result = lint(text, dialect)
    found = [finding for finding in result.findings if finding.code == code]
    assert len(found) == 1, [(one.code, one.message) for one in result.findings]
    return under(result, found[0]), found[0]
