"""nat, rdr and binat rules, and nat-to, rdr-to and binat-to."""

import pytest

from tests.pf.answers import FREEBSD, MIDDLE, NEW, OLD, printed, said


@pytest.mark.parametrize("dialect", [OLD, FREEBSD])
def test_rules_of_their_own(dialect: str) -> None:
    www = "www" if dialect == OLD else "http"
    assert printed(
        "nat on em0 from 10.0.0.0/8 to any -> 192.0.2.1\nno nat on em0 from 10.0.0.9 to any\n"
        "rdr on em0 proto tcp to port 80 -> 10.0.0.1 port 8080\nbinat on em0 from 10.0.0.5 to any -> 192.0.2.5\n",
        dialect,
    ) == [
        "nat on em0 inet from 10.0.0.0/8 to any -> 192.0.2.1",
        "no nat on em0 inet from 10.0.0.9 to any",
        f"rdr on em0 inet proto tcp from any to any port = {www} -> 10.0.0.1 port 8080",
        "binat on em0 inet from 10.0.0.5 to any -> 192.0.2.5",
    ]


@pytest.mark.parametrize("dialect", [NEW, MIDDLE])
def test_options_of_rules(dialect: str) -> None:
    assert printed(
        "pass out on em0 from 10.0.0.0/8 nat-to 192.0.2.1\npass in on em0 proto tcp to port 80 rdr-to 10.0.0.1 port 8080\n"
        "match out on em0 nat-to (em0:0) static-port\n",
        dialect,
    ) == [
        "pass out on em0 inet from 10.0.0.0/8 to any flags S/SA nat-to 192.0.2.1",
        "pass in on em0 inet proto tcp from any to any port = 80 flags S/SA rdr-to 10.0.0.1 port 8080",
        "match out on em0 all nat-to (em0:0) static-port",
    ]


def test_binat_makes_two_rules() -> None:
    assert printed("pass on em0 from 10.0.0.5 binat-to 192.0.2.5\n") == [
        "pass out on em0 inet from 10.0.0.5 to any flags S/SA nat-to 192.0.2.5 static-port",
        "pass in on em0 inet from any to 192.0.2.5 flags S/SA rdr-to 10.0.0.5",
    ]


def test_several_addresses_make_a_table() -> None:
    assert printed("pass in proto tcp rdr-to { 10.0.0.1 10.0.0.2 } sticky-address\n") == [
        "table <__automatic_0> const { 10.0.0.1 10.0.0.2 }",
        "pass in inet proto tcp all flags S/SA rdr-to <__automatic_0> round-robin sticky-address",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pass on em0 nat-to 192.0.2.1\n", "nat-to and rdr-to require a direction"),
        ("pass out no state nat-to 192.0.2.1\n", "nat-to and rdr-to require keep state"),
        ("pass in inet6 rdr-to 10.0.0.1\n", "af mismatch in translation spec"),
        ("nat on em0 -> 192.0.2.1\n", "syntax error"),
    ],
)
def test_refused(text: str, message: str) -> None:
    assert any(line.endswith(message) for line in said(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass in route-to (em1 192.0.2.9)\n", "pass in inet all flags S/SA route-to 192.0.2.9@em1"),
        ("pass in route-to 192.0.2.9@em1\n", "pass in inet all flags S/SA route-to 192.0.2.9@em1"),
        ("pass in reply-to em1\n", "pass in all flags S/SA reply-to em1"),
    ],
)
def test_routes_of_5_4(text: str, shown: str) -> None:
    assert printed(text, MIDDLE) == [shown]


def test_routes_of_older_releases() -> None:
    assert printed("pass in on em0 route-to (em1 192.0.2.9) from 10.0.0.0/8\n", OLD) == [
        "pass in on em0 route-to (em1 192.0.2.9) inet from 10.0.0.0/8 to any flags S/SA keep state"
    ]


def test_routes_of_7_6() -> None:
    assert printed("pass in from 10.0.0.0/8 route-to 192.0.2.9\n") == ["pass in inet from 10.0.0.0/8 to any flags S/SA route-to 192.0.2.9"]
