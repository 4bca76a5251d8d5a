"""Disciplines and classes in the kernel against the compiled statements: every number that a statement names, to the kernel's and tc's rounding.

Sources: sch_htb.c, sch_hfsc.c, sch_fq_codel.c (times in units of 1024 ns), linux/pkt_sched.h (rates in whole bytes a second, buffers in 64 ns).
"""

from collections.abc import Callable, Iterator
from typing import Any

from pfq.status.tc_json import WORDS
from pfq.status.tc_text import HeldClass, rate_bounds, size_bounds
from pfq.status.tc_wanted import Wanted, Words, pairs

# What each word means and what there is, as the kernel shows it: options of disciplines, by kind; how the two are compared.
Same = Callable[[str, Any], bool]


def _equal(wanted: str, held: Any) -> bool:
    return str(held) == wanted


def _hexadecimal(wanted: str, held: Any) -> bool:
    return isinstance(held, str) and int(held, 16) == int(wanted, 16)


def _time(wanted: str, held: Any) -> bool:
    """Microseconds; CoDel's clock has steps of about one, and a result is cut off."""
    return isinstance(held, int) and abs(held - int(wanted.removesuffix("us"))) <= 1


def _rate(wanted: str, held: Any) -> bool:
    """JSON has bytes a second."""
    return isinstance(held, int) and held == int(wanted.removesuffix("bit")) // 8


def _size(wanted: str, held: Any) -> bool:
    return isinstance(held, int) and held == int(wanted.removesuffix("b"))


def _at_least_two(wanted: str, held: Any) -> bool:
    return isinstance(held, int) and held == max(int(wanted), 2)


_CODEL: dict[str, Same] = {"limit": _equal, "target": _time, "interval": _time}
_OPTIONS: dict[str, dict[str, Same]] = {
    "htb": {"default": _hexadecimal},
    "hfsc": {"default": _hexadecimal},
    "prio": {"bands": _equal},
    "pfifo": {"limit": _equal},
    "fq_codel": _CODEL,
    "codel": _CODEL,
    "sfq": {"limit": _at_least_two, "perturb": _equal},
    "red": {"limit": _equal, "min": _equal, "max": _equal},
    "cake": {"bandwidth": _rate, "overhead": _equal, "rtt": _time, "memlimit": _size},
}
# Words without a value, and what the kernel shows for them.
_FLAGS: dict[str, dict[str, tuple[str, Any]]] = {
    "fq_codel": {"ecn": ("ecn", True), "noecn": ("ecn", None)},
    "codel": {"ecn": ("ecn", True), "noecn": ("ecn", None)},
    "red": {"ecn": ("ecn", True)},
    "cake": {
        "nat": ("nat", True), "nonat": ("nat", False), "nowash": ("wash", False), "ingress": ("ingress", True),
        "ack-filter": ("ack-filter", "enabled"), "no-ack-filter": ("ack-filter", "disabled"),
        "ack-filter-aggressive": ("ack-filter", "aggressive"), "no-split-gso": ("split_gso", False), "unlimited": ("bandwidth", "unlimited"),
        "atm": ("atm", "atm"), "noatm": ("atm", "noatm"), "raw": ("raw", True),
        **{name: ("diffserv", name) for name in ("besteffort", "diffserv4")},
        **{name: ("flowmode", name) for name in ("flowblind", "flows", "triple-isolate", "dual-srchost", "dual-dsthost")},
    },
}


def parent_of(held: dict[str, Any]) -> str:
    """Where a discipline of `tc -j qdisc show` stands: 'root', 'ingress' or a class."""
    if held.get("root"):
        return "root"
    parent = str(held.get("parent", ""))
    return "ingress" if parent == "ffff:fff1" else parent


def _options(held: dict[str, Any]) -> dict[str, Any]:
    options = held.get("options")
    found = dict(options) if isinstance(options, dict) else {}
    words = str(found.pop(WORDS, "")).split()
    return {**dict(zip(words[::2], words[1::2], strict=False)), **found}


