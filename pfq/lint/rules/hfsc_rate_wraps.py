"""PFQ305. A rate of more than 32 bits in HFSC."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rates import shown, written
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

_MOST = 2**32 - 1


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for statement in ruleset.statements_of("queue"):
        text = ruleset.texts[statement.file].text
        for clause in statement.clauses:
            if clause.name != "bandwidth":
                continue
            for rate, start, end in written(text[clause.start : clause.end]):
                if rate > _MOST:
                    message = f"HFSC keeps rates in 32 bits: the kernel shapes to {shown(rate & _MOST)}"
                    found.append(Finding(statement.file, clause.start + start, clause.start + end, message, "at most 4294967295"))
    return found


RULE = Rule(
    "PFQ305",
    "hfsc-rate-wraps",
    "a rate above 4.29 Gbit/s wraps",
    "pfctl reads rates in 64 bits, and prints them so, but the kernel's curves (struct hfsc_sc) have 32: "
    "10G becomes 1.41 Gbit/s.",
    wrong="""queue up on ix0 bandwidth 10G, max 10G
queue bulk parent up bandwidth 1G default
""",
    right="""queue up on ix0 bandwidth 4G, max 4G
queue bulk parent up bandwidth 1G default
""",
    example="openbsd-7.6",
    check=check,
    severity=ERROR,
)
