"""tc's objects as read: queueing disciplines, classes, filters, actions. Numbers are tc's: a handle or class is MAJOR << 16 | MINOR."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pfq.diagnostics import Place

ROOT, INGRESS = 0xFFFFFFFF, 0xFFFFFFF1
# Where filters of an ingress or clsact discipline hang: packets that arrive, packets that leave.
ARRIVING, LEAVING = 0xFFFFFFF2, 0xFFFFFFF3
_CLSACT = 0xFFFF0000


@dataclass(frozen=True, slots=True)
class Qdisc:
    """A queueing discipline on a device. `options`: its parameters by name."""

    device: str
    kind: str
    handle: int
    parent: int
    options: Mapping[str, str]
    place: Place = field(compare=False)
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class QueueClass:
    """A class of a discipline."""

    device: str
    kind: str
    number: int
    parent: int
    options: Mapping[str, str]
    place: Place = field(compare=False)
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Key:
    """32 bits at `offset` from the network header (or from where a link has left off: `relative`), compared below `mask`."""

    value: int
    mask: int
    offset: int
    relative: bool = False


@dataclass(frozen=True, slots=True)
class U32:
    """Matches where all keys do; `mark`: value and mask of the packet's mark."""

    keys: tuple[Key, ...]
    mark: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Fw:
    """Matches a mark; `number` None: the mark itself names the class."""

    number: int | None
    mask: int = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Bytecode:
    """A classic BPF program: rows of code, jt, jf, k. It returns 0 (no match), -1 (the filter's class) or a class."""

    program: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Everything:
    """matchall."""


@dataclass(frozen=True, slots=True)
class Fields:
    """flower: each field's lowest and highest value or value and mask: name -> (value, mask), ports as (low, high)."""

    fields: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Meta:
    """An ematch of basic: `key` (priority, nf_mark) below `mask` compared with a number: eq, gt, lt."""

    key: str
    mask: int
    operator: str
    number: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Basic:
    """basic: all of these ematches."""

    tests: tuple[Meta, ...]


Test: TypeAlias = U32 | Fw | Bytecode | Everything | Fields | Basic


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a filter.

    kind: pass, drop, continue, pipe, mirred, skbedit, ctinfo, connmark, police. `control`: what comes after it (pass, pipe, continue, drop).
    mirred: `device`, `redirect`. skbedit: `mark` (value, mask) and `priority`. ctinfo: `mark` (0, mask).
    """

    kind: str
    control: str
    device: str = ""
    redirect: bool = False
    mark: tuple[int, int] | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter. protocol: all, ip, ipv6 or another. preference: smaller is asked first. number: None where it names no class."""

    device: str
    parent: int
    protocol: str
    preference: int
    handle: int
    test: Test
    number: int | None
    actions: tuple[Action, ...]
    place: Place = field(compare=False)
    text: str = field(compare=False)


@dataclass(slots=True)
class Devices:
    """The queues of a gateway's devices."""

    qdiscs: list[Qdisc] = field(default_factory=list)
    classes: list[QueueClass] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)


def name(number: int) -> str:
    """A class as tc writes it: 1:10; a discipline: 1:."""
    minor = number & 0xFFFF
    return f"{number >> 16:x}:{minor:x}" if minor else f"{number >> 16:x}:"
