"""Filters in the kernel against the compiled statements. Each part of a statement must stand in what tc shows of the filter.

Source: the print functions of f_matchall.c, f_bpf.c, f_flow.c, f_basic.c, f_u32.c and m_*.c of iproute2 6.1.
"""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_network
from itertools import pairwise

from pfq.status.tc_text import HeldFilter, rate_bounds, size_bounds
from pfq.status.tc_wanted import WantedFilter, Words

# The offset of an address in its header, by the word for it and the family.
_OFFSETS = {("ip", "src"): 12, ("ip", "dst"): 16, ("ip6", "src"): 8, ("ip6", "dst"): 24}


def _u32(words: Words) -> list[str]:
    """`match u32 0 0` or `match ip src NETWORK` as words of four bytes."""
    if words[1] == "u32":
        return ["match 00000000/00000000 at 0"]
    network = ip_network(words[3])
    address, mask = network.network_address.packed, network.netmask.packed
    offset = _OFFSETS[words[1], words[2]]
    return [
        f"match {address[i : i + 4].hex()}/{mask[i : i + 4].hex()} at {offset + i}" for i in range(0, len(address), 4) if any(mask[i : i + 4])
    ]


def _selector(wanted: WantedFilter) -> list[str]:
    """What chooses the packets, as tc shows it."""
    words = wanted.words
    if wanted.kind == "bpf":
        return [f"bytecode '{words[words.index('bytecode') + 1]}'"]
    if wanted.kind == "flow":
        return [f"keys {words[words.index('keys') + 1]} ", f"divisor {words[words.index('divisor') + 1]}"]
    if wanted.kind == "basic":
        return [f"flowid {words[words.index('classid') + 1]}", f"meta(priority gt {words[words.index('gt') + 1]})"]
    return _u32(words) if wanted.kind == "u32" else []


def _action(words: Words) -> list[str]:
    """An action, as tc shows it."""
    kind = words[0]
    if kind in ("ctinfo", "connmark"):
        shown = [f"{kind} zone 0 {words[-1]}"]
        return [*shown, f"cpmark {words[words.index('cpmark') + 1]}"] if "cpmark" in words else shown
    if kind == "skbedit":
        priority = f" priority {words[words.index('priority') + 1]}" if "priority" in words else ""
        mark = f" mark {words[words.index('mark') + 1]}" if "mark" in words else ""
        return [f"skbedit {priority}{mark}".replace("  ", " ")]
    if kind == "mirred":
        return [f"mirred (Egress Redirect to device {words[-1]})"]
    return ["gact action pass"] if kind == "pass" else [kind]


def _actions(words: Words) -> list[Words]:
    """The actions of a statement: `action` begins the first, `pipe` ends one that another follows."""
    if "action" not in words:
        return []
    found: list[list[str]] = [[]]
    for word in words[words.index("action") + 1 :]:
        if word == "action":
            continue
        if word == "pipe":
            found.append([])
        else:
            found[-1].append(word)
    return [tuple(each) for each in found if each]


def _police(words: Words, shown: str) -> bool:
    held = shown.split()
    for name, bounds, slack in (("rate", rate_bounds, 8.0), ("burst", size_bounds, 64.0)):
        number = int(words[words.index(name) + 1].removesuffix("bit").removesuffix("b"))
        try:
            least, most = bounds(held[held.index(name, held.index("police")) + 1])
        except (ValueError, IndexError):
            return False
        if not least - slack - number * 1e-3 <= number <= most + slack + number * 1e-3:
            return False
    asked = dict(pairwise(words))
    overhead = asked.get("overhead", "0")
    return (asked.get("linklayer") == "atm") == ("linklayer atm" in shown) and (overhead == "0" or f"overhead {overhead}b" in shown)


def _same(wanted: WantedFilter, held: HeldFilter) -> bool:
    if (wanted.kind, wanted.protocol) != (held.kind, held.protocol):
        return False
    place = 0
    for part in _selector(wanted):
        place = held.text.find(part, place)
        if place < 0:
            return False
    actions = _actions(wanted.words)
    if held.text.count("action order ") != len(actions):
        return False
    for action in actions:
        for part in _action(action):
            place = held.text.find(part, place)
            if place < 0:
                return False
        if action[0] == "police" and not _police(action, held.text):
            return False
    return True


def filter_faults(wanted: Iterable[WantedFilter], held: Sequence[HeldFilter]) -> Iterator[str]:
    """What is wrong with the filters of one place, in the order of their preferences."""
    asked = sorted(wanted, key=lambda each: each.preference)
    left = list(held)
    for each in asked:
        there = next((one for one in left if one.preference == each.preference), None)
        if there is None:
            yield f"the filter of preference {each.preference} ({each.kind}) is missing"
            continue
        left.remove(there)
        if not _same(each, there):
            yield f"the filter of preference {each.preference} ({each.kind}) is another: {there.text[:100]}"
    for one in left:
        yield f"a filter of preference {one.preference} ({one.kind}) is not the model's"
