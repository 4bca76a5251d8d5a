"""Where statements stand: queues above the rules that name them, translation and scrub above the filter rules that see their work.

The older pf enforces an order, unless `set require-order no` says otherwise, and from 4.7 on; then statements may have to move.
"""

from pfq.convert.script import Written
from pfq.convert.scrub import is_scrub
from pfq.convert.translation import ANCHORS, translation_kind
from pfq.convert.work import Work

_QUEUES = ("altq", "queue")
_FILTERS = ("pass", "block", "match", "anchor", "antispoof")


def _rank(statement: Written) -> int:
    """1 for scrub, 2 for translation, 3 for filter rules; 0 for what may stand anywhere."""
    if is_scrub(statement):
        return 1
    if translation_kind(statement) or statement.kind in ANCHORS:
        return 2
    return 3 if statement.kind in _FILTERS else 0


def put_in_order(work: Work) -> None:
    """Move what stands too late."""
    # The first statement of each rank, and the first rule that names a queue: what must stand above them comes too late below.
    first: dict[int, Written] = {}
    naming: Written | None = None
    macros: list[Written] = []
    for statement in work.script:
        if statement.nested or statement.kind == "}":
            continue
        rank = _rank(statement)
        if statement.kind in _QUEUES and work.source.altq:
            place = naming
        else:
            place = min((one for other, one in first.items() if other > rank > 0), key=lambda one: one.start, default=None)
        if place is not None and not _move(work, statement, place, macros):
            return
        if rank:
            first.setdefault(rank, statement)
        if rank == 3 and naming is None and _names_queue(work, statement):
            naming = statement
        if len(statement.tokens) > 1 and statement.tokens[1].kind == "=":
            macros.append(statement)


def _move(work: Work, statement: Written, place: Written, macros: list[Written]) -> bool:
    used = {work.text[token.start + 1 : token.end] for token in statement.tokens if token.expanded}
    wanted = {one.tokens[0].value for one in macros if one.start > place.start} & used
    if wanted or work.comments_in(statement):
        reason = f"the macro {min(wanted)} is defined between" if wanted else "it has comments inside"
        work.fail("order", statement.start, f"this has to stand above line {place.line}, and {reason}", "move it by hand, then convert")
        return False
    edits = work.edits
    edits.move(edits.line_start(statement.start), edits.line_end(statement.end), edits.line_start(place.start))
    return True


def _names_queue(work: Work, statement: Written) -> bool:
    """Whether a rule, or one in an anchor's braces, names a queue."""
    found = work.statements.get(statement.start)
    return statement.find("queue") >= 0 or (found is not None and any(rule.queue for rule in found.rules))
