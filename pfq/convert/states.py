"""What match rules set is kept in the state: packets that keep none go without it. Where that can happen it is said.

Source: pf_create_state and the end of pf_test of pf.c (OpenBSD 7.6); the implicit pass rule keeps no state.
"""

from collections.abc import Iterator

from pfq.convert.overlap import interfaces_meet, unrestricted
from pfq.convert.script import Written
from pfq.convert.work import Work
from pfq.pf.nodes import Anchor, Rule


def check_states(work: Work) -> None:
    """Look for packets that converted rules concern, and that keep no state."""
    if work.source.family == "freebsd" and work.source.match_rules:
        queued = [one for one in work.script if one.kind == "match" and one.find("queue") >= 0]
        work.stateful += [(one, work.statements[one.start].rules) for one in queued]
    if not work.stateful:
        return
    concerned = [rule for _, rules in work.stateful for rule in rules]
    for statement in work.script:
        at = _no_state(statement)
        if at >= 0 and any(_concerns(statement, rule) for rule in concerned):
            work.lose("stateless", statement, statement.tokens[at].start)
    filters = [rule for rule in _filters(work.tree.reading.main) if unrestricted(rule)]
    for _, rules in work.stateful:
        if not all(_covered(rule, filters) for rule in rules):
            _pass_all(work)
            return


def _no_state(statement: Written) -> int:
    if statement.kind != "pass":
        return -1
    return next((index for index, token in statement.flat() if token.kind == "no" and statement.tokens[index + 1].kind == "state"), -1)


def _concerns(statement: Written, rule: Rule) -> bool:
    direction = statement.find("in", "out")
    if direction >= 0 and rule.direction not in ("", statement.tokens[direction].kind):
        return False
    on = statement.find("on")
    if on < 0:
        return True
    tokens = statement.tokens[on + 1 : statement.closing(on + 1) + 1] if statement.tokens[on + 1].kind == "{" else statement.tokens[on + 1 : on + 3]
    for index, token in enumerate(tokens):
        if token.kind != "STRING":
            continue
        other = Rule()
        other.interface = token.value
        other.interface_negated = index > 0 and tokens[index - 1].kind == "!"
        if interfaces_meet(other, rule):
            return True
        if statement.tokens[on + 1].kind not in ("{", "!"):
            break
    return False


def _filters(anchor: Anchor) -> Iterator[Rule]:
    """The pass and block rules that every packet meets, those of inline anchors that take all packets among them."""
    for rule in anchor.rules:
        if rule.anchor is not None:
            if rule.action == "pass" and rule.anchor.inline and unrestricted(rule) and not rule.direction and not rule.interface:
                yield from _filters(rule.anchor)
        elif rule.action in ("pass", "block"):
            yield rule


def _covered(rule: Rule, filters: list[Rule]) -> bool:
    """Whether the filter rules decide on all that a converted rule concerns."""
    sides = (rule.direction,) if rule.direction else ("in", "out")
    on = (rule.interface, rule.interface_negated)
    return all(
        any(one.direction in ("", side) and (not one.interface or (one.interface, one.interface_negated) == on) for one in filters) for side in sides
    )


def _pass_all(work: Work) -> None:
    first = next((one for one in work.script if one.kind in ("pass", "block", "anchor", "antispoof")), None)
    place = first if first is not None else work.stateful[-1][0]
    work.lose("implicit-pass", place, place.start)
    if "implicit-pass" not in work.accept:
        return
    if first is not None:
        work.above(first, "pass flags any")
    else:
        end = work.edits.line_end(work.script[-1].end)
        work.edits.insert(end, ("" if work.text.endswith("\n") else "\n") + "pass flags any\n")
