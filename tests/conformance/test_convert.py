"""Every ruleset of the folder that is for ALTQ converts to one that the newer pf accepts, or is refused for a reason that is known."""

from pathlib import Path

import pytest

from pfq.convert.convert import convert
from pfq.convert.losses import LOSSES
from pfq.pf import check
from pfq.pf.dialects import dialect
from tests.conformance import corpus

TARGETS = ("openbsd-5.5", "openbsd-7.6")

# Why there is nothing that the target accepts.
REFUSED: dict[str, str] = {
    "freebsd-12.1/pf/pf1001": "binat from any address to a network",
    "openbsd-4.4/pf/pf13": "routes on block rules and on rules without state, which 6.2 no longer has",
    "openbsd-4.4/pf/pf39": "users and groups beside ICMP",
    "openbsd-4.4/pf/pf46": "an interface that the machine does not have",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "ruleset" in metafunc.fixturenames:
        folder = Path(metafunc.config.getoption("--corpus")).resolve()
        found = [case for case in corpus.cases(folder) if case.kind != "pfail" and dialect(case.dialect).altq]
        metafunc.parametrize("ruleset", found, ids=[case.name for case in found])


@pytest.mark.parametrize("target", TARGETS)
def test_conversion(ruleset: corpus.Case, target: str) -> None:
    with corpus.inside(ruleset.folder / ruleset.suite):
        done = convert(ruleset.text(".in"), ruleset.dialect, target, frozenset(LOSSES), (corpus.machine(ruleset.dialect), corpus.machine(target)))
        if done.good:
            assert check(done.text, target, system=corpus.machine(target)).status == 0
        else:
            assert ruleset.name in REFUSED
            assert {one.code for one in done.diagnostics if one.severity == "error"} == {"rejected"}
