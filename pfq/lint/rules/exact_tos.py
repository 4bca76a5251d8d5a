"""PFQ214. A ToS is compared byte by byte (the older kernels)."""

from pfq.lint.finding import NOTE, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    # The kernel of OpenBSD 4.4 compares all of the byte, later ones leave the ECN bits out; pfctl has the names of DSCP since then.
    if ruleset.dialect.dscp_names:
        return []
    found = []
    said = set()
    for rule in ruleset.rules():
        if rule.tos and id(rule.statement) not in said:
            said.add(id(rule.statement))
            place = ruleset.place(rule, "tos")
            message = f"this kernel compares the whole byte: packets of a sender with ECN (ToS {rule.tos | 1:#04x}, {rule.tos | 2:#04x}) do not match"
            found.append(place.finding(message, "add rules for the values with the ECN bits, if senders use ECN"))
    return found


RULE = Rule(
    "PFQ214",
    "exact-tos",
    "a ToS is compared with the whole byte, ECN bits included",
    "The kernels of the ALTQ era compare the ToS byte as it is (pf.c, pf_test of OpenBSD 4.4). A sender "
    "that uses ECN sets one of the two lowest bits, and `tos 0x10` does not match its packets any more. "
    "The choice of the second queue is not affected: it looks at bit 0x10 alone.",
    wrong="""altq on tun0 priq bandwidth 1Mb queue { bulk, fast }
queue bulk priority 1 priq(default)
queue fast priority 7
pass out on tun0 inet proto tcp to port 22 tos lowdelay queue fast
""",
    right="""altq on tun0 priq bandwidth 1Mb queue { bulk, fast }
queue bulk priority 1 priq(default)
queue fast priority 7
pass out on tun0 inet proto tcp to port 22 queue (bulk, fast)
""",
    example="openbsd-4.4",
    check=check,
    severity=NOTE,
)
