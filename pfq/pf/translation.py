"""Translation statements of the older syntax: nat, rdr, binat and their anchors. Source: natrule, binatrule, anchorrule of parse.y."""

from . import clauses, peers, pools
from .expand import Lists, expand, new_anchor
from .filters import decide_family
from .hosts import is_any
from .nodes import ADDRESS, DYNAMIC, TABLE, URPF_FAILED, Host, Pool, Rule
from .order import TRANSLATION, ordered
from .peers import FromTo
from .reading import Fault, Reading, SyntaxFault
from .redirect import Redirection

_NAT_LOW, _NAT_HIGH = 50001, 65535


def matching(hosts: list[Host], af: int) -> tuple[list[Host], int]:
    """The addresses of a family, and the family: that of the first address where none was given."""
    kept = []
    for host in hosts:
        if af and host.af and host.af != af:
            continue
        if host.af and not af:
            af = host.af
        kept.append(host)
    return kept, af


def old_pool(r: Reading, spec: Redirection, what: str) -> Pool:
    """The pool of a translation or route, as the older releases allow it. Raises Fault after saying why it does not."""
    pool = Pool(spec.hosts)
    pool.kind = spec.kind
    pool.key = spec.key
    pool.sticky = spec.sticky
    pool.of_ipv6 = spec.of_ipv6
    first = spec.hosts[0]
    if not pool.kind and (len(spec.hosts) > 1 or first.kind == TABLE or first.many()):
        pool.kind = "round-robin"
    if pool.kind != "round-robin":
        for host in spec.hosts:
            if host.kind == TABLE:
                raise r.fail(f"tables are only supported in round-robin {what} pools", ahead=True)
        for host in spec.hosts:
            if host.many():
                raise r.fail(f"interface ({host.name}) is only supported in round-robin {what} pools", ahead=True)
        if len(spec.hosts) > 1:
            if what == "routing":
                raise r.fail("r.rpool.opts must be PF_POOL_ROUNDROBIN", ahead=True)
            raise r.fail("only round-robin valid for multiple redirection addresses", ahead=True)
    return pool


def _pass_and_log(r: Reading, rule: Rule, negated: bool) -> None:
    rule.nat_pass = r.take("pass")
    if r.kinds[r.i] == "log":
        rule.log = True
        rule.log_options, rule.log_interface = clauses.log(r)


def _tags(r: Reading, rule: Rule) -> tuple[str | None, str | None]:
    tag = tagged = None
    if r.take("tag"):
        tag = r.string()
    if r.kinds[r.i] in ("!", "tagged"):
        rule.tagged_negated = r.take("!")
        r.want("tagged")
        tagged = r.strings()
    if r.take("rtable"):
        rule.rtable = clauses.rtable(r)
    return tag, tagged


def _set_tags(r: Reading, rule: Rule, tags: tuple[str | None, str | None]) -> None:
    for text in tags:
        if text is not None and len(text) >= clauses.TAG_NAME:
            raise r.fail(f"tag too long, max {clauses.TAG_NAME - 1} chars", ahead=True)
    rule.tag, rule.tagged = tags[0] or "", tags[1] or ""


def nat_rule(r: Reading) -> None:
    """`nat` or `rdr`, maybe with `no` before it."""
    negated = r.take("no")
    kind = r.kinds[r.i]
    r.i += 1
    rule = Rule()
    _pass_and_log(r, rule, negated)
    if negated and rule.nat_pass:
        raise r.fail('"pass" not valid with "no"', ahead=True)
    rule.action = f"no {kind}" if negated else kind
    interfaces = clauses.interfaces(r)
    rule.af = clauses.family(r)
    protocols = clauses.protocols(r)
    ends = peers.from_to(r)
    tags = _tags(r, rule)
    spec = None
    if r.take("->"):
        start = r.i
        spec = Redirection(pools.hosts(r))
        if r.take("port"):
            pools.target_port(r, spec)
        r.mark("->", start)
    options = spec or Redirection([])
    pools.pool_options(r, options)
    r.at_end()
    ordered(r, TRANSLATION)
    if not rule.af:
        for hosts in (ends.source, ends.destination):
            if hosts and hosts[0].af and not hosts[0].scope:
                rule.af = hosts[0].af
                break
    _set_tags(r, rule, tags)
    if negated:
        if spec is not None:
            raise r.fail("translation rule with 'no' does not need '->'", ahead=True)
    else:
        if spec is None or not spec.hosts:
            raise r.fail("translation rule requires '-> address'", ahead=True)
        _redirect(r, rule, spec, ends)
    if options.static_port:
        if kind != "nat" or negated:
            raise r.fail("the 'static-port' option is only valid with nat rules", ahead=True)
        pool = rule.pool
        if pool is not None:
            if pool.low != _NAT_LOW and pool.high != _NAT_HIGH:
                raise r.fail("the 'static-port' option can't be used when specifying a port range", ahead=True)
            pool.low = pool.high = 0
    expand(
        r,
        rule,
        Lists(
            interfaces, protocols, [], ends.source, ends.source_ports, ends.oses, ends.destination, ends.destination_ports,
            [], [],
        ),
    )


