"""PFQ205. `nat pass` and `rdr pass` go round the queues (ALTQ)."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    if not ruleset.disciplines():
        return []
    found = []
    for rule in ruleset.translations():
        statement = rule.statement
        if not rule.nat_pass or statement is None:
            continue
        place = ruleset.word(statement, "pass")
        message = f"{rule.action} pass skips the filter rules, and with them the queues: these connections use the default queue"
        found.append(place.finding(message, "leave pass out, and let a pass rule choose the queue"))
    return found


RULE = Rule(
    "PFQ205",
    "translation-pass",
    "connections of `nat pass` and `rdr pass` get no queue",
    "A translation rule has no queue, and with `pass` no filter rule is asked: the state is made by the "
    "default rule, so that all its packets, in both directions, are in the default queue.",
    wrong="""altq on em0 cbq bandwidth 1Mb queue { bulk, web }
queue bulk bandwidth 700Kb cbq(default)
queue web bandwidth 300Kb
rdr pass on em0 inet proto tcp from any to 198.51.100.1 port 80 -> 192.168.1.80
pass in on em0 inet proto tcp to port 80 queue web
""",
    right="""altq on em0 cbq bandwidth 1Mb queue { bulk, web }
queue bulk bandwidth 700Kb cbq(default)
queue web bandwidth 300Kb
rdr on em0 inet proto tcp from any to 198.51.100.1 port 80 -> 192.168.1.80
pass in on em0 inet proto tcp to port 80 queue web
""",
    example="freebsd-12.1",
    check=check,
)
