"""The redirections of filter rules: nat-to, rdr-to, binat-to, af-to, and routes. Source: collapse_redirspec and apply_redirspec of parse.y."""

from .nodes import ADDRESS, DYNAMIC, TABLE, Host, Pool, Port, Rule
from .reading import Reading


class Redirection:
    """The argument of nat-to and its kin: addresses, ports as written, and how one is picked."""

    __slots__ = ("af", "binat", "high", "hosts", "key", "kind", "low", "of_ipv6", "port_op", "static_port", "sticky")

    def __init__(self, hosts: list[Host]) -> None:
        self.hosts = hosts
        self.low = 0
        self.high = 0
        self.port_op = ""
        self.kind = ""
        self.key = ""
        self.sticky = False
        # FreeBSD: IPv4 may be routed to an IPv6 address.
        self.of_ipv6 = False
        self.static_port = False
        self.binat = False
        self.af = 0

    def back_to(self, hosts: list[Host]) -> "Redirection":
        """The redirection of what comes in for a binat-to: the same options, with ports that may change."""
        new = Redirection(hosts)
        new.low, new.high, new.port_op = self.low, self.high, self.port_op
        new.kind, new.key, new.sticky = self.kind, self.key, self.sticky
        return new


_DYNAMIC_KINDS = ("round-robin", "random", "source-hash", "least-states")
_NAT_LOW, _NAT_HIGH = 50001, 65535


class Pools:
    """The redirections of one filter rule. Source: collapse_redirspec and apply_redirspec of parse.y."""

    def __init__(
        self, nat: Redirection | None, rdr: Redirection | None, route: Redirection | None, route_kind: str, to_af: bool = False
    ) -> None:
        self.nat = nat
        self.rdr = rdr
        self.route = route
        self.route_kind = route_kind
        self.to_af = to_af
        self.binat = nat is not None and nat.binat

    def collapse(self, r: Reading, rule: Rule) -> bool:
        """Give the rule its pools, and its family if they decide it; True after an error was said."""
        wrong = False
        rule.translation_af = self.nat.af if self.to_af and self.nat is not None else 0
        for name, spec in (("rdr", self.rdr), ("nat", self.nat), ("route", self.route)):
            if spec is not None and spec.hosts:
                wrong = self._collapse(r, rule, name, spec) or wrong
        return wrong

    def _collapse(self, r: Reading, rule: Rule, name: str, spec: Redirection) -> bool:
        routing = name == "route"
        what = "routing" if routing else "translation"
        af = 0
        chosen: list[Host] = []
        for host in spec.hosts:
            interfaces = routing and r.dialect.route_interfaces
            if routing and not interfaces and host.kind == DYNAMIC and host.modifiers != ("peer",):
                r.say("route spec requires :peer with dynamic interface addresses")
                return True
            if spec.af and not rule.af and not af:
                af = {6: 4, 4: 6}.get(rule.translation_af, spec.af)
            if host.af and not rule.translation_af:
                if rule.af and rule.af != host.af:
                    continue
                if not rule.af and af and af != host.af:
                    r.say(f"{what} spec contains addresses with different address families")
                    return True
            elif host.af and spec.af and spec.af != host.af:
                r.say(f"{what} spec contains addresses that don't match target address family")
                return True
            if not rule.af and not af:
                af = host.af
            if host.interface and not interfaces:
                r.say(f"@if not permitted for {what}")
                return True
            if chosen:
                if spec.kind and spec.kind not in _DYNAMIC_KINDS:
                    r.say("pool type is not valid for multiple translation or routing addresses")
                    return True
                if len(chosen) == 1 and chosen[0].kind != ADDRESS and host.kind != ADDRESS:
                    r.say("multiple tables or dynamic interfaces not supported for translation or routing")
                    return True
            chosen.append(host)
        if not rule.af and af:
            rule.af = af
        if not chosen:
            r.say(f"af mismatch in {what} spec")
            return True
        if len(chosen) > 1 and r.dialect.nat_to:
            from .print import hosts_text

            automatic = f"__automatic_{r.table_count}"
            r.table_count += 1
            r.show(f"table <{automatic}> const {{{hosts_text(chosen)} }}\n")
            chosen = [Host(TABLE, name=automatic)]
        setattr(rule, name, Pool(chosen))
        return False

    def apply(self, r: Reading, rule: Rule, dst_port: Port | None, af: int) -> bool:
        """Ports and kind of the pools, and what binat-to asks for; True after an error was said."""
        wrong = self._binat(r, rule, af) if self.binat else False
        for name, spec in (("nat", self.nat), ("rdr", self.rdr), ("route", self.route)):
            if spec is not None:
                pool = getattr(rule, name)
                wrong = _apply(r, name, spec, pool if pool is not None else Pool([]), dst_port) or wrong
        return wrong

    def _binat(self, r: Reading, rule: Rule, af: int) -> bool:
        wrong = False
        source = rule.source
        outer = rule.nat.hosts[0] if rule.nat is not None else Host("none")
        if source.kind == TABLE:
            r.say(f"invalid use of table <{source.name}> as the source address of a binat-to rule")
            wrong = True
        elif source.many():
            r.say(f"invalid use of interface ({source.name}) as the source address of a binat-to rule")
            wrong = True
        elif source.kind not in (ADDRESS, DYNAMIC) or outer.kind not in (ADDRESS, DYNAMIC):
            r.say("binat-to requires a specified source and redirect address")
            wrong = True
        if source.many() or outer.many():
            r.say("dynamic interfaces must be used with :0 in a binat-to rule")
            wrong = True
        if af and (_mask_is_zero(source) or _mask_is_zero(outer)):
            r.say("source and redir addresess must have a matching network mask in binat-rule")
            wrong = True
        if outer.kind == TABLE:
            r.say("tables cannot be used as the redirect address of a binat-to rule")
            wrong = True
        if rule.direction:
            r.say("binat-to cannot be specified with a direction")
            wrong = True
        rule.direction = "out"
        return wrong


