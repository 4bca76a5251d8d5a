"""The queues of OpenBSD since 5.5: what they come to, and which are refused."""

import pytest

from pfq.pf import check, read
from tests.pf.answers import MIDDLE, NEW, OLD, printed, said

TREE = """\
queue wan on em0 bandwidth 20M max 20M
queue bulk parent wan bandwidth 4M, min 1M burst 8M for 30ms
queue calls parent wan bandwidth 2500K
queue rest parent wan bandwidth 1G qlimit 100 default
"""


def test_tree() -> None:
    assert printed(TREE) == [
        "queue wan on em0 bandwidth 20M, max 20M",
        "queue bulk parent wan bandwidth 4M, min 1M burst 8M for 30ms",
        "queue calls parent wan bandwidth 2500K",
        "queue rest parent wan bandwidth 1G default qlimit 100",
    ]


def test_rules_use_queues() -> None:
    text = TREE + "match out on em0 set queue calls\nmatch out set queue (bulk, calls)\npass out set (queue rest, prio 6)\n"
    assert printed(text)[4:] == [
        "match out on em0 all set (queue calls)",
        "match out all set (queue(bulk, calls))",
        "pass out all flags S/SA set (prio 6, queue rest)",
    ]


def test_flow_queues() -> None:
    assert printed("queue fq on em0 flows 1024 quantum 300 bandwidth 50M max 50M default\n") == [
        "queue fq on em0 flows 1024 quantum 300 bandwidth 50M, max 50M default"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pass out set queue nowhere\n", "stdin:1: queue nowhere is not defined"),
        ("queue a bandwidth 1M default\n", "stdin:1: root queue without interface"),
        ("queue a on em0 bandwidth 10% default\n", "stdin:1: no bandwidth in % yet"),
        ("queue a on em0 bandwidth 1M bandwidth 2M default\n", "stdin:1: bandwidth cannot be respecified"),
        ("queue a on em0 bandwidth 1X default\n", 'stdin:1: unknown unit "X"'),
        ("queue a on em0 bandwidth 1M qlimit 70000 default\n", "stdin:1: qlimit out of range: max 65535"),
        ("queue a on em0 flows 0 default\n", "stdin:1: number of flows out of range: max 32767"),
        ("queue a on em0 bandwidth 1M burst 2M for 10s default\n", "stdin:1: time in scspec must be in ms"),
        ("queue a on em0 bandwidth 1M, default\n", "stdin:1: syntax error"),
    ],
)
def test_refused(text: str, message: str) -> None:
    assert said(text)[0] == message


def test_a_child_bound_to_an_interface_is_not_found_below_one_that_floats() -> None:
    # pfctl_find_childqs compares the interface that the parent's own statement names, which is none.
    text = "queue r on em0 bandwidth 9M\nqueue f parent r bandwidth 5M\nqueue b on em0 parent f bandwidth 1M{0}\nqueue d parent f bandwidth 1M{1}\n"
    assert said(text.format(" default", "")) == ["pfctl: no default queue specified"]
    assert said(text.format("", " default")) == ["pfctl: queue b: parent f not found"]


@pytest.mark.parametrize("dialect", ["openbsd-5.5", "openbsd-6.0"])
def test_older_releases_keep_underscored_names_and_know_no_names_in_rules(dialect: str) -> None:
    assert said("queue _a on em0 bandwidth 1M default\n", dialect) == ["stdin:1: queue names must not start with _"]
    assert printed("queue a on none0 bandwidth 1M default\npass out set queue b\n", dialect) == [
        "queue a on none0 bandwidth 1M default",
        "pass out all flags S/SA set (queue b)" if dialect == "openbsd-6.0" else "pass out all flags S/SA set ( queue b )",
    ]


def test_names_that_begin_with_an_underscore_are_taken_now() -> None:
    assert printed("queue _a on em0 bandwidth 1M default\n")[0].startswith("queue _a on em0")


def test_queue_without_parent_queue() -> None:
    text = "queue r on em0 bandwidth 1M\nqueue d parent r bandwidth 1M default\nqueue a parent gone bandwidth 1M\n"
    assert said(text) == ["pfctl: queue a: parent gone not found"]


def test_altq_is_gone() -> None:
    assert said("altq on em0 priq bandwidth 1Mb queue a\n", NEW) == ["stdin:1: syntax error"]
    assert said("queue a on em0 bandwidth 1M default\n", OLD)


def test_set_is_printed_with_blanks_in_5_4() -> None:
    assert printed("altq on em0 priq bandwidth 1M queue q\nqueue q priq(default)\nmatch out set (queue q, prio (1, 7))\n", MIDDLE)[-1] == (
        "match out all set ( prio(1, 7), queue q )"
    )


@pytest.mark.parametrize("depth", [3, 400, 700])
def test_deep_trees(depth: int) -> None:
    lines = ["queue q0 on em0 bandwidth 1G"]
    lines += [f"queue q{i} parent q{i - 1} bandwidth 1M{' default' if i == depth else ''}" for i in range(1, depth + 1)]
    verdict = check("\n".join(lines) + "\n", NEW)
    assert verdict.status == (1 if depth == 700 else 0)
    assert (verdict.stderr == "pfctl: pfctl_find_childqs: excessive matches, loop?\n") == (depth == 700)


def test_tree_of_statements() -> None:
    tree = read(TREE + "match out on em0 set queue calls\n", NEW)
    last = tree.statements[-1]
    names = {clause.name for clause in last.clauses}
    assert "set" in names or "queue" in names
    assert (tree.statements[1].line, tree.statements[1].kind) == (2, "queue")