def _redirect(r: Reading, rule: Rule, spec: Redirection, ends: FromTo) -> None:
    if not rule.af and not spec.hosts[0].scope:
        rule.af = spec.hosts[0].af
    spec.hosts, rule.af = matching(spec.hosts, rule.af)
    _check_target(r, spec.hosts, rule.af)
    _check_masks(r, spec.hosts, rule.af)
    low, high = spec.low, spec.high
    if rule.action == "rdr":
        if not high and spec.port_op == "*" and ends.destination_ports:
            first = ends.destination_ports[0]
            high = low + ((first.high if first.op in (":", "><", "<>") else 0) - first.low) & 0xFFFF
    elif not low and not high:
        low, high = _NAT_LOW, _NAT_HIGH
    elif not high:
        high = low
    rule.pool = old_pool(r, spec, "redirection")
    rule.pool.low, rule.pool.high = low, high


def _check_target(r: Reading, hosts: list[Host], af: int) -> None:
    if not af and any(host.kind not in (TABLE, DYNAMIC) for host in hosts):
        raise r.fail("address family not given and translation address expands to multiple address families", ahead=True)
    if not hosts:
        raise r.fail("no translation address with matching address family found.", ahead=True)


def _check_masks(r: Reading, hosts: list[Host], af: int) -> None:
    for host in hosts:
        if host.kind == DYNAMIC and af == 4 and host.bits > 32:
            host.bits = 32
        if host.kind != TABLE and af == 4 and host.bits > 32:
            r.stderr.append(f"netmask {host.bits} invalid for IPv4 address\n")
            raise Fault


def binat_rule(r: Reading) -> None:
    """`binat`, maybe with `no` before it: one address to one."""
    negated = r.take("no")
    r.i += 1
    rule = Rule()
    _pass_and_log(r, rule, negated)
    rule.action = "no binat" if negated else "binat"
    interfaces = clauses.interfaces(r)
    rule.af = clauses.family(r)
    protocols = clauses.protocols(r)
    r.want("from")
    source = peers.addresses(r) or [] if r.dialect.family == "freebsd" else peers.host(r)
    destination: list[Host] = []
    if r.take("to"):
        destination = peers.addresses(r) or []
    tags = _tags(r, rule)
    spec = None
    if r.take("->"):
        spec = Redirection(peers.host(r))
        if r.take("port"):
            pools.target_port(r, spec)
        else:
            r.at_end()
    else:
        r.at_end()
    ordered(r, TRANSLATION)
    if any(host.kind == URPF_FAILED for host in destination):
        raise r.fail('"urpf-failed" is not permitted as a binat destination', ahead=True)
    if negated and rule.nat_pass:
        raise r.fail('"pass" not valid with "no"', ahead=True)
    for hosts in (source, destination, spec.hosts if spec is not None else []):
        if not rule.af and hosts:
            rule.af = hosts[0].af
    if not rule.af:
        raise r.fail("address family (inet/inet6) undefined", ahead=True)
    if interfaces:
        rule.interface = interfaces[0].name
        rule.interface_negated = interfaces[0].negated
    _set_tags(r, rule, tags)
    if protocols:
        rule.proto = protocols[0]
    _binat_ends(r, rule, source, destination, spec)
    if negated:
        if spec is not None:
            raise r.fail("'no binat' rule does not need '->'", ahead=True)
    else:
        _binat_target(r, rule, spec)
    r.add_rule(rule)


