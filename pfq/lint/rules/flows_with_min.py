"""PFQ302. flows together with min."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.queues import Queue


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for statement in ruleset.statements_of("queue"):
        queue = statement.value
        if isinstance(queue, Queue) and queue.flows and queue.minimum is not None and queue.minimum.rate:
            place = ruleset.clause(statement, "flows")
            message = f"with min, {queue.name} is one plain first-in first-out queue: flows has no effect"
            found.append(place.finding(message, "leave min out, or make a child for what needs the guarantee"))
    return found


RULE = Rule(
    "PFQ302",
    "flows-with-min",
    "a queue with `flows` and `min` is a plain FIFO",
    "A flow queue needs a class without a realtime curve: the kernel (hfsc.c, hfsc_pf_addqueue) attaches "
    "fq_codel only to classes without `min`, and gives the others an ordinary queue, without saying so.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M, min 1M flows 1024 default
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M flows 1024 default
""",
    example="openbsd-7.6",
    check=check,
)
