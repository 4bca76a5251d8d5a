"""The parts that statements share: direction, log, interfaces, protocols, addresses, ports, users, flags, ICMP types.

Every function reads its part at the cursor and leaves the cursor behind it. Source: the grammar of parse.y; the few
differences between releases are features of the dialect.
"""

from collections.abc import Callable

from . import names
from .lexer import NUMBER, STRING
from .nodes import DYNAMIC, NO_ROUTE, RANGE, ROUTE_LABEL, TABLE, URPF_FAILED, Host, IcmpType, Identity, InterfaceName, Port
from .reading import Reading, SyntaxFault

# mypy takes a name like this for true; importing typing would cost what reading a small ruleset costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Item = TypeVar("Item")

# Names as long as this or longer do not fit: table names, tags, labels, queue names, interface names, route labels.
TABLE_NAME = 32
TAG_NAME = 64
LABEL = 64
QUEUE_NAME = 64
INTERFACE_NAME = 16
ROUTE_LABEL_NAME = 32
# How deep lists may be nested. The stack of pfctl's parser takes some thousands, for which nobody has a use.
_DEEPEST = 100

_COMPARISONS = {"=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def listed(r: Reading, item: "Callable[[Reading], Item]") -> "list[Item]":
    """One item, or a list of them in braces: commas are optional, line ends may follow items."""
    if r.kinds[r.i] != "{":
        return [item(r)]
    r.i += 1
    more(r)
    items = [item(r)]
    r.newline()
    while r.kinds[r.i] != "}":
        if r.kinds[r.i] == ",":
            r.i += 1
        items.append(item(r))
        r.newline()
    r.i += 1
    return items


def more(r: Reading) -> None:
    """Step over the line ends that may follow an opening brace."""
    r.newline()


def direction(r: Reading) -> str:
    """`in`, `out`, or ''."""
    kind = r.kinds[r.i]
    if kind in ("in", "out"):
        r.i += 1
        return kind
    return ""


def log_and_quick(r: Reading) -> tuple[tuple[frozenset[str], int] | None, bool]:
    """The log options and interface, None without `log`; and whether `quick` is there. In either order."""
    quick = r.take("quick")
    logging = None
    if r.kinds[r.i] == "log":
        logging = log(r)
        quick = quick or r.take("quick")
    return logging, quick


def log(r: Reading) -> tuple[frozenset[str], int]:
    """`log`, with its options in parentheses."""
    start = r.i
    r.i += 1
    options: set[str] = set()
    interface = 0
    if r.take("("):
        while True:
            kind = r.kinds[r.i]
            r.i += 1
            if kind == "all":
                options.add("all")
            elif kind == "user" or (kind == "group" and not r.dialect.log_matches):
                options.add("user")
            elif kind == "matches":
                options.add("matches")
            elif kind == "to":
                interface = _log_interface(r) or interface
            else:
                r.i -= 1
                raise SyntaxFault
            if r.take(")"):
                break
            r.take(",")
    r.mark("log", start)
    return frozenset(options), interface


def _log_interface(r: Reading) -> int:
    name = r.strings()
    if not name.startswith("pflog"):
        raise r.fail(f"{name}: should be a pflog interface", ahead=True)
    digits = name[5:]
    if not digits.isdigit() or not digits.isascii():
        raise r.fail(f"{name}: invalid", ahead=True)
    if int(digits[:9]) > 255:
        raise r.fail(f"{name}: too large", ahead=True)
    return int(digits)


def interfaces(r: Reading) -> list[InterfaceName]:
    """`on` and its interfaces; empty without it."""
    if r.kinds[r.i] != "on":
        return []
    start = r.i
    r.i += 1
    found = listed(r, interface_or_not)
    r.mark("on", start)
    return found


def interface_or_not(r: Reading) -> InterfaceName:
    """An interface, maybe with `!` before it."""
    negated = r.take("!")
    found = interface(r)
    found.negated = negated
    return found


def interface(r: Reading) -> InterfaceName:
    """The name of an interface or group."""
    kind = r.kinds[r.i]
    if kind == "any" and r.dialect.any_interface:
        r.i += 1
        return InterfaceName("any")
    if kind == "rdomain":
        r.i += 1
        number = r.number()
        if not 0 <= number <= 255:
            r.say(f"rdomain {number} outside range", ahead=False)
        return InterfaceName("", rdomain=number)
    name = r.string()
    if len(name) >= INTERFACE_NAME:
        raise r.fail("interface name too long")
    return InterfaceName(name)


def family(r: Reading) -> int:
    """`inet` is 4, `inet6` is 6, neither is 0."""
    kind = r.kinds[r.i]
    if kind == "inet":
        r.i += 1
        return 4
    if kind == "inet6":
        r.i += 1
        return 6
    return 0


def protocols(r: Reading) -> list[int]:
    """`proto` and its protocols; empty without it."""
    if r.kinds[r.i] != "proto":
        return []
    start = r.i
    r.i += 1
    found = listed(r, protocol)
    r.mark("proto", start)
    return found


def protocol(r: Reading) -> int:
    """A protocol by name or number, never 0."""
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    if kind == STRING:
        number = r.system.protocols.numbers.get(value)
        if number is None:
            raise r.fail(f"unknown protocol {value}")
    elif kind == NUMBER:
        number = int(value)
        if not 0 <= number <= 255:
            raise r.fail("protocol outside range")
    else:
        r.i -= 1
        raise SyntaxFault
    if number == 0:
        raise r.fail("proto 0 cannot be used")
    return number


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


def comparison(r: Reading) -> str:
    """A comparison operator, or ''. Older releases make `!=`, `<=` and `>=` of two tokens."""
    kind = r.kinds[r.i]
    if kind not in _COMPARISONS and kind != "!":
        return ""
    if r.dialect.comparison_tokens:
        if kind == "!":
            return ""
        r.i += 1
        return kind
    r.i += 1
    if kind in "!<>" and r.take("="):
        return kind + "="
    if kind == "!":
        raise SyntaxFault
    return kind


def port(r: Reading) -> Port:
    """A port, a range, or a comparison."""
    op = comparison(r)
    low, high, ranged = port_range(r)
    if op:
        if ranged:
            raise r.fail("':' cannot be used with an other port operator")
        return Port(op, low)
    binary = r.kinds[r.i]
    if binary in ("<>", "><"):
        r.i += 1
        last, _, ranged_too = port_range(r)
        if ranged or ranged_too:
            raise r.fail("':' cannot be used with an other port operator")
        if r.dialect.port_numbers_printed and (low >= last if binary == "><" else low > last):
            raise r.fail("invalid port range")
        return Port(binary, low, last)
    if ranged:
        if r.dialect.port_numbers_printed and low > high:
            raise r.fail("invalid port range", ahead=True)
        return Port(":", low, high)
    return Port("=", low)


def port_range(r: Reading) -> tuple[int, int, bool]:
    """A port by name or number, or two with a colon: low, high, and whether there were two."""
    kind = r.kinds[r.i]
    value = r.values[r.i]
    if kind == NUMBER:
        r.i += 1
        return service(r, str(int(value))), 0, False
    if kind != STRING:
        raise SyntaxFault
    r.i += 1
    first, colon, second = value.partition(":")
    if not colon:
        return service(r, value), 0, False
    low = service(r, first)
    high = service(r, second)
    if low == high and r.dialect.one_port_ranges:
        return low, 0, False
    return low, high, True


def service(r: Reading, text: str) -> int:
    """The port number of a service or numeral."""
    number = unsigned(text)
    if number is not None:
        if number > 65535:
            raise r.fail(f"illegal port value {number if not text.startswith('-') or r.dialect.signed_messages else text}")
        return number
    found = r.system.services.port(text)
    if found is None:
        raise r.fail(f"unknown port {text}")
    return found


def number(r: Reading) -> int:
    """A number, or a string that is one in another base."""
    if r.kinds[r.i] != STRING:
        return r.number()
    text = r.string()
    found = unsigned(text)
    if found is None:
        raise r.fail(f"{text} is not a number")
    return found


def unsigned(text: str) -> int | None:
    """strtoul(3) in base 0, all of the text: None when it is no number or does not fit 64 bits."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not digits or not digits.isascii() or not digits[0].isdigit():
        return None
    try:
        number = int(digits, 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10)
    except ValueError:
        return None
    if "_" in digits or number >= 2**64:
        return None
    return (-number) % 2**64 if text[0] == "-" else number


def identity(what: str, ids: str) -> "Callable[[Reading], Identity]":
    """A reader of `user` or `group` conditions; `ids` is the attribute of the system that knows the names."""

    def one(r: Reading) -> int:
        kind = r.kinds[r.i]
        value = r.values[r.i]
        if kind == NUMBER:
            r.i += 1
            number = int(value)
            if not 0 <= number < 2**32 - 1:
                raise r.fail(f"illegal {what[0]}id value {number % 2**64 if not r.dialect.signed_messages else number}")
            return number
        if kind != STRING:
            raise SyntaxFault
        r.i += 1
        if value == "unknown":
            return -1
        table: dict[str, int] = getattr(r.system, ids)
        if value not in table:
            raise r.fail(f"unknown {what} {value}")
        return table[value]

    def read(r: Reading) -> Identity:
        op = comparison(r)
        low = one(r)
        if op:
            if low == -1 and op not in ("=", "!="):
                raise r.fail(f"{what} unknown requires operator = or !=")
            return Identity(op, low, low)
        binary = r.kinds[r.i]
        if binary in ("<>", "><"):
            r.i += 1
            high = one(r)
            if low == -1 or high == -1:
                raise r.fail(f"{what} unknown requires operator = or !=")
            return Identity(binary, low, high)
        return Identity("=", low, low)

    return read


user = identity("user", "users")
group = identity("group", "user_groups")


def flags(r: Reading) -> tuple[int, int]:
    """`flags A/B`, `/B` or `any`: the flags that must be set, and those that are looked at."""
    start = r.i
    r.want("flags")
    if r.take("any"):
        found = (0, 0)
    elif r.take("/"):
        found = (0, _flag(r))
    else:
        first = _flag(r)
        r.want("/")
        found = (first, _flag(r))
    r.mark("flags", start)
    return found


def _flag(r: Reading) -> int:
    text = r.string()
    mask = 0
    for letter in text:
        at = names.TCP_FLAGS.find(letter)
        if at < 0:
            raise r.fail(f"bad flags {text}")
        mask |= 1 << at
    return mask or 0xFF


def flags_text(mask: int) -> str:
    """The letters of a set of flags."""
    return "".join(letter for bit, letter in enumerate(names.TCP_FLAGS) if mask >> bit & 1)


def icmp(r: Reading) -> list[IcmpType]:
    """`icmp-type` or `icmp6-type` and its types."""
    start = r.i
    six = r.kinds[r.i] == "icmp6-type"
    r.i += 1
    found = listed(r, _icmp6_item if six else _icmp_item)
    r.mark("icmp", start)
    return found


def _icmp_item(r: Reading) -> IcmpType:
    return _icmp(r, "icmp", 1, names.ICMP_TYPES, names.ICMP_CODES)


def _icmp6_item(r: Reading) -> IcmpType:
    types = names.ICMP6_TYPES | names.ICMP6_TYPES_LATER if r.dialect.icmp_mld2 else names.ICMP6_TYPES
    return _icmp(r, "icmp6", 58, types, names.icmp6_codes(r.dialect.nat_to))


def _icmp(r: Reading, word: str, proto: int, types: dict[str, int], codes: dict[tuple[int, str], int]) -> IcmpType:
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    if kind == STRING:
        if value not in types:
            raise r.fail(f"unknown {word}-type {value}")
        number = types[value]
    elif kind == NUMBER:
        number = int(value)
        if not 0 <= number <= 255:
            raise r.fail(f"illegal {word}-type {_printed(r, number)}")
    else:
        r.i -= 1
        raise SyntaxFault
    if not r.take("code"):
        return IcmpType(proto, number, -1)
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    if kind == STRING:
        if (number, value) not in codes:
            raise r.fail(f"unknown {word}-code {value}")
        return IcmpType(proto, number, codes[number, value])
    if kind != NUMBER:
        r.i -= 1
        raise SyntaxFault
    code = int(value)
    if not 0 <= code <= 255:
        raise r.fail(f"illegal icmp-code {_printed(r, code)}")
    return IcmpType(proto, number, code)


def _printed(r: Reading, number: int) -> int:
    """A number as the release's format prints it: older ones take it for an unsigned one."""
    return number if r.dialect.signed_messages else number % 2**32


def tos(r: Reading) -> int:
    """A ToS byte by name or number."""
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    zero = r.dialect.tos_zero
    if kind == STRING:
        table = names.TOS if r.dialect.dscp_names else names.TOS_OLD
        number = table.get(value.lower() if r.dialect.dscp_names else value)
        if number is None and value[:2] == "0x":
            digits = value[2:]
            hexadecimal = all(c in "0123456789abcdefABCDEF" for c in digits)
            number = int(digits or "0", 16) if hexadecimal else None if zero else 0
        if number is None or number > 255 or (not zero and not number):
            raise r.fail(f"illegal tos value {value}")
        return number
    if kind != NUMBER:
        r.i -= 1
        raise SyntaxFault
    number = int(value)
    if not 0 <= number <= 255 or (not zero and not number):
        raise r.fail(f"illegal tos value {number}")
    return number


def probability(r: Reading) -> int:
    """A probability as pf keeps it: a fraction of 2^32 - 1, never 0."""
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    if kind == NUMBER:
        fraction = float(int(value))
    elif kind == STRING:
        fraction, rest = floating(value)
        if rest.startswith("%"):
            fraction *= 0.01
            rest = rest[1:]
        if rest:
            raise r.fail(f"invalid probability: {value}")
    else:
        r.i -= 1
        raise SyntaxFault
    whole = fraction * (2**32 - 1) + 0.5
    if not 0 <= whole < 2**32:
        if r.dialect.signed_messages:
            raise r.fail(f"invalid probability: {fraction * 100:g}%")
        raise r.fail(f"invalid probability: {float(int(whole)) if abs(whole) < 1e300 else whole:f}")
    return int(whole) or 1


def floating(text: str) -> tuple[float, str]:
    """strtod(3): the number at the head of a text (0 without one), and the rest."""
    import re

    match = re.match(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", text)
    if match is None:
        return 0.0, text
    return float(match.group()), text[match.end() :]


def rtable(r: Reading) -> int:
    """`rtable N`, the cursor behind the word."""
    number = r.number()
    if not 0 <= number <= 255:
        raise r.fail("invalid rtable id")
    known = r.system.rtables
    if known is not None and number not in known:
        raise r.fail(f"rtable {number} does not exist")
    return number
