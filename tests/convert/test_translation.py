"""nat, rdr and binat."""

import pytest

from tests.convert.converting import codes, lines, refused

BLOCK = "block all\npass out\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nat on em0 from 10.0.0.0/8 to any -> (em0)", "match out on em0 from 10.0.0.0/8 to any nat-to (em0)"),
        ("nat log on em0 inet from 10.0.0.0/8 -> 192.0.2.1 static-port", "match out log on em0 inet from 10.0.0.0/8 nat-to 192.0.2.1 static-port"),
        ("nat on em0 from 10.0.0.0/8 -> { 192.0.2.1, 192.0.2.2 } sticky-address",
         "match out on em0 from 10.0.0.0/8 nat-to { 192.0.2.1, 192.0.2.2 } sticky-address"),
        ("nat on em0 inet from any tag X -> 192.0.2.1", "match out on em0 inet from any tag X nat-to 192.0.2.1"),
        ("rdr on em0 proto tcp from any to any port 80:90 -> 10.0.0.1 port 8000:*",
         "match in on em0 proto tcp from any to any port 80:90 rdr-to 10.0.0.1 port 8000:*"),
        ("rdr pass on em0 proto tcp to port 80 -> 10.0.0.1", "pass in quick on em0 proto tcp to port 80 rdr-to 10.0.0.1 flags any"),
        ("nat pass log (all) on em0 inet from 10/8 -> 192.0.2.1", "pass out quick log (all) on em0 inet from 10/8 nat-to 192.0.2.1 flags any"),
        ("binat on em0 from 10.0.0.1 to any -> 192.0.2.7", "match on em0 from 10.0.0.1 to any binat-to 192.0.2.7"),
        ("binat pass on em0 from 10.0.0.1 to any -> 192.0.2.7", "pass quick on em0 from 10.0.0.1 to any binat-to 192.0.2.7 flags any"),
        ("nat on lo0 inet all -> lo0", "match out on lo0 inet all nat-to lo0"),
        ("no rdr on em0 proto tcp to port 22", "match in on em0 proto tcp to port 22"),
    ],
)
def test_one_statement(old: str, new: str) -> None:
    text = f"{old}  # why\n{BLOCK}"
    assert codes(text) == set()
    assert lines(text) == [f"{new}  # why", *BLOCK.splitlines()]


def test_exceptions_leave_a_tag() -> None:
    text = f"no nat on em0 from 10.0.0.0/8 to 10.0.0.0/8\nnat on em0 from 10.0.0.0/8 -> (em0)\n{BLOCK}"
    assert codes(text) == set()
    assert lines(text)[:2] == [
        "match out on em0 from 10.0.0.0/8 to 10.0.0.0/8 tag pfq_first_1", "match out on em0 from 10.0.0.0/8 nat-to (em0) ! tagged pfq_first_1",
    ]


def test_an_exception_for_other_packets_needs_no_tag() -> None:
    text = f"no nat on em1 from 10.0.0.0/8\nno rdr on em0 from 10.0.0.0/8\nnat on em0 from 10.0.0.0/8 -> (em0)\n{BLOCK}"
    assert "tag" not in "".join(lines(text))


def test_what_is_translated_already_is_not_translated_again() -> None:
    text = f"nat on em0 from 10.9.0.0/16 -> 192.0.2.9\nnat on em0 from ! (em0) -> (em0:0)\n{BLOCK}"
    assert lines(text)[:2] == [
        "match out on em0 from 10.9.0.0/16 nat-to 192.0.2.9 tag pfq_first_1", "match out on em0 from ! (em0) nat-to (em0:0) ! tagged pfq_first_1",
    ]


def test_a_rule_that_cannot_match_what_is_translated_needs_no_tag() -> None:
    text = f"nat on em0 from 10.9.0.0/16 -> 192.0.2.9\nnat on em0 from 10.0.0.0/8 -> 192.0.2.8\n{BLOCK}"
    assert "tag" not in "".join(lines(text))


