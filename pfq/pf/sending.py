"""Where a rule sends packets: route-to and its kin, nat-to, rdr-to, binat-to, af-to, divert. Source: route, filter_opt of parse.y."""

from . import clauses, conditions, peers, pools
from .lexer import STRING
from .nodes import Host, Rule
from .reading import Reading, SyntaxFault
from .redirect import Redirection
from .rule_options import Options

_ROUTES = ("route-to", "reply-to", "dup-to")


def route(r: Reading, options: Options) -> None:
    """`route-to` and its kin where they stand between interface and family."""
    kind = r.kinds[r.i]
    if kind == "fastroute":
        r.i += 1
        options.route_kind = kind
    elif kind in _ROUTES:
        start = r.i
        r.i += 1
        options.route_kind = kind
        options.route = Redirection(_route_hosts(r))
        pools.pool_options(r, options.route)
        r.mark(kind, start)


def _route_hosts(r: Reading) -> list[Host]:
    if r.kinds[r.i] != "{":
        return _route_host(r)
    r.i += 1
    r.newline()
    found = _route_host(r)
    r.newline()
    while r.kinds[r.i] != "}":
        if r.kinds[r.i] == ",":
            r.i += 1
        following = _route_host(r)
        r.newline()
        if not found[0].af:
            found[0].af = following[0].af
        if found[0].af != following[0].af:
            raise r.fail("all pool addresses must be in the same address family", ahead=True)
        found += following
    r.i += 1
    return found


def _route_host(r: Reading) -> list[Host]:
    if r.take("("):
        interface = r.string()
        found = peers.host(r)
        r.want(")")
        if r.dialect.nat_to and (len(found) > 1 or found[0].interface):
            raise r.fail("cannot specify interface twice in route spec")
        for host in found if r.dialect.family == "freebsd" else found[:1]:
            host.interface = interface
        return found
    if r.dialect.nat_to:
        return _route_host_or_interface(r)
    found = [Host("address", bits=128)]
    found[0].interface = r.string()
    return found


def _route_host_or_interface(r: Reading) -> list[Host]:
    """Between translation rules and OpenBSD 6.9: an interface, an address at one, a network, or a table."""
    kind = r.kinds[r.i]
    if kind == STRING and r.kinds[r.i + 1] != "/":
        text = r.string()
        address, at, interface = text.rpartition("@")
        found = r.resolver.resolve(address) if at else [Host("address", bits=128)]
        if found is None:
            raise r.fail("invalid host for route spec")
        for host in found:
            host.interface = interface
    elif kind in (STRING, "<", "("):
        found = peers.host(r)
    else:
        raise SyntaxFault
    pools.weight(r, found)
    return found


def nat_to(r: Reading, rule: Rule, options: Options) -> None:
    """`nat-to`."""
    r.i += 1
    found = pools.redirection(r)
    if options.nat is not None:
        raise r.fail("cannot respecify nat-to/binat-to", ahead=True)
    options.nat = found


def binat_to(r: Reading, rule: Rule, options: Options) -> None:
    """`binat-to`."""
    nat_to(r, rule, options)
    assert options.nat is not None
    options.nat.binat = True
    options.nat.static_port = True


def rdr_to(r: Reading, rule: Rule, options: Options) -> None:
    """`rdr-to`."""
    r.i += 1
    found = pools.redirection(r)
    if options.rdr is not None:
        raise r.fail("cannot respecify rdr-to", ahead=True)
    options.rdr = found


def af_to(r: Reading, rule: Rule, options: Options) -> None:
    """`af-to`."""
    r.i += 1
    af = clauses.family(r)
    r.want("from")
    found = pools.redirection(r)
    to = None
    if r.take("to"):
        to = pools.redirection(r)
    if options.nat is not None:
        raise r.fail("cannot respecify af-to", ahead=True)
    if not af:
        raise r.fail("no address family specified" if to else "no target address family specified", ahead=True)
    if to is not None and any(one.hosts[0].af not in (0, af) for one in (found, to)):
        raise r.fail("af-to addresses must be in the target address family", ahead=True)
    found.af = af
    if to is not None:
        # A quirk of pfctl: the options behind the second pool go to the first.
        found.kind, found.key, found.sticky, found.static_port = to.kind, to.key, to.sticky, to.static_port
        to.kind, to.key, to.sticky, to.static_port = "", "", False, False
        to.af = af
    options.nat = found
    options.rdr = to if to is not None else Redirection([])
    options.to_af = True


def route_to(r: Reading, rule: Rule, options: Options) -> bool | None:
    """`route-to`, `reply-to`, `dup-to` among the options."""
    if r.dialect.route_before_af:
        return False
    kind = r.kinds[r.i]
    r.i += 1
    if r.dialect.route_interfaces:
        options.route = Redirection(_route_hosts(r))
        options.route_kind = kind
        pools.pool_options(r, options.route)
        if len(options.route.hosts) > 1 and options.route.kind not in ("", "round-robin", "least-states"):
            options.route_fault = "r.route.opts must be PF_POOL_ROUNDROBIN or PF_POOL_LEASTSTATES"
        return None
    found = Redirection(pools.hosts(r))
    pools.pool_options(r, found)
    if options.route_kind:
        raise r.fail("cannot respecify route-to/reply-to/dup-to", ahead=True)
    options.route = found
    options.route_kind = kind
    return None


def divert_to(r: Reading, rule: Rule, options: Options) -> None:
    """`divert-to`, `divert-reply`, `divert-packet`."""
    kind = r.kinds[r.i]
    r.i += 1
    if not r.dialect.divert_address:
        _divert_port(r, options, kind)
        return
    address = ""
    if kind == "divert-to":
        address = r.string()
    port = 0
    if kind != "divert-reply":
        r.want("port")
        low, _, ranged = conditions.port_range(r)
        if ranged:
            raise r.fail(f"port is invalid: {r.values[r.i - 1]}")
        port = low
    if options.divert:
        raise r.fail("more than one divert option")
    options.divert = kind
    if kind == "divert-to":
        hosts = r.resolver.resolve(address)
        if hosts is None:
            raise r.fail(f"could not parse divert address: {address}")
        options.divert_hosts = hosts
    if kind != "divert-reply" and not port:
        raise r.fail(f"invalid divert port: {port}")
    if kind == "divert-packet" and r.reassemble:
        options.scrub = {**options.scrub, "reassemble": 1}
    options.divert_port = port


def _divert_port(r: Reading, options: Options, kind: str) -> None:
    """FreeBSD diverts to a port, and takes an address without using it."""
    if kind == "divert-reply":
        raise r.fail("divert-reply has no meaning in FreeBSD pf(4)")
    if r.kinds[r.i] == STRING and r.kinds[r.i + 1] == "port":
        r.i += 2
    low, _, ranged = conditions.port_range(r)
    if ranged:
        raise r.fail(f"port is invalid: {r.values[r.i - 1]}")
    if not low:
        raise r.fail(f"invalid divert port: {low}")
    options.divert_port = low
