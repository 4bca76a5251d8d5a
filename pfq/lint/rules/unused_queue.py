"""PFQ103. A queue that gets no packet."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    if ruleset.open_anchors():
        return []
    used = ruleset.used_queues()
    parents = {queue.parent for queue in ruleset.children()} | {queue.parent for queue in ruleset.disciplines()}
    found = []
    said = set()
    leaves = [(queue.name, queue.default) for queue in ruleset.children()]
    leaves += [(queue.name, "default" in queue.written.flags) for queue in ruleset.disciplines() if queue.name and not queue.root]
    defaults = {name for name, default in leaves if default}
    for name, _ in leaves:
        if name in used or name in parents or name in defaults or name in said:
            continue
        said.add(name)
        statement = ruleset.statement_of("queue", name)
        if statement is not None:
            place = ruleset.word(statement, name)
            found.append(place.finding(f"no rule puts packets into the queue {name}", "name it in a rule, or remove it"))
    return found


RULE = Rule(
    "PFQ103",
    "unused-queue",
    "a queue never gets a packet",
    "The queue has no children, it is not the default, and no rule names it: its bandwidth is reserved, "
    "or lost to its siblings, for nothing. Rulesets with anchors that are filled from elsewhere are not "
    "judged.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass out on em0
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass out on em0
pass out on em0 proto udp to port 5060 set queue voice
""",
    example="openbsd-7.6",
    check=check,
    whole=True,
)
