"""PFQ209. A rate of more than 32 bits (ALTQ of OpenBSD)."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rates import shown, written
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

_MOST = 2**32 - 1


def check(ruleset: Ruleset) -> list[Finding]:
    if ruleset.dialect.altq_wide:
        return []
    found = []
    for statement in ruleset.statements_of("altq", "queue"):
        for clause in statement.clauses:
            if clause.name not in ("bandwidth", "hfsc"):
                continue
            text = ruleset.texts[statement.file].text
            for rate, start, end in written(text[clause.start : clause.end]):
                # A bare number that is too big is refused by pfctl itself.
                if rate > _MOST and not text[clause.start + start : clause.start + end].isdigit():
                    message = f"this rate does not fit into 32 bits: the kernel gets {shown(rate & _MOST)}"
                    at = clause.start + start
                    found.append(Finding(statement.file, at, clause.start + end, message, "at most 4294967295b"))
    return found


RULE = Rule(
    "PFQ209",
    "altq-rate-wraps",
    "a rate wraps at 32 bits",
    "OpenBSD's ALTQ, and FreeBSD's before 12, keep rates in 32 bits. What is more than 4294967295 bit/s "
    "loses its upper bits without a word: `5Gb` becomes 705 Mbit/s.",
    wrong="""altq on em0 cbq bandwidth 5Gb queue { bulk }
queue bulk bandwidth 100% cbq(default)
pass out on em0 queue bulk
""",
    right="""altq on em0 cbq bandwidth 4Gb queue { bulk }
queue bulk bandwidth 100% cbq(default)
pass out on em0 queue bulk
""",
    example="openbsd-4.4",
    check=check,
    severity=ERROR,
)
