"""PFQ306. qlimit on a flow queue."""

from pfq.lint.finding import Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.queues import Queue


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for statement in ruleset.statements_of("queue"):
        queue = statement.value
        if not isinstance(queue, Queue) or not queue.flows or not queue.qlimit or (queue.minimum is not None and queue.minimum.rate):
            continue
        place = ruleset.clause(statement, "qlimit")
        start = place.start
        text = ruleset.texts[place.file].text
        while text[start - 1] in " \t":
            start -= 1
        fix = Fix("remove qlimit", [(start, place.end, "")], True)
        message = f"{queue.name} is a flow queue: it holds 1024 packets, whatever qlimit says"
        found.append(place.finding(message, "remove it", fix))
    return found


RULE = Rule(
    "PFQ306",
    "flow-qlimit",
    "`qlimit` on a flow queue is not looked at",
    "The value is stored and shown by `pfctl -sq`, but enqueueing (fq_codel.c, fqcodel_enq) compares with "
    "a fixed 1024 packets.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M flows 1024 qlimit 100 default
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M flows 1024 default
""",
    example="openbsd-7.6",
    check=check,
    fix="remove `qlimit`",
    safe=True,
)
