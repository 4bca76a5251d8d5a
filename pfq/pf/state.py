"""State options, in rules and as `set state-defaults`. Source: state_opt_item and the state options of pfrule in parse.y."""

from . import names
from .clauses import TABLE_NAME
from .lexer import STRING
from .nodes import Rule
from .reading import Fault, Reading, SyntaxFault

Option = tuple[str, object]

_COUNTS = {
    "max": "max",
    "max-src-states": "max-src-states",
    "max-src-conn": "max-src-conn",
    "max-src-nodes": "max-src-nodes",
}
_MARKS = {
    "no-sync": ("no_sync", "state option 'sync' multiple definitions"),
    "sloppy": ("sloppy", "state sloppy option: multiple definitions"),
    "pflow": ("pflow", "state pflow option: multiple definitions"),
}
_MOST_RATE = (2**32 - 1) // 1000


def options(r: Reading) -> list[Option]:
    """The options in parentheses behind `keep state`; empty without them."""
    if not r.take("("):
        return []
    found = option_list(r)
    r.want(")")
    return found


def option_list(r: Reading) -> list[Option]:
    """One or more options; commas are optional."""
    found = [_option(r)]
    while True:
        if r.kinds[r.i] == ",":
            r.i += 1
        elif not _starts_option(r):
            return found
        found.append(_option(r))


def _starts_option(r: Reading) -> bool:
    kind = r.kinds[r.i]
    return kind in _COUNTS or kind == STRING or kind in (
        "no-sync", "max-src-conn-rate", "overload", "source-track", "if-bound", "floating", "sloppy", "pflow",
    )


def _count(r: Reading) -> int:
    number = r.number()
    if not 0 <= number < 2**32:
        raise r.fail("only positive values permitted")
    return number


def _option(r: Reading) -> Option:
    kind = r.kinds[r.i]
    value = r.values[r.i]
    if not _starts_option(r):
        raise SyntaxFault
    r.i += 1
    if kind in _COUNTS:
        return kind, _count(r)
    if kind == "max-src-conn-rate":
        limit = r.number()
        r.want("/")
        seconds = r.number()
        if not (0 <= limit < 2**32 and 0 <= seconds < 2**32):
            raise r.fail("only positive values permitted")
        return kind, (limit, seconds)
    if kind == "overload":
        r.want("<")
        name = r.string()
        r.want(">")
        flush = ""
        if r.take("flush"):
            flush = " flush global" if r.take("global") else " flush"
        if len(name) >= TABLE_NAME:
            raise r.fail(f"table name '{name}' too long", ahead=True)
        return kind, (name, flush)
    if kind == "source-track":
        return kind, "global" if r.take("global") else "rule" if r.take("rule") else ""
    if kind == STRING:
        seconds = r.number()
        if not 0 <= seconds < 2**32:
            raise r.fail("only positive values permitted")
        if value not in names.TIMEOUTS:
            raise r.fail(f"illegal timeout name {value}")
        if "." not in value:
            raise r.fail(f"illegal state timeout {value}")
        return "timeout", (value, seconds)
    return kind, None


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _pair(value: object) -> tuple[int, int]:
    assert isinstance(value, tuple)
    return value


def apply(r: Reading, rule: Rule, found: list[Option]) -> None:
    """Give a rule its state options, and what follows from them. Raises Fault after saying what contradicts."""
    track = ""
    locked = False
    adaptive = False
    timeouts: dict[str, int] = {}
    for kind, value in found:
        if kind in _MARKS:
            field, message = _MARKS[kind]
            if getattr(rule, field):
                raise r.fail(message, ahead=True)
            setattr(rule, field, True)
        elif kind == "max":
            if rule.max_states:
                raise _twice(r, "max")
            rule.max_states = _number(value)
        elif kind == "source-track":
            if track:
                raise _twice(r, "source-track")
            track = str(value) or "track"
            rule.source_track = True
        elif kind in ("max-src-states", "max-src-conn", "max-src-nodes"):
            _source_count(r, rule, kind, _number(value))
        elif kind == "max-src-conn-rate":
            _source_rate(r, rule, _pair(value))
        elif kind == "overload":
            if rule.overload:
                raise r.fail("multiple 'overload' table definitions", ahead=True)
            assert isinstance(value, tuple)
            rule.overload, rule.flush = value
        elif kind in ("if-bound", "floating"):
            if locked:
                raise r.fail("state locking option: multiple definitions", ahead=True)
            locked = True
            rule.if_bound = kind == "if-bound"
        else:
            assert isinstance(value, tuple)
            name, seconds = value
            adaptive = adaptive or name in ("adaptive.start", "adaptive.end")
            if timeouts.get(name):
                raise r.fail(f"state timeout {name} multiple definitions", ahead=True)
            timeouts[name] = seconds
    if not adaptive and rule.max_states:
        timeouts["adaptive.start"] = rule.max_states // 10 * 6
        timeouts["adaptive.end"] = rule.max_states // 10 * 12
    if rule.source_track:
        _tracking(r, rule, track, timeouts)
    if rule.state and not locked:
        rule.if_bound = r.if_bound
    if timeouts:
        rule.timeouts = timeouts


def _twice(r: Reading, name: str) -> Fault:
    return r.fail(f"state option '{name}' multiple definitions", ahead=True)


def _source_count(r: Reading, rule: Rule, kind: str, number: int) -> None:
    field = kind.replace("-", "_")
    if getattr(rule, field):
        raise _twice(r, kind)
    if not number:
        raise r.fail(f"'{kind}' must be > 0", ahead=True)
    setattr(rule, field, number)
    rule.source_track = True
    if kind != "max-src-states":
        rule.source_track_rule = True


def _source_rate(r: Reading, rule: Rule, rate: tuple[int, int]) -> None:
    if rule.max_src_conn_rate[0]:
        raise _twice(r, "max-src-conn-rate")
    if not rate[0] or not rate[1]:
        raise r.fail("'max-src-conn-rate' values must be > 0", ahead=True)
    if rate[0] > _MOST_RATE:
        raise r.fail(f"'max-src-conn-rate' maximum rate must be < {_MOST_RATE}", ahead=True)
    rule.max_src_conn_rate = rate
    rule.source_track = rule.source_track_rule = True


def _tracking(r: Reading, rule: Rule, track: str, timeouts: dict[str, int]) -> None:
    if track == "global":
        for name, value in (
            ("max-src-nodes", rule.max_src_nodes),
            ("max-src-conn", rule.max_src_conn),
            ("max-src-conn-rate", rule.max_src_conn_rate[1]),
        ):
            if value:
                raise r.fail(f"'{name}' is incompatible with 'source-track global'", ahead=True)
    if timeouts.get("src.track", 0) < rule.max_src_conn_rate[1]:
        timeouts["src.track"] = rule.max_src_conn_rate[1]
    if track == "rule":
        rule.source_track_rule = True
