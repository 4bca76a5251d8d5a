"""Anchors, by name or with their rules in braces, and antispoof. Source: anchorrule, pfa_anchor and antispoof of parse.y."""

from . import clauses, peers
from .expand import Lists, expand, new_anchor
from .filters import decide_family
from .lexer import STRING
from .nodes import DYNAMIC, Anchor, Host, InterfaceName, Rule
from .options import filter_options, only_tcp, settle
from .order import FILTER, ordered
from .reading import Reading, SyntaxFault
from .rule_options import Options


def anchor_rule(r: Reading) -> None:
    """`anchor`, by name, or with its rules in braces, or both."""
    r.i += 1
    name = anchor_name(r)
    rule = Rule()
    rule.direction = clauses.direction(r)
    rule.quick = r.take("quick")
    interfaces = clauses.interfaces(r)
    rule.af = clauses.family(r)
    protocols = clauses.protocols(r)
    ends = peers.from_to(r)
    options = Options()
    filter_options(r, rule, options)
    r.mark("head", r.first)
    inner = _inline(r) if r.kinds[r.i] == "{" else None
    if inner is None:
        r.at_end()
    ordered(r, FILTER)
    new = r.dialect.nat_to
    if not new and name is not None and (name.startswith("_") or "/_" in name):
        raise r.fail("anchor names beginning with '_' are reserved for internal use", ahead=True)
    here = r.stack[-1]
    if inner is not None:
        if new and name is not None and "/" in name:
            raise r.fail("anchor paths containing '/' cannot be used for inline anchors.", ahead=True)
        rule.anchor = _settle_inline(r, here, inner, name)
    else:
        if name is None:
            raise r.fail("anchors without explicit rules must specify a name", ahead=True)
        if new and name.endswith("/"):
            raise r.fail(f"anchorrule: bad anchor name {name}", ahead=True)
        rule.anchor = new_anchor(name, new)
    rule.action = "pass"
    if (new and options.flags not in (None, (0, 0))) or (new and ends.oses):
        only_tcp(r, options, protocols, bool(ends.oses), "applies")
    settle(r, rule, options)
    if not new and (options.flags not in (None, (0, 0)) or ends.oses):
        only_tcp(r, options, protocols, bool(ends.oses), "applies")
    if not new:
        # An anchor's queue is read and dropped.
        rule.queue = rule.ack_queue = ""
        rule.allow_opts = False
    if options.state:
        raise r.fail("cannot specify state handling on anchors", ahead=True)
    if options.route_kind and new:
        raise r.fail("cannot specify route handling on anchors", ahead=True)
    if new:
        rule.fragment = options.fragment
    rule.af = decide_family(ends.source, rule.af)
    rule.af = decide_family(ends.destination, rule.af)
    expand(
        r,
        rule,
        Lists(
            interfaces, protocols, options.icmp or [], ends.source, ends.source_ports, ends.oses, ends.destination,
            ends.destination_ports, options.users, options.groups,
        ),
    )


def anchor_name(r: Reading) -> str | None:
    """The name of an anchor, None without one."""
    if r.kinds[r.i] != STRING:
        return None
    name = r.string()
    r.mark("name", r.i - 1)
    if r.dialect.nat_to:
        if not name:
            raise r.fail("anchor name must not be empty")
        if len(name) + len(r.stack[-1].path) + 1 >= 1024:
            raise r.fail("anchor name is longer than 1023")
        if name.startswith("_") or "/_" in name:
            raise r.fail("anchor names beginning with '_' are reserved for internal use")
    return name


# pfctl's own limit is 64; ours keeps Python's stack well clear.
_DEEPEST = 64


def _inline(r: Reading) -> Anchor:
    """The rules in braces."""
    from .statements import inline_statement

    r.i += 1
    if len(r.stack) >= _DEEPEST:
        raise r.die("pfa_anchor: anchors too deep")
    r.inline_numbers += 1
    inner = Anchor(f"_{r.inline_numbers}", f"_{r.inline_numbers}", inline=True)
    # After a fault inside, pfctl stays in the anchor; nothing is printed then, so only counting must agree.
    r.stack.append(inner)
    if r.kinds[r.i] != "\n":
        raise SyntaxFault
    r.newline()
    while r.kinds[r.i] != "}":
        r.inside(inline_statement)
        if r.kinds[r.i] != "\n":
            raise SyntaxFault
        r.newline()
    r.i += 1
    r.stack.pop()
    return inner


def _settle_inline(r: Reading, here: Anchor, inner: Anchor, name: str | None) -> Anchor:
    if name is None:
        here.children[inner.name] = inner
        return inner
    place = here
    for part in name.split("/"):
        if part not in place.children:
            place.children[part] = Anchor(part, f"{place.path}/{part}".lstrip("/"), inline=True)
        place = place.children[part]
    if place.matches:
        raise r.fail(f"inline anchor '{place.name}' already exists", ahead=True)
    place.rules = inner.rules
    place.matches = inner.matches
    for child, anchor in inner.children.items():
        place.children.setdefault(child, anchor)
    return place


def antispoof(r: Reading) -> None:
    """`antispoof for`: block rules made of the interface's networks and addresses."""
    r.i += 1
    logging, quick = clauses.log_and_quick(r)
    r.want("for")
    interfaces = clauses.listed(r, _antispoof_interface)
    af = clauses.family(r)
    label: str | None = None
    rtable = -1
    while r.kinds[r.i] in ("label", "rtable"):
        kind = r.kinds[r.i]
        r.i += 1
        if kind == "rtable":
            rtable = clauses.rtable(r)
            continue
        text = r.string()
        if label is not None:
            raise r.fail("label cannot be redefined")
        label = text
    r.at_end()
    ordered(r, FILTER)
    for interface in interfaces:
        rule = Rule()
        rule.action = "block"
        rule.direction = "in"
        rule.quick = quick
        rule.af = af
        rule.rtable = rtable
        if logging is not None:
            rule.log = True
            rule.log_options, rule.log_interface = logging
        if label is not None:
            if len(label) >= clauses.LABEL:
                raise r.fail(f"rule label too long (max {clauses.LABEL - 1} chars)", ahead=True)
            rule.label = label
        _antispoof_rules(r, rule, interface)


def _antispoof_interface(r: Reading) -> InterfaceName:
    if r.take("("):
        found = clauses.interface(r)
        r.want(")")
        found.dynamic = True
        return found
    return clauses.interface(r)


def _antispoof_rules(r: Reading, rule: Rule, interface: InterfaceName) -> None:
    def rules(base: Rule, on: list[InterfaceName], hosts: list[Host]) -> None:
        expand(r, base, Lists(on, [], [], hosts, [], [], [], [], [], []))

    name = interface.name
    if interface.dynamic:
        network = [Host(DYNAMIC, bits=128, name=name)]
        network[0].modifiers = ("network",)
        own = [Host(DYNAMIC, bits=128, name=name)]
    else:
        network = r.resolver.lookup(name, ("network",))
        own = r.resolver.lookup(name, ())
    if network:
        rules(rule, [InterfaceName(name, negated=True)], network)
    known = r.system.interface(name)
    if known is None or not known.loopback:
        second = rule.copy()
        if not r.dialect.nat_to:
            second.log_interface = 0
        if own:
            rules(second, [], own)
