"""PFQ303. The queue of a match rule is lost without state."""

from pfq.lint.cover import apart, covers
from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

# Bounds the time for rulesets with thousands of match and pass rules.
_MOST_COMPARED = 100_000


def check(ruleset: Ruleset) -> list[Finding]:
    if ruleset.dialect.family != "openbsd":
        return []
    rules = ruleset.rules()
    passes = [rule for rule in rules if rule.action == "pass"]
    budget = _MOST_COMPARED
    found = []
    said = set()
    if ruleset.open_anchors():
        return []
    for rule in rules:
        if rule.action != "match" or not rule.queue or id(rule.statement) in said:
            continue
        said.add(id(rule.statement))
        fitting = []
        for one in passes:
            budget -= 1
            if not apart(rule, one):
                fitting.append(one)
        if budget < 0:
            break
        stateless = next((one for one in reversed(fitting) if not one.state and not one.queue and covers(rule, one)), None)
        place = ruleset.name_in(rule, rule.queue, "set", "queue")
        if not fitting:
            message = f"no pass rule takes these packets: the default pass keeps no state, and {rule.queue} is lost"
            found.append(place.finding(message, "add a pass rule for them"))
        elif not any(one.state for one in fitting) and not any(one.queue for one in fitting):
            message = f"only pass rules without state take these packets ({ruleset.line_of(fitting[-1], rule)}): {rule.queue} is lost"
            found.append(place.finding(message, "let that rule keep state, or name the queue there"))
        elif stateless is not None:
            message = f"{ruleset.line_of(stateless, rule)} passes some of these packets without state: for them {rule.queue} is lost"
            found.append(place.finding(message, "let that rule keep state, or name the queue there"))
    return found


RULE = Rule(
    "PFQ303",
    "match-queue-lost",
    "the queue of a match rule is lost without state",
    "What `match` rules assign is kept in the state that the final `pass` rule makes. For a packet that "
    "makes no state the kernel uses only the final rule's own queue: with `pass ... no state`, and when "
    "no rule passes it at all (the default pass keeps no state), the queue of the match rule is gone. "
    "FreeBSD's kernel keeps it, and is not reported.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
match out on em0 proto udp to port 5060 set queue voice
pass out on em0 no state
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
match out on em0 proto udp to port 5060 set queue voice
pass out on em0
""",
    example="openbsd-7.6",
    check=check,
    whole=True,
)
