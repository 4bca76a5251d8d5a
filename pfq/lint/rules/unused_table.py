"""PFQ102. A table that nothing uses."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.nodes import TABLE, Host, Table


def check(ruleset: Ruleset) -> list[Finding]:
    statements = ruleset.statements_of("table")
    if not statements or ruleset.open_anchors():
        return []
    used = set()
    for rule in ruleset.every_rule():
        hosts: list[Host] = [rule.source, rule.destination]
        for pool in (rule.nat, rule.rdr, rule.route, rule.pool):
            if pool is not None:
                hosts += pool.hosts
        used |= {host.name for host in hosts if host.kind == TABLE}
        used.add(rule.overload)
    found = []
    for statement in statements:
        table = statement.value
        if isinstance(table, Table) and table.name not in used:
            place = ruleset.word(statement, table.name)
            found.append(place.finding(f"no rule uses the table <{table.name}>", "remove it, or name it in a rule"))
    return found


RULE = Rule(
    "PFQ102",
    "unused-table",
    "a table is never used",
    "No rule of the ruleset compares an address with the table, redirects to it or adds to it "
    "(`overload`). Rulesets with anchors that are filled from elsewhere are not judged: the rules there "
    "may use the table.",
    wrong="""table <bad> persist { 192.0.2.0/24 }
block in on em0
pass in on em0 proto tcp from any to port 22
""",
    right="""table <bad> persist { 192.0.2.0/24 }
block in on em0
pass in on em0 proto tcp from ! <bad> to port 22
""",
    example="openbsd-7.6",
    check=check,
    whole=True,
)
