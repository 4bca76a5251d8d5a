"""The names a pf.conf needs: of queues, of the roots of their trees, of macros for interfaces."""

import re
from dataclasses import dataclass

from pfq.plan.model import Gateway, Queue, Tree, Uplink
from pfq.site.kinds import Faults
from pfq.site.positions import Path
from pfq.site.units import show_rate
from pfq.targets.pf_dialects import Dialect

_NOT_IN_MACROS = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Placed:
    """The trees that share an interface. local: the queue of traffic that is no link's, '' where every packet is the link's.
    speed: bit/s of the interface, where it counts."""

    interface: str
    trees: tuple[tuple[Uplink, Tree], ...]
    local: str
    speed: int


@dataclass(frozen=True, slots=True)
class Names:
    """queues: the queue of a class, by link and class. subtrees: the root of a link's part of a shared interface, by link and direction.
    roots: the root of an interface. interfaces: what is written for an interface, its name or a macro. macros: in the order of definition."""

    queues: dict[str, dict[str, str]]
    subtrees: dict[tuple[str, str], str]
    roots: dict[str, str]
    interfaces: dict[str, str]
    macros: tuple[tuple[str, str, str], ...]


def _classes(queues: tuple[Queue, ...]) -> list[tuple[str, Path]]:
    found = []
    for queue in queues:
        found.append((queue.name, queue.path))
        if queue.children:
            found += _classes(queue.children)
    return found


def _free(wanted: str, taken: set[str], dialect: Dialect) -> str:
    """`wanted`, or with a number behind it, so that no other queue has the name; it is taken from now on."""
    name, number = wanted[: dialect.name_most], 1
    while name in taken or name in dialect.reserved:
        number += 1
        name = f"{wanted[: dialect.name_most - 1 - len(str(number))]}_{number}"
    taken.add(name)
    return name


def _check(name: str, queue: str, path: Path, link: str, taken: set[str], dialect: Dialect, faults: Faults) -> None:
    """Reports a queue name that the dialect would misread, cut off or take for another."""
    where = (*path, "name")
    if queue in dialect.reserved:
        message = f"{dialect.name} reserves the word {queue!r}: it cannot be the name of a queue"
        faults.at(where, "reserved-name", message, f"name the class {_free(f'{queue}_q', set(), dialect)!r}, for instance")
    if len(queue) > dialect.name_most:
        of = f"class {name!r}" if queue == name else f"class {name!r} of link {link!r} becomes the queue {queue!r}:"
        message = f"{of} has {len(queue)} characters, and a queue of {dialect.name} has {dialect.name_most} at most"
        hint = f"name the class {name[: dialect.name_most]!r}, for instance" if queue == name else "shorten the name of the class or of the link"
        faults.at(where, "long-name", message, hint)
    if queue in taken:
        message = f"class {name!r} of link {link!r}: the queue {queue!r} is there already"
        faults.at(where, "same-name", message, "name the class or the link otherwise")
    taken.add(queue)


def placed(gateway: Gateway) -> tuple[Placed, ...]:
    """The gateway's trees by the interface they stand on, uplinks first."""
    found: dict[str, list[tuple[Uplink, Tree]]] = {}
    for uplink in gateway.uplinks:
        found.setdefault(uplink.up.interface, []).append((uplink, uplink.up))
    for uplink in gateway.uplinks:
        if uplink.down is not None:
            found.setdefault(uplink.down.interface, []).append((uplink, uplink.down))
    used = {name for uplink in gateway.uplinks for name, _ in _classes(uplink.up.queues)} | {uplink.link for uplink in gateway.uplinks}
    local = "local"
    while local in used:
        local += "_"
    result = []
    for interface, trees in found.items():
        speed = max((tree.beside or 0 for _, tree in trees), default=0)
        shared = speed > 0 or len(trees) > 1
        result.append(Placed(interface, tuple(trees), local if shared else "", speed))
    return tuple(result)


def local_of(interface: str, places: tuple[Placed, ...]) -> str:
    """The queue of other traffic on an interface that holds queues, '' for none."""
    return next(place.local for place in places if place.interface == interface)


def local_note(place: Placed) -> str:
    """What goes to the queue of other traffic, as a comment."""
    note = f"{place.local}: what is not the link's, and frames without an IP header; it gets what the link leaves"
    if any(tree.where == "egress" and uplink.classifier.unclassified for uplink, tree in place.trees):
        note += ". The class that the model names for such frames counts where an interface is the link's alone"
    return note


def rest_of(place: Placed, least: int, faults: Faults) -> int:
    """What the links leave of a shared interface for other traffic, in whole kbit/s (as bit/s). Reports it if that is below `least`,
    unless one link alone is too fast, which the plan reports."""
    rates = [tree.rate.value for _, tree in place.trees]
    rest = (place.speed - sum(rates)) // 1000 * 1000
    if rest < least and max(rates) <= place.speed:
        message = f"the links' rates leave nothing of {place.interface} ({show_rate(place.speed)}) for other traffic"
        faults.at(place.trees[0][1].path, "interface-too-slow", message, "say the interface's real `speed`")
    return rest


def names_of(gateway: Gateway, places: tuple[Placed, ...], dialect: Dialect, macros: bool, faults: Faults) -> Names:
    """The names of everything in the gateway's pf.conf. Reports class names that cannot be queue names."""
    several = len(gateway.uplinks) > 1
    taken = {f"root_{place.interface}" for place in places if dialect.altq}
    taken |= {place.local for place in places}
    queues: dict[str, dict[str, str]] = {}
    for uplink in gateway.uplinks:
        own = queues[uplink.link] = {}
        for name, path in _classes(uplink.up.queues):
            own[name] = f"{uplink.link}_{name}" if several else name
            _check(name, own[name], path, uplink.link, taken, dialect, faults)
    subtrees: dict[tuple[str, str], str] = {}
    for place in places:
        if place.local:
            for uplink, tree in place.trees:
                wanted = f"{uplink.link}_{tree.direction}"
                subtrees[uplink.link, tree.direction] = _free(wanted, taken, dialect)
    roots = {} if dialect.altq else {place.interface: _free(f"root_{place.interface}", taken, dialect) for place in places}
    written = _macros(gateway, places) if macros else ()
    interfaces = {interface: f"${name}" for name, interface, _ in written}
    return Names(queues, subtrees, roots, interfaces, written)


def _macros(gateway: Gateway, places: tuple[Placed, ...]) -> tuple[tuple[str, str, str], ...]:
    """(macro, interface, what it is) of every interface that statements name."""
    several = len(gateway.uplinks) > 1
    found: dict[str, tuple[str, str]] = {}
    names: set[str] = set()

    def add(interface: str, name: str, meaning: str) -> None:
        if interface in found:
            return
        name, number = _NOT_IN_MACROS.sub("_", name), 1
        unique = name
        while unique in names:
            number += 1
            unique = f"{name}_{number}"
        names.add(unique)
        found[interface] = (unique, meaning)

    for uplink in gateway.uplinks:
        add(uplink.interface, f"{uplink.link}_if" if several else "ext_if", f"link {uplink.link}")
        add(uplink.queue_on, f"{uplink.link}_queue_if" if several else "queue_if", f"holds the queues of link {uplink.link}")
    for index, inside in enumerate(gateway.inside, 1):
        add(inside.interface, f"int_if{index}" if len(gateway.inside) > 1 else "int_if", "inside")
    return tuple((name, interface, meaning) for interface, (name, meaning) in found.items())
