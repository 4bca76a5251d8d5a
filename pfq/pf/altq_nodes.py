"""What altq and queue statements come to: disciplines and queues, as written and with their rates worked out.

Rates are bit/s, times milliseconds, token buckets bytes.
"""

from .curves import ServiceCurve
from .reading import Reading


class Spec:
    """A rate as it was written: absolute, or a percentage of the parent's."""

    __slots__ = ("absolute", "percent")

    def __init__(self, absolute: int, percent: int) -> None:
        self.absolute = absolute
        self.percent = percent


class CurveSpec:
    """An HFSC curve as it was written: two rates and the milliseconds the first one holds, or one rate."""

    __slots__ = ("d", "m1", "m2")

    def __init__(self, m2: Spec, m1: Spec | None = None, d: int = 0) -> None:
        self.m1 = m1 or Spec(0, 0)
        self.d = d
        self.m2 = m2


class Scheduler:
    """A scheduler with its options as written."""

    __slots__ = ("buckets", "curves", "flags", "hogs", "interval", "kind", "target")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.flags: set[str] = set()
        self.curves: dict[str, CurveSpec] = {}
        self.buckets = 0
        self.hogs: Spec | None = None
        self.target = 0
        self.interval = 0


class Altq:
    """A discipline on an interface (`name` is ''), or a queue of one, with its rates worked out."""

    __slots__ = (
        "bandwidth",
        "child_bandwidth",
        "curves",
        "defaults",
        "interface",
        "interface_bandwidth",
        "line",
        "linkshare",
        "name",
        "parent",
        "priorities",
        "priority",
        "qlimit",
        "queue_id",
        "queues",
        "realtime",
        "root",
        "roots",
        "scheduler",
        "spec",
        "tbrsize",
        "written",
    )

    def __init__(self, name: str, interface: str, scheduler: str) -> None:
        self.name = name
        self.interface = interface
        self.scheduler = scheduler
        self.parent = ""
        self.bandwidth = 0
        self.interface_bandwidth = 0
        # pfctl clears what it does not set: a discipline and its root queue have priority 0.
        self.priority = 0
        self.qlimit = 50
        self.tbrsize = 0
        self.root = False
        self.queue_id = 0
        self.line = 0
        self.spec = Spec(0, 100)
        self.written = Scheduler(scheduler)
        self.curves: dict[str, ServiceCurve] = {}
        # What the queues below it came to so far, the refused ones included.
        self.child_bandwidth = 0
        self.realtime: list[ServiceCurve] = []
        self.linkshare: list[ServiceCurve] = []
        # Of a discipline: how many default and root queues it has, and which priorities are taken.
        self.defaults = 0
        self.roots = 0
        self.priorities: set[int] = set()
        self.queues: list[Altq] = []


class Place:
    """A queue that was announced: who its parent is on an interface."""

    __slots__ = ("interface", "parent", "queue", "scheduler")

    def __init__(self, queue: str, interface: str, parent: str, scheduler: str) -> None:
        self.queue = queue
        self.interface = interface
        self.parent = parent
        self.scheduler = scheduler


def disciplines(r: Reading) -> list[Altq]:
    """Everything altq and queue statements defined so far."""
    return r.altqs
