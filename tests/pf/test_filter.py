"""Filter rules: what they expand to, how they are printed, which are refused."""

import pytest

from tests.pf.answers import DIALECTS, FREEBSD, MIDDLE, NEW, OLD, printed, said


@pytest.mark.parametrize(
    ("dialect", "state", "port"), [(OLD, " keep state", "= https"), (FREEBSD, " keep state", "= https"), (NEW, "", "= 443"), (MIDDLE, "", "= 443")]
)
def test_pass_keeps_state(dialect: str, state: str, port: str) -> None:
    assert printed("pass in on em0 proto tcp to port 443\n", dialect) == [
        f"pass in on em0 proto tcp from any to any port {port} flags S/SA{state}"
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lists_make_rules_in_order(dialect: str) -> None:
    assert printed("block from { 10.0.0.1, 10.0.0.2 } to { 192.0.2.1 192.0.2.2 }\n", dialect) == [
        "block drop inet from 10.0.0.1 to 192.0.2.1",
        "block drop inet from 10.0.0.1 to 192.0.2.2",
        "block drop inet from 10.0.0.2 to 192.0.2.1",
        "block drop inet from 10.0.0.2 to 192.0.2.2",
    ]


def test_ports_vary_fastest() -> None:
    assert printed("block proto { tcp udp } to port { 1 2 }\n") == [
        "block drop proto tcp from any to any port = 1",
        "block drop proto tcp from any to any port = 2",
        "block drop proto udp from any to any port = 1",
        "block drop proto udp from any to any port = 2",
    ]


def test_families_that_cannot_meet() -> None:
    assert said("block from 10.0.0.1 to 2001:db8::1\n") == ["stdin:1: rule expands to no valid combination"]


def test_negation() -> None:
    assert printed("block on ! em0 from ! 10.0.0.0/8 to ! <trusted>\n") == ["block drop on ! em0 inet from ! 10.0.0.0/8 to ! <trusted>"]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("10.1.2.3/8", "10.0.0.0/8"), ("10.0.0.0/32", "10.0.0.0"), ("10/8", "10.0.0.0/8"), ("0.0.0.0/0", "any"),
        ("2001:db8:0:0::1/128", "2001:db8::1"), ("(em0)", "(em0)"), ("(em0:network)", "(em0:network)"),
        ("no-route", "no-route"), ("10.0.0.1 - 10.0.0.9", "10.0.0.1 - 10.0.0.9"),
    ],
)
def test_addresses(address: str, shown: str) -> None:
    family = "inet6 " if "::" in address else ""
    assert f"from {shown} to (lo0)" in printed(f"block {family}from {address} to (lo0)\n")[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pass to port 80\n", "port only applies to tcp/udp"),
        ("pass proto udp flags S/SA\n", "flags only apply to tcp"),
        ("pass proto tcp to port 65536\n", "illegal port value 65536"),
        ("pass proto tcp to port nosuchservice\n", "unknown port nosuchservice"),
        ("pass proto nosuch\n", "unknown protocol nosuch"),
        ("pass inet proto icmp icmp-type nosuch\n", "unknown icmp-type nosuch"),
        ("pass from 10.0.0.0/33\n", "netmask 33 invalid for IPv4 address"),
        ("block keep state\n", "rule expands to no valid combination"),
        ("pass in on em0 tagged\n", "syntax error"),
        ("pass user nosuchuser proto tcp\n", "unknown user nosuchuser"),
        (f'pass label "{"l" * 64}"\n', "rule label too long (max 63 chars)"),
        (f'pass tag {"t" * 64}\n', "tag too long, max 63 chars"),
        ("pass probability 2\n", "invalid probability"),
        (f"pass from <{'t' * 32}>\n", f"table name '{'t' * 32}' too long"),
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_refused(dialect: str, text: str, message: str) -> None:
    assert any(message in line for line in said(text, dialect))


def test_label_macros() -> None:
    assert printed('pass in on em0 proto tcp from 10.0.0.1 to port 22 label "$if:$proto:$srcaddr:$dstport"\n')[0].endswith(
        'label "em0:tcp:10.0.0.1:22"'
    )


def test_label_number_of_the_rule() -> None:
    assert [line.rpartition(" ")[2] for line in printed('block\npass label "$nr"\npass label "$nr"\n')[1:]] == ['"1"', '"2"']


def test_icmp_types() -> None:
    assert printed("pass inet proto icmp icmp-type { echoreq, unreach code needfrag }\n", OLD) == [
        "pass inet proto icmp all icmp-type echoreq keep state",
        "pass inet proto icmp all icmp-type unreach code needfrag keep state",
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_block_policies(dialect: str) -> None:
    assert printed("set block-policy return\nblock\nblock drop in\nblock return-rst out proto tcp\n", dialect)[1:] == [
        "block return all", "block drop in all", "block return-rst out proto tcp all",
    ]


def test_state_options() -> None:
    line = printed("pass proto tcp keep state (max 100, source-track rule, max-src-states 3, tcp.first 30)\n")[0]
    # A limit of states makes them age sooner when it comes near.
    assert line.endswith("keep state (max 100, source-track rule, max-src-states 3, tcp.first 30, adaptive.start 60, adaptive.end 120)")


def test_anchors_of_rules() -> None:
    text = 'anchor "web" in on em0 {\n  block\n  anchor {\n    pass proto tcp to port 80\n  }\n}\nanchor "other/*"\n'
    assert printed(text) == [
        'anchor "web" in on em0 all {', "  block drop all", "  anchor all {",
        "    pass proto tcp from any to any port = 80 flags S/SA", "  }", "}", 'anchor "other/*" all',
    ]


def test_anchors_too_deep() -> None:
    assert said("anchor {\n" * 200)[-1] == "pfctl: pfa_anchor: anchors too deep"


def test_tables() -> None:
    assert printed("table <a> const { 10.0.0.0/8 !10.1.0.0/16 ::1 }\ntable <b> persist\npass from <a> to <b>\n") == [
        "table <a> const { 10.0.0.0/8 !10.1.0.0/16 ::1 }", "table <b> persist", "pass from <a> to <b> flags S/SA",
    ]


def test_table_file_that_is_not_there() -> None:
    assert said('table <a> file "/nonexistent/addresses"\n') == [
        'stdin:1: cannot load "/nonexistent/addresses": No such file or directory'
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nested_lists_are_bounded(dialect: str) -> None:
    assert said("pass from " + "{ " * 5000 + "10.0.0.1" + " }" * 5000 + "\n", dialect) == ["pfctl: lists are nested more than 100 deep"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_expansion_is_bounded(dialect: str) -> None:
    hosts = " ".join(f"10.0.{i // 250}.{i % 250}" for i in range(700))
    assert said(f"block from {{ {hosts} }} to {{ {hosts} }}\n", dialect) == ["pfctl: the ruleset expands to more than 400000 rules"]


@pytest.mark.parametrize("dialect", [OLD, FREEBSD])
def test_order_of_statements(dialect: str) -> None:
    assert said("pass\nnat on em0 from 10.0.0.0/8 to any -> 192.0.2.1\n", dialect) == [
        "stdin:2: Rules must be in order: options, normalization, queueing, translation, filtering"
    ]


def test_antispoof() -> None:
    assert printed("antispoof for lo0\n", OLD) == ["block drop in on ! lo0 inet from 127.0.0.0/8 to any", "block drop in on ! lo0 inet6 from ::1 to any"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("match out set prio 3\n", "match out all set (prio 3)"),
        ("match out set prio (3, 6)\n", "match out all set (prio(3, 6))"),
        ("match set tos lowdelay\n", "match all set (tos 0x10)"),
        ("match scrub (max-mss 1380 no-df)\n", "match all scrub (no-df max-mss 1380)"),
        ("pass once\n", "pass all flags S/SA once"),
        ("pass rtable 1\n", "pass all flags S/SA rtable 1"),
        ("pass received-on em1\n", "pass all received-on em1 flags S/SA"),
        ("match tag A tagged B\n", "match all tag A tagged B"),
        ("match ! tagged B\n", "match all ! tagged B"),
        ("pass allow-opts\n", "pass all flags S/SA allow-opts"),
        ("block urpf-failed\n", ""),
        ("pass no state\n", "pass all no state"),
        ("pass in log (all, to pflog1) quick\n", "pass in log (all, to pflog1) quick all flags S/SA"),
        ("pass max-pkt-rate 100/10\n", "pass all flags S/SA max-pkt-rate 100/10"),
        ("pass set delay 20\n", "pass all flags S/SA set (delay 20)"),
    ],
)
def test_options_of_rules(text: str, shown: str) -> None:
    if shown:
        assert printed(text) == [shown]
    else:
        assert said(text) == ["stdin:1: syntax error"]
