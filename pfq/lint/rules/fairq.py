"""PFQ212. fairq (ALTQ of FreeBSD)."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for statement in ruleset.statements_of("altq"):
        place = ruleset.clause(statement, "fairq")
        if place.start != statement.start:
            message = "pfctl crashes on the first queue under fairq: no ruleset with it can be loaded"
            found.append(place.finding(message, "use cbq, hfsc, or codelq"))
    return found


RULE = Rule(
    "PFQ212",
    "fairq",
    "pfctl crashes on fairq",
    "The checks of a fairq queue (pfctl_altq.c of FreeBSD 12.1) read its parent, and a queue at the top "
    "has none: pfctl ends with a segmentation fault. Seen in 12.1; no later release is known to have "
    "changed it.",
    wrong="""altq on em0 fairq bandwidth 10Mb queue { bulk }
queue bulk bandwidth 100% fairq(default)
""",
    right="""altq on em0 cbq bandwidth 10Mb queue { bulk }
queue bulk bandwidth 100% cbq(default)
""",
    example="freebsd-12.1",
    check=check,
    severity=ERROR,
)
