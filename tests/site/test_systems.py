"""Which systems are covered, and what each counts of a packet."""

import pytest

from pfq.site.systems import (
    RANGES,
    Family,
    Kind,
    UnknownSystem,
    carries_control_frames,
    counted_bytes,
    covered,
    interface_kind,
    is_group,
    parse_system,
    schedulers,
)


@pytest.mark.parametrize(
    ("text", "version", "family"),
    [
        ("openbsd-3.3", (3, 3), "altq"),
        ("openbsd-5.4", (5, 4), "altq"),
        ("openbsd-5.5", (5, 5), "queue"),
        ("openbsd-7.9", (7, 9), "queue"),
        ("freebsd-12", (12, 0), "altq"),
        ("freebsd-14.1", (14, 1), "altq"),
        ("linux-4.1", (4, 1), "linux"),
        ("linux-6", (6, 0), "linux"),
        ("linux-6.12", (6, 12), "linux"),
    ],
)
def test_systems(text: str, version: tuple[int, int], family: Family) -> None:
    system = parse_system(text)
    assert (system.version, system.family) == (version, family)


@pytest.mark.parametrize(
    "text",
    ["", "openbsd", "openbsd-", "openbsd-7.6.1", "OpenBSD-7.6", "openbsd 7.6", "openbsd-3.2", "freebsd-11.4", "freebsd-16", "linux-4.0", "linux-4.1\n",
     "linux-\N{ARABIC-INDIC DIGIT SIX}", "netbsd-10", "linux-99999999999"],
)  # fmt: skip
def test_other_systems_are_refused_with_a_hint(text: str) -> None:
    with pytest.raises(UnknownSystem) as found:
        parse_system(text)
    assert found.value.hint


def test_what_is_covered_names_every_system() -> None:
    assert all(row.os in covered() for row in RANGES)


@pytest.mark.parametrize(
    ("system", "known"),
    [
        ("openbsd-3.3", ("priq", "cbq")),
        ("openbsd-4.4", ("priq", "hfsc", "cbq")),
        ("openbsd-7.6", ("hfsc",)),
        ("linux-6.2", ("prio", "htb", "hfsc", "cbq", "cake")),
        ("linux-6.3", ("prio", "htb", "hfsc", "cake")),
        ("linux-4.18", ("prio", "htb", "hfsc", "cbq")),
    ],
)
def test_schedulers(system: str, known: tuple[str, ...]) -> None:
    assert schedulers(parse_system(system)) == known


@pytest.mark.parametrize(
    ("system", "interface", "kind"),
    [
        ("openbsd-7.6", "em0", "ethernet"),
        ("openbsd-7.6", "kue0", "ethernet"),
        ("openbsd-7.6", "pppoe0", "pppoe"),
        ("openbsd-7.6", "ppp0", "ppp"),
        ("openbsd-7.6", "tun12", "tun"),
        ("openbsd-7.6", "vlan2417", "vlan"),
        ("freebsd-14", "ng0", "ng"),
        ("linux-6.1", "eth0", "ethernet"),
        ("linux-6.1", "eth0.2417", "vlan"),
        ("linux-6.1", "vlan5", "vlan"),
        ("linux-6.1", "ppp0", "ppp"),
        ("linux-6.1", "wg0", "tun"),
        ("linux-6.1", "enp3s0", "ethernet"),
    ],
)
def test_interface_kinds(system: str, interface: str, kind: Kind) -> None:
    assert interface_kind(parse_system(system), interface) == kind


@pytest.mark.parametrize(
    ("system", "interface", "queue_on", "counted"),
    [
        ("openbsd-4.4", "ethernet", "ethernet", 14),
        ("openbsd-4.4", "tun", "tun", 4),
        ("openbsd-7.6", "pppoe", "pppoe", 2),
        ("openbsd-7.6", "pppoe", "ethernet", 22),
        ("openbsd-7.6", "vlan", "ethernet", 18),
        ("openbsd-7.6", "tun", "ethernet", None),
        ("freebsd-14", "ethernet", "ethernet", 14),
        ("freebsd-14", "vlan", "vlan", None),
        ("freebsd-14", "vlan", "ethernet", 18),
        ("freebsd-14", "ng", "ng", 1),
        ("linux-6.1", "ethernet", "ethernet", 14),
        ("linux-6.1", "ppp", "ppp", 0),
        ("linux-6.1", "ppp", "ethernet", None),
    ],
)
def test_counted_bytes(system: str, interface: Kind, queue_on: Kind, counted: int | None) -> None:
    assert counted_bytes(parse_system(system), interface, queue_on) == counted


@pytest.mark.parametrize(("system", "interface", "group"), [("openbsd-7.6", "egress", True), ("openbsd-7.6", "em0", False), ("linux-6.1", "lan", False)])
def test_groups(system: str, interface: str, group: bool) -> None:
    assert is_group(parse_system(system), interface) is group


@pytest.mark.parametrize(("kind", "carries"), [("ethernet", True), ("vlan", True), ("pppoe", False), ("tun", False), ("ppp", False)])
def test_control_frames(kind: Kind, carries: bool) -> None:
    assert carries_control_frames(kind) is carries
