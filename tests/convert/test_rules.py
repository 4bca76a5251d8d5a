"""Filter rules and options."""

import pytest

from pfq.convert.convert import convert
from tests.convert.converting import codes, converted, filters, lines

QUEUES = "altq on em0 hfsc bandwidth 1Mb queue { a b }\nqueue a bandwidth 50% hfsc(default)\nqueue b bandwidth 10%\n"
SCRUB = "scrub all\n"


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("pass out queue a", "pass out set queue a", set()),
        ("pass out queue(a b) keep state", "pass out set queue(a b) keep state", set()),
        ("pass out queue c label x", "pass out label x", {"undefined-queue"}),
        ("pass out queue root_em0", "pass out", {"undefined-queue"}),
        ("pass in route-to (em1 10.0.0.1) inet all keep state", "pass in inet all keep state route-to 10.0.0.1", {"route-interface"}),
        ("pass in reply-to { (em1 10.0.0.1), (em2 10.0.0.2) } round-robin inet proto tcp", "pass in inet proto tcp reply-to { 10.0.0.1, 10.0.0.2 } round-robin",
         {"route-interface"}),
        ("pass in dup-to em1 inet all", "pass in inet all dup-to (em1:peer)", {"route-interface"}),
        ("pass in fastroute all", "pass in all", {"fastroute"}),
        ("pass in tos lowdelay", "pass in tos lowdelay", {"exact-tos"}),
        ("pass out from any to any user root", "pass out proto { tcp, udp } from any to any user root", {"user-protocol"}),
        ("pass out proto tcp user root", "pass out proto tcp user root", set()),
        ("block return-icmp6 (notnbr-unr) in inet6", "block return-icmp6 (beyond-unr) in inet6", set()),
        ("pass from { any, 10.0.0.1, 10.0.0.2 } to any", "pass from { 10.0.0.1, 10.0.0.2 } to any", set()),
        ("pass from { 10.0.0.1 any } to any", "pass from { 10.0.0.1 } to any", set()),
        ("set debug urgent", "set debug err", set()),
        ("table <min> { 10.0.0.1 }", 'table <"min"> { 10.0.0.1 }', set()),
    ],
)
def test_one_statement(old: str, new: str, lost: set[str]) -> None:
    text = f"{SCRUB}{QUEUES}{old}\n" if not old.startswith("set") else f"{old}\n{SCRUB}"
    assert codes(text) == lost
    assert new in lines(text)


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("pass in dnpipe (1, 2) label x", "pass in label x", {"dummynet"}),
        ("pass in ridentifier 7 label x", "pass in label x", {"ridentifier"}),
        ("pass in label x label y", "pass in label x", {"labels"}),
        ("pass in proto udp divert-to 8668", "pass in proto udp divert-packet port 8668", {"divert"}),
        ("pass out set prio 3 queue a", "pass out set prio 3 set queue a", set()),
        ("set keepcounters", "pass", {"keep-counters"}),
        ("set fail-policy drop", "pass", {"fail-policy"}),
    ],
)
def test_freebsd(old: str, new: str, lost: set[str]) -> None:
    text = f"{SCRUB}{QUEUES}{old}\npass\n" if not old.startswith("set") else f"{old}\n{SCRUB}{QUEUES}pass\n"
    assert codes(text, "freebsd-14.0") == lost
    assert new in lines(text, "freebsd-14.0")


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("pass in inet from any to any route-to (em1 10.0.0.1)", "pass in inet from any to any route-to 10.0.0.1", {"route-interface"}),
        ("pass in inet route-to 10.0.0.1@em1", "pass in inet route-to 10.0.0.1", {"route-interface"}),
        ("pass out set queue (a, b)", "pass out set queue (a, b)", set()),
        ("pass out set (prio 3, queue a)", "pass out set (prio 3, queue a)", set()),
        ("pass out set (prio 3, queue x)", "pass out set (prio 3)", {"undefined-queue"}),
        ("pass out set (queue x) label y", "pass out label y", {"undefined-queue"}),
        ("match out on em0 nat-to (em0)", "match out on em0 nat-to (em0)", set()),
    ],
)
def test_openbsd_5_4(old: str, new: str, lost: set[str]) -> None:
    text = f"{QUEUES}{old}\n"
    assert codes(text, "openbsd-5.4") == lost
    assert new in lines(text, "openbsd-5.4")


def test_routes_keep_their_interface_before_6_9() -> None:
    text = f"{SCRUB}pass in route-to (em1 10.0.0.1) inet all keep state\n"
    assert codes(text, target="openbsd-6.8") == set()
    assert "pass in inet all keep state route-to (em1 10.0.0.1)" in lines(text, target="openbsd-6.8")


def test_the_order_of_statements_is_free() -> None:
    assert converted(f"set require-order yes\n{SCRUB}block\n") == "set reassemble yes\nblock\n"


def test_a_macro_that_holds_more_than_the_clause_is_written_out() -> None:
    text = f'how = "keep state queue (a, b) label x"\nq = "(a, b)"\n{SCRUB}{QUEUES}pass out $how # one\npass in queue $q\n'
    assert lines('level = "debug misc"\nset $level\n')[-1] == "set debug notice"
    assert lines(text)[-2:] == ["pass out keep state set queue (a, b) label x # one", "pass in set queue $q"]


def test_rules_in_anchors() -> None:
    text = f"{SCRUB}{QUEUES}anchor x on em0 {{\n  # first\n  pass in proto {{ tcp\n udp }} queue a\n  anchor {{\n    pass out queue nope\n  }}\n}}\n"
    done = converted(text)
    assert "  # first\n  pass in proto { tcp\n udp } set queue a\n  anchor {\n    # Accepted undefined-queue: " in done
    assert "\n    pass out\n  }\n}\n" in done


def test_rules_mean_the_same() -> None:
    text = f"{SCRUB}{QUEUES}block in log\npass in quick on ! em1 proto tcp from <t> to port {{ 22 80 }} queue (a, b)\n"
    assert filters(converted(text), "openbsd-7.6") == filters(text, "openbsd-4.4")


def test_a_result_that_the_target_refuses_is_an_error() -> None:
    assert codes(f"{SCRUB}block in route-to (em1 10.0.0.1) inet all\n", target="openbsd-6.8") == {"rejected"}


def test_included_files() -> None:
    done = convert('include "x"\nblock\n', "openbsd-4.4", "openbsd-7.6", open_file=lambda name: "nat on em0 from 10.0.0.0/8 -> (em0)\n")
    assert [one.code for one in done.diagnostics] == ["included-file"]
    done = convert(f'{SCRUB}include "x"\nblock\n', "openbsd-4.4", "openbsd-7.6", open_file=lambda name: "pass\n")
    assert (done.good, done.text) == (True, 'set reassemble yes\ninclude "x"\nblock\n')
