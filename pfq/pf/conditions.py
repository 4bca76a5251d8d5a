"""What a rule compares beside addresses: ports, users, flags, ICMP types, type of service, chance. Source: the grammar of parse.y."""

from collections.abc import Callable

from . import names
from .clauses import floating, listed, unsigned
from .lexer import NUMBER, STRING
from .nodes import IcmpType, Identity, Port
from .reading import Reading, SyntaxFault

_COMPARISONS = {"=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


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
