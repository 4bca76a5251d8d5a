"""What one asks a gateway's ruleset, and what it answers. `pfq.pf.evaluate` and `pfq.linux` answer; `pfq.parity` asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pfq.diagnostics import Place
from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, LATER, OF_FLOW, OF_PACKET, SOURCE, SOURCE_PORT

PASS, BLOCK = "pass", "block"


@dataclass(frozen=True, slots=True)
class Way:
    """How a packet goes through a gateway: the interface it comes in on and the one it leaves by. None: it begins, or ends, at the gateway."""

    enters: str | None
    leaves: str | None

    def back(self) -> "Way":
        """The way of a reply."""
        return Way(self.leaves, self.enters)


@dataclass(frozen=True, slots=True)
class Passage:
    """What becomes of a packet. `queues`: the leaf it waits in on each device with queues that it passes, in order: (device, queue).

    An empty queue name: the device has queues, and the packet passes by them (htb's direct queue; ALTQ without a default drops it: BLOCK).
    """

    action: str
    queues: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Why: a line of the ruleset that had a say about a packet."""

    place: Place
    text: str
    why: str


@dataclass(frozen=True)
class View:
    """A packet as a ruleset sees it: the bits of each field (names of `fields.OF_FLOW` and `OF_PACKET`).

    `notes` collects the decisions where there is one packet only (`Exactly`); None where there are many.
    `regions` collects, where there are many, the packets that each decision is about; None where nobody wants to know.
    """

    algebra: Algebra
    bits: Mapping[str, Bits]
    notes: list[Decision] | None = field(default=None, compare=False)
    regions: dict[Decision, Condition] | None = field(default=None, compare=False)

    @property
    def wants_notes(self) -> bool:
        """Whether `note` does anything."""
        return self.notes is not None or self.regions is not None

    def note(self, where: Condition, place: Place, text: str, why: str) -> None:
        """Remember that a line decided, and of which packets: `where` it did."""
        if self.notes is not None and where.satisfiable():
            self.notes.append(Decision(place, text, why))
        if self.regions is not None:
            decision = Decision(place, text, why)
            self.regions[decision] = self.regions[decision] | where if decision in self.regions else where

    def seen(self, **bits: Bits) -> "View":
        """The same packet with other bits: translated, or with another ToS."""
        return replace(self, bits={**self.bits, **bits})

    def turned(self) -> "View":
        """With source and destination the other way round."""
        bits = dict(self.bits)
        bits[SOURCE], bits[DESTINATION] = bits[DESTINATION], bits[SOURCE]
        bits[SOURCE_PORT], bits[DESTINATION_PORT] = bits[DESTINATION_PORT], bits[SOURCE_PORT]
        return replace(self, bits=bits)


def opening_view(algebra: Algebra, notes: list[Decision] | None = None, regions: dict[Decision, Condition] | None = None) -> View:
    """The packet that opens a flow, as it comes to the gateway."""
    return View(algebra, {name: algebra.field(name) for name in (*OF_FLOW, *OF_PACKET)}, notes, regions)


def later_view(algebra: Algebra, reply: bool, notes: list[Decision] | None = None, regions: dict[Decision, Condition] | None = None) -> View:
    """A later packet of the flow, with the addresses and ports that the opener knows; a reply has them the other way round."""
    bits = {name: algebra.field(name) for name in OF_FLOW} | {name: algebra.field(LATER[name]) for name in OF_PACKET}
    view = View(algebra, bits, notes, regions)
    return view.turned() if reply else view


class Ruleset(Protocol):
    """A gateway's rules, ready to be asked. Raises pfq.diagnostics.Refused ("not modelled: ...") for what the evaluator does not model."""

    def opening(self, way: Way, view: View) -> tuple[Mapping[Passage, Condition], Any]:
        """What becomes of a packet that belongs to no flow yet, for every packet; and what the gateway remembers (for `following`).

        `view` holds the packet as its sender made it and the wire carries it to `way.enters`: translation is the ruleset's business.
        """

    def following(self, memory: Any, way: Way, view: View) -> Mapping[Passage, Condition]:
        """What becomes of a later packet of a flow whose opening packet left `memory`; `way` is that of the opener, or its `back()`.

        `view` has the addresses that the opener knows (`later_view`), a reply's turned round: what translation makes of them on the
        wire beyond the gateway follows from the memory.
        """
