"""PFQ108. A queue on an anchor line."""

from pfq.lint.finding import Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for statement in ruleset.statements_of("anchor"):
        text = ruleset.texts[statement.file].text
        brace = text.find("{", statement.start, statement.end)
        head = brace if brace >= 0 else statement.end
        for clause in statement.clauses:
            queue = clause.name == "queue" or (clause.name == "set" and "queue" in text[clause.start : clause.end])
            if not queue or clause.end > head:
                continue
            start = clause.start
            while text[start - 1] in " \t":
                start -= 1
            alone = clause.name == "queue" or "(" not in text[clause.start : clause.end].partition("queue")[0]
            fix = Fix("remove the queue", [(start, clause.end, "")], True) if alone else None
            message = "pf reads no queue from an anchor's own line: the rules inside get none from it"
            found.append(Finding(statement.file, clause.start, clause.end, message, "name the queue in the rules of the anchor", fix))
    return found


RULE = Rule(
    "PFQ108",
    "queue-on-anchor",
    "a queue on an anchor line is ignored",
    "The grammar takes it, and nothing comes of it: ALTQ's pfctl drops it, and the kernels of the queue "
    "syntax assign queues only from rules that match a packet themselves.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue guests parent up bandwidth 2M
pass out on em0 from em1:network set queue guests
anchor "guests" on em0 queue guests {
    pass out proto tcp
}
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue guests parent up bandwidth 2M
anchor "guests" on em0 {
    pass out proto tcp queue guests
}
""",
    example="openbsd-7.6",
    check=check,
    fix="remove the queue from the anchor line",
    safe=True,
)
