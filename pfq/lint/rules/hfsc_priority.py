"""PFQ210. A priority on an hfsc queue (ALTQ)."""

from pfq.lint.finding import Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    schedulers: dict[str, set[str]] = {}
    for queue in ruleset.disciplines():
        schedulers.setdefault(queue.name, set()).add(queue.scheduler)
    found = []
    for statement in ruleset.statements_of("queue"):
        name = getattr(statement.value, "name", "")
        if schedulers.get(name) != {"hfsc"}:
            continue
        for clause in statement.clauses:
            if clause.name == "priority":
                text = ruleset.texts[statement.file].text
                start = clause.start
                while text[start - 1] in " \t":
                    start -= 1
                fix = Fix("remove the priority", [(start, clause.end, "")], True)
                message = f"hfsc has no priorities: {name} is served by its curves alone"
                found.append(Finding(statement.file, clause.start, clause.end, message, "remove it; a realtime curve bounds the delay", fix))
    return found


RULE = Rule(
    "PFQ210",
    "hfsc-priority",
    "a priority on an hfsc queue is ignored",
    "pf.conf(5) lists `priority` among the options of every queue, and pfctl takes it, but the kernel's "
    "hfsc has no such parameter (altq_hfsc.c). Delay is decided by `realtime` and `linkshare` curves.",
    wrong="""altq on em0 hfsc bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 80% hfsc(default)
queue voice bandwidth 20% priority 7 hfsc(realtime 1Mb)
pass out on em0 proto udp queue voice
""",
    right="""altq on em0 hfsc bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 80% hfsc(default)
queue voice bandwidth 20% hfsc(realtime 1Mb)
pass out on em0 proto udp queue voice
""",
    example="openbsd-4.4",
    check=check,
    fix="remove the priority",
    safe=True,
)
