"""Edges of the rules for the queues of OpenBSD 5.5 and later."""

import pytest

from tests.lint.lint import codes, lint, only

QUEUES = """queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue fast parent up bandwidth 2M
"""


def test_leaves_with_max_need_none_on_the_root() -> None:
    text = """queue up on em0 bandwidth 10M
queue a parent up bandwidth 8M, max 8M default
queue b parent up bandwidth 2M, max 2M
pass out on em0 set queue b
"""
    assert codes(text) == []


def test_one_leaf_without_max_is_enough_to_shape_nothing() -> None:
    text = "queue up on em0 bandwidth 10M\nqueue a parent up bandwidth 8M, max 8M default\nqueue b parent up bandwidth 2M\npass out on em0 set queue b\n"
    under_it, finding = only(text, "PFQ301")
    assert under_it == "bandwidth 10M"
    assert finding.fix is not None
    assert finding.fix.edits == [(finding.end, finding.end, ", max 10M")]


def test_a_flow_queue_as_the_discipline_shapes_nothing_on_purpose() -> None:
    assert codes("queue fq on em0 flows 1024 default\n") == []


@pytest.mark.parametrize("last", ["block out on em0", "pass in on em0", "pass out on em1", "pass out on em0 proto tcp"])
def test_a_match_that_no_pass_rule_follows(last: str) -> None:
    assert "PFQ303" in codes(QUEUES + f"match out on em0 proto udp set queue fast\n{last}\n")


@pytest.mark.parametrize("last", ["pass", "pass out on egress", "pass out on em0 no state set queue bulk", "pass out proto udp"])
def test_a_match_that_is_kept(last: str) -> None:
    assert "PFQ303" not in codes(QUEUES + f"match out on em0 proto udp set queue fast\n{last}\n")


def test_some_packets_passed_without_state() -> None:
    text = QUEUES + "match out on em0 proto udp set queue fast\npass out on em0\npass out on em0 proto udp to port 53 no state\n"
    _, finding = only(text, "PFQ303")
    assert "line 6" in finding.message


def test_anchors_from_elsewhere_may_keep_state() -> None:
    assert "PFQ303" not in codes(QUEUES + 'match out on em0 proto udp set queue fast\nanchor "x"\n')


@pytest.mark.parametrize("order", [0, 1])
def test_the_final_pass_wins_in_either_order(order: int) -> None:
    lines = ["match out on em0 proto udp set queue fast\n", "pass out on em0 set queue bulk\n"]
    text = QUEUES + lines[order] + lines[1 - order]
    assert only(text, "PFQ304")[0] == "fast"


@pytest.mark.parametrize(
    "rules",
    [
        "match out on em0 proto udp set queue fast\npass out on em0 set queue bulk\npass out on em0 proto udp\n",
        "match out on em0 set queue fast\npass out on em0\npass out on em0 proto tcp set queue bulk\n",
        "match out on em0 set queue fast\npass out quick on em0 proto udp\npass out on em0 set queue bulk\n",
        "match out on em0 set queue fast\npass out on em0 set queue fast\n",
    ],
)
def test_a_match_that_still_counts_for_some(rules: str) -> None:
    assert "PFQ304" not in codes(QUEUES + rules)


@pytest.mark.parametrize(("rate", "wraps"), [("4294967295", False), ("4294967295b", False), ("4.3G", True), ("10G", True), ("4300M", True)])
def test_32_bits(rate: str, wraps: bool) -> None:
    text = f"queue up on ix0 bandwidth {rate}, max 4G\nqueue bulk parent up bandwidth 1G default\n"
    assert ("PFQ305" in codes(text)) == wraps


def test_every_rate_of_a_queue_is_looked_at() -> None:
    text = "queue up on ix0 bandwidth 1G burst 5G for 20ms, max 6G\nqueue bulk parent up bandwidth 1G default\n"
    assert codes(text).count("PFQ305") == 2


def test_qlimit_counts_where_flows_does_not() -> None:
    text = "queue up on em0 bandwidth 10M, max 10M\nqueue bulk parent up bandwidth 10M, min 1M flows 1024 qlimit 100 default\n"
    assert codes(text) == ["PFQ302"]


