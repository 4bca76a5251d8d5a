"""What an nft rule looks at, as read. Numbers are as on the wire, most significant bit first; a name of an interface is 16 bytes.

Nodes compare by what they say; `place` says where.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pfq.diagnostics import Place

Base = Literal["link", "network", "transport", "inner"]
Operator = Literal["==", "!=", "<", ">", "<=", ">=", "any"]

# Bits of a name of an interface.
NAME_BITS = 128


@dataclass(frozen=True, slots=True)
class Load:
    """Bits of the packet from `offset` on, `width` of them, counted from the beginning of a header.

    `needs`: what nft asks first by itself: ("family", 4) or ("protocol", 6). The load fails where the packet ends before, and the rule does not match.
    """

    base: Base
    offset: int
    width: int
    needs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Meta:
    """What the kernel keeps beside a packet: mark, priority, l4proto, nfproto, protocol, iifname, oifname, length."""

    key: str
    width: int


@dataclass(frozen=True, slots=True)
class Ct:
    """What conntrack knows: state, mark, status, direction; of one direction (`original`, `reply`): an address, a port, a protocol."""

    key: str
    width: int
    direction: Literal["", "original", "reply"] = ""
    needs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Fib:
    """Whether an address is the gateway's own: 2 (local) or 1 (unicast), as linux/rtnetlink.h RTN_*."""

    side: Literal["saddr", "daddr"]
    width: int = 32


@dataclass(frozen=True, slots=True)
class Extension:
    """A field of IPv6's fragment header; `exists` asks whether there is one."""

    field: Literal["exists", "nexthdr", "frag-off", "more-fragments"]
    width: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: int
    width: int


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Several expressions side by side."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """`operator`: &, |, ^, <<, >>, of numbers of `width` bits."""

    operator: str
    left: "Expression"
    right: "Expression"
    width: int


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from `low` to `high`, both included."""

    low: int
    high: int


# One interval for each part of a concatenation.
Element: TypeAlias = tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """The value that a map has for a key; the expression fails where there is none. Of elements that share keys the first holds."""

    key: "Expression"
    elements: tuple[tuple[Element, tuple[int, ...]], ...]
    width: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that the model of a packet does not have: its TTL, an option, a rate."""

    what: str
    width: int = 0
    place: Place | None = field(default=None, compare=False)


Expression: TypeAlias = Load | Meta | Ct | Fib | Extension | Constant | Concatenation | Binary | Lookup | Unknown


def width_of(expression: Expression) -> int:
    """Bits of an expression; of a concatenation, of all its parts."""
    return sum(width_of(part) for part in expression.parts) if isinstance(expression, Concatenation) else expression.width
