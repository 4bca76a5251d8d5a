"""What FreeBSD 14 and 15 read beyond 13: redirections in filter rules, af-to, received-on, next hops of IPv6, rules of the link layer."""

import pytest

from pfq.pf import check
from tests.pf.answers import printed

NEWEST = "freebsd-15.0"


# The expected lines are those of sbin/pfctl/tests/files of FreeBSD (pf0019, pf0069 to pf0072, pf0084, pf1073) in our own networks.
@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ("match out on em0 inet all tag a nat-to 192.0.2.1", ["match out on em0 inet all tag a nat-to 192.0.2.1"]),
        (
            "match in on em0 proto tcp from 10.0.0.0/8 to port 80 rdr-to lo0",
            ["match in on em0 inet proto tcp from 10.0.0.0/8 to any port = http rdr-to 127.0.0.1"],
        ),
        (
            "match in on em0 inet proto tcp to port 2222 rdr-to 10.0.0.10 port 22",
            ["match in on em0 inet proto tcp from any to any port = 2222 rdr-to 10.0.0.10 port 22"],
        ),
        (
            "match out on em0 from 10.0.0.0/24 to any nat-to { 192.0.2.1, 192.0.2.2 } sticky-address",
            ["match out on em0 inet from 10.0.0.0/24 to any nat-to { 192.0.2.1, 192.0.2.2 } round-robin sticky-address"],
        ),
        (
            "match in on em0 to 192.0.2.1 rdr-to 10.0.0.0/24 sticky-address random",
            ["match in on em0 inet from any to 192.0.2.1 rdr-to 10.0.0.0/24 random sticky-address"],
        ),
        (
            "match on em0 from 10.0.0.1 to any tag a binat-to 192.0.2.1",
            [
                "match out on em0 inet from 10.0.0.1 to any tag a nat-to 192.0.2.1 static-port",
                "match in on em0 inet from any to 192.0.2.1 tag a rdr-to 10.0.0.1",
            ],
        ),
        (
            'pass in on em1 inet label "x" af-to inet6 from 2001:db8::1 to 2001:db8:1::/96',
            ['pass in on em1 inet all flags S/SA keep state label "x" af-to inet6 from 2001:db8::1 to 2001:db8:1::/96'],
        ),
        ("pass out on em0 received-on em1", ["pass out on em0 all received-on em1 flags S/SA keep state"]),
        (
            "pass in on em1 route-to (em0 2001:db8::1) prefer-ipv6-nexthop inet",
            ["pass in on em1 route-to (em0 2001:db8::1) prefer-ipv6-nexthop inet all flags S/SA keep state"],
        ),
        (
            "nat on em0 inet from 10.0.0.0/8 to any -> (em0)\npass",
            ["nat on em0 inet from 10.0.0.0/8 to any -> (em0) round-robin", "pass all flags S/SA keep state"],
        ),
    ],
)
def test_rules_of_15(rule: str, lines: list[str]) -> None:
    assert printed(f"{rule}\n", NEWEST) == lines
    assert printed("\n".join(lines) + "\n", NEWEST) == lines


@pytest.mark.parametrize("word", ["nat-to 192.0.2.1", "rdr-to 192.0.2.1", "af-to inet6 from 2001:db8::1", "received-on em0"])
def test_14_has_none_of_them(word: str) -> None:
    assert check(f"match in on em0 inet {word}\n", "freebsd-14.0").stderr.startswith("stdin:1: syntax error")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("pass on em0 inet nat-to 192.0.2.1", "nat-to and rdr-to require a direction"),
        ("block out on em0 inet nat-to 192.0.2.1", "nat-to and rdr-to require keep state"),
        ("pass out on em0 inet nat-to 192.0.2.1 nat-to 192.0.2.2", "cannot respecify nat-to/binat-to"),
        ("pass out on em0 inet af-to inet6 from 2001:db8::1", "af-to can only be used with direction in"),
        ("match in on em0 inet af-to inet6 from 2001:db8::1", "af-to is not supported on match rules"),
    ],
)
def test_wrong_rules_of_15(rule: str, message: str) -> None:
    assert f"stdin:1: {message}\n" in check(f"{rule}\n", NEWEST).stderr


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ('ether block out on em0 label "x"', ['ether block out on em0 l3 all label "x"']),
        (
            "ether pass in quick on em0 proto { 0x0800, 2054 } from 2:0:0:0:0:1 to ! ff:00:00:00:00:00/8 l3 from 10.0.0.0/8 to any tag a dnpipe 3",
            [
                "ether pass in quick on em0 proto 0x0800 from 02:00:00:00:00:01 to ! ff:00:00:00:00:00/8 l3 from 10.0.0.0/8 to any tag a dnpipe 3",
                "ether pass in quick on em0 proto 0x0806 from 02:00:00:00:00:01 to ! ff:00:00:00:00:00/8 l3 from 10.0.0.0/8 to any tag a dnpipe 3",
            ],
        ),
        ("ether match bridge-to em1 from 2:0:0:0:0:1 & 2:0:0:0:0:ff ! tagged a queue q", [
            "ether match bridge-to em1 from 02:00:00:00:00:01 & 02:00:00:00:00:ff l3 all queue q ! tagged a"
        ]),
        ('ether anchor "x" in on em0', ['ether anchor "x" in on em0 l3 all']),
    ],
)
def test_ether_rules(rule: str, lines: list[str]) -> None:
    assert printed(f"{rule}\n", "freebsd-14.0") == lines
    assert printed("\n".join(lines) + "\n", "freebsd-14.0") == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ether anchor in on em0 {\n", "pfq does not read ether anchors with rules in braces"),
        ("ether pass l3 from any to any port 80\n", "pfq does not read ports or operating systems in ether rules"),
        ("ether pass proto ip\n", "Symbolic EtherType not yet supported"),
        ("ether pass proto 65536\n", "protocol outside range"),
        ("ether pass from em0\n", "invalid MAC address em0"),
        ("ether anchor\n", "anchors without explicit rules must specify a name"),
    ],
)
def test_wrong_ether_rules(text: str, message: str) -> None:
    assert check(text, "freebsd-14.0").stderr.startswith(f"stdin:1: {message}\n")


def test_ether_rules_come_first() -> None:
    assert check("pass\nether pass\n", "freebsd-14.0").stderr == (
        "stdin:2: Rules must be in order: options, ethernet, normalization, queueing, translation, filtering\n"
    )


def test_ether_is_a_name_elsewhere() -> None:
    assert check("ether = em0\npass on $ether\n", "freebsd-13.2").status == 0
