"""PFQ111. A rule behind translation that looks for the address from before it."""

from pfq.lint.cover import covers, host_covers, is_any
from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.nodes import ADDRESS
from pfq.pf.nodes import Rule as PfRule

# Bounds the time for a ruleset of thousands of translations.
_MOST_COMPARED = 200


def _hides(translation: PfRule, rule: PfRule) -> bool:
    """Whether every packet that the rule is for has another source by then."""
    if is_any(translation.source) and is_any(rule.source):
        return False
    if rule.source.kind != ADDRESS or is_any(rule.source) or rule.source.negated or rule.direction != "out":
        return False
    pool = translation.nat or translation.pool
    if pool is None or any(host_covers(host, rule.source) or host_covers(rule.source, host) for host in pool.hosts):
        return False
    # What the rule compares beside the source must not matter: a packet that the translation leaves alone may still match.
    wide = translation.copy()
    wide.direction = "out"
    return covers(wide, rule)


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    said = set()
    old = [rule for rule in ruleset.translations() if rule.action == "nat"][:_MOST_COMPARED]
    for rules in ruleset.lists():
        translations = list(old)
        for rule in rules:
            if rule.anchor is not None or id(rule.statement) in said:
                continue
            by = next((one for one in translations if _hides(one, rule)), None)
            if by is not None:
                said.add(id(rule.statement))
                place = ruleset.place(rule, "from")
                message = f"{ruleset.line_of(by, rule)} has translated these addresses by the time the rule is compared: it never matches"
                hint = "sort the packets on the inside interface, or tag them there and say tagged here"
                if rule.nat is None and by.action == "match":
                    hint = f"put the rule above {ruleset.line_of(by, rule)}, or say received-on"
                found.append(place.finding(message, hint))
            if rule.action == "match" and rule.nat is not None and len(translations) < _MOST_COMPARED:
                translations.append(rule)
    return found


RULE = Rule(
    "PFQ111",
    "source-after-nat",
    "a rule compares a source address that translation has changed already",
    "`nat` of the older syntax is done before filter rules are compared, and `match ... nat-to` changes "
    "the packet for every rule below it. A rule that tells hosts of the inside apart on the outside "
    "interface sees only the gateway's own address. (`pass ... nat-to` translates after the evaluation.)",
    wrong="""nat on em0 from 192.168.1.0/24 to any -> 198.51.100.1
pass out on em0
pass out on em0 from 192.168.1.7 to any tag console
""",
    right="""nat on em0 from 192.168.1.0/24 to any -> 198.51.100.1
pass in on em1 from 192.168.1.7 to any tag console
pass out on em0
pass out on em0 tagged console
""",
    example="freebsd-12.1",
    check=check,
    whole=True,
)
