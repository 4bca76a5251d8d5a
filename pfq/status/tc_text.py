"""Classes and filters as tc prints them, and its rates and sizes. Source: tc_class.c, tc_filter.c, q_htb.c, q_hfsc.c, tc_util.c of iproute2 6.1."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pfq.diagnostics import refuse

_RATE_UNITS = {"bit": 1, "Kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
_SIZE_UNITS = {"b": 1, "Kb": 1024, "Mb": 1024**2, "Gb": 1024**3}
_QUANTITY = re.compile(r"([0-9.]+)([A-Za-z]+)(?:/\d+)?\Z")
_SENT = re.compile(r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+),")
_BACKLOG = re.compile(r"backlog \S+ (\d+)p")


@dataclass(frozen=True, slots=True)
class HeldClass:
    """A class as the kernel holds it. parent: '1:' for one at the top. words: what its discipline says of it.

    packets, bytes: sent so far; dropped, waiting: packets."""

    kind: str
    name: str
    parent: str
    words: tuple[str, ...]
    packets: int
    bytes: int
    dropped: int
    waiting: int


@dataclass(frozen=True, slots=True)
class HeldFilter:
    """A filter as the kernel holds it: its place in the order, its kind, and everything that tc says about it in one line."""

    protocol: str
    preference: int
    kind: str
    text: str


def rate_bounds(text: str) -> tuple[int, int]:
    """The least and the greatest rate (bit/s) that tc prints so. Going to the next unit it cuts off a rest only from 1000 of that on.

    Source: print_color_rate in utils.c of iproute2. Raises ValueError."""
    number, unit = _split(text, _RATE_UNITS)
    least = round(number * unit)
    return least, least + (unit if number >= 1000 else max(unit // 1000, 1)) - 1


def size_bounds(text: str) -> tuple[int, int]:
    """The least and the greatest size (bytes) that tc prints so: it writes whole Kb for what is less than 16 bytes from it. Raises ValueError."""
    number, unit = _split(text, _SIZE_UNITS)
    size = round(number * unit)
    slack = {1: 0, 1024: 16}.get(unit, 1024)
    return size - slack, size + slack


def _split(text: str, units: dict[str, int]) -> tuple[float, int]:
    found = _QUANTITY.match(text)
    if not found or found[2] not in units:
        raise ValueError(f"{text!r} is no quantity")
    return float(found[1]), units[found[2]]


def _counted(lines: list[str]) -> tuple[int, int, int, int]:
    text = "\n".join(lines)
    sent, backlog = _SENT.search(text), _BACKLOG.search(text)
    size, packets, dropped = (int(each) for each in sent.groups()) if sent else (0, 0, 0)
    return packets, size, dropped, int(backlog[1]) if backlog else 0


def _blocks(text: str, word: str) -> Iterator[list[str]]:
    """The lines of each thing; its first one begins with `word`."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith(f"{word} ") and block:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def read_classes(text: str, name: str) -> list[HeldClass]:
    """Every class of `tc -s -d class show`. Raises Refused, naming the output."""
    found = []
    for first, *rest in _blocks(text, "class"):
        words = first.split()
        if len(words) < 4 or words[0] != "class":
            raise refuse("unreadable", f"{name}: {first[:60]!r} is no class", hint="is it what the command printed?")
        parent, after = ("root", 4) if words[3] == "root" else (words[4], 5)
        found.append(HeldClass(words[1], words[2], parent, tuple(words[after:]), *_counted(rest)))
    return found


def read_filters(text: str, name: str) -> list[HeldFilter]:
    """Every filter of `tc -s -d filter show`, without the lines that only open a list of them. Raises Refused, naming the output."""
    found = []
    for block in _blocks(text, "filter"):
        words = block[0].split()
        try:
            protocol, preference = words[words.index("protocol") + 1], int(words[words.index("pref") + 1])
            kind = words[words.index("pref") + 2]
        except (ValueError, IndexError):
            raise refuse("unreadable", f"{name}: {block[0][:60]!r} is no filter", hint="is it what the command printed?") from None
        # A list's own line has no handle; in u32's tables a line says `ht divisor`.
        rest = words[words.index("pref") + 3 :]
        if not ({"handle", "fh", "flowid"} & set(rest)) or ("ht" in rest and "divisor" in rest):
            continue
        found.append(HeldFilter(protocol, preference, kind, " ".join(" ".join(block).split())))
    return found
