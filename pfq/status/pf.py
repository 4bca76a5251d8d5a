"""The queues of an OpenBSD or FreeBSD gateway, from what pfctl says.

The output of `pfctl -vsq`, or of `pfctl -vvsq`, which prints the same again every five seconds and then the measured rates as well.
Sources: pfctl_queue.c (OpenBSD 5.5 and later), pfctl_qstats.c (OpenBSD 4.4, FreeBSD), and pfctl_parser.c print_status.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pfq.diagnostics import Diagnostic
from pfq.pf import queues as trees
from pfq.pf.dialects import Dialect, dialect
from pfq.pf.loaded import queues_text
from pfq.pf.reading import Reading
from pfq.pf.verdict import read as read_rules
from pfq.plan.model import Gateway, Queue, Tree, Uplink
from pfq.site.kinds import Faults
from pfq.site.positions import Source
from pfq.site.systems import System
from pfq.status.outputs import Command, Outputs, must
from pfq.status.state import Class, Counters, Group, Look, added
from pfq.targets.pf_dialects import dialect_of
from pfq.targets.pf_names import Names, Placed, names_of, placed

# -vv would never end.
QUEUES = Command("pfctl-vsq", ("pfctl", "-v", "-s", "queue"))
STATUS = Command("pfctl-si", ("pfctl", "-s", "info"))
COMMANDS = [QUEUES, STATUS]

OTHER = "(not the link's)"
_AGAIN = "pfctl -f with the compiled file puts it in force"

_NAME = re.compile(r"queue +(\S+)")
_ON = re.compile(r"queue +\S+ on (\S+)")
_SENT = re.compile(r"\[ pkts: +(\d+) +bytes: +(\d+) +dropped pkts: +(\d+) +bytes: +\d+ \]")
_LENGTH = re.compile(r"\[ qlength: +(\d+)/")
_MEASURED = re.compile(r"\[ measured: +[\d.]+ packets/s, +([\d.]+)([ KMG]?)b/s \]")
_UNITS = {"": 1, " ": 1, "K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True, slots=True)
class Held:
    """A queue as pfctl prints it. rate: bit/s as pfctl measured it, to its own rounding."""

    line: str
    counters: Counters | None
    rate: int | None


Key = tuple[str, str]
_NOTHING = Held("", None, None)


def _key(line: str, root: str) -> Key:
    """Interface and name. A queue of OpenBSD 5.5 and later that has a parent names no interface; it follows its root."""
    name, on = _NAME.match(line), _ON.match(line)
    return on[1] if on else root, name[1] if name else ""


def read_queues(text: str) -> dict[Key, Held]:
    """Every queue of what `pfctl -vsq` or `pfctl -vvsq` prints; of one that is printed several times, the last."""
    found: dict[Key, Held] = {}
    key: Key = "", ""
    for line in text.splitlines():
        if line.startswith("queue "):
            key = _key(line, key[0])
            found[key] = Held(_plain(line), None, None)
            continue
        if key not in found:
            continue
        held = found[key]
        sent, length, measured = _SENT.search(line), _LENGTH.search(line), _MEASURED.search(line)
        if sent:
            found[key] = Held(held.line, Counters(int(sent[1]), int(sent[2]), int(sent[3]), None, None), held.rate)
        elif length and held.counters:
            counters = held.counters
            found[key] = Held(held.line, Counters(counters.packets, counters.bytes, counters.dropped, int(length[1]), None), held.rate)
        elif measured:
            found[key] = Held(held.line, held.counters, round(float(measured[1]) * _UNITS[measured[2]]))
    return found


def _plain(line: str) -> str:
    """The line with one blank wherever there are several: pfctl indents names by their depth."""
    return " ".join(line.split())


def _dialect(system: System) -> Dialect:
    """The reader's dialect: for the years before OpenBSD 4.4, that one, which prints queues the same way."""
    return dialect("openbsd-4.4" if system.os == "openbsd" and system.version < (4, 4) else system.name)


