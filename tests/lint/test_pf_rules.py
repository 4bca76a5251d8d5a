"""Edges of the rules for any pf.conf: what they must find, and what they must leave alone."""

from pathlib import Path

import pytest

from tests.lint.lint import codes, lint, only, under

QUEUES = """queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue fast parent up bandwidth 2M
"""


def test_a_macro_used_in_another_macro_is_used() -> None:
    assert codes('a = "em0"\nb = $a "em1"\npass in on { $b }\n') == []


def test_of_a_macro_defined_twice_the_last_is_judged() -> None:
    text = 'a = "em0"\npass in on $a\na = "em1"\n'
    under_it, finding = only(text, "PFQ101")
    assert (under_it, finding.start) == ("a", text.rindex("a ="))


def test_a_table_of_an_overload_is_used() -> None:
    text = "table <bad> persist\nblock in from any\npass in proto tcp to port 22 keep state (max-src-conn 3, overload <bad>)\n"
    assert "PFQ102" not in codes(text)


def test_a_table_may_be_used_by_an_anchor_that_is_filled_from_elsewhere() -> None:
    assert codes('table <bad> persist\nanchor "ftp-proxy/*"\npass in\n') == []


def test_the_default_queue_and_inner_queues_need_no_rule() -> None:
    assert codes(QUEUES + "pass out on em0 set queue fast\n") == []


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("block in quick all", "pass in on em0 proto udp to port 53"),
        ("block quick proto { tcp, udp }", "pass in proto udp to port 53"),
        ("block in quick from 10.0.0.0/8", "pass in from 10.1.0.0/16"),
        ("block in quick proto tcp to port 1000:2000", "pass in proto tcp to port { 1000, 1500 }"),
        ("block in quick from <a>", "pass in from <a>"),
        ("block in quick inet6", "pass in inet6 proto tcp"),
        ("block in quick proto tcp to port != 80", "pass in proto tcp to port 443"),
    ],
)
def test_a_quick_rule_takes_all(wide: str, narrow: str) -> None:
    head = "table <a> persist\n" if "<a>" in wide else ""
    assert "PFQ104" in codes(f"{head}{wide}\n{narrow}\n")


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("block in quick on em0", "pass in on em1"),
        ("block in quick on egress", "pass in on em0"),
        ("block in quick proto tcp flags S/SA", "pass in proto tcp flags any"),
        ("block in quick probability 50%", "pass in"),
        ("block in quick from <a>", "pass in from 192.0.2.1"),
        ("block in quick from ! 192.0.2.1", "pass in from 192.0.2.2"),
        ("block in quick inet", "pass in"),
        ("block in quick proto tcp to port 80", "pass in proto tcp to port { 80, 443 }"),
        ("block in quick from (em0)", "pass in from 192.0.2.1"),
        ("block in quick tagged a", "pass in"),
        ("block in quick user 1000", "pass in"),
        ("pass in quick once", "block in proto udp"),
        ("match in quick", "pass in"),
    ],
)
def test_a_quick_rule_leaves_some(wide: str, narrow: str) -> None:
    head = "table <a> persist\n" if "<a>" in wide else ""
    assert not {"PFQ104", "PFQ112"} & set(codes(f"{head}{wide}\n{narrow}\n"))


def test_a_translation_in_between_changes_what_is_compared() -> None:
    text = "block in quick to 192.0.2.1\nmatch in to 198.51.100.1 rdr-to 192.0.2.1\npass in to 192.0.2.1\n"
    assert "PFQ104" not in codes(text)


def test_a_statement_is_reported_only_if_all_its_rules_are_dead() -> None:
    assert "PFQ104" not in codes("block in quick proto tcp\npass in proto { tcp, udp }\n")


def test_a_new_connection_is_taken_by_a_stateful_rule() -> None:
    under_it, finding = only("pass in quick proto tcp\nblock in quick proto tcp to port 25\n", "PFQ112")
    assert under_it.startswith("block in quick")
    assert "line 1" in finding.message


