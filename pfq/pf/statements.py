"""The statements of a ruleset: which word begins which, and those that are neither rules nor queues.

Source: ruleset, option, varset, tabledef, scrubrule, loadrule and include of parse.y; the setters of pfctl.c.
"""

from . import clauses, names, options, state
from .anchors import anchor_name, anchor_rule, antispoof
from .expand import Lists, expand
from .filters import filter_rule
from .lexer import NUMBER, STRING
from .nodes import ADDRESS, DYNAMIC, NO_ROUTE, RANGE, TABLE, URPF_FAILED, Host, Rule, Table, TableFile
from .order import OPTIONS, SCRUB, ordered
from .reading import Fault, Reading, SyntaxFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Statement = Callable[[Reading], None]

def table(r: Reading) -> "dict[str, Statement]":
    """The statements of a dialect, by the token each begins with."""
    dialect = r.dialect
    found: dict[str, Statement] = {
        "pass": filter_rule, "block": filter_rule, "anchor": anchor_rule, "antispoof": antispoof, "set": _option,
        "table": _table, STRING: _macro, "load": _load, "include": _include,
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
        _table(r)
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


# -- tables


def _table(r: Reading) -> None:
    r.i += 1
    r.want("<")
    found = Table(r.string())
    r.want(">")
    found.line = r.lines[r.first]
    while True:
        kind = r.kinds[r.i]
        start = r.i
        if kind == STRING:
            word = r.values[r.i]
            r.i += 1
            if word not in ("const", "persist", "counters") or (word == "counters" and not r.dialect.table_counters):
                raise r.fail(f"invalid table option '{word}'")
            setattr(found, word, True)
        elif kind == "{":
            r.i += 1
            r.newline()
            if not r.take("}"):
                found.parts.append(_table_hosts(r))
                r.i += 1
                _refuse(r, found.parts[-1])
            found.initialised = True
        elif kind == "file":
            r.i += 1
            found.parts.append(TableFile(r.string()))
            found.initialised = True
        else:
            break
        r.mark(kind if kind != STRING else r.values[start], start)
    r.at_end()
    if len(found.name) >= clauses.TABLE_NAME:
        raise r.fail(f"table name too long, max {clauses.TABLE_NAME - 1} chars", ahead=True)
    for part in found.parts:
        if isinstance(part, TableFile):
            _read_table_file(r, part.path)
        elif any(host.bits > 32 and host.af == 4 for host in part):
            raise r.fail("cannot create address buffer: Invalid argument", ahead=True)
    if r.verbose:
        from .print import table_text

        r.stdout.append(table_text(found))
    r.tables.append(found)
    r.result = found


def _table_hosts(r: Reading) -> list[Host]:
    if not r.dialect.weights:
        return clauses.host_list(r) or []
    return clauses.host_list(r, _table_item) or []


def _table_item(r: Reading) -> list[Host]:
    if r.kinds[r.i] == "{":
        return clauses.inner_list(r, _table_item) or []
    found = clauses.host_or_not(r)
    if r.take("weight"):
        weight = r.number()
        if not 1 <= weight <= 65535:
            raise r.fail("weight out of range")
        for host in found:
            host.weight = weight
    return found


def _refuse(r: Reading, hosts: list[Host] | TableFile) -> None:
    for host in hosts if isinstance(hosts, list) else ():
        if host.kind == ADDRESS:
            continue
        if host.kind == RANGE:
            raise r.fail("address ranges are not permitted inside tables")
        if host.kind == DYNAMIC:
            raise r.fail("dynamic addresses are not permitted inside tables")
        if host.kind == TABLE:
            raise r.fail("tables cannot contain tables")
        if host.kind in (NO_ROUTE, URPF_FAILED):
            raise r.fail(f'"{host.kind}" is not permitted inside tables')
        raise r.fail("unknown address type 4")


def _read_table_file(r: Reading, path: str) -> None:
    try:
        text = r.open_file(path) if r.open_file is not None else ""
    except OSError as error:
        raise r.fail(f'cannot load "{path}": {error.strerror or "No such file or directory"}', ahead=True) from None
    for line in text.split("\n"):
        for word in line.partition("#")[0].partition(";")[0].split():
            address = word.lstrip("!")
            if word == "weight":
                break
            if not address or r.resolver.resolve(address) is None:
                raise r.fail(f'file "{path}" contains bad data', ahead=True)


# -- scrub of the older syntax


_SCRUBS = ("no-df", "min-ttl", "max-mss", "reassemble", "random-id")


def scrub_rule(r: Reading) -> None:
    """`scrub`, maybe with `no` before it."""
    rule = Rule()
    rule.action = "no scrub" if r.take("no") else "scrub"
    r.i += 1
    rule.direction = clauses.direction(r)
    logging, quick = clauses.log_and_quick(r)
    interfaces = clauses.interfaces(r)
    rule.af = clauses.family(r)
    protocols = clauses.protocols(r)
    ends = clauses.from_to(r)
    found: dict[str, int] = {}
    _scrub_options(r, rule, found)
    r.at_end()
    ordered(r, SCRUB)
    if logging is not None:
        rule.log = True
        rule.log_options, rule.log_interface = logging
    if quick:
        raise r.fail("scrub rules do not support 'quick'", ahead=True)
    rule.no_df = bool(found.get("no-df"))
    rule.random_id = bool(found.get("random-id"))
    if found.get("reassemble"):
        if rule.direction:
            raise r.fail("reassemble tcp rules can not specify direction", ahead=True)
        rule.reassemble_tcp = True
    rule.min_ttl = found.get("min-ttl", 0)
    rule.max_mss = found.get("max-mss", 0)
    if len(rule.tagged) >= clauses.TAG_NAME:
        raise r.fail(f"tag too long, max {clauses.TAG_NAME - 1} chars", ahead=True)
    expand(
        r,
        rule,
        Lists(
            interfaces, protocols, [], ends.source, ends.source_ports, ends.oses, ends.destination, ends.destination_ports,
            [], [],
        ),
    )


def _scrub_options(r: Reading, rule: Rule, found: dict[str, int]) -> None:
    while True:
        kind = r.kinds[r.i]
        start = r.i
        if kind in _SCRUBS:
            options.scrub_option(r, found, _SCRUBS)
        elif kind == "set-tos":
            r.i += 1
            value = clauses.tos(r)
            if rule.set_tos >= 0:
                raise r.fail("set-tos cannot be respecified")
            rule.set_tos = value
        elif kind == "fragment":
            r.i += 1
            word = r.kinds[r.i]
            if word not in ("reassemble", "crop", "drop-ovl") or (word != "reassemble" and word not in r.dialect.keywords):
                raise SyntaxFault
            r.i += 1
            if rule.fragment_handling:
                raise r.fail("fragcache cannot be respecified")
            rule.fragment_handling = word
        elif kind == "rtable":
            r.i += 1
            rule.rtable = clauses.rtable(r)
        elif kind in ("!", "tagged"):
            rule.tagged_negated = r.take("!")
            r.want("tagged")
            rule.tagged = r.strings()
        else:
            return
        r.mark(kind, start)


# -- options


def _option(r: Reading) -> None:
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
