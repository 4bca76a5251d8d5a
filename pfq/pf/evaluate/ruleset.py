"""A pf.conf as a `pfq.headers.asking.Ruleset`: a packet through pf on the interface it comes in on, and on the one it leaves by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import BLOCK, PASS, Decision, Passage, View, Way
from pfq.headers.bits import any_of, choose, constant, masked
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, SOURCE, SOURCE_PORT
from pfq.pf.evaluate.devices import Device, Leaf
from pfq.pf.evaluate.judging import ADDRESSING, Judging, Makers, Marks, marked
from pfq.pf.evaluate.matching import Spot, World
from pfq.pf.evaluate.normalizing import Normalizing, options
from pfq.pf.evaluate.packet import IN, OUT, Packet, states_icmp, whole

Cases = dict[Passage, Condition]


@dataclass(frozen=True)
class Hop:
    """What pf remembers of a packet at one spot: where it made a state, what that writes on packets, and the addresses on either side."""

    spot: Spot
    state: Condition
    marks: Marks
    allows_options: Condition
    makers: Makers
    before: Mapping[str, Bits]
    after: Mapping[str, Bits]


@dataclass(frozen=True)
class Memory:
    """The states that an opening packet left, in the order in which it came to them; `opener` is the packet as its sender made it."""

    way: Way
    opener: View
    hops: tuple[Hop, ...]


@dataclass(frozen=True)
class PfRuleset:
    """The rules of a tree, ready to be asked. `carriers`: the device that an interface's packets are sent on by, and wait in too."""

    world: World
    normalizing: Normalizing
    judging: Judging
    skipped: Sequence[str]
    devices: Mapping[str, Device]
    carriers: Mapping[str, str]

    def opening(self, way: Way, view: View) -> tuple[Cases, Memory]:
        packet = self._arrived(way, view)
        hops: list[Hop] = []
        for spot in self._spots(way):
            packet, tracked = self.normalizing(_telling(packet), spot)
            before = _addressing(packet.view)
            judged = self.judging(packet, spot, tracked, packet.algebra.everything)
            packet = _told(judged.packet, view, spot)
            hops.append(Hop(spot, judged.state, judged.marks, judged.allows_options, judged.makers, before, _addressing(packet.view)))
        return self._passages(packet, way.leaves), Memory(way, view, tuple(hops))

    def following(self, memory: Memory, way: Way, view: View) -> Cases:
        reply = way != memory.way or (way.enters == way.leaves and _turned(memory.opener, view))
        hops = memory.hops[::-1] if reply else memory.hops
        packet = self._arrived(way, view)
        for hop in hops:
            packet = self._later(memory, hop, packet, reply)
        return self._passages(packet, way.leaves)

    # --- pf at one spot

    def _arrived(self, way: Way, view: View) -> Packet:
        algebra = view.algebra
        tag, queue = (constant(algebra, 0, width) for width in (self.world.tag_width, self.judging.queue_width))
        return Packet(view, algebra.everything, tag, queue, way.enters, algebra.nothing, algebra.nothing)

    def _spots(self, way: Way) -> list[Spot]:
        spots = [(way.enters, IN), (way.leaves, OUT)]
        return [Spot(name, direction, way.enters) for name, direction in spots if name is not None and not self._skips(name)]

    def _skips(self, interface: str) -> bool:
        return any(name == interface or interface in (self.world.facts.group(name) or ()) for name in self.skipped)

    def _later(self, memory: Memory, hop: Hop, packet: Packet, reply: bool) -> Packet:
        """A later packet at a spot: its state's, or the rules' where there is none."""
        spot = hop.spot
        if reply:
            spot = Spot(spot.interface, IN if spot.direction == OUT else OUT, packet.received_on)
        outer = packet.view
        packet, tracked = self.normalizing(_telling(packet), spot)
        fits = whole(packet.view) & states_icmp(memory.opener, packet.view, self.world.features, reply) & ~packet.strayed
        if reply:
            packet = _answered(packet, hop, fits)
        view = packet.view
        state = hop.state & fits
        for where, step in hop.makers:
            remembered = f"the state made by line {step.place.line} remembers it"
            for there, why in self.judging.queue_reasons(view, step) if step.rule.queue else ((packet.alive, ""),):
                view.note(where & there & state & packet.alive, step.place, step.text, f"{remembered}: {why}" if why else remembered)
        found = self._stated(hop, packet, state, reply)
        if (packet.alive & ~state).satisfiable():
            found = _either(state, found, self.judging(packet, spot, tracked, ~state).packet)
        return _told(found, outer, spot)

    def _stated(self, hop: Hop, packet: Packet, state: Condition, reply: bool) -> Packet:
        view = packet.view
        barred = options(view, self.world) & ~hop.allows_options
        self.world.note(view, packet.alive & state & barred, "dropped: IP options, and the state's rule has no allow-opts")
        alive = packet.alive & ~barred
        moved = replace(packet, alive=alive, view=view if reply else view.seen(**hop.after))
        return marked(moved, hop.marks, self.judging.second(view))

    # --- queues

    def _passages(self, packet: Packet, interface: str | None) -> Cases:
        algebra = packet.algebra
        cases: dict[tuple[tuple[str, str], ...], Condition] = {(): packet.alive}
        dropped = ~packet.alive
        number = choose(packet.later, constant(algebra, 0, len(packet.queue)), packet.queue)
        for device in self._waits_in(interface):
            waits = self._waits(device, packet, number)
            dropped = dropped | packet.alive & waits.pop(None, algebra.nothing)
            cases = {
                (*queues, (device.name, leaf.name)): where & there
                for queues, where in cases.items() for leaf, there in waits.items() if leaf is not None
            }
        found: Cases = {Passage(BLOCK): dropped}
        for queues, where in cases.items():
            passage = Passage(PASS, queues)
            found[passage] = found.get(passage, algebra.nothing) | where
        return {passage: where for passage, where in found.items() if where.satisfiable()}

    def _waits_in(self, interface: str | None) -> list[Device]:
        """The devices with queues that a packet passes, from the interface that it leaves by down to what carries it."""
        found: list[Device] = []
        passed: list[str] = []
        while interface is not None and interface not in passed:
            passed.append(interface)
            if interface in self.devices:
                found.append(self.devices[interface])
            interface = self.carriers.get(interface)
        return found

    def _waits(self, device: Device, packet: Packet, number: Bits) -> dict[Leaf | None, Condition]:
        algebra, view = packet.algebra, packet.view
        named = {name: masked(algebra, number, value) for name, value in self.judging.queues.items()}
        unmarked = ~any_of(algebra, named.values())
        waits: dict[Leaf | None, list[Condition]] = {device.default: [unmarked]}
        reasons = [(unmarked, "no rule names one")]
        for name, where in named.items():
            leaf = device.leaves.get(name)
            if leaf is None:
                what = f"{name} has queues below it" if name in device.inner else f"there is no {name} on {device.name}"
                reasons.append((where, what))
            waits.setdefault(leaf or device.default, []).append(where)
        if device.default is not None:
            for where, what in reasons:
                view.note(where & packet.alive, device.default.place, device.default.text, f"default queue: {what}")
        return {leaf: any_of(algebra, listed) for leaf, listed in waits.items()}


