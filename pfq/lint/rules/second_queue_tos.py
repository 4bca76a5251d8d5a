"""PFQ106. A rule that compares the ToS and names two queues: one of them is never used for what it was meant for."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

# The bit that sends a packet to the second queue (pf.c pf_test: IPTOS_LOWDELAY).
_LOWDELAY = 0x10


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    said = set()
    for rule in ruleset.rules():
        if not rule.tos or not rule.ack_queue or rule.ack_queue == rule.queue or id(rule.statement) in said:
            continue
        said.add(id(rule.statement))
        if rule.tos & _LOWDELAY:
            place = ruleset.name_in(rule, rule.queue, "queue", "set")
            message = f"every packet with ToS {rule.tos:#04x} has the low-delay bit 0x10 and goes to {rule.ack_queue}: {rule.queue} gets none"
        else:
            place = ruleset.name_in(rule, rule.ack_queue, "queue", "set")
            message = f"ToS {rule.tos:#04x} has not the low-delay bit 0x10: only empty ACKs go to {rule.ack_queue}"
        found.append(place.finding(message, f"name one queue here: the one that ToS {rule.tos:#04x} belongs in"))
    return found


RULE = Rule(
    "PFQ106",
    "second-queue-tos",
    "a rule compares the ToS, and its second queue does not follow it",
    "pf sends a packet to the second queue when it is TCP with ACK and no payload, or when bit 0x10 of "
    "the ToS is set, and looks at nothing else. As DSCP that bit is in EF (0xb8), VA (0xb0), and AFx2 and "
    "AFx3; it is in no CSn, and not in AFx1. So voice that is marked EF goes there by itself, while "
    "signalling marked CS5 or video marked AF41 needs a rule and a queue of its own.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue fast parent up bandwidth 2M
pass out on em0 proto udp tos cs5 set queue (bulk, fast)
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue fast parent up bandwidth 2M
pass out on em0 proto udp tos cs5 set queue fast
""",
    example="openbsd-7.6",
    check=check,
)