def _mask_is_zero(host: Host) -> bool:
    # pfctl keeps a table's name where an address has its mask, so that only a long name makes it other than zero.
    return len(host.name) <= 16 if host.kind == TABLE else not host.bits


def _apply(r: Reading, name: str, spec: Redirection, pool: Pool, dst_port: Port | None) -> bool:
    pool.low = spec.low
    isrdr = name != "nat"
    if isrdr:
        if not spec.high and spec.port_op == "*":
            pool.high = spec.low + ((dst_port.high - dst_port.low) if dst_port is not None else 0)
            pool.high &= 0xFFFF
        else:
            if spec.port_op == ":" and spec.low > spec.high:
                r.say("invalid rdr-to port range")
                return True
            pool.high = spec.high
    else:
        pool.high = spec.high
        if not pool.low and not pool.high:
            pool.low, pool.high = _NAT_LOW, _NAT_HIGH
        elif not pool.high:
            pool.high = pool.low
    pool.kind = spec.kind
    first = pool.hosts[0] if pool.hosts else None
    if not pool.kind and first is not None and (first.kind == TABLE or first.many() or len(pool.hosts) > 1):
        pool.kind = "round-robin"
    if pool.kind not in _DYNAMIC_KINDS:
        for host in spec.hosts:
            if host.kind == TABLE:
                r.say("tables are not supported by pool type")
                return True
        for host in spec.hosts:
            if host.many():
                r.say(f"interface ({host.name}) is not supported by pool type")
                return True
    pool.key = spec.key
    pool.sticky = spec.sticky
    if spec.static_port:
        if isrdr:
            r.say("the 'static-port' option is only valid with nat rules")
            return True
        if pool.low != _NAT_LOW and pool.high != _NAT_HIGH:
            r.say("the 'static-port' option can't be used when specifying a port range")
            return True
        pool.low = pool.high = 0
    return False
