"""PFQ311. Rates that cannot all be kept: nobody adds them up."""

from pfq.lint.finding import Finding
from pfq.lint.rates import shown
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.pf.queues import Queue


def _own(queue: "Queue") -> str:
    """What is wrong within one queue."""
    minimum = queue.minimum.rate if queue.minimum is not None else 0
    maximum = queue.maximum.rate if queue.maximum is not None else 0
    if minimum and maximum and minimum > maximum:
        return f"min {shown(minimum)} is more than max {shown(maximum)}"
    return ""


def _limit(queue: "Queue") -> int:
    """What a queue can send at most, bit/s; 0: not known."""
    if queue.maximum is not None and queue.maximum.rate:
        return queue.maximum.rate
    return queue.bandwidth.rate if queue.bandwidth is not None else 0


def _walk(queue: "Queue", wrong: "list[tuple[Queue, str]]") -> int:
    """Collects what is wrong below a queue; the sum of the guarantees there."""
    own = _own(queue)
    if own:
        wrong.append((queue, own))
    guaranteed = 0
    limit = _limit(queue)
    for child in queue.children:
        guaranteed += _walk(child, wrong)
        rate = child.bandwidth.rate if child.bandwidth is not None else 0
        if limit and rate > limit:
            wrong.append((child, f"bandwidth {shown(rate)} is more than the {shown(limit)} of its parent {queue.name}"))
    if limit and guaranteed > limit:
        wrong.append((queue, f"the min of the queues below add up to {shown(guaranteed)}, more than the {shown(limit)} there is"))
    return max(guaranteed, queue.minimum.rate if queue.minimum is not None else 0)


def check(ruleset: Ruleset) -> list[Finding]:
    wrong: list[tuple[Queue, str]] = []
    for root in ruleset.roots():
        _walk(root, wrong)
    found = []
    for queue, message in wrong:
        statement = ruleset.statement_of("queue", queue.name, queue.line)
        if statement is not None:
            place = ruleset.clause(statement, "bandwidth")
            found.append(place.finding(f"{queue.name}: {message}; pfctl does not check that"))
    return found


RULE = Rule(
    "PFQ311",
    "no-admission",
    "queues promise more than there is",
    "ALTQ refused guarantees above 80 % of the interface and children above their parent. pfctl of "
    "OpenBSD 5.5 and later adds nothing up: a child's bandwidth may exceed the parent's, `min` may exceed "
    "`max`, and guarantees (`min`) may add up to more than the line has. Which of them are broken is then "
    "a matter of chance.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 6M, min 6M default
queue voice parent up bandwidth 6M, min 6M
pass out on em0 proto udp set queue voice
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 6M, min 2M default
queue voice parent up bandwidth 4M, min 4M
pass out on em0
pass out on em0 proto udp set queue voice
""",
    example="openbsd-7.6",
    check=check,
    whole=True,
)
