"""PFQ113. A queue for packets that never leave by its interface."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    where = ruleset.interfaces_of_queues()
    found = []
    said = set()
    for rule in ruleset.rules():
        if rule.direction != "in" or rule.state or rule.action != "pass" or not rule.queue or id(rule.statement) in said:
            continue
        if not rule.interface or rule.interface_negated or where.get(rule.queue) != {rule.interface}:
            continue
        said.add(id(rule.statement))
        place = ruleset.name_in(rule, rule.queue, "queue", "set")
        message = f"{rule.queue} is on {rule.interface}, where these packets arrive: without state, none of them leaves by it"
        found.append(place.finding(message, "queues act on packets that leave: let the rule keep state, or name a queue of the other interface"))
    return found


RULE = Rule(
    "PFQ113",
    "queue-on-arrival",
    "a rule for arriving packets names a queue of the interface they arrive at",
    "Packets wait in queues only as they leave. A rule `in` that keeps state gives its queue to the "
    "replies, which leave by the same interface; that is how uploads of servers are sorted. Without state "
    "there are no replies to give it to, and the packets themselves leave by another interface, which has "
    "no queue of that name: the default queue takes them. To sort downloads, put queues on the inside "
    "interface.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass in on em0 proto udp no state set queue voice
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass in on em0 proto udp set queue voice
""",
    example="openbsd-7.6",
    check=check,
    whole=True,
)
