"""Changes of a model that make it, most of the time, a bad one."""

from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

VALUES: tuple[Any, ...] = (
    0, -1, 1, 10**30, 2**20_000, 1.5, float("inf"), float("nan"), True, False, date(2020, 1, 1),
    "", "x", "a b", "é\u202e", "\n", "$(reboot)", "x" * 5000, "10%", "0.001%", "100%", "20 Mbit", "1 bit", "10 Tbit", "60 s", "1 us", "65535 packets",
    "em0", "eth9", "egress", "vlan7", "pppoe0", "default", "express", "rest", "openbsd-7.6", "openbsd-3.3", "linux-6.1", "linux-4.1", "freebsd-14",
    "inside", "police", "ingress", "none", "udp/53", "tcp", "icmp", "ipv4", "ipv6", "10.0.0.0/8", "::/0", "192.0.2.1", "fe80::%$(x)/64",
    "cake", "priq", "cbq", "hfsc", "htb", "ef", "sfq", "codel", "flow",
    [], {}, [[]], [{}], {"a": {}}, ["tcp/80"], ["x", "x"], {"rate": "1 kbit"}, {"up": "90%"}, {"interface": "em0"}, {"name": "x"},
)  # fmt: skip


def _places(value: Any, above: Any = None, key: Any = None) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in the value."""
    if above is not None:
        yield above, key
    for inner, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(item, value, inner)


def mutated(model: dict[str, Any], random: Random, values: tuple[Any, ...] = VALUES) -> str:
    """Changes the model in place: a value replaced, a key or an entry dropped, renamed or added. Returns what was done."""
    places = list(_places(model))
    if not places:
        return "nothing"
    above, key = random.choice(places)
    kind = random.choice(("replace", "replace", "drop", "rename"))
    if kind == "replace":
        above[key] = random.choice(values)
    elif kind == "drop":
        del above[key]
    elif isinstance(above, dict):
        value = above.pop(key)
        above[random.choice(("x", f"{key}e", key[:-1], f"{key} ", "é\n", ""))] = value
    else:
        above.insert(key, random.choice(values))
    return kind
