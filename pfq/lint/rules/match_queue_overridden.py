"""PFQ304. The queue of a match rule is replaced by that of the final pass rule."""

from pfq.lint.cover import apart, covers
from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.nodes import Rule as PfRule

_MOST_COMPARED = 100_000


def _final(deciding: list[PfRule], match: PfRule) -> PfRule | None:
    """The rule that decides every packet that `match` matches; None where there is not one for all of them."""
    touching = [rule for rule in deciding if not apart(rule, match)]
    found = next((rule for rule in touching if rule.quick), touching[-1] if touching else None)
    return found if found is not None and covers(found, match) else None


def check(ruleset: Ruleset) -> list[Finding]:
    found: list[Finding] = []
    budget = _MOST_COMPARED
    said = set()
    for rules in ruleset.lists():
        if any(rule.anchor is not None for rule in rules):
            continue
        deciding = [rule for rule in rules if rule.action != "match"]
        for match in rules:
            if match.action != "match" or not match.queue or id(match.statement) in said:
                continue
            budget -= len(deciding)
            if budget < 0:
                return found
            said.add(id(match.statement))
            final = _final(deciding, match)
            if final is None or final.action != "pass" or not final.queue or final.queue == match.queue:
                continue
            place = ruleset.name_in(match, match.queue, "set", "queue")
            message = f"{match.queue} is never used: the pass rule in {ruleset.line_of(final, match)} decides these packets and names {final.queue}"
            found.append(place.finding(message, "leave the queue out there, and name it in a match rule above this one"))
    return found


RULE = Rule(
    "PFQ304",
    "match-queue-overridden",
    "the final pass rule's queue replaces that of a match rule",
    "Among match rules the last one that matches wins. But the final `pass` rule is applied once more "
    "after all of them: a queue there beats every `match`, even one that is written below it.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass out on em0 set queue bulk
match out on em0 proto udp to port 5060 set queue voice
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass out on em0
match out on em0 proto udp to port 5060 set queue voice
""",
    example="openbsd-7.6",
    check=check,
)
