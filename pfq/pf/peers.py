"""The two ends of a rule, from and to: addresses, tables, dynamic interfaces, and their ports. Source: fromto, ipspec and host of parse.y."""

from collections.abc import Callable

from .clauses import INTERFACE_NAME, ROUTE_LABEL_NAME, TABLE_NAME, listed, more
from .conditions import port
from .lexer import NUMBER, STRING
from .nodes import DYNAMIC, NO_ROUTE, RANGE, ROUTE_LABEL, TABLE, URPF_FAILED, Host, Port
from .reading import Reading, SyntaxFault

# How deep lists may be nested. The stack of pfctl's parser takes some thousands, for which nobody has a use.
_DEEPEST = 100


class FromTo:
    """The addresses and ports of a rule; an empty list is `any`."""

    __slots__ = ("destination", "destination_ports", "oses", "source", "source_ports")

    def __init__(self) -> None:
        self.source: list[Host] = []
        self.source_ports: list[Port] = []
        self.oses: list[str] = []
        self.destination: list[Host] = []
        self.destination_ports: list[Port] = []


def from_to(r: Reading) -> FromTo:
    """`all`, or `from … os … to …`, each of which may be absent."""
    found = FromTo()
    if r.kinds[r.i] == "all":
        r.i += 1
        r.mark("all", r.i - 1)
        return found
    start = r.i
    if r.kinds[r.i] == "from":
        r.i += 1
        found.source, found.source_ports = peer(r)
        r.mark("from", start)
    start = r.i
    if r.kinds[r.i] == "os":
        r.i += 1
        found.oses = listed(r, Reading.string)
        r.mark("os", start)
    start = r.i
    if r.kinds[r.i] == "to":
        r.i += 1
        found.destination, found.destination_ports = peer(r)
        for host in found.destination:
            if host.kind == URPF_FAILED:
                raise r.fail('"urpf-failed" is not permitted in a destination address', ahead=True)
        r.mark("to", start)
    return found


def peer(r: Reading) -> tuple[list[Host], list[Port]]:
    """Addresses, ports, or both."""
    found: list[Host] = []
    if r.kinds[r.i] != "port":
        found = addresses(r) or []
    if r.kinds[r.i] == "port":
        r.i += 1
        return found, listed(r, port)
    return found, []


def addresses(r: Reading) -> list[Host] | None:
    """Addresses; None for `any`."""
    kind = r.kinds[r.i]
    if kind == "any":
        r.i += 1
        return None
    if kind == "{":
        return inner_list(r)
    return host_or_not(r)


def inner_list(r: Reading, item: "Callable[[Reading], list[Host] | None] | None" = None) -> list[Host] | None:
    """A list in braces, which may be in other lists."""
    if r.depth >= _DEEPEST:
        raise r.die(f"lists are nested more than {_DEEPEST} deep")
    r.depth += 1
    r.i += 1
    more(r)
    found = host_list(r, item)
    r.i += 1
    r.depth -= 1
    return found


def host_list(r: Reading, item: "Callable[[Reading], list[Host] | None] | None" = None) -> list[Host] | None:
    """The addresses up to a closing brace. A list with `any` in it is any, or is the rest of it in older releases."""
    read = item or addresses
    found = read(r)
    any_wins = r.dialect.any_wins_lists
    r.newline()
    while r.kinds[r.i] != "}":
        if r.kinds[r.i] == ",":
            r.i += 1
        following = read(r)
        r.newline()
        if found is None:
            found = None if any_wins else following
        elif following is None:
            found = None if any_wins else found
        else:
            found += following
    return found


def host_or_not(r: Reading) -> list[Host]:
    """An address, maybe with `!` before it."""
    negated = r.take("!")
    kind = r.kinds[r.i]
    if kind in (NO_ROUTE, URPF_FAILED):
        r.i += 1
        found = [Host(kind)]
    else:
        found = host(r)
    if negated:
        for one in found:
            one.negated = True
    return found


def host(r: Reading) -> list[Host]:
    """An address, network, range, interface, table or route label."""
    kind = r.kinds[r.i]
    if kind == STRING:
        value = r.values[r.i]
        r.i += 1
        following = r.kinds[r.i]
        if following == "/":
            r.i += 1
            value = f"{value}/{r.number()}"
        elif following == "-":
            r.i += 1
            return _range(r, value, r.string())
        found = r.resolver.resolve(value)
        if found is None:
            raise r.fail("could not parse host specification", ahead=following != "/")
        return found
    if kind == NUMBER:
        value = r.values[r.i]
        r.i += 1
        r.want("/")
        found = r.resolver.resolve(f"{int(value)}/{r.number()}")
        if found is None:
            raise r.fail("could not parse host specification")
        return found
    if kind == "(":
        return [dynamic(r)]
    if kind == "<":
        return [table(r)]
    if kind == "route" and r.dialect.route_labels:
        r.i += 1
        name = r.string()
        if len(name) >= ROUTE_LABEL_NAME:
            raise r.fail(f"route label too long, max {ROUTE_LABEL_NAME - 1} chars")
        return [Host(ROUTE_LABEL, name=name)]
    raise SyntaxFault


def _range(r: Reading, low: str, high: str) -> list[Host]:
    first = r.resolver.resolve(low)
    last = r.resolver.resolve(high) if first is not None else None
    if first is None or last is None:
        raise r.fail("could not parse host specification")
    a, b = first[0], last[0]
    whole = 32 if a.af == 4 else 128
    if a.af != b.af or a.bits != whole or b.bits != whole or len(first) > 1 or len(last) > 1:
        raise r.fail("invalid address range")
    a.kind = RANGE
    a.end = b.value
    return [a]


def table(r: Reading) -> Host:
    """A table in a rule."""
    r.want("<")
    name = r.string()
    r.want(">")
    if len(name) >= TABLE_NAME:
        raise r.fail(f"table name '{name}' too long")
    return Host(TABLE, name=name)


def dynamic(r: Reading) -> Host:
    """An interface in parentheses, maybe with a mask."""
    from .hosts import modifiers_of

    r.want("(")
    text = r.string()
    r.want(")")
    if not (text[:1].isascii() and text[:1].isalpha()):
        raise r.fail(f"invalid interface name '{text}'")
    name, modifiers, bad = modifiers_of(text)
    if bad:
        raise r.fail(f"interface {name} has bad modifier")
    if len({"network", "broadcast", "peer"} & set(modifiers)) > 1:
        raise r.fail("illegal combination of interface modifiers")
    if len(name) >= INTERFACE_NAME:
        raise r.fail("interface name too long")
    found = Host(DYNAMIC, bits=128, name=name)
    found.modifiers = modifiers
    if r.kinds[r.i] == "/":
        r.i += 1
        bits = r.number()
        if not 0 <= bits <= 128:
            raise r.fail("bit number too big")
        found.bits = bits
    return found
