"""PFQ208. An interface that does not know its speed, without a rate (ALTQ)."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    stderr = ruleset.tree.verdict.stderr
    found = []
    for line in stderr.split("\n"):
        _, interface, rest = line.partition("interface ")
        name, known, _ = rest.partition(" does not know its bandwidth")
        if not interface or not known:
            continue
        for statement in ruleset.statements_of("altq"):
            place = ruleset.word(statement, name, "on")
            if ruleset.texts[place.file].text[place.start : place.end] == name:
                message = f"{name} has no speed of its own, and no rate is given"
                said_too = (known.strip(), f"altq not defined on {name}", "errors in queue definition")
                found.append(place.finding(message, "add an absolute rate: bandwidth 950Kb", covers=said_too))
                break
    return found


RULE = Rule(
    "PFQ208",
    "no-speed",
    "a tunnel or PPP interface needs an absolute rate",
    "tun, pppoe, and other interfaces without hardware report no speed, so that there is nothing that a "
    "percentage, or no bandwidth at all, could mean; pfctl refuses the ruleset.",
    wrong="""altq on tun0 priq queue { bulk }
queue bulk priority 1 priq(default)
pass out on tun0 queue bulk
""",
    right="""altq on tun0 priq bandwidth 100Kb queue { bulk }
queue bulk priority 1 priq(default)
pass out on tun0 queue bulk
""",
    example="openbsd-4.4",
    check=check,
    severity=ERROR,
)
