"""What `set` sets. Source: option of parse.y; the setters of pfctl.c."""

from . import clauses, names, state
from .lexer import STRING
from .order import OPTIONS, ordered
from .reading import Fault, Reading, SyntaxFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def option(r: Reading) -> None:
    """`set ...`."""
    r.i += 1
    kind = r.kinds[r.i]
    read = _SETTERS.get(kind)
    if read is None or (kind == "reassemble" and not r.dialect.reassemble_option):
        raise SyntaxFault
    r.i += 1
    read(r)


def _yes_or_no(r: Reading) -> bool:
    if r.take("no"):
        return False
    word = r.string()
    if word != "yes":
        raise r.fail(f"invalid value '{word}', expected 'yes' or 'no'")
    return True


def _set_reassemble(r: Reading) -> None:
    r.result = r.reassemble = _yes_or_no(r)
    no_df = r.take("no-df")
    r.at_end()
    r.show(f"set reassemble {'yes' if r.reassemble else 'no'} {'no-df' if no_df else ''}\n")


def _set_optimization(r: Reading) -> None:
    word = r.string()
    ordered(r, OPTIONS)
    if word.lower() not in names.OPTIMIZATIONS:
        r.warn("invalid state timeouts optimization")
        raise r.fail(f"unknown optimization {word}")
    r.show(f"set optimization {word}\n")


def _set_ruleset_optimization(r: Reading) -> None:
    word = r.strings()
    r.at_end()
    if word not in ("none", "basic", "profile"):
        raise r.fail(f"unknown ruleset-optimization {word}", ahead=True)
    if not r.optimize_fixed:
        r.optimize_fixed = True
        r.optimize = word


def _listed_option(r: Reading, one: "Callable[[Reading], None]") -> None:
    if not r.take("{"):
        one(r)
        return
    r.newline()
    one(r)
    r.newline()
    while not r.take("}"):
        r.take(",")
        one(r)
        r.newline()


def _set_timeouts(r: Reading) -> None:
    _listed_option(r, _set_timeout)


def _positive(r: Reading) -> int:
    number = r.number()
    if not 0 <= number < 2**32:
        raise r.fail("only positive values permitted")
    return number


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number


def _set_timeout(r: Reading) -> None:
    # `interval` is a word of its own where codel is known.
    name = r.want("interval") if r.kinds[r.i] == "interval" else r.string()
    number = r.number()
    ordered(r, OPTIONS)
    if not 0 <= number < 2**32:
        raise r.fail("only positive values permitted")
    if name.lower() not in names.TIMEOUTS:
        r.warn("Bad timeout name.")
        raise r.fail(f"unknown timeout {name}")
    r.show(f"set timeout {name} {_signed(number)}\n")


def _set_limits(r: Reading) -> None:
    _listed_option(r, _set_limit)


def _limits(r: Reading) -> tuple[str, ...]:
    if r.dialect.family == "freebsd":
        return ("states", "src-nodes", "frags", "table-entries") + (("tables",) if r.dialect.release < (12, 0) else ())
    if r.dialect.release >= (7, 4):
        return ("states", "src-nodes", "frags", "tables", "table-entries", "pktdelay-pkts", "anchors")
    if r.dialect.release >= (6, 5):
        return ("states", "src-nodes", "frags", "tables", "table-entries", "pktdelay-pkts")
    return ("states", "src-nodes", "frags", "tables", "table-entries")


def _set_limit(r: Reading) -> None:
    name = r.string()
    number = r.number()
    ordered(r, OPTIONS)
    if not 0 <= number < 2**32:
        raise r.fail("only positive values permitted")
    if name.lower() not in _limits(r):
        r.warn("Bad pool name.")
        raise r.fail(f"unable to set limit {name} {number}")
    r.show(f"set limit {name} {_signed(number)}\n")


def _set_log_interface(r: Reading) -> None:
    name = "all" if r.take("all") else r.string()
    ordered(r, OPTIONS)
    r.show(f"set loginterface {name}\n")


def _set_host_id(r: Reading) -> None:
    if r.kinds[r.i] == STRING:
        text = r.string()
        found = clauses.unsigned(text)
        if found is None:
            raise r.fail(f"{text} is not a number")
        number = found
    else:
        number = r.number()
    ordered(r, OPTIONS)
    if number == 0 or number >= 2**32:
        raise r.fail("hostid must be non-zero")
    r.show(f"set hostid 0x{number & 0xFFFFFFFF:08x}\n")


