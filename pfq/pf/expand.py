"""From a statement with lists to the rules it stands for, in pfctl's order.

Source: expand_rule and the label functions of parse.y.
"""

from itertools import product

from .consistent import consistent
from .hosts import address_text, is_any
from .nodes import ADDRESS, ANY, DYNAMIC, TABLE, Anchor, Host, IcmpType, Identity, InterfaceName, Port, Rule
from .reading import Reading
from .redirect import Pools

# mypy takes a name like this for true; importing typing would cost what reading a small ruleset costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Combination = tuple[
        InterfaceName, int, IcmpType | None, Host, Port | None, str, Host, Port | None, Identity | None, Identity | None
    ]

_NO_INTERFACE = InterfaceName("")
_LABEL_SPACE = 64


class Lists:
    """What a rule lists; an empty list is one that was not written."""

    __slots__ = (
        "destination", "destination_ports", "groups", "icmp", "interfaces", "oses", "protocols", "source", "source_ports",
        "users",
    )

    def __init__(
        self,
        interfaces: list[InterfaceName],
        protocols: list[int],
        icmp: list[IcmpType],
        source: list[Host],
        source_ports: list[Port],
        oses: list[str],
        destination: list[Host],
        destination_ports: list[Port],
        users: list[Identity],
        groups: list[Identity],
    ) -> None:
        self.interfaces = interfaces
        self.protocols = protocols
        self.icmp = icmp
        self.source = source
        self.source_ports = source_ports
        self.oses = oses
        self.destination = destination
        self.destination_ports = destination_ports
        self.users = users
        self.groups = groups

    def size(self) -> int:
        """How many combinations there are."""
        return (
            (len(self.interfaces) or 1) * (len(self.protocols) or 1) * (len(self.icmp) or 1) * (len(self.oses) or 1)
            * (len(self.source) or 1) * (len(self.source_ports) or 1) * (len(self.users) or 1)
            * (len(self.destination) or 1) * (len(self.destination_ports) or 1) * (len(self.groups) or 1)
        )


def _combinations(r: Reading, lists: Lists) -> "Iterator[Combination]":
    """Every combination, in the order in which the lists turn, the last one fastest."""
    interfaces = lists.interfaces or (_NO_INTERFACE,)
    protocols = lists.protocols or (0,)
    icmp = lists.icmp or (None,)
    source = lists.source or (ANY,)
    source_ports = lists.source_ports or (None,)
    oses = lists.oses or ("",)
    destination = lists.destination or (ANY,)
    destination_ports = lists.destination_ports or (None,)
    users = lists.users or (None,)
    groups = lists.groups or (None,)
    if not r.dialect.nat_to:
        return product(
            interfaces, protocols, icmp, source, source_ports, oses, destination, destination_ports, users, groups
        )
    # The order changed with the redirection options of filter rules.
    return (
        (a, b, c, d, f, h, e, g, i, j)
        for a, b, c, d, e, f, g, h, i, j in product(
            interfaces, protocols, icmp, source, destination, source_ports, destination_ports, oses, users, groups
        )
    )


def expand(r: Reading, base: Rule, lists: Lists, pools: Pools | None = None) -> None:
    """Add a rule for every combination that goes together."""
    added = 0
    wrong = False
    r.count_combinations(lists.size())
    for combination in _combinations(r, lists):
        rule = base.copy()
        if pools is not None:
            wrong = pools.collapse(r, rule) or wrong
            if _names_interface(combination[3]) or _names_interface(combination[6]):
                r.say("@if syntax not permitted in from or to")
                wrong = True
        src, dst = combination[3], combination[6]
        if (src.af or dst.af) and not _families_fit(rule, combination[0].name, src, dst):
            continue
        wrong = _fill(r, rule, combination) or wrong
        if pools is not None:
            wrong = pools.apply(r, rule, combination[7], base.af) or wrong
        if not consistent(r, rule) or wrong:
            r.say("skipping rule due to errors")
        else:
            r.add_rule(rule)
            added += 1
        if pools is not None and pools.binat and not wrong:
            _inbound(r, rule, combination, pools)
    if not added:
        r.say("rule expands to no valid combination")


def _names_interface(host: Host) -> bool:
    return host.kind == ADDRESS and bool(host.interface)


def _families_fit(rule: Rule, interface: str, src: Host, dst: Host) -> bool:
    """Whether the addresses go together, and the rule's family from them."""
    af = rule.af
    if (src.af and dst.af and src.af != dst.af) or (
        af and ((src.af and af != src.af) or (dst.af and af != dst.af))
    ):
        return False
    # A link-local address goes with its own interface only.
    if src.scope and (
        (dst.scope and src.scope != dst.scope) or (interface and src.scope != interface)
    ):
        return False
    if dst.scope and interface and dst.scope != interface:
        return False
    rule.af = af or src.af or dst.af
    return True


