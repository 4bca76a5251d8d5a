"""The seed systems in rulesets/ are what their models compile to. Refresh with `python3 -m tests.rulesets`, and read the diff."""

import pytest

from tests.rulesets import RULESETS, compiled, names, stored

SEEDS = ["adsl-pppoe", "hartmeier", "lartc-cbq", "lartc-htb", "mixed-site", "shared-line", "vlan-backhaul"]


def test_every_seed_system_is_there() -> None:
    assert names() == SEEDS


@pytest.mark.parametrize("name", SEEDS)
def test_outputs_are_what_the_model_compiles_to(name: str) -> None:
    assert compiled(name) == stored(name)


@pytest.mark.parametrize("name", SEEDS)
def test_each_has_a_readme_that_names_its_hosts(name: str) -> None:
    readme = (RULESETS / name / "README.md").read_text()
    for path in stored(name):
        if "/" in path:
            assert path.split("/")[0] in readme


def test_hartmeier_is_the_article() -> None:
    text = compiled("hartmeier")["kue0/pf.conf"]
    assert "queue q_pri priority 7" in text
    assert "queue q_def priority 1" in text
    assert "priq(default)" in text
    assert "bandwidth 100Kb" in text
    assert "queue (q_def, q_pri)" in text
