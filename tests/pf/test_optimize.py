"""The optimizer of pfctl: it removes and combines rules, and says nothing about it."""

import pytest

from tests.pf.answers import NEW, OLD, printed


def test_twice_the_same() -> None:
    assert printed("block\nblock\npass out\n", optimize="basic") == ["block drop all", "pass out all flags S/SA"]


def test_rule_within_another() -> None:
    assert printed("pass in quick on em0\npass in quick on em0 proto tcp\n", optimize="basic")[0] == "pass in quick on em0 all flags S/SA"


def test_many_addresses_become_a_table() -> None:
    hosts = " ".join(f"10.0.0.{i}" for i in range(1, 9))
    assert printed(f"block in from {{ {hosts} }}\n", optimize="basic") == [
        f"table <__automatic_0> const {{ {hosts} }}", "block drop in inet from <__automatic_0> to any",
    ]


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_none_keeps_everything(dialect: str) -> None:
    assert len(printed("block\nblock\n", dialect, optimize="none")) == 2


def test_set_ruleset_optimization() -> None:
    assert len(printed("set ruleset-optimization none\nblock\nblock\n", optimize=None)) == 2
    assert len(printed("set ruleset-optimization none\nblock\nblock\n", optimize="basic")) == 1
