"""PFQ104. A rule that no packet can reach: an earlier quick rule takes them all."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.lint.shadow import shadowed


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for rule, by, every in shadowed(ruleset):
        if not every:
            continue
        place = ruleset.place(rule)
        message = f"no packet reaches this rule: the quick rule in {ruleset.line_of(by, rule)} takes them all"
        found.append(place.finding(message, "put it above that rule, or remove it"))
    return found


RULE = Rule(
    "PFQ104",
    "unreachable-rule",
    "no packet can reach a rule, because an earlier quick rule takes them all",
    "The first `quick` rule that matches a packet ends the evaluation. Here such a rule, further up in "
    "the same ruleset, matches every packet that this one matches. A statement that expands to several "
    "rules is reported only when none of them can be reached.",
    wrong="""pass in
block in quick on em0 proto tcp
pass in quick on em0 proto tcp from 192.0.2.0/24 to port 22
""",
    right="""pass in
pass in quick on em0 proto tcp from 192.0.2.0/24 to port 22
block in quick on em0 proto tcp
""",
    example="openbsd-7.6",
    check=check,
)
