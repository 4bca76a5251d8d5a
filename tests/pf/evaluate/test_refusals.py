"""What is not modelled is refused by name and place, all of it at once."""

import pytest

from pfq.diagnostics import Refused
from pfq.pf.evaluate import ruleset
from pfq.pf.verdict import read
from tests.pf.evaluate.packets import rules


def _refusals(text: str, dialect: str = "openbsd-7.6") -> list[tuple[int, str]]:
    with pytest.raises(Refused) as refused:
        rules(text, dialect)
    assert {one.code for one in refused.value.diagnostics} == {"not-modelled"}
    return [(one.place.line if one.place else 0, one.message.removeprefix("not modelled: ")) for one in refused.value.diagnostics]


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("pass in on em1 route-to 192.0.2.1", "route-to and its kin"),
        ("pass in on em1 inet6 af-to inet from (em0)", "af-to"),
        ("pass out proto tcp user root", "user"),
        ("pass out proto tcp group wheel", "group"),
        ('pass in proto tcp from any os "OpenBSD"', "os"),
        ("block in probability 10%", "probability"),
        ("pass in on rdomain 1", "rdomain"),
        ("pass in prio 3", "prio as a condition"),
        ("pass in proto icmp max-pkt-rate 10/1", "max-pkt-rate"),
        ("pass in once", "once"),
        ("pass in divert-packet port 700", "divert-to and its kin"),
        ("pass in proto tcp synproxy state", "synproxy state"),
        ("pass in keep state (max 10)", "max"),
        ("pass in keep state (max-src-states 3)", "max-src-states"),
        ("block in from no-route", "no-route"),
        ("block in from urpf-failed", "urpf-failed"),
        ("pass in on egress", "which interfaces are in group egress"),
        ("pass in from <unknown>", "the contents of table <unknown>, which the text does not define"),
        ("match out inet nat-to { 203.0.113.1, 203.0.113.2 }", "a pool of several addresses: which of them a flow gets"),
    ],
)
def test_by_name(rule: str, what: str) -> None:
    assert (2, what) in _refusals(f"pass\n{rule}\n")


def test_all_at_once_in_anchors_too() -> None:
    text = "pass in proto tcp user root probability 5%\nanchor {\n  block in from no-route\n}\n"
    assert _refusals(text) == [(1, "user"), (1, "probability"), (3, "no-route")]


def test_older_syntax() -> None:
    assert _refusals("nat on em0 from any to any -> { 203.0.113.1, 203.0.113.2 }\n", "openbsd-4.4")[0][1].startswith("a pool of several addresses")
    ranges = "rdr on em0 inet proto tcp from any to any port 1000:2000 -> 192.168.1.5 port 1000:1005\n"
    assert _refusals(ranges, "freebsd-12.1") == [(1, "a redirection to fewer ports than the rule has")]
    assert _refusals("ether pass in on em0\n", "freebsd-14.0")[0][1] == "ether rules"


def test_what_does_not_load() -> None:
    with pytest.raises(Refused) as refused:
        ruleset(read("pass out on on\n", "openbsd-7.6"))
    (fault,) = refused.value.diagnostics
    assert (fault.code, fault.message) == ("does-not-load", "the ruleset does not load: stdin:1: syntax error")
