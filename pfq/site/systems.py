"""The operating systems that a gateway can run, and what each counts of a packet on each kind of interface.

Sources: OpenBSD 4.4 and current if_ethersubr.c, if_tun.c, if_spppsubr.c, if_pppoe.c, if_vlan.c; FreeBSD 12.1 if_ethersubr.c,
if_tun.c, ng_iface.c; Linux net/core/dev.c qdisc_pkt_len_init, drivers/net/ppp/ppp_generic.c, net/8021q/vlan_dev.c.
"""

import re
from dataclasses import dataclass
from typing import Literal

Family = Literal["altq", "queue", "linux"]
Shaping = Literal["ingress", "inside", "police"]
Kind = Literal["ethernet", "vlan", "tun", "pppoe", "ppp", "ng"]

_SYSTEM = re.compile(r"(openbsd|freebsd|linux)-(\d{1,3})(?:\.(\d{1,3}))?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class System:
    """An operating system of a version. `family` is the language its queueing is written in."""

    os: str
    version: tuple[int, int]
    family: Family

    @property
    def name(self) -> str:
        return f"{self.os}-{self.version[0]}.{self.version[1]}"


@dataclass(frozen=True, slots=True)
class Range:
    """Versions of an OS, first and last included, that can do the same. Schedulers and places to shape downloads are listed in the
    order in which one is chosen for a model that names none; policing is never chosen."""

    os: str
    first: tuple[int, int]
    last: tuple[int, int]
    family: Family
    schedulers: tuple[str, ...]
    down: tuple[Shaping, ...]


# OpenBSD: pf took ALTQ in with 3.3 (seed article) and had the queue syntax from 5.5 on (5.5 release notes).
# FreeBSD: altq(4); fairq is left out, its checker crashes in 12.1 (PF-FACTS). Linux: cbq left the kernel with 6.3.
# hfsc came to OpenBSD between 3.3 and 3.5 (parse.y), with 3.4 by its release notes.
# Linux's htb serves a class within its guarantee though those above it are over their rate, so that two packets wait in the modem and not
# one (docs/latency.md): what asks for nothing but an order gets one class with bands in it.
# Downloads: ALTQ can define a queue for one of several interfaces from 3.5 on (parse.y queuespec); Linux sends arriving packets
# through an IFB.
RANGES = (
    Range("openbsd", (3, 3), (3, 3), "altq", ("priq", "cbq"), ()),
    Range("openbsd", (3, 4), (3, 4), "altq", ("priq", "hfsc", "cbq"), ()),
    Range("openbsd", (3, 5), (5, 4), "altq", ("priq", "hfsc", "cbq"), ("inside",)),
    Range("openbsd", (5, 5), (7, 9), "queue", ("hfsc",), ("inside",)),
    Range("freebsd", (12, 0), (15, 9), "altq", ("priq", "hfsc", "cbq"), ("inside",)),
    Range("linux", (4, 1), (4, 18), "linux", ("prio", "htb", "hfsc", "cbq"), ("ingress", "inside", "police")),
    Range("linux", (4, 19), (6, 2), "linux", ("prio", "htb", "hfsc", "cbq", "cake"), ("ingress", "inside", "police")),
    Range("linux", (6, 3), (9, 99), "linux", ("prio", "htb", "hfsc", "cake"), ("ingress", "inside", "police")),
)


class UnknownSystem(ValueError):
    """No such system, or a version that is not covered; `hint` says what is."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def _show(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def covered() -> str:
    """The systems and versions that are covered, for a hint: 'openbsd-3.3 to 7.9, ...'."""
    spans = []
    for os in ("openbsd", "freebsd", "linux"):
        rows = [row for row in RANGES if row.os == os]
        last = "" if os == "linux" else f" to {_show(rows[-1].last)}"
        spans.append(f"{os}-{_show(rows[0].first)}{last or ' and later'}")
    return ", ".join(spans)


def range_of(os: str, version: tuple[int, int]) -> Range | None:
    return next((row for row in RANGES if row.os == os and row.first <= version <= row.last), None)


def parse_system(text: str) -> System:
    """The system of 'openbsd-7.6', 'freebsd-14', 'linux-6.1'. Raises UnknownSystem."""
    found = _SYSTEM.match(text)
    if not found:
        os = text.lower().partition("-")[0].strip()
        hint = f"{os}-VERSION, as in '{os}-7.6'" if os == "openbsd" else "write, for instance, 'openbsd-7.6', 'freebsd-14' or 'linux-6.1'"
        raise UnknownSystem(f"{text!r} is no system of a version", hint)
    version = (int(found[2]), int(found[3] or 0))
    row = range_of(found[1], version)
    if row is None:
        raise UnknownSystem(f"{text!r} is not covered", covered())
    return System(found[1], version, row.family)


def schedulers(system: System) -> tuple[str, ...]:
    """The schedulers the system has, in the order in which one is chosen for a policy that names none."""
    row = range_of(system.os, system.version)
    return row.schedulers if row else ()


def shapes_down(system: System) -> tuple[Shaping, ...]:
    """Where the system can shape downloads, in the order in which a place is chosen for a link that names none."""
    row = range_of(system.os, system.version)
    return row.down if row else ()


# By the name an OS gives its interfaces: first match wins, everything else is Ethernet.
_BSD_KINDS: tuple[tuple[str, Kind], ...] = (("pppoe", "pppoe"), ("tun", "tun"), ("vlan", "vlan"), ("ppp", "ppp"), ("ng", "ng"))
_LINUX_KINDS: tuple[tuple[str, Kind], ...] = (("ppp", "ppp"), ("tun", "tun"), ("wg", "tun"), ("vlan", "vlan"))


def interface_kind(system: System, interface: str) -> Kind:
    """What kind of interface a name stands for: `pppoe0`, `tun0`, `vlan5`, `eth0.2417`, `em0`."""
    if system.family == "linux":
        if "." in interface:
            return "vlan"
        return next((kind for prefix, kind in _LINUX_KINDS if interface.startswith(prefix)), "ethernet")
    stem = interface.rstrip("0123456789")
    return next((kind for prefix, kind in _BSD_KINDS if stem == prefix), "ethernet")


def is_group(system: System, interface: str) -> bool:
    """Whether a pf interface name is a group's (`egress`): groups never end in a digit (ifconfig(8))."""
    return system.family != "linux" and not interface[-1:].isdigit()


# Bytes counted on top of the IP packet, by (interface, interface that holds the queue). Absent: the queue mark does not survive there.
_ETHERNET_LIKE: dict[tuple[Kind, Kind], int] = {("ethernet", "ethernet"): 14, ("vlan", "vlan"): 14, ("vlan", "ethernet"): 18}
_COUNTED: dict[str, dict[tuple[Kind, Kind], int]] = {
    # A tag that the card inserts is not counted (IP+14), one that the driver inserts is (IP+18): the larger is taken.
    "openbsd": _ETHERNET_LIKE
    | {("tun", "tun"): 4, ("pppoe", "pppoe"): 2, ("pppoe", "ethernet"): 22, ("pppoe", "vlan"): 22, ("ppp", "ppp"): 4},
    "freebsd": {("ethernet", "ethernet"): 14, ("vlan", "ethernet"): 18, ("tun", "tun"): 4, ("ng", "ng"): 1},
    # The PPP, tun and WireGuard headers are added below the queue.
    "linux": {("ethernet", "ethernet"): 14, ("vlan", "vlan"): 14, ("vlan", "ethernet"): 14, ("ppp", "ppp"): 0, ("tun", "tun"): 0},
}


def counted_bytes(system: System, interface: Kind, queue_on: Kind) -> int | None:
    """Bytes the system counts on top of an IP packet that goes out on `interface` and is queued on `queue_on`; None: it cannot."""
    return _COUNTED[system.os].get((interface, queue_on))


def carries_control_frames(kind: Kind) -> bool:
    """Whether frames without an IP header (ARP, PPPoE discovery) stand in the interface's queue. PPP has its own way for LCP."""
    return kind in ("ethernet", "vlan")


# A token bucket must last from one look at it to the next: a tick of the clock at 100 Hz on a BSD (altq_subr.c tbr_timeout; FreeBSD in
# a virtual machine too); Linux sets a timer of its own, and a millisecond covers a late one (sch_api.c qdisc_watchdog).
_TICKS = {"openbsd": 10_000, "freebsd": 10_000, "linux": 1_000}


def tick(system: System) -> int:
    """Microseconds that a token bucket's depth must bridge."""
    return _TICKS[system.os]
