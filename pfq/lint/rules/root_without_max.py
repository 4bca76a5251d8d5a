"""PFQ301. A root queue without max shapes nothing."""

from pfq.lint.finding import Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.pf.queues import Queue


def _bounded(queue: "Queue") -> bool:
    """Whether nothing below the queue can send without a limit. A loop, since trees may be hundreds of queues deep."""
    left = [queue]
    while left:
        one = left.pop()
        if one.maximum is not None and one.maximum.rate:
            continue
        if not one.children:
            return False
        left += one.children
    return True


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for root in ruleset.roots():
        if root.bandwidth is None or _bounded(root):
            continue
        statement = ruleset.statement_of("queue", root.name, root.line)
        if statement is None:
            continue
        place = ruleset.clause(statement, "bandwidth")
        fix = None
        text = ruleset.texts[place.file].text[place.start : place.end]
        words = text.split()
        if len(words) == 2 and "$" not in text:
            fix = Fix(f"add max {words[1]}", [(place.end, place.end, f", max {words[1]}")], False)
        message = f"nothing limits {root.name}: its bandwidth is only a proportion, and {root.interface} sends as fast as the port can"
        found.append(place.finding(message, f"add max with the line's rate: {' '.join(words)}, max ...", fix))
    return found


RULE = Rule(
    "PFQ301",
    "root-without-max",
    "a root queue without `max` shapes nothing",
    "`bandwidth` is the linkshare curve of HFSC: how siblings share what there is. ALTQ had a token "
    "bucket under it, the queues of OpenBSD 5.5 and later have none. Without `max` on the root (or on "
    "every leaf) packets leave at the speed of the port, queues stay empty, and nothing is sorted: the "
    "modem's buffer fills instead.",
    wrong="""queue up on em0 bandwidth 950K
queue bulk parent up bandwidth 800K default
queue voice parent up bandwidth 150K
pass out on em0 proto udp set queue voice
""",
    right="""queue up on em0 bandwidth 950K, max 950K
queue bulk parent up bandwidth 800K default
queue voice parent up bandwidth 150K
pass out on em0 proto udp set queue voice
""",
    example="openbsd-7.6",
    check=check,
    fix="add `max` with the same rate",
    whole=True,
)
