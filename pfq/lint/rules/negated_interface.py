"""PFQ308. A queue on ! interface."""

from pfq.lint.finding import ERROR, Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for statement in ruleset.statements_of("queue"):
        place = ruleset.clause(statement, "on")
        text = ruleset.texts[place.file].text
        at = text.find("!", place.start, place.end)
        if at < 0 or place.start == statement.start:
            continue
        after = at + 1
        while text[after] in " \t":
            after += 1
        fix = Fix("remove the !", [(at, after, "")], False)
        message = "pfctl drops the !: the queue is on this very interface"
        found.append(Finding(place.file, at, at + 1, message, "name the interface that is meant", fix))
    return found


RULE = Rule(
    "PFQ308",
    "negated-interface",
    "`on !` of a queue loses its `!`",
    "The grammar takes a negated interface in a queue definition, and pfctl uses the interface without "
    "the negation.",
    wrong="""queue up on ! em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M default
""",
    right="""queue up on em1 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M default
""",
    example="openbsd-7.6",
    check=check,
    severity=ERROR,
    fix="remove the `!`, which changes nothing but may not be what is meant",
)
