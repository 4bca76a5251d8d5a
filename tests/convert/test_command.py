"""pfq convert."""

import sys
from argparse import ArgumentParser
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from pfq.convert.command import add_arguments, run
from pfq.convert.losses import FATAL, LOSSES
from pfq.diagnostics import Refused

TEXT = "# comment\nscrub all\naltq on em0 cbq bandwidth 1Mb tbrsize 3000 queue { a }\nqueue a cbq(default red)\nblock all # end\n"


def command(*words: str) -> int:
    parser = ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args([*words[:-1], "--from", "openbsd-4.4", "--to", "openbsd-7.6", words[-1]]))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pf.conf"
    path.write_text(TEXT)
    return path


def test_losses_are_errors_with_places(file: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert command(str(file)) == 1
    out, err = capsysbinary.readouterr()
    assert out == b""
    said = err.decode().splitlines()
    assert [line.split(": ")[0] for line in said] == [f"{file}:3:31", f"{file}:4:21"]
    assert "error[tbrsize]" in said[0]
    assert "--accept red" in said[1]


def test_accepted(file: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert command("--accept", "red,tbrsize", str(file)) == 0
    out, err = capsysbinary.readouterr()
    assert err == b""
    assert out.decode().splitlines()[0::6] == ["# comment", "block all # end"]
    assert out.decode().count("# Accepted ") == 2


def test_an_output_file_is_written_whole_or_not_at_all(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.conf"
    target.write_text("old")
    assert command("-o", str(target), str(file)) == 1
    assert target.read_text() == "old"
    assert command("-o", str(target), "--accept", "red", "--accept", "tbrsize", str(file)) == 0
    assert target.read_text().startswith("# comment\nset reassemble yes\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.conf", "pf.conf"]


def test_standard_input_keeps_its_bytes(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"# caf\xe9\nscrub all\nblock all\n")))
    assert command("-") == 0
    assert capsysbinary.readouterr().out == b"# caf\xe9\nset reassemble yes\nblock all\n"


def test_a_ruleset_that_its_own_system_refuses(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "pf.conf"
    path.write_text("block all\npass out of\n")
    assert command(str(path)) == 2
    assert b"pf.conf:2:1: error[unreadable-ruleset]" in capsysbinary.readouterr().err


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--accept", "everything"], "unknown-code"), (["--system", "/nowhere.toml"], "wrong-system")],
)
def test_broken_use(words: list[str], code: str, file: Path) -> None:
    with pytest.raises(Refused) as caught:
        command(*words, str(file))
    assert [one.code for one in caught.value.diagnostics] == [code]


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [("openbsd-7.6", "openbsd-7.6", "no-way"), ("openbsd-4.4", "freebsd-14.0", "no-way"), ("netbsd-9", "openbsd-7.6", "unknown-dialect")],
)
def test_no_way(source: str, target: str, code: str, file: Path) -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    with pytest.raises(Refused) as caught:
        run(parser.parse_args(["--from", source, "--to", target, str(file)]))
    assert [one.code for one in caught.value.diagnostics] == [code]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        command(str(tmp_path / "none"))


def test_every_code_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/convert.md").read_text()
    assert [code for code in (*LOSSES, *FATAL) if f"`{code}`" not in page] == []
