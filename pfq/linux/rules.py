"""An nft ruleset as read: tables, chains, rules; and of a rule, its statements."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pfq.diagnostics import Place
from pfq.linux.expressions import Element, Expression, Operator

Family = Literal["ip", "ip6", "inet", "netdev", "arp"]
VerdictKind = Literal["accept", "drop", "reject", "return", "jump", "goto", "continue"]


@dataclass(frozen=True, slots=True)
class Match:
    """The rule goes on where `left` compares with `right`: one of the elements, or an expression. "any": left & right is not 0."""

    left: Expression
    operator: Operator
    right: tuple[Element, ...] | Expression


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a packet; `chain` where it goes."""

    kind: VerdictKind
    chain: str = ""


@dataclass(frozen=True, slots=True)
class VerdictMap:
    """The verdict that a map has for a key; the rule does not match where there is none."""

    key: Expression
    elements: tuple[tuple[Element, Verdict], ...]


@dataclass(frozen=True, slots=True)
class Assign:
    """Sets the packet's mark or priority, or the connection's mark."""

    target: Literal["mark", "priority", "ct mark"]
    value: Expression


@dataclass(frozen=True, slots=True)
class AssignTos:
    """Writes bits of the ToS byte: `value` below `mask`."""

    version: int
    value: Expression
    mask: int


@dataclass(frozen=True, slots=True)
class Notrack:
    """The packet is not to be tracked."""


@dataclass(frozen=True, slots=True)
class Translate:
    """snat, dnat, masquerade, redirect. `address` None: as it is, or the interface's own; `port` None: as it is.

    `free_port`: whether the kernel may choose another source port, as it may where many addresses become one.
    `prefix`: bits of the host part that stay as they are (prefix maps).
    """

    kind: Literal["snat", "dnat", "masquerade", "redirect"]
    version: int | None
    address: Expression | None = None
    port: Expression | None = None
    prefix: int = 0
    free_port: bool = False


Statement: TypeAlias = Match | Verdict | VerdictMap | Assign | AssignTos | Notrack | Translate


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Statements that have no say about packets (counters, logs, comments) are left out."""

    statements: tuple[Statement, ...]
    place: Place = field(compare=False)
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Hook:
    """Where a base chain stands. `priority`: smaller is earlier. `devices`: of a netdev chain."""

    kind: Literal["filter", "nat", "route"]
    hook: Literal["ingress", "prerouting", "input", "forward", "output", "postrouting", "egress"]
    priority: int
    accepts: bool
    devices: tuple[str, ...] = ()


@dataclass(slots=True)
class Chain:
    """A chain; `hook` None: it is only jumped to."""

    name: str
    place: Place
    hook: Hook | None = None
    rules: list[Rule] = field(default_factory=list)


@dataclass(slots=True)
class NamedSet:
    """A set or map: kinds and widths of its key's parts and of its values; the elements' values are None in a set, a Verdict in a verdict map."""

    name: str
    place: Place
    kinds: tuple[tuple[str, int], ...] = ()
    values: tuple[tuple[str, int], ...] = ()
    verdicts: bool = False
    elements: list[tuple[Element, Element | Verdict | None]] = field(default_factory=list)


@dataclass(slots=True)
class Table:
    """A table of a family."""

    family: Family
    name: str
    place: Place
    chains: dict[str, Chain] = field(default_factory=dict)
    sets: dict[str, NamedSet] = field(default_factory=dict)
