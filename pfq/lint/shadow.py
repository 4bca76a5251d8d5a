"""Statements none of whose rules a packet, or a new connection, reaches, because earlier quick rules take them."""

from pfq.pf.nodes import Rule

from .cover import Index
from .ruleset import Ruleset


def shadowed(ruleset: Ruleset) -> list[tuple[Rule, Rule, bool]]:
    """For each such statement one of its rules, the quick rule that takes its packets, and whether it takes all of them.

    Where it does not, it takes those that begin a connection (`flags S/SA`).
    """
    if ruleset.shadows is None:
        ruleset.shadows = _shadowed(ruleset)
    return ruleset.shadows


def _shadowed(ruleset: Ruleset) -> list[tuple[Rule, Rule, bool]]:
    found: dict[int, tuple[Rule, Rule, bool]] = {}
    alive: set[int] = set()
    for rules in ruleset.lists():
        before, behind_translation = Index(), Index()
        translated = False
        for rule in rules:
            statement = id(rule.statement)
            if statement not in alive:
                by, every = _taken(rule, behind_translation, before if translated else None)
                if by is None:
                    alive.add(statement)
                else:
                    known = found.get(statement)
                    found[statement] = (rule, by, every) if known is None else (known[0], known[1], known[2] and every)
            if rule.action == "match" and (rule.nat is not None or rule.rdr is not None):
                translated = True
                behind_translation = Index()
            if rule.quick and rule.action != "match" and rule.anchor is None:
                before.add(rule)
                behind_translation.add(rule)
    return [row for statement, row in found.items() if statement not in alive]


def _taken(rule: Rule, here: Index, before: Index | None) -> tuple[Rule | None, bool]:
    """The rule that takes the packets, and whether it takes all. Of rules above a translation those count that compare no addresses."""
    for flags in (True, False):
        by = here.covering(rule, flags=flags)
        if by is None and before is not None:
            by = before.covering(rule, addresses=False, flags=flags)
        if by is not None:
            return by, flags
    return None, False
