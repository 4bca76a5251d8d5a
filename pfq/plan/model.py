"""The plan: shaped rates, queue trees, an ordered classifier, for every gateway. Immutable; the only thing a target sees.

`path` leads back to the place in the model that a thing comes from, for diagnostics.
"""

from dataclasses import dataclass, field
from typing import Literal

from pfq.site.encapsulation import Encapsulation
from pfq.site.model import Address, Direction, Drop, Fair, Inbound, Inside, Match, Network, OneToOne
from pfq.site.positions import Path, Source
from pfq.site.systems import Kind, System

Unit = Literal["bit/s", "bytes", "packets", "us"]
TreePlace = Literal["egress", "inside", "ingress", "police"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its reason. `given`: the model says so; otherwise it was computed, and `why` says how (one line)."""

    value: int
    unit: Unit
    given: bool
    why: str
    path: Path = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ServiceCurve:
    """`rate` in the long run; `burst` (bit/s) for the first `microseconds` of a backlog, None for a straight line."""

    rate: Figure
    burst: int | None
    microseconds: int


@dataclass(frozen=True, slots=True)
class Queue:
    """A class in a tree. Siblings with a smaller `rank` are served first, those of one rank in proportion to `share`.

    share: bit/s that fall to it when every sibling is busy; the shares of siblings add up to their parent's at most.
    guarantee: what it gets even when classes of a smaller rank want everything; None for inner queues and where there is none.
    ceiling: None where the parent's rate is the only bound.
    limit: packets, where the class is one first-in first-out queue; fair_limit: packets, where its flows have queues of their own.
    target and interval (microseconds) for systems whose queue management can be told.
    fair: how its flows share it; `fair_given` tells whether the model asks for it or it is the default.
    """

    path: Path
    name: str
    rank: int
    share: Figure
    guarantee: ServiceCurve | None
    ceiling: ServiceCurve | None
    limit: Figure
    fair_limit: Figure
    target: int
    interval: int
    fair: Fair
    fair_given: bool
    drop: Drop
    express: bool
    default: bool
    children: tuple["Queue", ...] = ()


@dataclass(frozen=True, slots=True)
class Accounting:
    """Which bytes a rate counts: those of the IP packet plus `counted`, or (`exact`) those on the line, headers, padding, cells and all.

    `exact` schedulers are told `overhead` (bytes to add to what they count by themselves), `minimum` and `cells`.
    PTM's block code is not among them: the rate is lowered by 64/65 instead.
    """

    counted: int
    exact: bool
    overhead: int
    minimum: int
    cells: Literal["none", "atm"]


@dataclass(frozen=True, slots=True)
class Tree:
    """The queues of one link in one direction, on the interface `interface`.

    where: 'egress': packets leave to the link here; 'inside': packets that came from the link leave to the inside here;
    'ingress': packets are queued as they arrive from the link on `interface`; 'police': no queue, what is too fast is dropped.
    rate: the shaped rate, counted as `accounting` says. line: the line's own rate (bit/s).
    burst: bytes that may leave at once. mtu: largest IP packet.
    beside: speed (bit/s) of the interface where traffic that is not the link's also leaves; None where all of it is the link's.
    """

    path: Path
    link: str
    direction: Direction
    where: TreePlace
    interface: str
    line: int
    rate: Figure
    accounting: Accounting
    burst: Figure
    mtu: int
    beside: int | None
    queues: tuple[Queue, ...]
    notes: tuple[str, ...] = ()

    def leaves(self) -> tuple[Queue, ...]:
        """The queues that packets wait in, in the order of the model."""
        return _leaves(self.queues)


def _leaves(queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
    found: list[Queue] = []
    for queue in queues:
        found.extend(_leaves(queue.children) if queue.children else (queue,))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class FlowRule:
    """`match` on a flow's first packet assigns the flow to the class `queue`."""

    queue: str
    match: Match


@dataclass(frozen=True, slots=True)
class Express:
    """The upgrade, packet by packet: TCP with ACK and no payload, or ToS bit 0x10, of a flow in a class of `upgraded`
    goes to `queue`, for packets of the IP versions in `families` (4, 6)."""

    queue: str
    upgraded: frozenset[str]
    families: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Classifier:
    """Flows to or from `exclude` are not shaped. Otherwise the first rule that matches decides, else `default`; then `express`.

    `unclassified` names the class of frames without an IP header, where the model says; None leaves it to the scheduler's nature.
    """

    rules: tuple[FlowRule, ...]
    default: str
    express: Express | None
    exclude: tuple[Network, ...]
    unclassified: str | None


@dataclass(frozen=True, slots=True)
class Uplink:
    """A link as one gateway is attached to it: `interface` for packets, `queue_on` for queues (often the same)."""

    path: Path
    link: str
    interface: str
    queue_on: str
    kind: Kind
    control_frames: bool
    scheduler: str
    scheduler_given: bool
    leaf: str | None
    ipv6: bool
    encapsulation: Encapsulation
    mtu: Figure
    mss: Figure | None
    txqueuelen: Figure | None
    up: Tree
    down: Tree | None
    classifier: Classifier
    nat: bool | Address
    one_to_one: tuple[OneToOne, ...]
    inbound: Inbound | None


@dataclass(frozen=True, slots=True)
class Gateway:
    path: Path
    name: str
    system: System
    inside: tuple[Inside, ...]
    uplinks: tuple[Uplink, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    site: str
    accept: tuple[str, ...]
    gateways: tuple[Gateway, ...]
    source: Source = field(compare=False)
