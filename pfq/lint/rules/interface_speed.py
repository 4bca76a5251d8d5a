"""PFQ207. Shaping to the speed of the interface (ALTQ)."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for altq in ruleset.disciplines():
        statement = ruleset.statement_of("altq", "", altq.line)
        if altq.name or altq.spec.absolute or not altq.interface_bandwidth or altq.scheduler == "codelq" or statement is None:
            continue
        place = ruleset.clause(statement, "bandwidth")
        if place.start == statement.start:
            place = ruleset.word(statement, altq.interface, "on")
        part = f"{altq.spec.percent} % of the speed" if altq.spec.percent < 100 else "the speed"
        message = f"{altq.interface} is shaped to {part} of its port: behind a slower modem packets wait in the modem, never here"
        found.append(place.finding(message, "say the line's rate, a little less than the modem's: bandwidth 950Kb"))
    return found


RULE = Rule(
    "PFQ207",
    "interface-speed",
    "priorities act at the speed of the port, not of the line",
    "Without an absolute `bandwidth` ALTQ uses the speed of the interface, 100 Mbit/s or 1 Gbit/s. The "
    "modem behind it is slower; packets then wait in the modem's buffer, first come, first served, and no "
    "queue of pf is ever longer than a packet. Priorities need the bottleneck to be here: a rate just "
    "below the line's. (Queues for a network at port speed are the exception: say the rate then, too.)",
    wrong="""altq on em0 priq queue { bulk, fast }
queue bulk priority 1 priq(default)
queue fast priority 7
pass out on em0 inet proto tcp queue (bulk, fast)
""",
    right="""altq on em0 priq bandwidth 950Kb queue { bulk, fast }
queue bulk priority 1 priq(default)
queue fast priority 7
pass out on em0 inet proto tcp queue (bulk, fast)
""",
    example="openbsd-4.4",
    check=check,
)
