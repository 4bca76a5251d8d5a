"""PFQ312. A queue on an af-to rule."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    if ruleset.dialect.family != "openbsd":
        return []
    found = []
    said = set()
    for rule in ruleset.rules():
        if not rule.translation_af or not rule.queue or id(rule.statement) in said:
            continue
        said.add(id(rule.statement))
        place = ruleset.name_in(rule, rule.queue, "set", "queue")
        message = f"packets that af-to translates skip the outgoing rules and keep no queue: {rule.queue} gets none of them"
        found.append(place.finding(message, "they use the default queue; set prio does work"))
    return found


RULE = Rule(
    "PFQ312",
    "af-to-queue",
    "packets translated by `af-to` are always in the default queue",
    "The kernel stores the queue in a packet only when the action is a plain pass. A translation between "
    "IPv4 and IPv6 ends with an action of its own, and the packet does not pass the rules of the outgoing "
    "interface either (pf.c; by reading, not by trial).",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue six parent up bandwidth 2M
pass in on em1 inet6 from any to 64:ff9b::/96 set queue six af-to inet from (em0)
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M default
pass in on em1 inet6 from any to 64:ff9b::/96 af-to inet from (em0)
""",
    example="openbsd-7.6",
    check=check,
)