def _telling(packet: Packet) -> Packet:
    """The packet with notes of its own, for one spot."""
    view = packet.view
    return replace(packet, view=replace(view, notes=None if view.notes is None else [], regions=None if view.regions is None else {}))


def _told(packet: Packet, outer: View, spot: Spot) -> Packet:
    """The packet with the notes of `outer`, and what was noted at the spot among them, each with the spot's name."""
    view = packet.view

    def placed(note: Decision) -> Decision:
        return replace(note, why=f"{spot.direction} on {spot.interface}: {note.why}")

    if outer.notes is not None:
        outer.notes.extend(placed(note) for note in view.notes or ())
    if outer.regions is not None:
        for note, where in (view.regions or {}).items():
            known = outer.regions.get(placed(note))
            outer.regions[placed(note)] = where if known is None else known | where
    return replace(packet, view=replace(view, notes=outer.notes, regions=outer.regions))


def _addressing(view: View) -> dict[str, Bits]:
    return {name: view.bits[name] for name in ADDRESSING}


def _back(addresses: Mapping[str, Bits]) -> dict[str, Bits]:
    return {
        SOURCE: addresses[DESTINATION], DESTINATION: addresses[SOURCE],
        SOURCE_PORT: addresses[DESTINATION_PORT], DESTINATION_PORT: addresses[SOURCE_PORT],
    }


def _answered(packet: Packet, hop: Hop, fits: Condition) -> Packet:
    """A reply with the addresses that it has at a hop: those from before the opener was translated there, if it fits the state.

    Nothing is translated without a state, except what is dropped, so that this holds where there is no state as well.
    """
    before, after = _back(hop.before), _back(hop.after)
    found = {name: bits if bits is after[name] else choose(fits, bits, after[name]) for name, bits in before.items()}
    if packet.strayed.satisfiable():
        found = {name: choose(packet.strayed, packet.view.bits[name], bits) for name, bits in found.items()}
    return packet.seen(**found)


def _turned(opener: View, later: View) -> bool:
    """Whether a later packet is a reply, where its way does not tell: one that comes in and leaves by the same interface."""
    return any(opener.bits[name] != later.bits[name] for name in ADDRESSING)


def _either(condition: Condition, one: Packet, other: Packet) -> Packet:
    view = one.view.seen(**{
        name: bits if bits is other.view.bits[name] else choose(condition, bits, other.view.bits[name]) for name, bits in one.view.bits.items()
    })
    return Packet(
        view, condition.ite(one.alive, other.alive), choose(condition, one.tag, other.tag), choose(condition, one.queue, other.queue), one.received_on,
        condition.ite(one.later, other.later), condition.ite(one.strayed, other.strayed),
    )


