"""`scrub` statements: fragments are put together by `set reassemble`, the rest are options of match rules.

Sources: pf_normalize_ip of pf_norm.c (OpenBSD 4.4): the first scrub rule that matches a packet, before translation; pf_rule_to_actions and
pf_scrub (7.6): what match rules say is collected, and kept in the state.
"""

from pfq.convert.overlap import may_meet, unrestricted
from pfq.convert.script import Written
from pfq.convert.work import Work
from pfq.pf.nodes import Rule

_OPTIONS = ("no-df", "random-id", "min-ttl", "max-mss", "reassemble", "set-tos", "fragment")
_TWO_WORDS = ("min-ttl", "max-mss", "reassemble", "set-tos", "fragment")


def is_scrub(statement: Written) -> bool:
    """Whether a statement is `scrub` or `no scrub`."""
    return statement.kind == "scrub" or (statement.kind == "no" and len(statement.tokens) > 1 and statement.tokens[1].kind == "scrub")


def convert_scrub(work: Work) -> None:
    """Rewrite the scrub statements of a source that has them."""
    found = [one for one in work.script if is_scrub(one)]
    given = any(one.kind == "set" and one.tokens[1].kind == "reassemble" for one in work.script)
    if not found:
        if not given:
            _never_reassembled(work)
        return
    scrubs = [one for one in found if one.kind == "scrub"]
    rules = {one.start: work.statements[one.start].rules for one in found}
    everywhere = any(unrestricted(rule) and rule.direction != "out" and not rule.interface for one in scrubs for rule in rules[one.start])
    line = "set reassemble yes" + (" no-df" if any(rule.no_df for one in scrubs for rule in rules[one.start]) else "")
    if not scrubs:
        line = "set reassemble no"
    if given:
        line = ""
    elif scrubs and not everywhere:
        work.lose("reassemble-scope", scrubs[0], scrubs[0].start)
    for index, statement in enumerate(found):
        if statement.kind == "no":
            if scrubs:
                work.lose("no-scrub", statement, statement.start)
            line = _instead(work, statement, line)
            continue
        for later in found[index + 1 :]:
            if later.kind == "scrub" and _differ(rules[statement.start], rules[later.start]):
                work.lose("scrub-accumulates", later, later.start, f"the rule in line {statement.line} may match the same packets")
        line = _scrub(work, statement, rules[statement.start], line)


def _never_reassembled(work: Work) -> None:
    """Without scrub rules no fragments were put together; the newer pf does that unless it is told not to."""
    first = next((one for one in work.script if one.kind not in ("STRING", "set")), None)
    if first is not None:
        work.above(first, "# There was no scrub rule, so fragments stay as they are. Without this line they are put together.", "set reassemble no")


def _key(rule: Rule) -> tuple[object, ...]:
    return rule.no_df, rule.random_id, rule.min_ttl, rule.max_mss, rule.reassemble_tcp, rule.set_tos


def _differ(first: list[Rule], later: list[Rule]) -> bool:
    """Whether a later rule would add something for packets that an earlier one is the first for."""
    nothing = _key(Rule())
    return any(_key(b) not in (nothing, _key(a)) and may_meet(a, b) for a in first for b in later)


def _instead(work: Work, statement: Written, line: str) -> str:
    """The line on fragments in a statement's place, once; no statement after that."""
    if line:
        work.rewrite(statement, [line])
    else:
        work.remove(statement)
    return ""


def _scrub(work: Work, statement: Written, rules: list[Rule], line: str) -> str:
    six = all(rule.af == 6 for rule in rules)
    kept: list[str] = []
    spans: list[tuple[int, int]] = []
    tos = ""
    for index, token in statement.flat():
        if token.kind not in _OPTIONS or (spans and index <= spans[-1][1]):
            continue
        last = index + (token.kind in _TWO_WORDS)
        text = work.source_of(token, statement.tokens[last])
        spans.append((index, last))
        if token.kind == "set-tos":
            tos = f"set tos {work.source_of(statement.tokens[last])}"
        elif token.kind == "fragment":
            if statement.tokens[last].kind != "reassemble":
                work.lose("fragment-cache", statement, token.start)
        elif not (six and token.kind in ("no-df", "random-id")):
            kept.append(text)
    if not kept and not tos:
        return _instead(work, statement, line)
    if line:
        work.above(statement, line)
    _match(work, statement, rules, kept, tos, spans)
    work.stateful.append((statement, rules))
    return ""


def _match(work: Work, statement: Written, rules: list[Rule], kept: list[str], tos: str, spans: list[tuple[int, int]]) -> None:
    plain = all(rule.source_port is None and rule.destination_port is None for rule in rules) and statement.find("from", "to") < 0
    direction = statement.find("in", "out")
    if direction >= 0 or not plain:
        work.lose("scrub-per-packet", statement, statement.start)
    if tos and _looks_at_tos(work):
        work.lose("set-tos", statement, statement.start)
    work.own(statement, statement.tokens[0])
    work.edits.replace(statement.start, statement.tokens[0].end, "match")
    if plain and direction >= 0:
        work.drop(statement, direction, direction)
    for first, last in spans:
        work.drop(statement, first, last)
    if kept:
        work.append(statement, f"scrub ({', '.join(kept)})")
    if tos:
        work.append(statement, tos)


def _looks_at_tos(work: Work) -> bool:
    return any(rule.tos or rule.ack_queue for statement in work.tree.statements for rule in statement.rules)
