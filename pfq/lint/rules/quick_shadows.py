"""PFQ112. A rule that no new connection can reach: an earlier quick rule lets them in."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.lint.shadow import shadowed


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for rule, by, every in shadowed(ruleset):
        # What nothing reaches at all is PFQ104. A pass rule without flags says `flags any`: it is for what the one above leaves.
        if every or (rule.action == "pass" and rule.state and not rule.flagset):
            continue
        place = ruleset.place(rule)
        message = f"no new connection reaches this rule: the quick rule in {ruleset.line_of(by, rule)} takes them all"
        found.append(place.finding(message, "put it above that rule"))
    return found


RULE = Rule(
    "PFQ112",
    "quick-shadows",
    "no new connection can reach a rule, because an earlier quick rule lets them through",
    "A `pass` rule that keeps state takes only packets that begin a TCP connection (`flags S/SA`), so "
    "that the rule below it can still be reached: by TCP packets of no known connection. Every connection "
    "that it was written for has been decided by the quick rule above.",
    wrong="""block in
pass in quick on em0 proto tcp
block in quick on em0 proto tcp from 192.0.2.0/24 to port 22
""",
    right="""block in
block in quick on em0 proto tcp from 192.0.2.0/24 to port 22
pass in quick on em0 proto tcp
""",
    example="openbsd-7.6",
    check=check,
)
