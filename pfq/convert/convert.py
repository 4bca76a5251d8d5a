"""From one dialect to another: read, find what changes, write it into the text, and read the result as the target does."""

from dataclasses import dataclass

from pfq.convert.edits import Origins
from pfq.convert.order import put_in_order
from pfq.convert.queues import convert_queues
from pfq.convert.rules import convert_option, convert_rule, quote_new_words
from pfq.convert.script import Written, scan
from pfq.convert.scrub import convert_scrub, is_scrub
from pfq.convert.states import check_states
from pfq.convert.translation import ANCHORS, convert_translation, translation_kind
from pfq.convert.work import Inline, Said, Work
from pfq.diagnostics import Diagnostic, Place
from pfq.pf import System, check, read, read_text
from pfq.pf.dialects import Dialect, dialect
from pfq.pf.lexer import Opener

# As many uses of macros are replaced by their text; each costs one more reading.
_MOST_INLINED = 1000
_RULES = ("pass", "block", "match", "anchor")


@dataclass(frozen=True, slots=True)
class Converted:
    """What came out: the text, '' where there are errors; and what there is to say, notes among it."""

    text: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def good(self) -> bool:
        """Whether there is a result."""
        return not any(one.severity == "error" for one in self.diagnostics)


def convert(
    text: str,
    source: str,
    target: str,
    accept: frozenset[str] = frozenset(),
    systems: tuple[System, System] | None = None,
    name: str = "stdin",
    open_file: Opener | None = read_text,
) -> Converted:
    """Convert a ruleset. `systems` describe the machine as either dialect sees it; without them its interfaces are guessed.

    The result is accepted by `pfq.pf.check` of the target, or there is an error. Raises UnknownDialect.
    """
    old, new = dialect(source), dialect(target)
    known = frozenset(systems[0].interfaces) if systems is not None else frozenset()
    before, after = systems or (System(old.family, old.release), System(new.family, new.release))
    moved: list[tuple[int, int, int]] = []
    original = text
    while True:
        tree = read(text, source, system=before, file_name=name, open_file=open_file)
        if tree.verdict.status:
            return _refused(tree.verdict.stderr, name, source)
        work = Work(text, tree, scan(text, old, name, open_file), old, new, accept, known, name)
        try:
            _change(work)
            break
        except Inline as macro:
            if len(moved) >= _MOST_INLINED:
                work.fail("rejected", macro.start, "macros hold more of what is to be converted than can be written out")
                return Converted("", _shown(work.said, name, original, moved))
            moved.append((macro.start, macro.end - macro.start, len(macro.value)))
            text = text[: macro.start] + macro.value + text[macro.end :]
    result, origins = work.edits.applied()
    if result and not result.endswith("\n"):
        result += "\n"
    if not any(one.severity == "error" for one in work.said):
        _verify(work, result, origins, after, open_file)
    diagnostics = _shown(work.said, name, original, moved)
    good = not any(one.severity == "error" for one in work.said)
    return Converted(result if good else "", diagnostics)


def _change(work: Work) -> None:
    for statement in work.elsewhere:
        if _changes(work, statement):
            message = f"{statement.file}:{statement.line}: {statement.kind} is to be converted, and stands in an included file"
            work.fail("included-file", 0, message, "put the file's text in the place of its include line")
            return
    if work.source.altq:
        convert_queues(work)
    if work.source.translation_rules:
        convert_translation(work)
    if work.source.scrub_rules:
        convert_scrub(work)
    for statement in work.script:
        if statement.kind in _RULES and work.source.altq:
            convert_rule(work, statement)
        elif statement.kind == "set":
            convert_option(work, statement)
        elif statement.kind == "ether":
            work.lose("ether", statement, statement.start)
            work.remove(statement)
            continue
        if statement.kind not in ("altq", "queue") and not translation_kind(statement) and not is_scrub(statement):
            quote_new_words(work, statement)
    if not work.target.translation_rules:
        check_states(work)
    put_in_order(work)
    _notes(work)


def _changes(work: Work, statement: Written) -> bool:
    kind = statement.kind
    if kind in ("altq", "queue", *ANCHORS) or translation_kind(statement) or is_scrub(statement):
        return True
    return kind in _RULES and any(token.kind in ("queue", "route-to", "reply-to", "dup-to", "fastroute") for token in statement.tokens)


def _notes(work: Work) -> None:
    """What becomes more than it was."""
    old = work.source
    four_only = old.release < ((5, 3) if old.family == "openbsd" else (15, 0))
    for statement in work.script:
        at = statement.find("queue") if statement.kind in ("pass", "block", "match") else -1
        if at >= 0 and four_only and statement.tokens[at + 1].kind == "(" and statement.find("inet") < 0:
            work.note("second-queue", statement.tokens[at].start, "the second queue takes IPv6 packets too now; it was for IPv4 alone")
            return


def _verify(work: Work, result: str, origins: Origins, system: System, open_file: Opener | None) -> None:
    """Read the result as the target does; what it does not accept is an error, never a result."""
    verdict = check(result, work.target.name, system=system, file_name=work.name, open_file=open_file)
    if not verdict.status:
        return
    starts = [0, *(index + 1 for index, character in enumerate(result) if character == "\n")]
    for line in verdict.stderr.splitlines() or ["refused"]:
        rest = line.removeprefix(f"{work.name}:")
        number, _, message = rest.partition(":")
        place = origins.of(starts[min(int(number), len(starts)) - 1]) if rest != line and number.isdigit() else 0
        said = message.strip() if rest != line and number.isdigit() else line
        work.fail("rejected", place, f"{work.target.name} would refuse what this becomes: {said}", "change it, then convert")


def _refused(stderr: str, name: str, source: str) -> Converted:
    found = []
    for line in stderr.splitlines():
        rest = line.removeprefix(f"{name}:")
        number, _, message = rest.partition(":")
        place = Place(name, int(number), 1) if rest != line and number.isdigit() else None
        found.append(Diagnostic("unreadable-ruleset", f"{source} does not accept it: {message.strip() if place else line}", place))
    return Converted("", tuple(found) or (Diagnostic("unreadable-ruleset", f"{source} does not accept it"),))


def _shown(said: list[Said], name: str, original: str, moved: list[tuple[int, int, int]]) -> tuple[Diagnostic, ...]:
    found = []
    for one in said:
        offset = one.offset
        for start, old, new in reversed(moved):
            if offset >= start + new:
                offset += old - new
            elif offset > start:
                offset = start
        place = Place(name, original.count("\n", 0, offset) + 1, offset - original.rfind("\n", 0, offset))
        found.append(Diagnostic(one.code, one.message, place, one.hint, one.severity))
    return tuple(dict.fromkeys(found))


def convertible(source: Dialect, target: Dialect) -> bool:
    """Whether there is a way from one dialect to the other: to the queues of OpenBSD 5.5 and later, from what came before or FreeBSD."""
    return target.queue_trees and source.altq