def test_a_name_that_is_root_and_child_can_be_named() -> None:
    text = """queue a on em0 bandwidth 10M, max 10M
queue b parent a bandwidth 10M default
queue c on em1 bandwidth 10M, max 10M
queue a parent c bandwidth 10M default
pass out set queue a
"""
    assert "PFQ307" not in codes(text)


def test_prio_on_an_interface_without_queues() -> None:
    assert codes(QUEUES + "pass out on em0 set queue fast\npass out on em1 set prio 6\n") == []


def test_prio_and_queue_in_one_set() -> None:
    assert only(QUEUES + "pass out on em0 set (queue fast, prio 6)\n", "PFQ309")[0] == "prio"


def test_a_child_larger_than_its_parent() -> None:
    text = "queue up on em0 bandwidth 10M, max 10M\nqueue a parent up bandwidth 20M default\n"
    assert only(text, "PFQ311")[0] == "bandwidth 20M"


def test_min_above_max() -> None:
    text = "queue up on em0 bandwidth 10M, max 10M\nqueue a parent up bandwidth 5M, min 4M, max 3M default\n"
    assert "min 4 Mb is more than max 3 Mb" in only(text, "PFQ311")[1].message


def test_guarantees_of_grandchildren_add_up() -> None:
    text = """queue up on em0 bandwidth 10M, max 10M
queue a parent up bandwidth 5M
queue a1 parent a bandwidth 3M, min 3M default
queue a2 parent a bandwidth 3M, min 3M
pass out on em0 set queue a2
"""
    assert only(text, "PFQ311")[0] == "bandwidth 5M"


def test_match_rules_beside_altq() -> None:
    altq = "altq on tun0 priq bandwidth 1Mb queue { a, b }\nqueue a priority 1 priq(default)\nqueue b priority 2\n"
    lost = altq + "match out on tun0 proto udp queue b\npass out on tun0 no state\n"
    assert "PFQ303" in codes(lost, "openbsd-5.4")
    # FreeBSD's kernel keeps the queue of a match rule (pf.c pf_test of 13.1 and later).
    assert "PFQ303" not in codes(lost, "freebsd-14.0")
    assert "PFQ304" in codes(altq + "match out on tun0 proto udp queue b\npass out on tun0 queue a\n", "freebsd-14.0")


def test_an_inner_queue_that_is_a_leaf_elsewhere() -> None:
    text = """queue up on em0 bandwidth 10M, max 10M
queue web parent up bandwidth 8M
queue bulk parent web bandwidth 8M default
queue down on em1 bandwidth 50M, max 50M
queue web parent down bandwidth 50M
pass out set queue web
"""
    # A floating queue: `bulk` is under the `web` of em1 too.
    assert codes(text) == ["PFQ314"]
    bound = text.replace("queue web parent up", "queue web on em0 parent up").replace("queue bulk parent", "queue bulk on em0 parent")
    bound = bound.replace("50M\npass", "50M default\npass")
    assert "PFQ314" not in codes(bound)
    assert "PFQ001" not in codes(bound)


@pytest.mark.parametrize(
    "rule",
    [
        "pass in on em0 proto udp set queue fast",
        "pass in proto udp no state set queue fast",
        "pass in on em1 proto udp no state set queue fast",
        "pass out on em0 proto udp no state set queue fast",
        "pass in on ! em0 proto udp no state set queue fast",
    ],
)
def test_a_queue_that_packets_may_leave_by(rule: str) -> None:
    assert "PFQ113" not in codes(QUEUES + rule + "\n")


def test_before_6_2_no_one_checks_the_names_of_queues_in_rules() -> None:
    text = "queue up on em0 bandwidth 10M, max 10M\nqueue bulk parent up bandwidth 8M default\nqueue voice parent up bandwidth 2M\n"
    text += "pass out set queue (bulk, vocie)\n"
    assert [finding.message for finding in lint(text, "openbsd-6.0").findings if finding.code == "PFQ201"] == [
        "nothing defines the queue vocie: the packets go to the default queue"
    ]
    assert "PFQ201" not in codes(text)