def _fill(r: Reading, rule: Rule, combination: "Combination") -> bool:
    """Give a rule its part of the lists; True after an error was said."""
    interface, proto, icmp_type, src, src_port, os, dst, dst_port, user, group = combination
    wrong = False
    rule.interface = interface.name or src.scope or dst.scope
    rule.interface_negated = interface.negated
    rule.rdomain = interface.rdomain
    rule.proto = proto
    if rule.more_labels:
        rule.more_labels = tuple(_label(r, text, rule, combination) for text in rule.more_labels)
    if "$" in rule.label or "$" in rule.tag or "$" in rule.tagged:
        _expand_labels(r, rule, combination)
    if src.bits > 32 or dst.bits > 32:
        src, wrong = _family_mask(r, src, rule.af)
        dst, wrong_too = _family_mask(r, dst, rule.af)
        wrong = wrong or wrong_too
    rule.source = src
    rule.source_port = src_port
    rule.destination = dst
    rule.destination_port = dst_port
    rule.user = user
    rule.group = group
    rule.os = os
    if proto and proto != 6:
        rule.flags = rule.flagset = 0
        if rule.state in ("modulate", "synproxy"):
            rule.state = "keep"
    if icmp_type is not None:
        rule.icmp_type = icmp_type.type
        rule.icmp_code = icmp_type.code
        if proto != icmp_type.proto:
            r.say("icmp-type mismatch")
            wrong = True
    return wrong


def _inbound(r: Reading, outbound: Rule, combination: "Combination", pools: Pools) -> None:
    """The second rule of a binat-to: what comes in for the outer address goes to the inner one."""
    interface, proto, icmp_type, src, src_port, os, dst, dst_port, user, group = combination
    if outbound.nat is None or pools.nat is None:
        return
    base = outbound.copy()
    base.direction = "in"
    base.nat = None
    outer = outbound.nat.hosts[0].copy()
    outer.negated = False
    inner = src.copy()
    inner.interface = ""
    back = Pools(None, pools.nat.back_to([inner]), None, pools.route_kind)
    expand(
        r,
        base,
        Lists(
            [] if interface is _NO_INTERFACE else [interface],
            [proto] if proto else [],
            [icmp_type] if icmp_type else [],
            [] if dst is ANY else [dst],
            [dst_port] if dst_port else [],
            [os] if os else [],
            [outer],
            [src_port] if src_port else [],
            [user] if user else [],
            [group] if group else [],
        ),
        back,
    )


def _expand_labels(r: Reading, rule: Rule, combination: "Combination") -> None:
    for field in ("label", "tag", "tagged"):
        text = getattr(rule, field)
        if "$" in text:
            text = _label(r, text, rule, combination)
            if len(text) >= _LABEL_SPACE:
                raise r.die("expand_label: label too long")
            setattr(rule, field, text)


def _family_mask(r: Reading, host: Host, af: int) -> tuple[Host, bool]:
    """The host with a mask that fits IPv4 where the rule is IPv4, and whether that failed."""
    if af != 4 or host.bits <= 32 or host.kind == TABLE:
        return host, False
    if host.kind == DYNAMIC:
        if r.dialect.nat_to:
            host = host.copy()
        # Older releases change the address itself, so that later IPv6 rules of the same statement get /32 as well.
        host.bits = 32
        return host, False
    r.stderr.append(f"netmask {host.bits} invalid for IPv4 address\n")
    return host, True


def _label(r: Reading, text: str, rule: Rule, combination: "Combination") -> str:
    """A label or tag with the rule's own values for $if, $srcaddr, $dstaddr, $srcport, $dstport, $proto and $nr."""
    _, _, _, src, src_port, _, dst, dst_port, _, _ = combination
    for name, value in (
        ("$if", rule.interface or "any"),
        ("$srcaddr", _label_address(src, rule.af)),
        ("$dstaddr", _label_address(dst, rule.af)),
        ("$srcport", _label_port(src_port)),
        ("$dstport", _label_port(dst_port)),
        ("$proto", r.system.protocols.names.get(rule.proto, str(rule.proto))),
    ):
        if name in text:
            text = text.replace(name, value)
    if not r.dialect.nat_to and "$nr" in text:
        text = text.replace("$nr", str(r.stack[-1].matches))
    return text


def _label_address(host: Host, af: int) -> str:
    if host.kind == DYNAMIC:
        text = f"({host.name})"
    elif host.kind == TABLE:
        text = f"<{host.name}>"
    elif host.kind == ADDRESS:
        if not af or is_any(host):
            text = "any"
        else:
            text = address_text(af, host.value)
            if host.bits < (32 if af == 4 else 128):
                text += f"/{host.bits}"
    else:
        text = host.kind if host.kind in ("no-route", "urpf-failed") else "?"
    return f"! {text}" if host.negated else text


def _label_port(port: Port | None) -> str:
    if port is None or port.op == ":":
        return ""
    if port.op in ("><", "<>"):
        return f"{port.low}{port.op}{port.high}"
    return str(port.low) if port.op == "=" else f"{port.op}{port.low}"


def new_anchor(name: str, new: bool) -> Anchor:
    """An anchor that is called by name and filled by others. Older releases keep the last slash in its short name."""
    _, slash, last = name.rpartition("/")
    return Anchor(last if new else slash + last, name)