def _policy(r: Reading, name: str) -> str:
    kind = r.kinds[r.i]
    if kind not in ("drop", "return"):
        raise SyntaxFault
    r.i += 1
    r.show(f"set {name} {kind}\n")
    ordered(r, OPTIONS)
    return kind


def _set_block_policy(r: Reading) -> None:
    r.block_policy = _policy(r, "block-policy")


def _set_fail_policy(r: Reading) -> None:
    _policy(r, "fail-policy")


def _set_require_order(r: Reading) -> None:
    r.require_order = _yes_or_no(r)
    r.show(f"set require-order {'yes' if r.require_order else 'no'}\n")


def _set_fingerprints(r: Reading) -> None:
    name = r.string()
    r.show(f'set fingerprints "{name}"\n')
    ordered(r, OPTIONS)


def _set_state_policy(r: Reading) -> None:
    kind = r.kinds[r.i]
    if kind not in ("if-bound", "floating"):
        raise SyntaxFault
    r.i += 1
    r.if_bound = kind == "if-bound"
    r.show(f"set state-policy {kind}\n")


def _set_debug(r: Reading) -> None:
    syslog = r.dialect.debug_levels_syslog
    word = "debug" if syslog and r.take("debug") else r.string()
    ordered(r, OPTIONS)
    if not syslog:
        if word not in names.DEBUG_LEVELS_OLD:
            r.warn(f'unknown debug level "{word}"')
            raise r.fail(f"error setting debuglevel {word}")
        r.show(f"set debug {word}\n")
        return
    level = names.SYSLOG_LEVELS.get(word.lower())
    if level is None:
        r.warn("unknown debug level")
        raise r.fail(f"error setting debuglevel {word}")
    r.show(f"set debug {('emerg', 'alert', 'crit', 'err', 'warn', 'notice', 'info', 'debug')[level]}\n")


def _set_skip(r: Reading) -> None:
    found = clauses.interfaces(r)
    if not found:
        r.at_end()
    if not found or (len(found) == 1 and not found[0].negated and found[0].name == "none"):
        r.show("set skip on none\n")
        return
    words = ["set skip on {"]
    wrong = False
    for one in found:
        words.append(f" {one.name}")
        if one.negated:
            r.say("skip on ! <interface> is not supported")
            wrong = True
        elif one.rdomain >= 0:
            r.say("skip on rdomain <num> is not supported")
            wrong = True
    r.show("".join(words) + " }\n")
    r.result = found
    if wrong:
        raise r.fail("error setting skip interface(s)", ahead=True)


def _set_state_defaults(r: Reading) -> None:
    found = state.option_list(r)
    r.at_end()
    if r.state_defaults is not None:
        raise r.fail("cannot redefine state-defaults", ahead=True)
    r.state_defaults = found


def _set_syncookies(r: Reading) -> None:
    word = r.string()
    if word not in ("never", "always", "adaptive"):
        raise r.fail("illegal value for syncookies")
    marks: dict[str, int] = {}
    given = r.take("(")
    while given:
        name = r.string()
        text = r.string()
        value, rest = clauses.floating(text)
        if rest != "%":
            raise Fault
        if not 0 < value <= 100:
            raise r.fail("illegal percentage value")
        if name not in ("start", "end"):
            raise r.fail("illegal syncookie option")
        marks[name] = int(value)
        if r.take(")"):
            break
        r.take(",")
    if not given:
        r.at_end()
    else:
        if word != "adaptive":
            r.warn("syncookies start/end only apply to adaptive")
            raise r.fail("error setting syncookies", ahead=True)
        high = marks.get("start") or 25
        low = marks.get("end") or high // 2
        if low >= high:
            r.warn("start must be higher than end")
            raise r.fail("error setting syncookies", ahead=True)
        r.show(f"set syncookies adaptive (start {high}%, end {low}%)\n")
        return
    r.show(f"set syncookies {word}\n")


def _set_keep_counters(r: Reading) -> None:
    r.show("set keepcounters\n")


_SETTERS = {
    "reassemble": _set_reassemble, "optimization": _set_optimization, "ruleset-optimization": _set_ruleset_optimization,
    "timeout": _set_timeouts, "limit": _set_limits, "loginterface": _set_log_interface, "hostid": _set_host_id,
    "block-policy": _set_block_policy, "fail-policy": _set_fail_policy, "require-order": _set_require_order,
    "fingerprints": _set_fingerprints, "state-policy": _set_state_policy, "debug": _set_debug, "skip": _set_skip,
    "state-defaults": _set_state_defaults, "syncookies": _set_syncookies, "keepcounters": _set_keep_counters,
}
