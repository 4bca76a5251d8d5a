"""PFQ310. Two default queues under one root."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.pf.queues import Queue


def _defaults(queue: "Queue") -> "list[Queue]":
    found = [queue] if queue.default else []
    for child in queue.children:
        found += _defaults(child)
    return found


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for root in ruleset.roots():
        defaults = _defaults(root)
        for queue in defaults[:-1]:
            statement = ruleset.statement_of("queue", queue.name, queue.line)
            if statement is not None:
                place = ruleset.clause(statement, "default")
                message = f"{root.interface} has another default queue below: {defaults[-1].name} is the one that counts"
                found.append(place.finding(message, "keep one"))
    return found


RULE = Rule(
    "PFQ310",
    "two-defaults",
    "an interface has two default queues",
    "pfctl only checks that there is a default queue. Of several, the kernel keeps the one that is added "
    "last.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M default
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass out on em0 proto udp set queue voice
""",
    example="openbsd-7.6",
    check=check,
    whole=True,
)
