"""PFQ313. Two queues of one name on one interface."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.pf.queues import Queue


def _below(queue: "Queue") -> "list[Queue]":
    found = []
    for child in queue.children:
        found.append(child)
        found += _below(child)
    return found


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    said = set()
    for root in ruleset.roots():
        first: dict[str, Queue] = {}
        for queue in _below(root):
            other = first.setdefault(queue.name, queue)
            if other is queue or queue.line in said:
                continue
            said.add(queue.line)
            statement = ruleset.statement_of("queue", queue.name, queue.line)
            if statement is not None:
                place = ruleset.word(statement, queue.name)
                message = f"{root.interface} has a queue {queue.name} already, in line {other.line}: a rule's name means both"
                found.append(place.finding(message, "give each a name of its own"))
    return found


RULE = Rule(
    "PFQ313",
    "child-twice",
    "two queues of one interface have the same name",
    "pfctl compares names only among the children of one parent. In the kernel a name is a number, and a "
    "packet carries nothing else: two classes of one number on one interface cannot be told apart (by "
    "reading pfctl.c; the kernel was not tried).",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue web parent up bandwidth 5M
queue acks parent web bandwidth 1M
queue bulk parent web bandwidth 4M default
queue mail parent up bandwidth 5M
queue acks parent mail bandwidth 1M
queue smtp parent mail bandwidth 4M
pass out on em0 set queue (bulk, acks)
pass out on em0 proto tcp to port 25 set queue (smtp, acks)
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue web parent up bandwidth 5M
queue web-acks parent web bandwidth 1M
queue bulk parent web bandwidth 4M default
queue mail parent up bandwidth 5M
queue mail-acks parent mail bandwidth 1M
queue smtp parent mail bandwidth 4M
pass out on em0 set queue (bulk, web-acks)
pass out on em0 proto tcp to port 25 set queue (smtp, mail-acks)
""",
    example="openbsd-7.6",
    check=check,
    whole=True,
)
