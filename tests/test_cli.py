"""The command line as a user types it: results on standard output, faults on standard error, exit statuses."""

import io
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pfq.cli import BROKEN, FINE, main, parser
from pfq.completion import commands, script
from pfq.manual import manual

ROOT = Path(__file__).parent.parent
MODEL = """\
[links.dsl]
up = "1 Mbit"
down = "16 Mbit"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "em0"
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(MODEL)
    return path


def run(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pfq", *words], input=text, capture_output=True, text=True, cwd=ROOT, check=False)


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (FINE, "pfq 0.1.0\n", "")


@pytest.mark.parametrize("words", [[], ["--help"], *([name, "--help"] for name in ("compile", "plan", "init", "schema", "targets", "completion"))])
def test_help_teaches(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    output = capsys.readouterr()
    assert stopped.value.code == (FINE if words else BROKEN)
    assert "usage: pfq" in (output.out if words else output.err)


@pytest.mark.parametrize("words", [["nothing"], ["compile"], ["compile", "a", "b"], ["plan", "--format", "xml", "a"], ["compile", "--part", "x", "a"]])
def test_broken_use_is_status_2_and_nothing_on_standard_output(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    output = capsys.readouterr()
    assert (stopped.value.code, output.out) == (BROKEN, "")
    assert "--help" in output.err


def test_compile_reads_standard_input() -> None:
    done = run("compile", "-", text=MODEL)
    assert done.returncode == FINE, done.stderr
    assert "em0" in done.stdout
    assert done.stderr == ""


def test_compile_twice_gives_the_same_bytes(model: Path) -> None:
    first, second = run("compile", str(model)), run("compile", str(model))
    assert first.stdout == second.stdout != ""


def test_faults_name_the_place_on_standard_error(model: Path) -> None:
    model.write_text(MODEL.replace('"1 Mbit"', '"1 MB"'))
    done = run("compile", str(model))
    assert (done.returncode, done.stdout) == (BROKEN, "")
    assert done.stderr.startswith(f"{model}:2:6: error[bad-quantity]: ")


def test_faults_of_every_stage_are_reported_at_once(model: Path) -> None:
    model.write_text(MODEL.replace('links.dsl = "em0"', 'links.dsl = { interface = "em0", shaped_up = "2 Mbit" }\nlinks.fibre = "em1"'))
    done = run("compile", str(model))
    assert (done.returncode, done.stdout) == (BROKEN, "")
    assert "error[above-link]" in done.stderr
    assert "error[dangling]" in done.stderr


def test_several_hosts_need_a_choice(model: Path) -> None:
    model.write_text(MODEL + '[hosts.other]\nsystem = "freebsd-14"\nlinks.dsl = { interface = "em0" }\n')
    done = run("compile", str(model))
    assert (done.returncode, done.stdout) == (BROKEN, "")
    assert "--host" in done.stderr
    assert "gw, other" in done.stderr
    assert run("compile", str(model), "--host", "gw").returncode == FINE


def test_an_unknown_host_is_a_fault_with_a_hint(model: Path) -> None:
    done = run("compile", str(model), "--host", "gww")
    assert done.returncode == BROKEN
    assert "did you mean 'gw'?" in done.stderr


def test_another_target_can_be_tried(model: Path) -> None:
    model.write_text(MODEL.replace('down = "16 Mbit"', 'down = "16 Mbit"\nipv6 = false'))
    done = run("compile", str(model), "--target", "openbsd-4.4")
    assert done.returncode == FINE, done.stderr
    assert "altq on" in done.stdout
    assert run("compile", str(model), "--target", "beos-5").returncode == BROKEN


def test_a_folder_holds_what_the_manifest_names(model: Path, tmp_path: Path) -> None:
    import hashlib

    out = tmp_path / "out"
    assert run("compile", str(model), "-o", str(out)).returncode == FINE
    manifest = json.loads((out / "manifest.json").read_text())
    assert [host["name"] for host in manifest["hosts"]] == ["gw"]
    assert manifest["hosts"][0]["target"] == "openbsd-7.6"
    paths = [file["path"] for file in manifest["hosts"][0]["files"]]
    assert "gw/pf.conf" in paths
    for file in manifest["hosts"][0]["files"]:
        assert hashlib.sha256((out / file["path"]).read_bytes()).hexdigest() == file["sha256"]
    assert not list(out.rglob(".*")), "no temporary file stays behind"
    assert (out / "gw/pf.conf").read_text() == run("compile", str(model)).stdout


def test_a_model_with_faults_leaves_the_folder_as_it_was(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("compile", str(model), "-o", str(out)).returncode == FINE
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    model.write_text(MODEL.replace("1 Mbit", "1 MB"))
    assert run("compile", str(model), "-o", str(out)).returncode == BROKEN
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_an_output_that_is_a_file_is_a_fault(model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    done = run("compile", str(model), "-o", str(tmp_path / "out"))
    assert done.returncode == BROKEN
    assert "error[unwritable]" in done.stderr
    assert (tmp_path / "out").read_text() == "mine"


def test_plan_in_json_is_json(model: Path) -> None:
    found = json.loads(run("plan", str(model), "--format", "json").stdout)
    assert found["gateways"][0]["links"][0]["up"]["rate"]["unit"] == "bit/s"


def test_init_writes_a_model_that_compiles(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    options = ["--system", "linux-6.1", "--interface", "ppp0", "--up", "1 Mbit", "--down", "8 Mbit", "--encapsulation", "pppoe-llc", "--inside", "eth1"]
    assert run("init", *options, "-o", str(path)).returncode == FINE
    assert run("compile", str(path)).returncode == FINE
    again = run("init", *options, "-o", str(path))
    assert again.returncode == BROKEN
    assert "error[exists]" in again.stderr


@pytest.mark.parametrize(
    ("system", "accepted"),
    [
        ("openbsd-3.3", ["ipv6-express", "exact-low-delay"]),
        ("openbsd-5.4", []),
        ("openbsd-7.6", []),
        ("freebsd-12", ["ipv6-express"]),
        ("freebsd-15", []),
        ("linux-4.9", ["ipv6-extension-express"]),
        ("linux-6.1", []),
    ],
)
def test_init_accepts_what_its_system_cannot_do_and_no_more(system: str, accepted: list[str]) -> None:
    written = run("init", "--system", system).stdout
    assert tomllib.loads(written).get("accept", []) == accepted
    assert all(f"# {name}: " in written for name in accepted)
    done = run("compile", "-", text=written)
    assert (done.returncode, done.stderr) == (FINE, "")


@pytest.mark.parametrize(
    ("options", "encapsulation"),
    [
        ((), "ethernet"),
        (("--interface", "pppoe0"), "pppoe-llc"),
        (("--interface", "ppp0", "--system", "linux-6.1"), "pppoe-llc"),
        (("--interface", "pppoe0", "--down", "50 Mbit"), "pppoe-ptm"),
        (("--interface", "pppoe0", "--encapsulation", "pppoe-ethernet"), "pppoe-ethernet"),
    ],
)
def test_init_counts_pppoe_where_the_interface_is_a_session(options: tuple[str, ...], encapsulation: str) -> None:
    written = run("init", *options).stdout
    assert tomllib.loads(written)["links"]["line"]["encapsulation"] == encapsulation
    assert "PFQ409" not in run("lint", "--as", "site", "-", text=written).stdout


def test_init_refuses_answers_that_make_no_model() -> None:
    done = run("init", "--up", "fast", "--interface", 'x"; reboot')
    assert (done.returncode, done.stdout) == (BROKEN, "")
    assert "--up: 'fast' is not a rate" in done.stderr
    assert "--interface:" in done.stderr


def test_init_asks_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("linux-6.1\nppp0\n2 Mbit\n\n?\npppoe-llc\n\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["init"]) == FINE
    output = capsys.readouterr()
    assert 'up = "2 Mbit"\ndown = "16 Mbit"' in output.out
    assert 'encapsulation = "pppoe-llc"' in output.out
    assert "ADSL, PPPoE, LLC/SNAP" in output.err


def test_schema_is_json() -> None:
    assert json.loads(run("schema").stdout)["$schema"].endswith("2020-12/schema")


def test_targets_lists_systems_and_one() -> None:
    assert "openbsd" in run("targets").stdout
    assert run("targets", "openbsd-7.6").stdout.startswith("openbsd-7.6")
    assert run("targets", "openbsd-99").returncode == BROKEN


def test_a_closed_pipe_is_no_fault(model: Path) -> None:
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' -m pfq plan '{model}' | true"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("shell_words", "message"),
    [
        ("compile SITE >&-", "error[unwritable]: standard output is closed"),
        ("plan SITE >/dev/full", "error[unwritable]: standard output cannot be written: No space left on device"),
        ("compile - <&-", "error[unreadable]: standard input is closed"),
        ("compile /nonexistent 2>&-", ""),
    ],
)
def test_streams_that_cannot_be_used_are_one_fault(model: Path, shell_words: str, message: str) -> None:
    words = shell_words.replace("SITE", f"'{model}'")
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' -m pfq {words}"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (BROKEN, "")
    assert done.stderr == (f"pfq: {message}\n" if message else "")


def test_nobody_is_asked_where_standard_input_is_closed() -> None:
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' -m pfq init <&-"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (FINE, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell: str) -> None:
    text = script(shell, parser())
    for command in commands(parser()):
        assert command.name in text
        for option in command.options:
            assert option.names[-1].lstrip("-") in text


def test_bash_completes() -> None:
    ask = 'COMP_WORDS=(pfq compile --pa); COMP_CWORD=2; _pfq; echo "${COMPREPLY[@]}"; COMP_WORDS=(pfq comp); COMP_CWORD=1; _pfq; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", f"{script('bash', parser())}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["--part", "compile completion"]


def test_the_manual_is_up_to_date() -> None:
    """Refresh with `python3 -m pfq.manual > docs/pfq.1`."""
    assert (ROOT / "docs/pfq.1").read_text() == manual(parser())


@pytest.mark.packages
def test_the_manual_renders() -> None:
    done = subprocess.run(
        ["man", "--warnings", "-l", str(ROOT / "docs/pfq.1")], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    )
    assert "COMMANDS" in done.stdout
    assert done.stderr == ""


def test_colour_only_on_a_terminal(model: Path) -> None:
    assert "\x1b" not in run("compile", "/nonexistent").stderr
