"""PFQ307. A rule names a root queue."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    children = {queue.name for queue in ruleset.children()}
    roots = [queue.name for queue in ruleset.roots() if queue.name not in children]
    found = []
    for statement in ruleset.statements_of("pass", "block", "match"):
        if not statement.faulty:
            continue
        for name in roots:
            if f":{statement.line}: queue {name} is not defined" not in ruleset.tree.verdict.stderr:
                continue
            place = ruleset.word(statement, name)
            message = f"{name} is a root queue, and rules cannot name one"
            hint = f"give it a child: queue ... parent {name} bandwidth ... default"
            found.append(place.finding(message, hint, covers=(f"queue {name} is not defined",)))
    return found


RULE = Rule(
    "PFQ307",
    "root-in-rule",
    "a rule names a root queue",
    "pfctl looks for the queue of a rule among the queues with a `parent` only and says that a root queue "
    "is not defined. A root that is the default of its interface works, but no rule can name it.",
    wrong="""queue up on em0 bandwidth 10M, max 10M default
pass out on em0 set queue up
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 10M default
pass out on em0 set queue bulk
""",
    example="openbsd-7.6",
    check=check,
    severity=ERROR,
)