def test_flags_of_another_kind_do_not_count_as_a_new_connection() -> None:
    assert "PFQ112" not in codes("block in quick proto tcp flags F/FA\npass in proto tcp to port 25\n")


@pytest.mark.parametrize(
    "text",
    [
        "block in\npass in on em0\n",
        "block return\npass\n",
        "pass in on em0 tag lan\nblock in on em0\n",
        "pass in quick on em0\nblock in\n",
        "block in on em0\nmatch in on em0 tag a\npass out\n",
        "pass in on em0 rtable 1\npass in on em0\n",
    ],
)
def test_rules_that_decide_or_leave_a_trace(text: str) -> None:
    assert "PFQ105" not in codes(text)


def test_an_anchor_that_no_packet_reaches() -> None:
    under_it, _ = only('block in quick\nanchor "a" in {\n    pass in\n}\npass out\n', "PFQ104")
    assert under_it.startswith("anchor")


def test_an_anchor_that_some_packets_reach() -> None:
    assert codes('block in quick\nanchor "a" {\n    pass out\n}\npass out proto tcp\n') == []


@pytest.mark.parametrize("name", ["ef", "0xb8", "af42", "lowdelay"])
def test_a_tos_with_the_bit_leaves_the_first_queue_empty(name: str) -> None:
    under_it, _ = only(QUEUES + f"pass out on em0 proto udp tos {name} set queue (bulk, fast)\n", "PFQ106")
    assert under_it == "bulk"


@pytest.mark.parametrize("name", ["cs5", "af41", "cs6", "throughput"])
def test_a_tos_without_the_bit_leaves_the_second_queue_to_acks(name: str) -> None:
    under_it, _ = only(QUEUES + f"pass out on em0 proto udp tos {name} queue (bulk fast)\n", "PFQ106")
    assert under_it == "fast"


def test_a_second_queue_for_tcp_and_others_is_fine() -> None:
    assert codes(QUEUES + "pass out on em0 proto { tcp, udp } set queue (bulk, fast)\n") == []


def test_a_queue_hidden_in_a_macro_is_shown_where_the_macro_stands() -> None:
    under_it, _ = only(QUEUES + 'q = "fast"\npass out on em0 proto udp set queue (bulk, $q)\n', "PFQ107")
    assert under_it.startswith("set queue (bulk, $q")


def test_the_queue_of_an_anchor_in_old_syntax() -> None:
    text = """altq on tun0 priq bandwidth 1Mb queue { a, b }
queue a priority 1 priq(default)
queue b priority 2
pass out on tun0 queue b
anchor "x" on tun0 queue b
"""
    assert only(text, "PFQ108", "openbsd-4.4")[0] == "queue b"


def test_a_comment_that_hides_only_a_comment_is_harmless() -> None:
    assert codes("# one \\\n# two\npass in\n") == []


def test_an_anchor_file_of_altq_is_checked_by_nobody() -> None:
    assert codes("pass out on em0 queue mail\n", "openbsd-4.4") == ["PFQ110"]


def test_an_anchor_file_is_reported_once() -> None:
    assert codes("pass out on em0 set queue mail\npass out on em1 set queue (mail, fast)\n") == ["PFQ110"]


@pytest.mark.parametrize(
    "text",
    [
        "match out on em0 from 192.168.1.0/24 nat-to (em0)\npass out on em0 from 192.168.1.7 to any\n",
        "match out on em0 inet from 192.168.1.0/24 nat-to 198.51.100.1\nmatch out on em0 from 192.168.1.7 to any tag x\npass out\n",
    ],
)
def test_a_source_behind_match_nat(text: str) -> None:
    under_it, finding = only(text, "PFQ111")
    assert under_it == "from 192.168.1.7"
    assert "line 1" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "pass out on em0 from 192.168.1.7 to any\nmatch out on em0 from 192.168.1.0/24 nat-to (em0)\n",
        "match out on em0 from 192.168.1.0/24 nat-to (em0)\npass in on em1 from 192.168.1.7 to any\n",
        "match out on em0 proto tcp from 192.168.1.0/24 nat-to (em0)\npass out on em0 from 192.168.1.7 to any\n",
        "match out on em1 from 192.168.1.0/24 nat-to (em1)\npass out on em0 from 192.168.1.7 to any\n",
        "match out on em0 from any nat-to (em0)\npass out on em0\n",
    ],
)
def test_a_source_that_may_still_be_there(text: str) -> None:
    assert "PFQ111" not in codes(text)


