"""Running the rules over one text: what is found, in the order of the text."""

from .finding import Finding, Text
from .registry import OF_THE_RUNNER, RULES, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ruleset import Ruleset

class Result:
    """What was found in one file."""

    __slots__ = ("dialect", "file", "findings", "guessed", "texts")

    def __init__(self, file: str, texts: dict[str, Text], dialect: str, guessed: "str | None", findings: list[Finding]) -> None:
        self.file = file
        self.texts = texts
        self.dialect = dialect
        # None: the dialect was given; otherwise what it was told by, '' for nothing.
        self.guessed = guessed
        self.findings = findings


def lint_ruleset(
    file: str,
    text: str,
    dialect: "str | None",
    active: frozenset[str],
    macros: "dict[str, str] | None" = None,
    system_file: str = "",
) -> Result:
    """Lint a pf.conf; `dialect` None: guess it. Raises UnknownDialect, and for `system_file` OSError and ValueError."""
    from .ruleset import Ruleset

    guessed = None
    if dialect is None:
        from .dialect_guess import guess, others

        dialect, guessed = guess(text)
        ruleset = Ruleset(file, text, dialect, macros, system_file)
        if not ruleset.whole:
            for other in others(dialect):
                again = Ruleset(file, text, other, macros, system_file)
                if again.whole:
                    ruleset, guessed = again, "the first dialect that accepts it"
                    break
    else:
        ruleset = Ruleset(file, text, dialect, macros, system_file)
    ran = _applicable(ruleset, active)
    findings = []
    for code in ran:
        one = rule(code)
        if one.check is None or (one.whole and not ruleset.whole):
            continue
        for finding in one.check(ruleset):
            finding.code = code
            finding.severity = finding.severity or one.severity
            findings.append(finding)
    verdict = ruleset.tree.verdict
    if verdict.status or verdict.stderr or verdict.stdout:
        from .said import said

        findings += said(ruleset, findings, active)
    judged = frozenset(code for code in (*RULES,) if code in active and not (code in ran and not ruleset.whole and rule(code).whole))
    return Result(file, ruleset.texts, ruleset.dialect.name, guessed, in_order(silence(findings, ruleset.texts, judged)))


def _applicable(ruleset: "Ruleset", active: frozenset[str]) -> list[str]:
    """The codes whose rule can find anything in this ruleset."""
    everything = "\n".join(text.text for text in ruleset.texts.values())
    found = []
    for code, (_, where, words) in RULES.items():
        if code not in active or code in OF_THE_RUNNER or where in ("site", "any"):
            continue
        if where != "pf" and not getattr(ruleset.dialect, where):
            continue
        if words and not any(word in everything for word in words):
            continue
        found.append(code)
    return found


def silence(findings: list[Finding], texts: dict[str, Text], active: frozenset[str]) -> list[Finding]:
    """The findings without those that a comment silences, and with those about such comments; `active` are the codes that were looked for."""
    if not any("ignore" in text.text for text in texts.values()):
        return findings
    from .ignores import apply

    return apply(findings, texts, active)


def in_order(findings: list[Finding]) -> list[Finding]:
    """By file, place and code, each once."""
    seen = set()
    found = []
    for one in sorted(findings, key=lambda f: (f.file, f.start, f.code, f.message)):
        key = (one.file, one.start, one.code, one.message)
        if key not in seen:
            seen.add(key)
            found.append(one)
    return found
