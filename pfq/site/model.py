"""What the user wrote, validated and typed. `path` names where it stands in the file: `source.place(path + ('up',))`."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal

from pfq.site.encapsulation import Encapsulation
from pfq.site.positions import Path, Source
from pfq.site.systems import System

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Direction = Literal["up", "down"]
Fair = Literal["none", "flow", "source", "destination"]
Drop = Literal["tail", "red", "ecn", "codel"]
Where = Literal["none", "ingress", "inside", "police"]

# A rate in bit/s, or a percentage of what there is: the shaped rate; within a class, its part (for a ceiling: the most it can get).
Amount = int | Decimal


@dataclass(frozen=True, slots=True)
class Curve:
    """A service curve of two pieces: `burst` for the first `microseconds` of a backlog, then `rate`."""

    rate: Amount
    burst: Amount | None
    microseconds: int


@dataclass(frozen=True, slots=True)
class Demand:
    """The same in both directions, or one for each; None: not asked for."""

    up: Curve | None
    down: Curve | None

    def of(self, direction: Direction) -> Curve | None:
        return self.up if direction == "up" else self.down


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions on the first packet of a flow; all must hold. `protocol` is an IP protocol number or 'icmp' (of the packet's family)."""

    path: Path
    protocol: int | Literal["icmp"] | None
    ports: tuple[tuple[int, int], ...]
    source_ports: tuple[tuple[int, int], ...]
    sources: tuple[Network, ...]
    destinations: tuple[Network, ...]
    dscp: tuple[int, ...]
    family: int | None
    opened: Literal["inside", "outside", "both"]


@dataclass(frozen=True, slots=True)
class TrafficClass:
    path: Path
    name: str
    matches: tuple[Match, ...]
    express: bool
    default: bool
    upgrade: bool
    parent: str | None
    share: int | None
    guarantee: Demand | None
    ceiling: Demand | None
    limit: int | None
    limit_unit: Literal["packets", "us"]
    fair: Fair | None
    drop: Drop


@dataclass(frozen=True, slots=True)
class Policy:
    """Classes in the order in which they are served; neighbours with a share are served together, in proportion."""

    path: Path
    name: str
    classes: tuple[TrafficClass, ...]
    unclassified: str | None


@dataclass(frozen=True, slots=True)
class Link:
    path: Path
    name: str
    up: int
    down: int | None
    encapsulation: Encapsulation
    policy: str
    ipv6: bool
    mtu: int | None
    segments_per_ack: int


@dataclass(frozen=True, slots=True)
class Service:
    """Something that may be reached from the link: a protocol and its ports (none for ICMP echo)."""

    protocol: Literal["tcp", "udp", "icmp"]
    ports: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Inbound:
    """What new connections may come in from the link: `services`, ICMP that path MTU discovery needs, and the operator's way in."""

    path: Path
    services: tuple[Service, ...]
    operator_port: int
    operator_from: tuple[Network, ...]


@dataclass(frozen=True, slots=True)
class OneToOne:
    path: Path
    inside: Address
    outside: Address


@dataclass(frozen=True, slots=True)
class Inside:
    path: Path
    interface: str
    networks: tuple[Network, ...]
    speed: int


@dataclass(frozen=True, slots=True)
class Attachment:
    """A link on an interface of a host."""

    path: Path
    link: str
    interface: str
    queue_on: str | None
    speed: int
    scheduler: str | None
    leaf: str | None
    shape_down: Where | None
    shaped_up: int | None
    shaped_down: int | None
    burst: int | None
    txqueuelen: int | None
    exclude: tuple[Network, ...]
    nat: bool | Address
    one_to_one: tuple[OneToOne, ...]
    mss: int | bool | None
    inbound: Inbound | None


@dataclass(frozen=True, slots=True)
class Host:
    path: Path
    name: str
    system: System
    inside: tuple[Inside, ...]
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class Site:
    source: Source
    name: str
    accept: tuple[str, ...]
    links: Mapping[str, Link]
    policies: Mapping[str, Policy]
    hosts: Mapping[str, Host]
