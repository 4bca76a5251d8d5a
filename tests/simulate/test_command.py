"""`pfq simulate` as a command: what goes where, and what is refused."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from pfq.diagnostics import Refused
from pfq.simulate import command

SITE = str(Path(__file__).parent.parent.parent / "rulesets/hartmeier/site.toml")
QUICK = [SITE, "--host", "kue0", "--scenario", "both", "--duration", "10"]


def _run(*words: str) -> int:
    parser = ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(list(words)))


def test_text_is_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(*QUICK) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0].startswith("adsl on kue0 (openbsd-4.4, kue0): 128 kbit/s up, 512 kbit/s down")
    first = next(index for index, line in enumerate(lines) if line.split()[:3] == ["both", "no", "shaping"])
    assert lines[first + 1].split()[:2] == ["the", "plan"]


def test_csv_has_one_measure_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(*QUICK, "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["run"] for row in rows} == {"no shaping", "the plan"}
    measures = {row["measure"] for row in rows}
    assert {"ping min", "ping mean", "ping p95", "ping p99", "ping max", "goodput up", "goodput down", "longest", "dropped"} <= measures
    assert all(float(row["value"]) >= 0 for row in rows if row["value"])


def test_json_with_a_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(*QUICK, "--format", "json", "--sweep", "up=90..110/10kbit") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sweep"]["values"] == ["90 kbit", "100 kbit", "110 kbit"]
    assert len(document["sweep"]["runs"]) == 3


def test_the_scenario_beside_the_model_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(SITE, "--host", "kue0", "--duration", "10 s") == 0
    assert "the ACK article's ten minutes" in capsys.readouterr().out


def test_another_model_to_compare_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.toml"
    other.write_text(Path(SITE).read_text().replace('"100 kbit"', '"90 kbit"'))
    assert _run(*QUICK, "--against", str(other)) == 0
    out = capsys.readouterr().out
    assert "the other (kue0): up: ALTQ priq, token bucket of" in out
    assert "90000 bit/s on kue0" in out
    assert "100000 bit/s on kue0" in out


def test_files_are_written_beside_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, plot = tmp_path / "out.html", tmp_path / "out.svg"
    assert _run(*QUICK, "--report", str(report), "--plot", str(plot)) == 0
    assert report.read_text().startswith("<!doctype html>")
    assert plot.read_text().startswith("<svg")
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--scenario", "nothing"], "unknown-scenario"),
        (["--scenario", "./nowhere.toml"], "unreadable"),
        (["--duration", "0"], "bad-duration"),
        (["--duration", "a week"], "bad-duration"),
        (["--duration", "99999999"], "bad-duration"),
        (["--seed", "-3"], "bad-number"),
        (["--seed", "x"], "bad-number"),
        (["--host", "nobody"], "no-host"),
        (["--link", "nowhere"], "no-link"),
        (["--sweep", "up=fast"], "bad-sweep"),
        (["--against", "nowhere.toml"], "unreadable"),
        (["--report", "/proc/none/out.html"], "unwritable"),
        (["--plot", "out.pdf"], "bad-plot"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(words: list[str], code: str) -> None:
    with pytest.raises(Refused) as refused:
        _run(SITE, "--scenario", "idle", "--duration", "1", *words)
    assert [d.code for d in refused.value.diagnostics] == [code]


# Tests in the background ignore the signal, and what they start would too.
_INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from argparse import ArgumentParser
from pfq.simulate import command
parser = ArgumentParser()
command.add_arguments(parser)
arguments = parser.parse_args(sys.argv[1:])
print("begun", file=sys.stderr, flush=True)
command.run(arguments)
"""


def test_an_interrupted_run_leaves_no_report(tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    report.write_text("the old one")
    words = [sys.executable, "-c", _INTERRUPTED, SITE, "--host", "kue0", "--scenario", "many-users", "--duration", "20 h", "--report", str(report)]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    assert running.stderr is not None
    assert running.stderr.readline() == "begun\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode != 0
    assert "KeyboardInterrupt" in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["out.html"]
    assert report.read_text() == "the old one"