def test_messages_without_a_line_are_placed_by_the_name_in_them() -> None:
    text = QUEUES + "queue lost parent nobody bandwidth 1M\n"
    result = lint(text)
    assert [finding.code for finding in result.findings] == ["PFQ001"]
    assert under(result, result.findings[0]).startswith("queue lost")


def test_a_ruleset_that_is_refused_is_not_judged_by_what_it_lacks() -> None:
    assert codes('a = "em0"\npass in proto tpc\n') == ["PFQ001"]


IN_BRACES = """block
anchor "a" on em0 {{
  {wide}
  {narrow}
}}
"""


@pytest.mark.parametrize(
    ("code", "wide", "narrow"),
    [
        ("PFQ104", "block in quick", "pass in from 10.0.0.0/8"),
        ("PFQ112", "pass in quick proto tcp", "block in proto { tcp } from 10.0.0.0/8"),
        ("PFQ105", "pass in proto tcp", "block in proto { tcp, udp }"),
    ],
)
def test_rules_in_braces_are_judged_where_they_stand(code: str, wide: str, narrow: str) -> None:
    under_it, finding = only(IN_BRACES.format(wide=wide, narrow=narrow), code)
    other = {"PFQ104": "line 3", "PFQ112": "line 3", "PFQ105": "line 4"}[code]
    assert (under_it, other in finding.message) == (wide if code == "PFQ105" else narrow, True)


def test_a_comment_in_braces_silences_the_rule_below_it() -> None:
    text = IN_BRACES.format(wide="block in quick", narrow="# pfq: ignore[PFQ104]\n  pass in from 10.0.0.0/8")
    assert codes(text) == []


def test_rules_of_included_and_loaded_files_are_judged(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("block in quick\n")
    (tmp_path / "loaded").write_text("block in quick\npass in\n")
    text = f'pass\ninclude "{tmp_path}/more"\npass in from 10.0.0.1\nload anchor "b" from "{tmp_path}/loaded"\nanchor "b"\n'
    found = {(Path(one.file).name, one.message.partition("rule in ")[2]) for one in lint(text).findings if one.code == "PFQ104"}
    assert found == {("pf.conf", f"line 1 of {tmp_path}/more takes them all"), ("loaded", "line 1 takes them all")}


@pytest.mark.parametrize(
    ("text", "dialect", "hint"),
    [
        ("pass\r\n", "openbsd-7.6", "ends as on Windows"),
        ("\ufeffpass\n", "openbsd-7.6", "byte order mark"),
        ("pass", "openbsd-4.4", "the last line has no end"),
        ("altq on em0 priq queue { a }\n", "openbsd-7.6", "no altq"),
        ("nat on em0 from 10.0.0.0/8 -> (em0)\n", "openbsd-7.6", "nat-to and rdr-to"),
        ("scrub in all\n", "openbsd-5.4", "scrub by match rules"),
        ("match in all scrub (no-df)\n", "freebsd-13.2", "no match rules"),
        ("pass quik\n", "openbsd-7.6", ""),
    ],
)
def test_a_syntax_error_is_explained_where_the_line_tells_it(text: str, dialect: str, hint: str) -> None:
    found = next(finding for finding in lint(text, dialect).findings if finding.code == "PFQ001")
    assert found.message == "pfctl: syntax error"
    assert hint in found.hint
    assert bool(hint) == bool(found.hint)
