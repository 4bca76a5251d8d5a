"""The queues of interfaces, as a tree defines them: which leaf a packet waits in that is marked with a queue's name.

Source: hfsc_enqueue, cbq_enqueue and priq_enqueue of sys/altq (OpenBSD 4.4, FreeBSD 12.1), hfsc_enq and hfsc_class of OpenBSD 7.6.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pfq.diagnostics import Place
from pfq.pf import queues
from pfq.pf.altq_nodes import Altq, disciplines
from pfq.pf.altq_text import queue_text as altq_text
from pfq.pf.queues import Queue
from pfq.pf.verdict import Tree


@dataclass(frozen=True, slots=True)
class Leaf:
    """A queue that packets wait in, and where it is defined."""

    name: str
    place: Place
    text: str


@dataclass(frozen=True)
class Device:
    """An interface with queues. `leaves` by name; `inner`: names of queues with others below them. `default` None: what names no leaf is dropped."""

    name: str
    leaves: Mapping[str, Leaf]
    inner: frozenset[str]
    default: Leaf | None


def devices(tree: Tree, main: str) -> dict[str, Device]:
    """Every interface with queues. `main` is the file of those that have no statement."""
    reading = tree.reading
    files = {statement.line: statement.file for statement in tree.statements if statement.kind == "queue"}

    def place(line: int) -> Place:
        return Place(files.get(line, main), line, 1)

    if reading.dialect.queue_trees:
        return {root.interface: _of_tree(root, place) for root in queues.roots(reading)}
    interfaces = {one.interface: one for one in disciplines(reading) if not one.name}
    return {
        name: _of_altq(discipline, [one for one in disciplines(reading) if one.name and one.interface == name], place)
        for name, discipline in interfaces.items()
    }


def _of_tree(root: Queue, place: Callable[[int], Place]) -> Device:
    def leaf(queue: Queue) -> Leaf:
        return Leaf(queue.name, place(queue.line), queues.queue_text(queue).strip())

    below: list[Queue] = []

    def gather(queue: Queue) -> None:
        below.append(queue)
        for child in queue.children:
            gather(child)

    gather(root)
    last = [queue for queue in below if not queue.children]
    default = [queue for queue in last if queue.default] or ([root] if root in last else [])
    inner = frozenset(queue.name for queue in below if queue.children)
    # A root without bandwidth is fq_codel as the interface's discipline: there is one place to wait, whatever a rule says.
    return Device(root.interface, {queue.name: leaf(queue) for queue in last}, inner, leaf(default[-1]) if default else None)


def _of_altq(discipline: Altq, listed: list[Altq], place: Callable[[int], Place]) -> Device:
    def leaf(queue: Altq) -> Leaf:
        return Leaf(queue.name, place(queue.line), altq_text(queue, False).strip())

    parents = {queue.parent for queue in listed if queue.parent}
    # A class of cbq holds packets whether it has others below it or not.
    inner = parents if discipline.scheduler == "hfsc" else set()
    leaves = {queue.name: leaf(queue) for queue in listed if queue.name not in inner}
    default = [queue for queue in listed if "default" in queue.written.flags]
    return Device(discipline.interface, leaves, frozenset(inner), leaf(default[-1]) if default else None)
