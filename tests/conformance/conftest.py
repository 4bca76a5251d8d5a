"""`pytest tests/conformance --corpus DIR` holds the reader of pf.conf against a folder of rulesets with pfctl's answers.

The folder is not part of the project: /usr/src/regress/sbin/pfctl of an OpenBSD machine has such files. Without the
option nothing is collected here, so that the normal run has neither these tests nor a skip.
"""

from pathlib import Path

import pytest

from tests.conformance import corpus


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--corpus", metavar="DIR", default=None, help="a folder of pf.conf files with pfctl's answers (DIALECT/SUITE/NAME.in and .ok)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--corpus", default=None) is None and collection_path.name.startswith("test_"):
        return True
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = corpus.cases(Path(metafunc.config.getoption("--corpus")).resolve())
        metafunc.parametrize("case", cases, ids=[case.name for case in cases])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    folder = config.getoption("--corpus", default=None)
    if folder is None:
        if any("conformance" in argument for argument in config.args):
            terminalreporter.write("tests/conformance needs --corpus DIR\n")
    else:
        terminalreporter.write(corpus.table(corpus.cases(Path(folder).resolve())))
