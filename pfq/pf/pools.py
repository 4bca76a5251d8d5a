"""Where rules translate and route to: addresses with ports and pool options.

Source: redirspec, redirpool, routespec, pool_opt and hashkey of parse.y.
"""

from . import conditions, peers
from .lexer import NUMBER, STRING
from .nodes import ADDRESS, Host
from .reading import Reading, SyntaxFault
from .redirect import Redirection

_KINDS = ("bitmask", "random", "source-hash", "round-robin", "least-states")
# What pfctl draws at random for a source-hash without a key. A verdict that changes every time could not be compared.
RANDOM_KEY = "0x" + "0" * 32


def hosts(r: Reading, routing: bool = False) -> list[Host]:
    """The addresses of a pool, one or a list in braces."""
    if r.kinds[r.i] != "{":
        found = peers.host(r)
        weight(r, found)
        return found
    r.i += 1
    r.newline()
    found = peers.host(r)
    if r.dialect.nat_to and found[0].kind != ADDRESS:
        raise r.fail("only addresses can be listed for redirection pools ", ahead=True)
    weight(r, found)
    r.newline()
    while r.kinds[r.i] != "}":
        if r.kinds[r.i] == ",":
            r.i += 1
        following = peers.host(r)
        weight(r, following)
        r.newline()
        found += following
    r.i += 1
    return found


def weight(r: Reading, found: list[Host]) -> None:
    if r.kinds[r.i] == "weight":
        r.i += 1
        number = r.number()
        if not 1 <= number <= 65535:
            raise r.fail("weight out of range")
        for host in found:
            host.weight = number


def redirection(r: Reading) -> Redirection:
    """Addresses, maybe with `port`, and pool options behind them."""
    found = Redirection(hosts(r))
    if r.take("port"):
        target_port(r, found)
    pool_options(r, found)
    return found


def target_port(r: Reading, found: Redirection) -> None:
    """The port of a redirection: one, a range, or one and all that follow it."""
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    if kind == NUMBER:
        found.low = conditions.service(r, str(int(value)))
        return
    if kind != STRING:
        r.i -= 1
        raise SyntaxFault
    first, colon, second = value.partition(":")
    found.low = conditions.service(r, first)
    if colon and second == "*":
        found.port_op = "*"
    elif colon:
        found.high = conditions.service(r, second)
        if found.low == found.high:
            found.high = 0
        else:
            found.port_op = ":"


def pool_options(r: Reading, found: Redirection) -> None:
    """How an address of the pool is picked, and whether ports are kept."""
    start = r.i
    while True:
        kind = r.kinds[r.i]
        if kind in _KINDS:
            r.i += 1
            key = _hash_key(r) if kind == "source-hash" else ""
            if found.kind:
                raise r.fail("pool type cannot be redefined")
            found.kind = kind
            found.key = key
        elif kind == "static-port":
            r.i += 1
            if found.static_port:
                raise r.fail("static-port cannot be redefined")
            found.static_port = True
        elif kind == "sticky-address":
            r.i += 1
            if found.sticky and r.dialect.nat_to:
                raise r.fail("sticky-address cannot be redefined")
            found.sticky = True
        elif kind == "prefer-ipv6-nexthop":
            r.i += 1
            if found.of_ipv6:
                raise r.fail("prefer-ipv6-nexthop cannot be redefined")
            found.of_ipv6 = True
        else:
            break
    r.mark("pool", start)


def _hash_key(r: Reading) -> str:
    if r.kinds[r.i] != STRING:
        return RANDOM_KEY
    text = r.strings()
    if text.startswith("0x"):
        if len(text) != 34:
            raise r.fail("hex key must be 128 bits (32 hex digits) long", ahead=True)
        words = []
        for at in range(2, 34, 8):
            part = text[at : at + 8]
            digits = ""
            for c in part:
                if c not in "0123456789abcdefABCDEF":
                    break
                digits += c
            if digits != part and (not digits or at < 26):
                raise r.fail("invalid hex key", ahead=True)
            words.append(f"{int(digits, 16):08x}")
        return "0x" + "".join(words)
    from hashlib import md5

    return "0x" + md5(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
