"""PFQ105. A rule whose every packet is decided by a later rule."""

from pfq.lint.cover import Index
from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.nodes import Rule as PfRule


def _decides(rule: PfRule) -> bool:
    return rule.action in ("pass", "block") and rule.anchor is None


def _leaves_traces(rule: PfRule) -> bool:
    """Whether a rule does something to a packet that another rule decides on. Source: pf_test_rule of pf.c."""
    return bool(rule.tag) or rule.rtable >= 0 or "matches" in rule.log_options


def check(ruleset: Ruleset) -> list[Finding]:
    dead: dict[int, tuple[PfRule, PfRule]] = {}
    alive: set[int] = set()
    for rules in ruleset.lists():
        below, translated = Index(), False
        for rule in reversed(rules):
            if rule.action == "match" and (rule.nat is not None or rule.rdr is not None):
                translated = True
            by = None
            if _decides(rule) and not rule.quick and not _leaves_traces(rule):
                by = below.covering(rule, addresses=not translated)
            statement = id(rule.statement)
            if by is None:
                alive.add(statement)
            else:
                dead.setdefault(statement, (rule, by))
            if _decides(rule):
                below.add(rule)
    found = []
    for statement, (rule, by) in dead.items():
        if statement not in alive:
            place = ruleset.place(rule)
            message = f"this rule decides nothing: every packet it matches is decided by {ruleset.line_of(by, rule)}, the last that matches"
            found.append(place.finding(message, "make it quick, put it below that rule, or remove it"))
    return found


RULE = Rule(
    "PFQ105",
    "overridden-rule",
    "a rule decides nothing, because a later rule matches all its packets",
    "Without `quick` the last rule that matches decides. Every packet that this rule matches is matched "
    "by a later one too, so it does nothing: whoever wrote it meant `quick`, or the other order. Rules "
    "that leave a tag or choose a routing table are left alone, these effects stay.",
    wrong="""pass in on em0 proto tcp to port 80
block in on em0
""",
    right="""block in on em0
pass in on em0 proto tcp to port 80
""",
    example="openbsd-7.6",
    check=check,
)
