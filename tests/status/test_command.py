"""The command as it is typed: which host, recordings, --watch, and what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pfq.cli import BROKEN, FINDINGS, FINE, main
from pfq.diagnostics import Refused
from pfq.status import command
from pfq.status.state import Class, Counters, Group, Look
from tests.status.recording import RECORDINGS

SITE = str(RECORDINGS / "openbsd-7.6" / "site.toml")


def _recorded(name: str, *more: str) -> list[str]:
    folder = str(RECORDINGS / name)
    return ["status", f"{folder}/site.toml", "--recorded", folder, *more]


def test_which_host_is_meant() -> None:
    assert command.choose(["a"], None, "elsewhere") == "a"
    assert command.choose(["a", "b"], "b", "a") == "b"
    assert command.choose(["a", "gw.example.org"], None, "gw.example.org") == "gw.example.org"
    assert command.choose(["a", "gw"], None, "gw.example.org") == "gw"
    for names, asked, code, hint in ((["gate", "b"], "gates", "no-host", "did you mean 'gate'?"), (["a", "b"], None, "which-host", "say --host NAME (a, b)")):
        with pytest.raises(Refused) as refused:
            command.choose(names, asked, "elsewhere")
        (found,) = refused.value.diagnostics
        assert (found.code, found.hint) == (code, hint)


def test_a_recording_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(_recorded("openbsd-7.6"))
    output = capsys.readouterr()
    assert status in (FINE, FINDINGS)
    assert output.err == ""
    lines = output.out.splitlines()
    assert any(line.startswith("gw: link wan up on em0 (hfsc)") and "9121 of 20417 packets express" in line for line in lines)
    row = next(line for line in lines if line.startswith("  express (express)")).split()
    assert row[-4:] == ["9121", "966826", "0", "0"]
    assert "\x1b" not in output.out
    # Right-aligned columns: every row is as wide as the heads.
    heads = next(line for line in lines if line.startswith("  class"))
    assert len({len(line) for line in lines if line.startswith("  ")}) == 1
    assert heads.split() == ["class", "now", "share", "guarantee", "ceiling", "packets", "bytes", "waiting", "dropped"]


def test_a_recording_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(_recorded("freebsd-14", "--format", "json"))
    found = json.loads(capsys.readouterr().out)
    assert (status, found["as_compiled"]) in ((FINE, True), (FINDINGS, False))
    assert (found["gateway"], found["system"]) == ("gw", "freebsd-14.0")
    up = found["links"][0]
    assert (up["link"], up["direction"], up["interface"], up["express_packets"]) == ("wan", "up", "em0", 1602)
    office = next(each for each in up["classes"] if each["class"] == "office")
    assert (office["packets"], office["rate"], office["inner"], office["waiting"]) == (134, 115_460, True, 1)


def test_a_difference_is_status_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("pfctl-vsq", "pfctl-si"):
        text = (RECORDINGS / "openbsd-7.6" / name).read_text()
        (tmp_path / name).write_text(text.replace("Enabled", "Disabled"))
    assert main(["status", SITE, "--recorded", str(tmp_path)]) == FINDINGS
    assert "warning[disabled]: pf is disabled, and its queues with it; pfctl -e enables it" in capsys.readouterr().out


def test_every_file_that_a_recording_lacks_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["status", str(RECORDINGS / "htb" / "site.toml"), "--recorded", str(tmp_path)]) == BROKEN
    output = capsys.readouterr()
    assert output.out == ""
    assert f"{tmp_path}/tc-class-eth0: No such file or directory; on the gateway, as root: tc -s -d class show dev eth0 > tc-class-eth0" in output.err
    assert "unshare -n sh -c 'nft -f - && nft -j list ruleset' < pfq.nft > nft-compiled" in output.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--watch", "--recorded", "x"], "--watch and --recorded do not go together"),
        (["--watch", "0"], "--watch: '0' is no number of seconds; 0.1 to 86400"),
        (["--watch", "nan"], "--watch: 'nan' is no number of seconds"),
        (["--host", "x"], "the model has no host 'x'"),
    ],
)
def test_broken_use(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", SITE, *words]) == BROKEN
    output = capsys.readouterr()
    assert (output.out, said in output.err) == ("", True), output.err


def test_faults_of_the_model_come_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(Path(SITE).read_text().replace("20 Mbit", "20 MB"))
    assert main(["status", str(path)]) == BROKEN
    assert f"{path}:2:6: error[bad-quantity]" in capsys.readouterr().err


def test_a_gateway_of_another_system_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    assert main(["status", SITE]) == BROKEN
    assert "host 'gw' is openbsd-7.6, and this machine runs Linux; run it there, or say --recorded DIR" in capsys.readouterr().err


def test_without_root_pfctl_is_not_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "OpenBSD")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main(["status", SITE]) == BROKEN
    assert "error[no-root]: only root may ask pfctl; run it as root" in capsys.readouterr().err


# A pfctl whose queue has sent 1000 bytes more each time.
_PFCTL = """#!/bin/sh
number=$(cat {folder}/number 2>/dev/null || echo 0)
case "$*" in
"-s info") cat {recording}/pfctl-si ;;
"-v -s queue")
    echo $((number + 1)) >{folder}/number
    sed "s/bytes:     966826/bytes: $((966826 + number * 1000))/" {recording}/pfctl-vsq ;;
