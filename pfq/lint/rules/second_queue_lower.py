"""PFQ213. A second queue below the first (ALTQ, priq)."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    priorities: dict[str, list[tuple[str, int]]] = {}
    for queue in ruleset.disciplines():
        if queue.name and queue.scheduler == "priq":
            priorities.setdefault(queue.name, []).append((queue.interface, queue.priority))
    found = []
    said = set()
    for rule in ruleset.rules():
        if not rule.ack_queue or rule.ack_queue == rule.queue or id(rule.statement) in said:
            continue
        first = dict(priorities.get(rule.queue, ()))
        for interface, priority in priorities.get(rule.ack_queue, ()):
            if interface in first and priority < first[interface]:
                said.add(id(rule.statement))
                place = ruleset.name_in(rule, rule.ack_queue, "queue", "set")
                message = f"on {interface} empty ACKs go to {rule.ack_queue} (priority {priority}), which is served after {rule.queue} ({first[interface]})"
                found.append(place.finding(message, "in pf a higher priority is served first; swap the priorities or the names"))
                break
    return found


RULE = Rule(
    "PFQ213",
    "second-queue-lower",
    "the second queue has a lower priority than the first",
    "The second queue is for what must not wait: empty ACKs and low-delay packets. In pf the highest "
    "priority is served first (0 to 15 with priq); in Linux's prio band 0 is. Written the Linux way "
    "round, every ACK waits for the bulk.",
    wrong="""altq on tun0 priq bandwidth 1Mb queue { fast, bulk }
queue fast priority 1
queue bulk priority 2 priq(default)
pass out on tun0 inet proto tcp queue (bulk, fast)
""",
    right="""altq on tun0 priq bandwidth 1Mb queue { fast, bulk }
queue fast priority 2
queue bulk priority 1 priq(default)
pass out on tun0 inet proto tcp queue (bulk, fast)
""",
    example="openbsd-4.4",
    check=check,
)
