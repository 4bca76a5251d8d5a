"""The compiled tc statements, in words, as what the kernel must hold."""

from collections.abc import Iterable
from dataclasses import dataclass

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one statement asks for. place: the parent ('root', 'ingress', '1:10'); name: a class's, or a discipline's handle.

    stab: the words of the size table. words: those after the kind."""

    interface: str
    place: str
    name: str
    kind: str
    stab: Words
    words: Words


@dataclass(frozen=True, slots=True)
class WantedFilter:
    """A filter that one statement asks for. words: those after the kind."""

    interface: str
    parent: str
    protocol: str
    preference: int
    kind: str
    words: Words


def _option(words: Words, name: str) -> str:
    return words[words.index(name) + 1]


def wanted_disciplines(statements: Iterable[Words]) -> list[Wanted]:
    """Those of `qdisc add dev D root|parent P|ingress handle H [stab ...] KIND ...`."""
    found = []
    for words in statements:
        if words[:2] != ("qdisc", "add"):
            continue
        interface, handle = _option(words, "dev"), _option(words, "handle")
        if words[-1] == "ingress":
            found.append(Wanted(interface, "ingress", handle, "ingress", (), ()))
            continue
        place = "root" if words[4] == "root" else _option(words, "parent")
        rest = words[words.index("handle") + 2 :]
        stab: Words = ()
        if rest[0] == "stab":
            # A size table's words come in pairs; the first that opens none is the kind.
            end = 1
            while rest[end] in ("linklayer", "mtu", "tsize", "mpu", "overhead"):
                end += 2
            stab, rest = rest[1:end], rest[end:]
        found.append(Wanted(interface, place, handle, rest[0], stab, rest[1:]))
    return found


def wanted_classes(statements: Iterable[Words]) -> list[Wanted]:
    """Those of `class add dev D parent P classid C KIND ...`."""
    found = []
    for words in statements:
        if words[:2] == ("class", "add"):
            after = words.index("classid") + 2
            found.append(Wanted(_option(words, "dev"), _option(words, "parent"), words[after - 1], words[after], (), words[after + 1 :]))
    return found


def wanted_filters(statements: Iterable[Words]) -> list[WantedFilter]:
    """Those of `filter add dev D parent P protocol X prio N [handle H] KIND ...`."""
    found = []
    for words in statements:
        if words[:2] != ("filter", "add"):
            continue
        after = words.index("prio") + 2
        preference = int(words[after - 1])
        if words[after] == "handle":
            after += 2
        found.append(WantedFilter(_option(words, "dev"), _option(words, "parent"), _option(words, "protocol"), preference, words[after], words[after + 1 :]))
    return found


def pairs(words: Words, names: Iterable[str]) -> dict[str, str]:
    """The values of the options `names` that are there."""
    return {name: words[words.index(name) + 1] for name in names if name in words}
