"""Filter rules: pass, block and match. Source: pfrule of parse.y."""

from . import clauses, names, peers
from . import state as states
from .expand import Lists, expand
from .lexer import NUMBER, STRING
from .nodes import Host, Rule
from .options import filter_options, only_tcp, settle
from .order import FILTER, ordered
from .reading import Reading, SyntaxFault
from .redirect import Pools
from .rule_options import Options
from .sending import route


def filter_rule(r: Reading) -> None:
    """`pass`, `block` or `match`."""
    rule = Rule()
    _action(r, rule)
    rule.direction = clauses.direction(r)
    _logging(r, rule)
    interfaces = clauses.interfaces(r)
    options = Options()
    if r.dialect.route_before_af:
        route(r, options)
    rule.af = clauses.family(r)
    protocols = clauses.protocols(r)
    ends = peers.from_to(r)
    filter_options(r, rule, options)
    r.at_end()
    ordered(r, FILTER)
    new = r.dialect.nat_to
    settle(r, rule, options)
    if options.flags not in (None, (0, 0)) or ends.oses:
        only_tcp(r, options, protocols, bool(ends.oses), "apply")
    _keep_state(r, rule, options)
    if not rule.af:
        rule.af = decide_family(ends.source, 0)
        rule.af = decide_family(ends.destination, rule.af)
    redirected = None
    if options.route_kind:
        if not rule.direction and (r.dialect.route_interfaces or options.route_kind != "dup-to"):
            raise r.fail("direction must be explicit with rules that specify routing", ahead=True)
        if options.route_fault:
            raise r.fail(options.route_fault, ahead=True)
        rule.route_kind = options.route_kind
        if not new:
            _old_route(r, rule, options)
    if r.dialect.redirections_in_rules:
        if new:
            _divert(r, rule, options)
        route_to = options.route if new else None
        if options.nat is not None or options.rdr is not None or route_to is not None:
            redirected = Pools(options.nat, options.rdr, route_to, options.route_kind, options.to_af)
    if not new and options.divert_port:
        rule.divert_port = options.divert_port
    expand(
        r,
        rule,
        Lists(
            interfaces, protocols, options.icmp or [], ends.source, ends.source_ports, ends.oses, ends.destination,
            ends.destination_ports, options.users, options.groups,
        ),
        redirected,
    )


def _keep_state(r: Reading, rule: Rule, options: Options) -> None:
    """State, its options, and the flags that a stateful rule has unless it says otherwise."""
    found = options.state_options
    if options.state is not None:
        rule.state = options.state
    elif rule.action == "pass":
        rule.state = "keep"
        if r.state_defaults:
            found = r.state_defaults
    if found:
        states.apply(r, rule, found)
    elif r.if_bound and rule.state:
        rule.if_bound = True
    rule.fragment = options.fragment
    if rule.action == "pass" and options.flags is None and not options.fragment and rule.state:
        rule.flags = 0x02
        rule.flagset = 0x12


def decide_family(hosts: list[Host], af: int) -> int:
    """The family of a rule: its own, or the one all addresses of a list have."""
    if af or not hosts:
        return af
    first = hosts[0].af
    return first if all(host.af == first for host in hosts) else 0


def _action(r: Reading, rule: Rule) -> None:
    kind = r.kinds[r.i]
    r.i += 1
    rule.action = kind
    if kind == "block":
        block_kind(r, rule)
    r.mark("action", r.first)


def block_kind(r: Reading, rule: Rule) -> None:
    """What stands behind `block`: how it answers."""
    kind = r.kinds[r.i]
    rule.return_icmp, rule.return_icmp6 = 3 << 8 | 3, 1 << 8 | 4
    if kind == "drop":
        rule.returns = ""
    elif kind == "return":
        rule.returns = "return"
    elif kind == "return-rst":
        rule.returns = kind
        rule.return_icmp = rule.return_icmp6 = 0
        if r.kinds[r.i + 1] == "(":
            r.i += 2
            r.want("ttl")
            ttl = r.number()
            r.want(")")
            if not 0 <= ttl <= 255:
                raise r.fail(f"illegal ttl value {ttl}")
            rule.return_ttl = ttl
            return
    elif kind in ("return-icmp", "return-icmp6"):
        rule.returns = "return-icmp"
        if r.kinds[r.i + 1] == "(":
            r.i += 2
            if kind == "return-icmp6":
                rule.return_icmp6 = _return_code(r, 1, names.icmp6_codes(r.dialect.nat_to))
            else:
                rule.return_icmp = _return_code(r, 3, names.ICMP_CODES)
                # A quirk of pfctl: the ICMPv6 code is that of ICMP then.
                rule.return_icmp6 = 3 << 8 | 3
                if r.kinds[r.i] != ")":
                    r.take(",")
                    rule.return_icmp6 = _return_code(r, 1, names.icmp6_codes(r.dialect.nat_to))
            r.want(")")
            return
    else:
        rule.returns = "return" if r.block_policy == "return" else ""
        return
    r.i += 1


def _return_code(r: Reading, icmp_type: int, codes: dict[tuple[int, str], int]) -> int:
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    if kind == NUMBER:
        number = int(value)
        if not 0 <= number <= 255:
            raise r.fail(f"invalid icmp code {number}")
        return icmp_type << 8 | number
    if kind != STRING:
        r.i -= 1
        raise SyntaxFault
    code = clauses.unsigned(value)
    if code is None:
        code = codes.get((icmp_type, value))
        if code is None:
            raise r.fail(f"unknown icmp code {value}")
    if code > 255:
        raise r.fail(f"invalid icmp code {code}")
    return icmp_type << 8 | code


def _logging(r: Reading, rule: Rule) -> None:
    logging, rule.quick = clauses.log_and_quick(r)
    if logging is not None:
        rule.log = True
        rule.log_options, rule.log_interface = logging


def _old_route(r: Reading, rule: Rule, options: Options) -> None:
    from .translation import matching, old_pool

    spec = options.route
    if spec is None:
        return
    if not spec.of_ipv6:
        rule.af = decide_family(spec.hosts, rule.af)
        spec.hosts, rule.af = matching(spec.hosts, rule.af)
    if not spec.hosts:
        raise r.fail("no routing address with matching address family found.", ahead=True)
    rule.pool = old_pool(r, spec, "routing")


def _divert(r: Reading, rule: Rule, options: Options) -> None:
    kind = options.divert
    if not kind:
        return
    if kind == "divert-to":
        if rule.direction == "out":
            raise r.fail("divert-to used with outgoing rule", ahead=True)
        fitting = [host for host in options.divert_hosts if not rule.af or host.af == rule.af]
        if not fitting:
            raise r.fail("divert-to address family mismatch", ahead=True)
        rule.af = rule.af or fitting[0].af
        rule.divert_address = fitting[0]
    elif kind == "divert-reply" and rule.direction == "in":
        raise r.fail("divert-reply used with incoming rule", ahead=True)
    rule.divert = kind
    rule.divert_port = options.divert_port
