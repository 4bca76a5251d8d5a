"""The files that other projects' CI reads name the command and options that there are."""

import re
from argparse import ArgumentParser
from pathlib import Path

from pfq.lint import command
from pfq.lint.registry import RULES

ROOT = Path(__file__).parent.parent.parent
FILES = [ROOT / ".pre-commit-hooks.yaml", ROOT / "action.yml", ROOT / "docs" / "lint.md"]


def options() -> set[str]:
    parser = ArgumentParser()
    command.add_arguments(parser)
    return {word for action in parser._actions for word in action.option_strings}


def test_every_option_that_is_named_exists() -> None:
    for path in FILES:
        for line in path.read_text().splitlines():
            if "pfq lint" in line or "options:" in line or "args:" in line:
                assert set(re.findall(r"(?<![\w-])--[a-z-]+", line)) <= options(), line


def test_every_option_is_explained() -> None:
    manual = (ROOT / "docs" / "lint.md").read_text()
    assert [option for option in sorted(options() - {"-h", "--help", "--config"}) if option not in manual] == []


def test_every_code_that_is_named_exists() -> None:
    manual = (ROOT / "docs" / "lint.md").read_text()
    assert set(re.findall(r"PFQ\d{3}", manual)) <= set(RULES)


def test_the_hooks_match_the_files_they_are_for() -> None:
    pattern = re.search(r"^  files: (.*)$", FILES[0].read_text(), re.MULTILINE)
    assert pattern is not None
    matches = re.compile(pattern[1]).search
    assert all(matches(name) for name in ("pf.conf", "etc/pf.conf", "gw1/pf.conf.office", "sites/paris/site.toml", "etc/pf/queues.conf", "gw.pf.conf"))
    assert not any(matches(name) for name in ("xpf.conf.d/readme.md", "setup.cfg", "pf.confx"))


def test_the_manuals_example_is_what_lint_says() -> None:
    """The first console example of docs/lint.md."""
    from pfq.lint.run import lint_ruleset
    from pfq.lint.show import as_text

    manual = (ROOT / "docs" / "lint.md").read_text()
    shown = re.search(r"```console\n\$ pfq lint --as openbsd-7.6 pf.conf\n(.*?)```", manual, re.DOTALL)
    assert shown is not None
    result = lint_ruleset("pf.conf", "queue up on em0 bandwidth 950K\nqueue bulk parent up bandwidth 950K default\n", "openbsd-7.6", frozenset(RULES))
    assert as_text([result]) == shown[1]
