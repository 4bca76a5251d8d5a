"""What a Linux gateway's queues and rules do with packets: an answer to `pfq.headers.asking`, for one packet and for all.

A device that arriving packets are redirected to is taken for an IFB: they wait in its queues and then go on as if they had just arrived.
A VLAN device (eth0.5) stands on the device of its name (eth0), whose queues its packets pass too, unless `carriers` says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pfq.headers.algebra import Condition
from pfq.headers.asking import BLOCK, PASS, Passage, View, Way
from pfq.headers.bits import any_of, choose, masked
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, FRAGMENT, PAYLOAD, SOURCE, SOURCE_PORT
from pfq.linux import Tree
from pfq.linux.classes import Queues
from pfq.linux.conntrack import families
from pfq.linux.filters import run
from pfq.linux.netfilter import Addresses, Netfilter, forwarded_priority
from pfq.linux.queues import ARRIVING, LEAVING
from pfq.linux.state import Memory, Packet, Translation, zero

_Cases = dict[tuple[tuple[str, str], ...], Condition]


def ruleset(tree: Tree, addresses: Addresses | None = None, carriers: Mapping[str, str] | None = None) -> "Gateway":
    """The gateway's rules, ready to be asked.

    addresses: interface -> the gateway's own addresses on it, the one that masquerading takes first; 0.0.0.0 and :: stand for one that is not given.
    carriers: interface -> the one that carries its packets, whose queues they pass too: of PPP over Ethernet the Ethernet device.
    """
    return Gateway(tree, addresses or {}, carriers or {})


class Gateway:
    """Implements `pfq.headers.asking.Ruleset`."""

    def __init__(self, tree: Tree, addresses: Addresses, carriers: Mapping[str, str]) -> None:
        self._queues = Queues(tree.devices)
        self._carriers = carriers
        self._netfilter = Netfilter(tree.tables, families(list(tree.tables)), addresses)

    def opening(self, way: Way, view: View) -> tuple[Mapping[Passage, Condition], Memory]:
        """What becomes of a packet that belongs to no flow yet; and what conntrack remembers."""
        return self._journey(way, view, _nothing_known(way, view), reply=False)

    def following(self, memory: Memory, way: Way, view: View) -> Mapping[Passage, Condition]:
        """What becomes of a later packet. A second packet of an opener that has had no answer counts as established too."""
        reply = _is_reply(memory, way, view)
        return self._journey(way, _as_answered(memory, view) if reply else view, memory, reply)[0]

    # --- the way of a packet

    def _journey(self, way: Way, view: View, memory: Memory, reply: bool) -> tuple[Mapping[Passage, Condition], Memory]:
        algebra = view.algebra
        nothing = algebra.nothing
        packet = Packet(
            view=view, alive=algebra.everything, mark=zero(view), priority=zero(view), ct_mark=zero(view), new=nothing, established=nothing,
            untracked=nothing, reply=reply, memory=memory,
        )  # fmt: skip
        cases: _Cases = {(): algebra.everything}
        whole = view
        if way.enters is not None:
            cases = self._arrive(way.enters, packet, cases)
            packet.iif = way.enters
            whole = packet.view
            self._netfilter.hook("prerouting", packet)
        if way.enters is None:
            packet.oif = way.leaves
            self._netfilter.hook("output", packet)
        elif way.leaves is None:
            self._netfilter.hook("input", packet)
        else:
            packet.priority = forwarded_priority(packet)
            packet.oif = way.leaves
            self._netfilter.hook("forward", packet)
        if way.leaves is not None:
            self._netfilter.hook("postrouting", packet)
        kept = _remembered(packet)
        if way.leaves is not None:
            _cut_again(packet, whole)
            cases = self._leave(way.leaves, packet, cases)
        return _passages(packet, cases), kept

    def _stack(self, device: str) -> Sequence[str]:
        """The devices that a packet passes, the one with the wire first."""
        below, dot, tag = device.rpartition(".")
        parent = self._carriers.get(device, below if dot and tag.isdigit() else "")
        return (parent, device) if parent and parent != device else (device,)

    def _arrive(self, device: str, packet: Packet, cases: _Cases) -> _Cases:
        for each in self._stack(device):
            packet.iif = each
            outcome = run(self._queues.filters(each, ARRIVING), packet, packet.alive)
            for other, where, _ in outcome.redirected:
                if self._queues.has(other):
                    cases = _split(cases, other, self._queues.leaves(other, packet, where & packet.alive))
            self._netfilter.hook("ingress", packet)
        return cases

    def _leave(self, device: str, packet: Packet, cases: _Cases) -> _Cases:
        for each in reversed(self._stack(device)):
            packet.oif = each
            self._netfilter.hook("egress", packet)
            run(self._queues.filters(each, LEAVING), packet, packet.alive)
            if self._queues.has(each):
                cases = _split(cases, each, self._queues.leaves(each, packet, packet.alive))
        return cases


def _split(cases: _Cases, device: str, leaves: Mapping[str, Condition]) -> _Cases:
    """Cases told apart by the class on one more device; packets that do not pass it stay as they are."""
    found: _Cases = {}
    for passed, where in cases.items():
        rest = where
        for leaf, here in leaves.items():
            both = where & here
            if both.satisfiable():
                found[*passed, (device, leaf)] = both
                rest = rest & ~here
        if rest.satisfiable():
            found[passed] = rest
    return found


def _passages(packet: Packet, cases: _Cases) -> Mapping[Passage, Condition]:
    dropped = any_of(packet.view.algebra, packet.dropped)
    found: dict[Passage, Condition] = {}
    for passed, where in cases.items():
        for action, here in ((PASS, where & ~dropped), (BLOCK, where & dropped)):
            if here.satisfiable():
                found[Passage(action, passed)] = here
    return found


def _nothing_known(way: Way, view: View) -> Memory:
    nothing = view.algebra.nothing
    source = Translation(nothing, view.bits[SOURCE], view.bits[SOURCE_PORT])
    destination = Translation(nothing, view.bits[DESTINATION], view.bits[DESTINATION_PORT])
    return Memory(way, view, nothing, zero(view), source, destination)


def _remembered(packet: Packet) -> Memory:
    """A flow is kept once its first packet has come through."""
    return replace(packet.memory, known=packet.new & packet.alive, mark=packet.ct_mark)


def _is_reply(memory: Memory, way: Way, view: View) -> bool:
    """Whether a packet of the flow goes against its opener's. Where both ways are one, by its addresses and ports."""
    if way.enters != way.leaves:
        return way != memory.way
    opener = memory.opener.bits
    return any(view.bits[name] != opener[name] for name in (SOURCE, SOURCE_PORT))


def _as_answered(memory: Memory, view: View) -> View:
    """A reply as the wire carries it to the gateway: to and from what translation has made of the flow's addresses."""
    changed = {}
    for side, name, port in ((memory.destination, SOURCE, SOURCE_PORT), (memory.source, DESTINATION, DESTINATION_PORT)):
        where = side.where & memory.known
        changed[name] = choose(where, side.address, view.bits[name])
        changed[port] = choose(where, side.port, view.bits[port])
    return view.seen(**changed)


def _cut_again(packet: Packet, before: View) -> None:
    """Fragments that were put together leave as they came; an atomic one's header stays off."""
    algebra = packet.view.algebra
    if packet.view.bits[FRAGMENT] is before.bits[FRAGMENT]:
        return
    atomic = masked(algebra, before.bits[FRAGMENT], 3)
    packet.change(~atomic, FRAGMENT, before.bits[FRAGMENT])
    packet.view = packet.view.seen(**{PAYLOAD: before.bits[PAYLOAD]})

