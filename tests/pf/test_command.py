"""`pfq check`: its options and exit codes."""

import argparse
import io
import sys
from pathlib import Path

import pytest

from pfq.pf.command import add_arguments, run


def _run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(list(words)))


def test_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pf.conf"
    path.write_text("block\npass on $wan\n")
    assert _run("--as", "openbsd-7.6", "-v", "-o", "none", "-D", "wan=em0", str(path)) == 0
    assert capsys.readouterr().out == "block drop all\npass on em0 all flags S/SA\n"


def test_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pf.conf"
    path.write_text("block\npass quik\n")
    assert _run("--as", "freebsd-12.1", str(path)) == 1
    assert capsys.readouterr() == ("", f"{path}:2: syntax error\n")


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"block \xff\n")))
    assert _run("--as", "openbsd-4.4", "-") == 1
    assert capsys.readouterr().err == "stdin:1: syntax error\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--as", "openbsd-7.6", "/nonexistent/pf.conf"),
        ("--as", "openbsd-7.6", "/"),
        ("--as", "plan9", "/dev/null"),
        ("--as", "openbsd-7.6", "-D", "nothing", "/dev/null"),
        ("--as", "openbsd-7.6", "--system", "/nonexistent/system.toml", "/dev/null"),
    ],
)
def test_broken_use(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith("pfq check: ")
    assert len(error.splitlines()) == 1


def test_broken_system_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "system.toml"
    path.write_text("[interface.em0]\nspeed =\n")
    assert _run("--as", "openbsd-7.6", "--system", str(path), "/dev/null") == 2
    assert str(path) in capsys.readouterr().err