*) exit 3 ;;
esac
"""
# On a machine that says it is an OpenBSD, as root; interrupted after a while.
_WATCH = """
import os, platform, sys
platform.system = lambda: "OpenBSD"
os.geteuid = lambda: 0
import time
sleep, naps = time.sleep, []
def nap(seconds):
    naps.append(seconds)
    if len(naps) == 3:
        raise KeyboardInterrupt
    sleep(0.02)
time.sleep = nap
from pfq.cli import main
sys.exit(main(sys.argv[1:]))
"""


def _watch(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    folder = RECORDINGS / "openbsd-7.6"
    tool = tmp_path / "pfctl"
    tool.write_text(_PFCTL.format(folder=tmp_path, recording=folder))
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run([sys.executable, "-c", _WATCH, "status", SITE, *words], capture_output=True, text=True, env=environment, check=False)


def _class(seen: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in seen["links"][0]["classes"] if each["class"] == name)
    return found


def test_watched_as_json_it_is_an_object_a_line_until_it_is_interrupted(tmp_path: Path) -> None:
    done = _watch(tmp_path, "--watch", "0.5", "--format", "json")
    assert (done.returncode, done.stderr) == (FINE, "")
    first, second, third = (_class(json.loads(line), "express") for line in done.stdout.splitlines())
    assert first["rate"] is None
    assert [each["bytes"] for each in (first, second, third)] == [966826, 967826, 968826]
    assert second["rate"] > 0
    assert third["rate"] > 0


def test_watched_as_text_it_is_appended_where_there_is_no_terminal(tmp_path: Path) -> None:
    done = _watch(tmp_path, "--watch")
    assert (done.returncode, done.stderr) == (FINE, "")
    assert done.stdout.count("gw: link wan up on em0") == 3
    assert "\x1b" not in done.stdout


def test_a_tool_that_is_not_here_is_named(tmp_path: Path) -> None:
    program = _WATCH.replace("import time", "import pfq.status.outputs; pfq.status.outputs._MORE_PATH = ''\nimport time")
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program, "status", SITE], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (BROKEN, "")
    assert done.stderr == "pfq: error[not-installed]: pfctl is not here; it belongs to the base system\n"


def test_on_a_terminal_it_is_drawn_in_place(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    counters = Counters(1, 2, 3, 4, 5)
    each = Class("a", "1:1", 0, False, False, True, 1000, None, None, counters)
    looks = iter([Look(0.0, (Group("wan", "up", "eth0", "htb", 1000, (each,)),), ())] * 2)

    def look() -> Look:
        try:
            return next(looks)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)

    class Named:
        name = "gw"
        system = None

    assert command._watch(Named(), look, 1.0, False) == FINE  # type: ignore[arg-type]
    drawn = capsys.readouterr().out
    assert drawn.count("\x1b[H") == drawn.count("\x1b[J") == 2
    assert "\x1b[K\n" in drawn