def discipline_faults(wanted: Wanted, held: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a discipline of the right kind."""
    if held.get("handle") != wanted.name:
        yield f"handle {held.get('handle')} instead of {wanted.name}"
    options = _options(held)
    known = _OPTIONS.get(wanted.kind, {})
    for name, text in pairs(wanted.words, known).items():
        if not known[name](text, options.get(name)):
            yield f"{name} {options.get(name)} instead of {text}"
    for word, (name, value) in _FLAGS.get(wanted.kind, {}).items():
        if word in wanted.words and options.get(name) != value:
            yield f"not {word}"
    if "priomap" in wanted.words:
        start = wanted.words.index("priomap") + 1
        if [str(band) for band in options.get("priomap", ())] != list(wanted.words[start : start + 16]):
            yield f"priomap {' '.join(map(str, options.get('priomap', ())))} instead of {' '.join(wanted.words[start : start + 16])}"
    yield from _stab_faults(wanted.stab, held.get("stab"))


def _stab_faults(wanted: Words, held: Any) -> Iterator[str]:
    """The size table. tc leaves out what is 0."""
    if bool(wanted) != bool(held):
        yield "no size table (stab)" if wanted else "a size table (stab) that is not the model's"
        return
    for name, text in pairs(wanted, ("linklayer", "overhead", "mpu", "mtu", "tsize")).items():
        if str(held.get(name, 0)) != text:
            yield f"stab: {name} {held.get(name, 0)} instead of {text}"


def class_faults(wanted: Wanted, held: HeldClass) -> Iterator[str]:
    """What is wrong with a class."""
    if held.kind != wanted.kind:
        yield f"{held.kind} instead of {wanted.kind}"
        return
    # A class at the top of htb is shown at `root`.
    parent = f"{wanted.name.split(':')[0]}:" if held.parent == "root" else held.parent
    if parent != wanted.place:
        yield f"in {parent} instead of {wanted.place}"
    if wanted.kind == "htb":
        yield from _htb_faults(wanted.words, held.words)
    elif wanted.kind == "hfsc":
        yield from _hfsc_faults(wanted.words, held.words)
    elif wanted.kind == "cbq":
        yield from _rates(wanted.words, held.words, ("rate",), 0.0)


def _within(bounds: tuple[int, int], wanted: float, slack: float) -> bool:
    return bounds[0] - slack <= wanted <= bounds[1] + slack


def _rates(wanted: Words, held: Words, names: tuple[str, ...], part: float) -> Iterator[str]:
    there = pairs(held, names)
    for name, text in pairs(wanted, names).items():
        rate = int(text.removesuffix("bit"))
        try:
            right = name in there and _within(rate_bounds(there[name]), rate, 8 + rate * part)
        except ValueError:
            right = False
        if not right:
            yield f"{name} {there.get(name)} instead of {text}"


def _htb_faults(wanted: Words, held: Words) -> Iterator[str]:
    yield from _rates(wanted, held, ("rate", "ceil"), 1e-5)
    there = pairs(held, ("prio", "quantum", "burst", "cburst"))
    for name, text in pairs(wanted, ("burst", "cburst")).items():
        size = int(text.removesuffix("b"))
        # The kernel keeps the time that the burst takes; that of a fast class is few ticks.
        try:
            right = name in there and _within(size_bounds(there[name]), size, 16 + size * 0.01)
        except ValueError:
            right = False
        if not right:
            yield f"{name} {there.get(name)} instead of {text}"
    for name, text in pairs(wanted, ("prio", "quantum")).items():
        # Of a class with classes inside, tc shows neither.
        if there.get(name, text) != text:
            yield f"{name} {there[name]} instead of {text}"


def _curves(words: Words, names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Each curve's m1, d and m2."""
    found: dict[str, dict[str, str]] = {}
    curve = ""
    for index, word in enumerate(words):
        if word in names:
            curve = word
            found[curve] = {}
        elif curve and word in ("m1", "d", "m2") and index + 1 < len(words):
            found[curve][word] = words[index + 1]
    return found


def _hfsc_faults(wanted: Words, held: Words) -> Iterator[str]:
    there = _curves(held, ("rt", "ls", "ul", "sc"))
    # What is both realtime and linkshare is shown as one.
    if "sc" in there:
        there["rt"] = there["ls"] = there.pop("sc")
    asked = _curves(wanted, ("rt", "ls", "ul"))
    for name in ("rt", "ls", "ul"):
        if (name in asked) != (name in there):
            yield f"no {name} curve" if name in asked else f"a {name} curve"
            continue
        for fault in _curve_faults(asked.get(name, {}), there.get(name, {})):
            yield f"{name}: {fault}"


def _curve_faults(wanted: dict[str, str], held: dict[str, str]) -> Iterator[str]:
    for part in ("m1", "m2"):
        if part in wanted:
            # Slopes are kept in 2^-20 bytes a tick (sch_hfsc.c m2sm), and come back a little off.
            yield from _rates((part, wanted[part]), (part, held.get(part, "")), (part,), 1e-3)
    if "m1" not in wanted and held.get("m1", "0bit") not in ("0bit", held.get("m2")):
        yield f"m1 {held['m1']} where there is none"
    if "d" in wanted and not _time_near(int(wanted["d"].removesuffix("us")), held.get("d", "")):
        yield f"d {held.get('d')} instead of {wanted['d']}"


def _time_near(microseconds: int, text: str) -> bool:
    """tc writes three digits of a time in us, ms or s."""
    for unit, factor in (("us", 1), ("ms", 1000), ("s", 1_000_000)):
        number = text.removesuffix(unit)
        if text.endswith(unit) and number.replace(".", "", 1).isdigit():
            return abs(float(number) * factor - microseconds) <= 2 + microseconds * 0.01
    return False
