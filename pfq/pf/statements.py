"""The statements of a ruleset: which word begins which, and those that are neither rules nor queues.

Source: ruleset, varset, loadrule and include of parse.y.
"""

from .anchors import anchor_name, anchor_rule, antispoof
from .filters import filter_rule
from .lexer import NUMBER, STRING
from .reading import Reading, SyntaxFault
from .settings import option
from .tables import table_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Statement = Callable[[Reading], None]


def table(r: Reading) -> "dict[str, Statement]":
    """The statements of a dialect, by the token each begins with."""
    dialect = r.dialect
    found: dict[str, Statement] = {
        "pass": filter_rule, "block": filter_rule, "anchor": anchor_rule, "antispoof": antispoof, "set": option,
        "table": table_rule, STRING: _macro, "load": _load, "include": _include,
    }
    if dialect.match_rules:
        found["match"] = filter_rule
    if dialect.ether_rules:
        found["ether"] = _ether
    if dialect.queue_trees:
        from .queues import queue_rule

        found["queue"] = queue_rule
    else:
        found["queue"] = _altq_queue
        found["altq"] = _altq
    if dialect.scrub_rules:
        from .scrub import scrub_rule

        found["scrub"] = scrub_rule
        found["no"] = _no
    if dialect.translation_rules:
        from . import translation

        found["nat"] = found["rdr"] = translation.nat_rule
        found["binat"] = translation.binat_rule
        found["no"] = translation.no_rule
        found["nat-anchor"] = found["rdr-anchor"] = found["binat-anchor"] = translation.translation_anchor
    return found


def _ether(r: Reading) -> None:
    from .ether import ether_rule

    ether_rule(r)


def _altq(r: Reading) -> None:
    from .altq import altq_rule

    altq_rule(r)


def _altq_queue(r: Reading) -> None:
    from .altq import queue_rule

    queue_rule(r)


def _no(r: Reading) -> None:
    if r.kinds[r.i + 1] == "scrub":
        from .scrub import scrub_rule

        scrub_rule(r)
        return
    r.i += 1
    raise SyntaxFault


def inline_statement(r: Reading) -> None:
    """A statement inside an inline anchor."""
    kind = r.kinds[r.i]
    if kind in ("pass", "block") or (kind == "match" and r.dialect.match_rules):
        filter_rule(r)
    elif kind == "anchor":
        anchor_rule(r)
    elif kind == "include" and r.dialect.include_in_anchors:
        _include(r)
    elif kind == "table" and r.dialect.tables_in_anchors:
        table_rule(r)
    else:
        raise SyntaxFault


def _include(r: Reading) -> None:
    r.i += 1
    name = r.string()
    reason = r.lexer.include(name)
    if reason:
        r.warn(f"pushfile: {name}: {reason}" if r.dialect.final_newline_supplied else f"{name}: {reason}")
        raise r.fail(f"failed to include file {name}")


def _macro(r: Reading) -> None:
    name = r.values[r.i]
    r.i += 1
    r.want("=")
    words = []
    while r.kinds[r.i] in (STRING, NUMBER):
        words.append(str(int(r.values[r.i])) if r.kinds[r.i] == NUMBER else r.values[r.i])
        r.i += 1
    if not words:
        raise SyntaxFault
    r.at_end()
    value = " ".join(words)
    r.show(f'{name} = "{value}"\n')
    if r.dialect.final_newline_supplied and any(c.isspace() for c in name[1:]):
        raise r.fail("macro name cannot contain whitespace", ahead=True)
    r.lexer.define(name, value)
    r.mark("value", 2)


def _load(r: Reading) -> None:
    r.i += 1
    r.want("anchor")
    if r.dialect.nat_to:
        name = anchor_name(r)
        r.want("from")
        file = r.strings()
        r.at_end()
        if name is None:
            raise r.fail("anchor name is missing", ahead=True)
    else:
        name = r.strings()
        r.want("from")
        file = r.strings()
    here = r.anchor_name
    r.loads.append((f"{here}/{name}" if here else name, file))
