"""PFQ314. A rule names a queue that has children."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    parents = {queue.parent for queue in ruleset.children()}
    # The same name may be a leaf on another interface.
    leaves = {queue.name for queue in ruleset.every_queue() if not queue.children}
    found = []
    said = set()
    for rule in ruleset.rules():
        for name in dict.fromkeys((rule.queue, rule.ack_queue)):
            if not name or name not in parents or name in leaves or (name, id(rule.statement)) in said:
                continue
            said.add((name, id(rule.statement)))
            place = ruleset.name_in(rule, name, "set", "queue")
            message = f"packets cannot wait in {name}, which has children: they go to the default queue"
            found.append(place.finding(message, f"name a queue below it, or make one: queue ... parent {name}"))
    return found


RULE = Rule(
    "PFQ314",
    "inner-queue",
    "a rule names a queue that has children",
    "pfctl says so only of root queues. Of any other queue with children it takes the name, and the "
    "kernel, which has no room for packets in an inner class, puts them into the default queue of the "
    "interface.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue web parent up bandwidth 8M
queue bulk parent web bandwidth 6M default
queue fast parent web bandwidth 2M
pass out on em0 proto tcp to port 443 set queue web
pass out on em0 proto udp set queue fast
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue web parent up bandwidth 8M
queue bulk parent web bandwidth 6M default
queue fast parent web bandwidth 2M
pass out on em0 proto tcp to port 443 set queue bulk
pass out on em0 proto udp set queue fast
""",
    example="openbsd-7.6",
    check=check,
    severity=ERROR,
    whole=True,
)
