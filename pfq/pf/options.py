"""What can stand behind the addresses of a filter rule, in any order. Source: filter_opt, filter_set and filteropts_to_rule of parse.y."""

from . import clauses, conditions
from . import state as states
from .nodes import Rule
from .reading import Fault, Reading, SyntaxFault
from .rule_options import Options
from .sending import af_to, binat_to, divert_to, nat_to, rdr_to, route_to

# FreeBSD: how many labels a rule may have.
_MOST_LABELS = 5
_SCRUBS = ("no-df", "min-ttl", "max-mss", "reassemble", "random-id")


def filter_options(r: Reading, rule: Rule, options: Options) -> None:
    """Everything behind the addresses, in any order."""
    table = _OPTIONS
    while True:
        kind = r.kinds[r.i]
        read = table.get(kind)
        if read is None:
            return
        start = r.i
        if read(r, rule, options) is False:
            return
        r.clauses.append((kind, start, r.i))


def _user(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    options.users = clauses.listed(r, conditions.user) + options.users


def _group(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    options.groups = clauses.listed(r, conditions.group) + options.groups


def _flags(r: Reading, rule: Rule, options: Options) -> None:
    found = conditions.flags(r)
    if options.flags is not None:
        raise r.fail("flags cannot be redefined")
    options.flags = found


def _icmp(r: Reading, rule: Rule, options: Options) -> None:
    found = conditions.icmp(r)
    if options.icmp is not None:
        raise r.fail("icmp-type cannot be redefined", ahead=True)
    options.icmp = found


def _tos(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    found = conditions.tos(r)
    if options.tos is not None:
        raise r.fail("tos cannot be redefined")
    options.tos = found


def _prio(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    found = r.number()
    if options.prio is not None:
        raise r.fail("prio cannot be redefined")
    if not 0 <= found <= 7:
        raise r.fail("prio must be 0 - 7")
    options.prio = found


def _state(r: Reading, rule: Rule, options: Options) -> None:
    kind = r.kinds[r.i]
    r.i += 1
    r.want("state")
    found = [] if kind == "no" else states.options(r)
    if options.state is not None:
        raise r.fail("modulate or keep cannot be redefined", ahead=True)
    options.state = "" if kind == "no" else kind
    options.state_options = found


def _fragment(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    options.fragment = True


def _allow(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    rule.allow_opts = True


def _label(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    found = r.string()
    if options.label is None:
        options.label = found
    elif not r.dialect.labels_many:
        raise r.fail("label cannot be redefined")
    elif len(rule.more_labels) >= _MOST_LABELS - 1:
        raise r.fail(f"label can only be used {_MOST_LABELS} times")
    elif len(found) >= clauses.LABEL:
        raise r.fail(f"rule label too long (max {clauses.LABEL - 1} chars)")
    else:
        rule.more_labels = (*rule.more_labels, found)


def _ridentifier(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    rule.ridentifier = clauses.number(r)


def _dummynet(r: Reading, rule: Rule, options: Options) -> None:
    """`dnpipe` and `dnqueue` of FreeBSD: one number, or one for either direction."""
    what = r.kinds[r.i]
    r.i += 1
    other = 0
    if r.take("("):
        one = clauses.number(r)
        if not r.take(")"):
            r.take(",")
            other = clauses.number(r)
            r.want(")")
    else:
        one = clauses.number(r)
    rule.dummynet = (what, one, other)


def queue_names(r: Reading) -> tuple[str, str]:
    """The queue, or the two queues in parentheses, behind `queue`. The second is '' when there is one."""
    if r.take("("):
        first = r.string()
        second = ""
        if r.kinds[r.i] != ")":
            r.take(",")
            second = r.string()
        r.want(")")
    else:
        first, second = r.string(), ""
    if r.dialect.rules_name_defined_queues:
        from .queues import is_defined

        for name in (first, second):
            if name and not is_defined(r, name):
                raise r.fail(f"queue {name} is not defined")
    return first, second


def _queue(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    found = queue_names(r)
    if options.queue is not None:
        raise r.fail("queue cannot be redefined")
    options.queue = found


def _tag(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    options.tag = r.strings()


def _tagged(r: Reading, rule: Rule, options: Options) -> bool | None:
    start = r.i
    negated = r.take("!")
    if r.take("tagged"):
        options.tagged = r.strings()
        rule.tagged_negated = negated
    elif r.dialect.received_on and r.take("received-on"):
        found = clauses.interface(r)
        if options.received_on is not None:
            raise r.fail("cannot respecify received-on")
        found.negated = negated
        options.received_on = found
    elif negated:
        raise SyntaxFault
    else:
        r.i = start
        return False
    return None


def _probability(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    rule.probability = conditions.probability(r)


def _rtable(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    rule.rtable = clauses.rtable(r)


def _scrub(r: Reading, rule: Rule, options: Options) -> bool | None:
    if not r.dialect.scrub_options:
        return False
    r.i += 1
    r.want("(")
    found: dict[str, int] = {}
    while True:
        scrub_option(r, found, _SCRUBS)
        if r.take(")"):
            break
        r.take(",")
    options.scrub = {**found, "reassemble": found.get("reassemble", 0) or options.scrub.get("reassemble", 0)}
    return None


def scrub_option(r: Reading, found: dict[str, int], known: tuple[str, ...]) -> None:
    """One scrub option."""
    kind = r.kinds[r.i]
    if kind not in known:
        raise SyntaxFault
    r.i += 1
    if kind in ("min-ttl", "max-mss"):
        number = r.number()
        if kind in found:
            raise r.fail(f"{kind} cannot be respecified")
        if not 0 <= number <= (255 if kind == "min-ttl" else 65535):
            raise r.fail(f"illegal {kind} value {number}")
        found[kind] = number
    elif kind == "reassemble":
        what = r.string()
        if what.lower() != "tcp":
            raise r.fail(f"scrub reassemble supports only tcp, not '{what}'")
        if found.get(kind):
            raise r.fail("reassemble tcp cannot be respecified")
        found[kind] = 1
    else:
        if kind in found:
            raise r.fail(f"{kind} cannot be respecified")
        found[kind] = 1


def _once(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    options.once = True


def _packet_rate(r: Reading, rule: Rule, options: Options) -> None:
    r.i += 1
    limit = r.number()
    r.want("/")
    seconds = r.number()
    if not (0 <= limit < 2**32 and 0 <= seconds < 2**32):
        raise r.fail("only positive values permitted")
    if options.packet_rate is not None and options.packet_rate[0]:
        raise r.fail("cannot respecify max-pkt-rate")
    options.packet_rate = (limit, seconds)


def _set(r: Reading, rule: Rule, options: Options) -> bool | None:
    if not r.dialect.set_options:
        return False
    r.i += 1
    if not r.take("("):
        _set_one(r, options)
        return None
    _set_one(r, options)
    while not r.take(")"):
        r.take(",")
        _set_one(r, options)
    return None


def _set_one(r: Reading, options: Options) -> None:
    kind = r.kinds[r.i]
    if kind != "prio" and not (kind in ("queue", "tos", "delay") and r.dialect.set_queue):
        raise SyntaxFault
    r.i += 1
    if kind == "prio":
        found = _set_prio(r)
        if options.set_prio is not None:
            raise r.fail("prio cannot be redefined")
        options.set_prio = found
    elif kind == "queue":
        queues = queue_names(r)
        if options.queue is not None:
            raise r.fail("queue cannot be redefined")
        options.queue = queues
    elif kind == "tos":
        value = conditions.tos(r)
        if options.set_tos is not None:
            raise r.fail("tos cannot be respecified")
        options.set_tos = value
    else:
        delay = r.number()
        if options.delay:
            raise r.fail("delay cannot be respecified")
        if not 0 <= delay <= 0xFFFF:
            raise r.fail(f"illegal delay value {delay} (0-65535)")
        options.delay = delay


def _set_prio(r: Reading) -> tuple[int, int]:
    if r.take("("):
        low = r.number()
        r.take(",")
        high = r.number()
        r.want(")")
    else:
        low = high = r.number()
    if not (0 <= low <= 7 and 0 <= high <= 7):
        raise r.fail("prio must be 0 - 7")
    return low, high


_OPTIONS = {
    "user": _user, "group": _group, "flags": _flags, "icmp-type": _icmp, "icmp6-type": _icmp, "tos": _tos, "prio": _prio,
    "no": _state, "keep": _state, "modulate": _state, "synproxy": _state, "fragment": _fragment, "allow-opts": _allow,
    "ridentifier": _ridentifier, "dnpipe": _dummynet, "dnqueue": _dummynet, "label": _label, "queue": _queue, "tag": _tag,
    "!": _tagged, "tagged": _tagged, "received-on": _tagged,
    "probability": _probability, "rtable": _rtable, "nat-to": nat_to, "binat-to": binat_to,
    "rdr-to": rdr_to, "af-to": af_to, "route-to": route_to, "reply-to": route_to, "dup-to": route_to,
    "divert-to": divert_to, "divert-reply": divert_to, "divert-packet": divert_to, "once": _once,
    "max-pkt-rate": _packet_rate, "set": _set, "scrub": _scrub,
}


def settle(r: Reading, rule: Rule, options: Options) -> None:
    """Give the rule what its options say. Source: filteropts_to_rule; the order is that of its complaints."""
    if options.once:
        if rule.action == "match" or rule.anchor is not None:
            raise r.fail("'once' only applies to pass/block rules", ahead=True)
        rule.once = True
    if options.packet_rate is not None:
        rule.packet_rate = options.packet_rate
    if options.tos is not None:
        rule.tos = options.tos
    for text in (options.tag, options.tagged):
        if text is not None and len(text) >= clauses.TAG_NAME:
            raise r.fail(f"tag too long, max {clauses.TAG_NAME - 1} chars", ahead=True)
    rule.tag = options.tag or ""
    rule.tagged = options.tagged or ""
    if options.label is not None:
        if len(options.label) >= clauses.LABEL:
            raise r.fail(f"rule label too long (max {clauses.LABEL - 1} chars)", ahead=True)
        rule.label = options.label
    if options.to_af:
        if rule.direction != "in":
            raise r.fail("af-to can only be used with direction in", ahead=True)
        if options.route_kind:
            raise r.fail("af-to cannot be used together with route-to, reply-to, dup-to", ahead=True)
    if options.scrub:
        scrub = options.scrub
        rule.no_df = bool(scrub.get("no-df"))
        rule.random_id = bool(scrub.get("random-id"))
        rule.min_ttl = scrub.get("min-ttl", 0)
        rule.max_mss = scrub.get("max-mss", 0)
        rule.reassemble_tcp = bool(scrub.get("reassemble"))
    if options.delay is not None:
        rule.delay = options.delay
    rule.set_prio = options.set_prio
    if options.set_tos is not None:
        rule.set_tos = options.set_tos
    if options.prio is not None:
        rule.prio = options.prio
    if options.flags is not None:
        rule.flags, rule.flagset = options.flags
        if rule.flags & rule.flagset != rule.flags:
            raise r.fail("flags always false", ahead=True)
    if options.queue is not None:
        rule.queue, rule.ack_queue = options.queue
        for what, name in (("qname", rule.queue), ("pqname", rule.ack_queue)):
            if len(name) >= clauses.QUEUE_NAME:
                raise r.fail(f"rule {what} too long (max {clauses.QUEUE_NAME - 1} chars)", ahead=True)
    if options.received_on is not None:
        rule.received_on = options.received_on.name
        rule.received_on_negated = options.received_on.negated


def only_tcp(r: Reading, options: Options, protocols: list[int], has_os: bool, verb: str) -> None:
    if protocols and 6 not in protocols:
        if options.flags not in (None, (0, 0)):
            r.say("flags only apply to tcp")
        if has_os:
            r.say(f"OS fingerprinting only {verb} to tcp")
        raise Fault
