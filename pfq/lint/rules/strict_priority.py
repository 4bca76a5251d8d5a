"""PFQ206. Strict priority that starves what has no queue (ALTQ)."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

# Interfaces whose own frames (ARP, PPPoE discovery, LCP) stand in the default queue. PPP's and tun's control frames do not.
_WITHOUT_FRAMES = ("tun", "pppoe", "ppp", "ng", "gif", "lo")


def check(ruleset: Ruleset) -> list[Finding]:
    # Second queues get empty ACKs and little else; a first queue can fill the line.
    bulk = {rule.queue for rule in ruleset.rules() if rule.queue}
    greedy: dict[str, list[tuple[int, str]]] = {}
    for queue in ruleset.disciplines():
        if queue.name in bulk and queue.scheduler == "priq":
            greedy.setdefault(queue.interface, []).append((queue.priority, queue.name))
    found = []
    for default in ruleset.disciplines():
        if not default.name or default.scheduler != "priq" or "default" not in default.written.flags:
            continue
        if default.interface.rstrip("0123456789") in _WITHOUT_FRAMES:
            continue
        above = [name for priority, name in greedy.get(default.interface, ()) if priority > default.priority]
        statement = ruleset.statement_of("queue", default.name, default.line)
        if not above or statement is None:
            continue
        place = ruleset.word(statement, default.name)
        message = f"ARP and PPPoE control frames of {default.interface} wait in {default.name}, behind all that {', '.join(above[:5])} can send"
        hint = "make the default the highest queue and give bulk traffic a lower one by rules, or use hfsc or cbq"
        found.append(place.finding(message, hint))
    return found


RULE = Rule(
    "PFQ206",
    "strict-priority",
    "strict priority starves the default queue, and with it ARP and PPPoE control",
    "priq serves a queue only while all higher ones are empty. Frames without an IP header carry no queue "
    "and stand in the default queue. When a higher queue that rules fill with whole connections is busy "
    "all the time, ARP entries expire and PPPoE sessions are dropped. A higher queue that is only the "
    "second of two, for empty ACKs, does no such harm and is not reported.",
    wrong="""altq on em0 priq bandwidth 1Mb queue { bulk, web }
queue bulk priority 1 priq(default)
queue web priority 5
pass out on em0 proto tcp to port 80 queue web
""",
    right="""altq on em0 priq bandwidth 1Mb queue { control, web, bulk }
queue control priority 7 priq(default)
queue web priority 5
queue bulk priority 1
pass out on em0 queue bulk
pass out on em0 proto tcp to port 80 queue web
""",
    example="freebsd-12.1",
    check=check,
)
