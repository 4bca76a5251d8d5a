"""What the kernel knows of a packet on its way, for every packet at once."""

from dataclasses import dataclass, field

from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import Decision, View, Way
from pfq.headers.bits import choose, constant
from pfq.linux.packet import Layout


@dataclass(frozen=True, slots=True)
class Translation:
    """One side of a connection's addresses and ports, and where they are not what its opener wrote."""

    where: Condition
    address: Bits
    port: Bits


@dataclass(frozen=True, slots=True)
class Memory:
    """What conntrack keeps of a flow. way, opener: of its first packet, as its sender made it. known: where there is an entry. mark: 32 bits.

    source, destination: as the side beyond the gateway knows them, after SNAT and DNAT.
    """

    way: Way
    opener: View
    known: Condition
    mark: Bits
    source: Translation
    destination: Translation


@dataclass(slots=True)
class Packet:
    """A packet at some place in the kernel.

    `new`, `established`, `invalid`, `untracked`: its state; with none of them it has not come to conntrack. `tracked`: there is an entry.
    reply: whether it goes against the direction of the flow's opener. iif, oif: names of interfaces, None where there is none.
    compared: what comparisons (by identity) were found to hold of, in a view.
    """

    view: View
    alive: Condition
    mark: Bits
    priority: Bits
    ct_mark: Bits
    new: Condition
    established: Condition
    untracked: Condition
    reply: bool
    memory: Memory
    iif: str | None = None
    oif: str | None = None
    seen_by_conntrack: bool = False
    dropped: list[Condition] = field(default_factory=list)
    compared: dict[int, tuple[View, Condition]] = field(default_factory=dict)
    _layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        """The packet's bits as they are now."""
        if self._layout is None or self._layout.view is not self.view:
            self._layout = Layout(self.view)
        return self._layout

    @property
    def tracked(self) -> Condition:
        """Where conntrack has an entry for it."""
        return self.new | self.established

    def drop(self, where: Condition) -> None:
        """Packets that end here."""
        if where.satisfiable():
            self.dropped.append(where & self.alive)
            self.alive = self.alive & ~where

    def change(self, where: Condition, name: str, bits: Bits) -> None:
        """Other bits of a field of the view."""
        self.view = self.view.seen(**{name: choose(where, bits, self.view.bits[name])})

    def note(self, where: Condition, decision: Decision) -> None:
        self.view.note(where, decision.place, decision.text, decision.why)


def zero(view: View, width: int = 32) -> Bits:
    """A number of that width that is 0 for every packet."""
    return constant(view.algebra, 0, width)