def test_the_same_pool_again_needs_no_tag() -> None:
    text = f"nat on em0 from 10.1.0.0/16 -> (em0)\nnat on em0 from 10.2.0.0/16 -> (em0)\n{BLOCK}"
    assert "tag" not in "".join(lines(text))


def test_binat_before_nat() -> None:
    text = f"binat on em0 inet from 10.0.0.5 to any -> 192.0.2.5\nnat on em0 from ! (em0) -> (em0:0)\n{BLOCK}"
    assert codes(text) == set()
    assert lines(text)[:3] == [
        "match out on em0 inet from 10.0.0.5 to any nat-to 192.0.2.5 static-port tag pfq_first_1",
        "match in on em0 inet from any to 192.0.2.5 rdr-to 10.0.0.5",
        "match out on em0 from ! (em0) nat-to (em0:0) ! tagged pfq_first_1",
    ]


def test_nat_above_the_binat_that_comes_first() -> None:
    text = f"nat on em0 from 10.0.0.0/8 -> 192.0.2.1\nbinat on em0 from 10.0.0.5 to any -> 192.0.2.5\n{BLOCK}"
    done = refused(text)
    assert [(one.code, one.place.line if one.place else 0) for one in done.diagnostics] == [("first-match", 1)]
    assert "line 2" in done.diagnostics[0].message


def test_tags_that_are_there_are_not_touched() -> None:
    text = f"no nat on em0 from 10.1.0.0/16\nnat on em0 from 10.0.0.0/8 -> (em0)\n{BLOCK}pass in tag MINE\n"
    assert codes(text) == {"first-match"}


def test_anchors_for_translation() -> None:
    text = f'nat-anchor "ftp-proxy/*"\nrdr-anchor "ftp-proxy/*"\nrdr-anchor relay on em0\n{BLOCK}anchor "ftp-proxy/*"\n'
    assert codes(text) == {"translation-anchor"}
    assert lines(text) == ["anchor relay on em0", *BLOCK.splitlines(), 'anchor "ftp-proxy/*"']


def test_packets_without_state() -> None:
    nat = "nat on em0 from 10.0.0.0/8 -> (em0)\n"
    assert codes(f"{nat}block all\npass out on em0 no state\n") == {"stateless"}
    assert codes(f"{nat}block all\npass out on em1 no state\n") == set()
    assert codes(f"{nat}block all\npass in on em0 no state\n") == set()
    assert codes(f"{nat}block all\nanchor x {{\n pass out proto udp no state\n}}\n") == {"stateless"}


def test_packets_that_no_rule_decides_on() -> None:
    nat = "nat on em0 from 10.0.0.0/8 -> (em0)\n"
    assert codes(nat) == {"implicit-pass"}
    assert codes(f"{nat}block in all\n") == {"implicit-pass"}
    assert codes(f"{nat}pass out proto tcp\n") == {"implicit-pass"}
    assert codes(f"{nat}pass out on em0\n") == set()
    assert lines(f"{nat}block in all\n")[1:] == ["pass flags any", "block in all"]
    assert lines(nat)[1:] == ["pass flags any"]


def test_statements_out_of_order_move() -> None:
    text = f"set require-order no\n{BLOCK}nat on em0 from 10.0.0.0/8 -> (em0)\nscrub on em0 max-mss 1400 fragment reassemble\n"
    assert lines(text) == [
        "set reassemble yes", "match on em0 scrub (max-mss 1400)", "match out on em0 from 10.0.0.0/8 nat-to (em0)", *BLOCK.splitlines(),
    ]


def test_a_macro_in_the_way_of_a_move() -> None:
    text = f'set require-order no\n{BLOCK}net = "10.0.0.0/8"\nnat on em0 from $net -> (em0)\n'
    assert codes(text) == {"order"}
