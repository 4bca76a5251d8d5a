"""The parts that statements share: direction, log, interfaces, protocols, numbers. Addresses are in `peers`, the rest in `conditions`.

Every function reads its part at the cursor and leaves the cursor behind it. Source: the grammar of parse.y; the few
differences between releases are features of the dialect.
"""

from collections.abc import Callable

from .lexer import NUMBER, STRING
from .nodes import InterfaceName
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
