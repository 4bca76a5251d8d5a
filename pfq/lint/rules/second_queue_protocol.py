"""PFQ107. A second queue on a rule for something other than TCP."""

from pfq.lint.finding import NOTE, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.nodes import Rule as PfRule

_TCP = 6


def check(ruleset: Ruleset) -> list[Finding]:
    by_statement: dict[int, list[int]] = {}
    first: dict[int, PfRule] = {}
    for rule in ruleset.rules():
        if rule.ack_queue and rule.ack_queue != rule.queue and not rule.tos:
            by_statement.setdefault(id(rule.statement), []).append(rule.proto)
            first.setdefault(id(rule.statement), rule)
    found = []
    for statement, protocols in by_statement.items():
        if 0 in protocols or _TCP in protocols:
            continue
        rule = first[statement]
        place = ruleset.name_in(rule, rule.ack_queue, "queue", "set")
        message = f"only packets with the low-delay bit 0x10 in their ToS go to {rule.ack_queue}: this is not TCP, it has no empty ACKs"
        found.append(place.finding(message, "name one queue, unless the senders set that bit"))
    return found


RULE = Rule(
    "PFQ107",
    "second-queue-protocol",
    "a second queue on a rule for something other than TCP",
    "UDP, ICMP, and all other protocols reach the second queue only by bit 0x10 of the ToS: DNS, games, "
    "or pings that do not set it wait in the first one, and so do the replies to them, which share the "
    "queues of the state.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue fast parent up bandwidth 2M
pass out on em0 proto udp to port 53 set queue (bulk, fast)
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue fast parent up bandwidth 2M
pass out on em0 proto udp to port 53 set queue fast
""",
    example="openbsd-7.6",
    check=check,
    severity=NOTE,
)
