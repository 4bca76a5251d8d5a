"""What became of a packet, in the plan's words: the queues of a passage read as classes of a link."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pfq.headers.algebra import Condition
from pfq.headers.asking import BLOCK, Passage
from pfq.plan.model import Gateway, Uplink
from pfq.site.kinds import Faults
from pfq.site.positions import Source


class Result(Protocol):
    """What became of a packet; equal results hash alike."""

    @property
    def blocked(self) -> bool: ...

    @property
    def kind(self) -> object:
        """Equal for packets that are treated alike, whichever way they go."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The class that a packet waits in on its way up to the link, and on its way down from it; None: in no class of the link's."""

    blocked: bool = False
    up: str | None = None
    down: str | None = None

    @property
    def kind(self) -> object:
        return self.blocked, self.up or self.down

    def __str__(self) -> str:
        if self.blocked:
            return "blocked"
        named = [name if " " in name else f"class {name}" for name in (self.up, self.down) if name is not None]
        return " and ".join(named) or "not shaped"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A tree of queues on a device. classes: the class of each queue. beside: queues of what is not the link's."""

    device: str
    classes: Mapping[str, str]
    beside: frozenset[str] = field(default_factory=frozenset)

    def read(self, queue: str) -> str | None:
        """The class; a queue that is none of the link's is called by its name."""
        if queue in self.beside or not queue:
            return None
        return self.classes.get(queue) or f"queue {queue}"


@dataclass(frozen=True, slots=True)
class Trees:
    """The queues of a link on a gateway. down: None where what comes from the link waits nowhere."""

    up: Waiting
    down: Waiting | None

    def read(self, passage: Passage) -> Outcome:
        """What a passage through the gateway is for this link."""
        if passage.action == BLOCK:
            return Outcome(blocked=True)
        found: dict[str, str | None] = {}
        for name, waiting in (("up", self.up), ("down", self.down)):
            if waiting:
                queues = [waiting.read(queue) for device, queue in passage.queues if device == waiting.device]
                found[name] = next((queue for queue in queues if queue is not None), None)
        return Outcome(up=found.get("up"), down=found.get("down"))

    def queues(self, passage: Passage) -> list[tuple[str, str]]:
        """The link's devices that a packet passes, and its queue on each."""
        devices = [waiting.device for waiting in (self.up, self.down) if waiting]
        return [(device, queue) for device, queue in passage.queues if device in devices]


def trees_of(gateway: Gateway, uplink: Uplink, source: Source) -> Trees:
    """The names that pfq gives the queues of a link in the gateway's output."""
    down = uplink.down if uplink.down is not None and uplink.down.where != "police" else None
    if gateway.system.family == "linux":
        return _linux(gateway, uplink)
    from pfq.targets.pf_dialects import dialect_of
    from pfq.targets.pf_names import names_of, placed

    places = placed(gateway)
    names = names_of(gateway, places, dialect_of(gateway.system), False, Faults(source))
    classes = {queue: name for name, queue in names.queues[uplink.link].items()}

    def waiting(interface: str) -> Waiting:
        return Waiting(interface, classes, frozenset(place.local for place in places if place.interface == interface))

    return Trees(waiting(uplink.up.interface), waiting(down.interface) if down else None)


def _linux(gateway: Gateway, uplink: Uplink) -> Trees:
    from pfq.targets.linux_queues import addresses, beside_address, roots

    found: dict[str, Waiting] = {}
    for root in roots(gateway):
        for planted in root.planted:
            if planted.uplink is uplink:
                classes = {address: name for name, address in addresses(root, planted).items()}
                found[planted.tree.direction] = Waiting(root.interface, classes, frozenset({beside_address(root)}))
    return Trees(found["up"], found.get("down"))


def merged(found: Iterable[tuple[Result, Condition]]) -> dict[Result, Condition]:
    """The packets of each outcome."""
    result: dict[Result, Condition] = {}
    for outcome, where in found:
        result[outcome] = result[outcome] | where if outcome in result else where
    return result