def _binat_ends(
    r: Reading, rule: Rule, source: list[Host], destination: list[Host], spec: Redirection | None
) -> None:
    for hosts, use in ((source, "source"), (spec.hosts if spec is not None else [], "redirect")):
        for host in hosts:
            if host.kind == TABLE:
                raise r.fail(f"invalid use of table <{host.name}> as the {use} address of a binat rule", ahead=True)
        for host in hosts:
            if host.many():
                raise r.fail(f"invalid use of interface ({host.name}) as the {use} address of a binat rule", ahead=True)
    if source:
        if source[0].kind == DYNAMIC:
            source[0].af = rule.af
        rule.source = _single(r, source, rule.af, strict=True)
    if destination:
        rule.destination = _single(r, destination, rule.af, strict=False)


def _single(r: Reading, hosts: list[Host], af: int, strict: bool) -> Host:
    if len(hosts) > 1:
        raise r.fail("multiple binat ip addresses", ahead=True)
    if hosts[0].af != af and (strict or hosts[0].af):
        raise r.fail("binat ip versions must match", ahead=True)
    _check_masks(r, hosts, af)
    return hosts[0]


def _binat_target(r: Reading, rule: Rule, spec: Redirection | None) -> None:
    if spec is None or not spec.hosts:
        raise r.fail("'binat' rule requires '-> address'", ahead=True)
    spec.hosts, rule.af = matching(spec.hosts, rule.af)
    _check_target(r, spec.hosts, rule.af)
    if len(spec.hosts) > 1:
        raise r.fail("binat rule must redirect to a single address", ahead=True)
    _check_masks(r, spec.hosts, rule.af)
    if not is_any(rule.source) and rule.source.bits != spec.hosts[0].bits and rule.source.kind in (ADDRESS, DYNAMIC):
        raise r.fail("'binat' source mask and redirect mask must be the same", ahead=True)
    rule.pool = Pool(spec.hosts)


def translation_anchor(r: Reading) -> None:
    """`nat-anchor`, `rdr-anchor`, `binat-anchor`."""
    kind = r.kinds[r.i].removesuffix("-anchor")
    r.i += 1
    name = r.strings()
    interfaces = clauses.interfaces(r)
    rule = Rule()
    rule.action = kind
    rule.af = clauses.family(r)
    protocols = clauses.protocols(r)
    ends = peers.from_to(r)
    if r.take("rtable"):
        rule.rtable = clauses.rtable(r)
    else:
        r.at_end()
    ordered(r, TRANSLATION)
    rule.anchor = new_anchor(name, False)
    if kind == "binat":
        if len(protocols) > 1:
            raise r.fail("proto list expansion not supported in binat-anchor", ahead=True)
        if ends.source or ends.source_ports or ends.destination or ends.destination_ports:
            raise r.fail("fromto parameter not supported in binat-anchor", ahead=True)
        if protocols:
            rule.proto = protocols[0]
        r.add_rule(rule)
        return
    rule.af = decide_family(ends.source, rule.af)
    rule.af = decide_family(ends.destination, rule.af)
    if kind == "rdr":
        if ends.source_ports:
            raise r.fail("source port parameter not supported in rdr-anchor", ahead=True)
        if len(ends.destination_ports) > 1:
            raise r.fail("destination port list expansion not supported in rdr-anchor", ahead=True)
        if ends.destination_ports and ends.destination_ports[0].op != "=":
            raise r.fail("destination port operators not supported in rdr-anchor", ahead=True)
    expand(
        r,
        rule,
        Lists(
            interfaces, protocols, [], ends.source, ends.source_ports, ends.oses, ends.destination, ends.destination_ports,
            [], [],
        ),
    )


def no_rule(r: Reading) -> None:
    """A statement that begins with `no`."""
    from .scrub import scrub_rule

    kind = r.kinds[r.i + 1] if r.i + 1 < len(r.kinds) else ""
    if kind in ("nat", "rdr"):
        nat_rule(r)
    elif kind == "binat":
        binat_rule(r)
    elif kind == "scrub" and r.dialect.scrub_rules:
        scrub_rule(r)
    else:
        r.i += 1
        raise SyntaxFault