def wanted_queues(system: System, text: str) -> dict[Key, str]:
    """Every queue of a compiled pf.conf, as pfctl prints it once it is loaded."""
    reading = read_rules(text, _dialect(system).name, verbose=False).reading
    lines = queues_text(reading).splitlines() if system.family == "altq" else list(_tree_lines(reading))
    found: dict[Key, str] = {}
    key: Key = "", ""
    for line in lines:
        if line.startswith("queue "):
            key = _key(line, key[0])
            found[key] = _plain(line)
    return found


def _tree_lines(reading: Reading) -> Iterator[str]:
    def lines(queue: trees.Queue) -> Iterator[str]:
        yield trees.queue_text(queue)
        for child in queue.children:
            yield from lines(child)

    for root in trees.roots(reading):
        yield from lines(root)


def look(gateway: Gateway, text: str, outputs: Outputs, at: float) -> Look:
    """What the gateway's queues did, and where they are not those of the compiled pf.conf `text`. Raises Refused for outputs that cannot be had."""
    held = read_queues(must(outputs[QUEUES.name], QUEUES.typed()))
    status = must(outputs[STATUS.name], STATUS.typed())
    places = placed(gateway)
    names = names_of(gateway, places, dialect_of(gateway.system), False, Faults(Source("", "")))
    groups: list[Group] = []
    for place in places:
        for uplink, tree in place.trees:
            groups.append(_group(place, uplink, tree, names, held))
        if place.local:
            other = held.get((place.interface, place.local), _NOTHING)
            only = Class(OTHER, place.local, 0, False, False, False, None, None, None, other.counters, other.rate)
            groups.append(Group("", None, place.interface, gateway.system.family, None, (only,)))
    interfaces = {place.interface for place in places}
    return Look(at, tuple(groups), tuple(_findings(wanted_queues(gateway.system, text), held, interfaces, status)))


def _group(place: Placed, uplink: Uplink, tree: Tree, names: Names, held: dict[Key, Held]) -> Group:
    own = names.queues[uplink.link]

    def walk(queues: tuple[Queue, ...], depth: int) -> Iterator[Class]:
        for queue in queues:
            below = list(walk(queue.children, depth + 1))
            there = held.get((place.interface, own[queue.name]), _NOTHING)
            guarantee = queue.guarantee.rate.value if queue.guarantee else None
            ceiling = queue.ceiling.rate.value if queue.ceiling else None
            leaves = [each for each in below if not each.inner]
            rates = [each.rate for each in leaves if each.rate is not None]
            yield Class(
                queue.name, own[queue.name], depth, bool(below), queue.express, queue.name == uplink.classifier.default, queue.share.value, guarantee,
                ceiling, added([each.counters for each in leaves]) if below else there.counters, (sum(rates) if rates else None) if below else there.rate,
            )
            yield from below

    return Group(tree.link, tree.direction, place.interface, uplink.scheduler, tree.rate.value, tuple(walk(tree.queues, 0)))


def _warning(code: str, message: str, hint: str = _AGAIN) -> Diagnostic:
    return Diagnostic(code, message, hint=hint, severity="warning")


def _findings(wanted: dict[Key, str], held: dict[Key, Held], interfaces: set[str], status: str) -> Iterator[Diagnostic]:
    if not re.search(r"^Status: Enabled", status, re.MULTILINE):
        yield _warning("disabled", "pf is disabled, and its queues with it", "pfctl -e enables it")
    empty = {interface for interface in interfaces if not any(on == interface for on, _ in held)}
    for interface in sorted(empty):
        yield _warning("no-queues", f"{interface}: no queues")
    for key, line in wanted.items():
        interface, name = key
        if interface in empty:
            continue
        if key not in held:
            yield _warning("missing-class", f"{interface}: queue {name} is missing")
        elif held[key].line != line:
            yield _warning("different-queue", f"{interface}: {held[key].line!r} instead of {line!r}")
    for interface, name in held.keys() - wanted.keys():
        if interface in interfaces:
            yield _warning("spare-class", f"{interface}: queue {name} is not the model's")
