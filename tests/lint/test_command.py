"""`pfq lint` as a command: files, options, configuration, baseline, fixes, exit status."""

import io
import json
import os
import stat
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from pfq.diagnostics import Refused
from pfq.lint import command, rule_command

WRONG = "queue up on em0 bandwidth 10M, max 10M\nqueue bulk parent up bandwidth 10M flows 1024 qlimit 100 default\n"
RIGHT = "queue up on em0 bandwidth 10M, max 10M\nqueue bulk parent up bandwidth 10M flows 1024 default\n"
NOTE = """queue up on em0 bandwidth 10M, max 10M
queue a parent up bandwidth 8M default
queue b parent up bandwidth 2M
pass out proto udp set queue (a, b)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with the end of the search for a configuration."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(*words: str) -> int:
    parser = ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


def refused(*words: str) -> str:
    with pytest.raises(Refused) as caught:
        lint(*words)
    return caught.value.diagnostics[0].code


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint("--as", "openbsd-7.6", write("a.conf", RIGHT)) == 0
    assert lint("--as", "openbsd-7.6", write("b.conf", WRONG)) == 1
    assert lint("--as", "openbsd-7.6", "a.conf", "b.conf") == 1
    assert "b.conf:2:47: warning[PFQ306]" in capsys.readouterr().out


def test_notes_are_shown_and_do_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint("--as", "openbsd-7.6", write("a.conf", NOTE)) == 0
    assert "note[PFQ107]" in capsys.readouterr().out


def test_a_file_named_twice_is_linted_once(capsys: pytest.CaptureFixture[str]) -> None:
    lint("--as", "openbsd-7.6", write("b.conf", WRONG), "b.conf")
    assert capsys.readouterr().out.count("PFQ306") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["missing.conf"], "unreadable"),
        (["."], "unreadable"),
        (["--as", "plan9-4", "a.conf"], "unknown-dialect"),
        (["--as", "openbsd-2.9", "a.conf"], "unknown-dialect"),
        (["--select", "E501", "a.conf"], "unknown-code"),
        (["--ignore", "PFQ9", "a.conf"], "unknown-code"),
        (["--write-baseline", "a.conf"], "no-baseline"),
        (["--baseline", "none.json", "a.conf"], "unreadable"),
        (["--config", "none.toml", "a.conf"], "unreadable"),
        (["--system", "none.toml", "a.conf"], "wrong-system"),
        (["--fix", "-"], "cannot-fix"),
        (["-D", "x", "a.conf"], "wrong-macro"),
    ],
)
def test_broken_use(words: list[str], code: str) -> None:
    write("a.conf", RIGHT)
    assert refused(*words) == code


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WRONG.encode())))
    assert lint("-") == 1
    assert capsys.readouterr().out.startswith("<stdin>:2:47: ")


def test_a_model_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[links.dsl]\n")))
    assert lint("--as", "site", "-") == 1
    assert "PFQ004" in capsys.readouterr().out


def test_a_model_beside_a_ruleset(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(write("b.conf", WRONG), write("site.toml", "[links.dsl]\n")) == 1
    found = capsys.readouterr().out
    assert "PFQ306" in found
    assert "PFQ004" in found


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (WRONG, "openbsd-7.6"),
        ("nat on em0 from 10.0.0.0/8 to any -> (em0)\n", "freebsd-14.0"),
        ("altq on em0 priq bandwidth 1Mb queue { a }\nqueue a priq(default)\n", "freebsd-14.0"),
        ("altq on em0 priq bandwidth 1Mb queue { a }\nqueue a priq(default)\nmatch out on em0 nat-to (em0)\n", "openbsd-5.4"),
        ("scrub in all\npass in\n", "freebsd-14.0"),
        ("pass in\n", "openbsd-7.6"),
        ("anchor foo from any to any fragment\npass in tos 0\n", "openbsd-7.6"),
        # Only ALTQ's pfctl reads this; nothing in it says so but that.
        ("pass in on em0 fastroute inet proto tcp\n", "freebsd-14.0"),
    ],
)
def test_a_dialect_is_guessed_and_said(text: str, dialect: str, capsys: pytest.CaptureFixture[str]) -> None:
    lint("--format", "json", write("x.conf", text))
    said = capsys.readouterr()
    assert json.loads(said.out)["files"] == [{"file": "x.conf", "dialect": dialect, "guessed": True}]
    assert f"is read as {dialect}" in said.err


def test_a_dialect_that_is_given_is_not_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    lint("--as", "freebsd-12.1", write("a.conf", "pass in\n"))
    assert capsys.readouterr().err == ""


def test_select_and_ignore(capsys: pytest.CaptureFixture[str]) -> None:
    write("b.conf", WRONG)
    assert lint("--select", "PFQ1,PFQ2", "b.conf") == 0
    assert lint("--select", "PFQ3", "--ignore", "PFQ306", "b.conf") == 0
    assert lint("--select", "PFQ306", "b.conf") == 1


def test_configuration_in_pfq_toml() -> None:
    write("b.conf", WRONG)
    write("pfq.toml", '[lint]\nas = "openbsd-7.6"\nignore = ["PFQ306"]\n')
    assert lint("b.conf") == 0
    assert lint("--select", "PFQ306", "b.conf") == 0
    write("other.toml", "[lint]\n")
    assert lint("--config", "other.toml", "b.conf") == 1


def test_configuration_in_setup_cfg_of_a_folder_above(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    write("setup.cfg", "[metadata]\nname = x\n\n[pfq:lint]\nignore = PFQ306, PFQ301\n")
    (here / "deep").mkdir()
    monkeypatch.chdir(here / "deep")
    assert lint(write("b.conf", WRONG)) == 0


@pytest.mark.parametrize(
    "text",
    ["[lint\n", "lint = 1\n", "[lint]\nignored = []\n", "[lint]\nignore = 'PFQ3'\n", "[lint]\nas = 7\n", "[lint]\nas = 'x'\nselect = [1]\n"],
)
def test_configurations_that_cannot_be_meant(text: str) -> None:
    write("pfq.toml", text)
    assert refused(write("a.conf", RIGHT)) == "wrong-config"


def test_a_code_in_the_configuration_must_exist() -> None:
    write("pfq.toml", "[lint]\nignore = ['PFQ999']\n")
    assert refused(write("a.conf", RIGHT)) == "unknown-code"


def test_a_comment_silences_a_rule() -> None:
    line = WRONG.splitlines()[1]
    assert lint(write("b.conf", WRONG.replace(line, f"{line} # pfq: ignore[PFQ306]"))) == 0
    assert lint(write("c.conf", WRONG.replace(line, f"# pfq: ignore[PFQ301, PFQ306]\n\n# why\n{line}"))) == 1
    assert lint(write("d.conf", WRONG.replace(line, f"# pfq: ignore[PFQ306] the kernel changes next year\n{line}"))) == 0


@pytest.mark.parametrize("comment", ["# pfq: ignore[PFQ306]", "# pfq: ignore", "# pfq: ignore[]", "# pfq: ignore[PFQ999]", "#pfq:ignore[PFQ306,PFQ306]"])
def test_a_comment_that_silences_nothing_is_complained_of(comment: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint("--as", "openbsd-7.6", write("a.conf", f"{RIGHT}{comment}\npass in\n")) == 1
    assert "PFQ003" in capsys.readouterr().out


def test_a_comment_for_a_rule_that_does_not_run_is_not_complained_of() -> None:
    assert lint("--ignore", "PFQ306", write("a.conf", f"{RIGHT}pass in # pfq: ignore[PFQ306]\n")) == 0
    # What pfctl refuses was not judged by this rule.
    assert lint("--ignore", "PFQ001", write("b.conf", 'a = "b" # pfq: ignore[PFQ101]\npass in proto tpc\n')) == 0


def test_a_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    write("b.conf", WRONG)
    assert lint("--baseline", "known.json", "--write-baseline", "b.conf") == 0
    assert capsys.readouterr().out == ""
    assert lint("--baseline", "known.json", "b.conf") == 0
    # Lines above may come and go; a second finding of the kind on another line is new.
    write("b.conf", "# hello\n\n" + WRONG + "queue late on em1 flows 10 qlimit 5 default\n")
    assert lint("--baseline", "known.json", "b.conf") == 1
    assert capsys.readouterr().out.count("PFQ306") == 1


def test_a_baseline_hides_as_many_as_it_has() -> None:
    line = "queue q on em{} flows 10 qlimit 5 default\n"
    write("b.conf", line.format(0))
    lint("--baseline", "known.json", "--write-baseline", "b.conf")
    write("b.conf", line.format(0) + "\n" + line.format(1))
    assert lint("--baseline", "known.json", "b.conf") == 1


def test_a_baseline_is_found_from_anywhere(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    (here / "sub").mkdir()
    write("sub/b.conf", WRONG)
    write("pfq.toml", "[lint]\nbaseline = 'known.json'\n")
    lint("--write-baseline", "sub/b.conf")
    monkeypatch.chdir(here / "sub")
    assert lint("b.conf") == 0


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "findings": []}', '{"version": 1}', '{"version": 1, "findings": [{"file": 1}]}', "nul\x00"])
def test_files_that_are_no_baseline(text: str) -> None:
    write("known.json", text)
    assert refused("--baseline", "known.json", write("a.conf", RIGHT)) == "wrong-baseline"


def test_fixing_keeps_comments_layout_and_permissions(here: Path) -> None:
    text = WRONG.replace("qlimit 100", "\\\n\t\tqlimit 100").replace("default\n", "default  # the rest\r\n")
    path = here / "b.conf"
    path.write_bytes(text.encode())
    path.chmod(0o600)
    (here / "link.conf").symlink_to("b.conf")
    assert lint("--as", "openbsd-7.6", "--fix", "link.conf") == 0
    assert path.read_bytes().decode() == text.replace("\t\tqlimit 100", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (here / "link.conf").is_symlink()


def test_fixing_goes_on_until_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    write("b.conf", WRONG + "pass in # pfq: ignore[PFQ104]\n# pfq: ignore[PFQ105]\npass out\n")
    assert lint("--as", "openbsd-7.6", "--fix", "b.conf") == 0
    assert Path("b.conf").read_text() == RIGHT + "pass in\npass out\n"
    assert capsys.readouterr().out == ""


def test_fixing_leaves_unsafe_fixes_to_people() -> None:
    text = "queue up on em0 bandwidth 10M\nqueue bulk parent up bandwidth 10M default\n"
    assert lint("--as", "openbsd-7.6", "--fix", write("b.conf", text)) == 1
    assert Path("b.conf").read_text() == text


def test_fixing_what_is_not_utf_8_is_refused(here: Path) -> None:
    data = WRONG.encode() + b"# \xff\n"
    (here / "b.conf").write_bytes(data)
    assert refused("--as", "openbsd-7.6", "--fix", "b.conf") == "not-text"
    assert (here / "b.conf").read_bytes() == data


def test_fixing_leaves_included_files_alone() -> None:
    write("queues.conf", WRONG)
    assert lint("--as", "openbsd-7.6", "--fix", write("b.conf", 'include "queues.conf"\npass in\n')) == 1
    assert Path("queues.conf").read_text() == WRONG


def test_findings_of_included_files_name_those_files(capsys: pytest.CaptureFixture[str]) -> None:
    write("queues.conf", WRONG)
    lint("--as", "openbsd-7.6", write("b.conf", 'include "queues.conf"\npass in\n'))
    assert capsys.readouterr().out.startswith("queues.conf:2:47: ")


def test_macros_and_a_system_from_the_command_line() -> None:
    write("s.toml", '[interface.em9]\naddresses = ["192.0.2.1/24"]\n')
    text = "pass in on $wan from em9:network\n"
    assert lint("--as", "openbsd-7.6", "-D", "wan=em9", "--system", "s.toml", write("a.conf", text)) == 0
    assert lint("--as", "openbsd-7.6", "a.conf") == 1


def test_rule_lists_and_explains(capsys: pytest.CaptureFixture[str]) -> None:
    def rule(*words: str) -> int:
        parser = ArgumentParser()
        rule_command.add_arguments(parser)
        return rule_command.run(parser.parse_args(words))

    assert rule() == 0
    assert "PFQ201  error" in capsys.readouterr().out
    assert rule("pfq201") == 0
    assert capsys.readouterr().out.startswith("# PFQ201 undefined-queue\n")
    with pytest.raises(Refused):
        rule("PFQ999")


def test_little_is_imported_for_a_small_ruleset() -> None:
    """The hook runs on every commit: nothing that only other inputs need may be imported."""
    import subprocess

    code = (
        "import sys; from argparse import ArgumentParser; from pfq.lint import command\n"
        "parser = ArgumentParser(); command.add_arguments(parser); command.run(parser.parse_args(['--as', 'openbsd-7.6', 'a.conf']))\n"
        "print(*sorted(sys.modules))"
    )
    write("a.conf", RIGHT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=environment)
    loaded = set(done.stdout.split())
    assert not loaded & {"dataclasses", "inspect", "json", "tomllib", "typing", "pathlib", "jinja2", "configparser", "difflib", "ipaddress"}
    assert not loaded & {"pfq.diagnostics", "pfq.site", "pfq.lint.said", "pfq.lint.ignores", "pfq.lint.sarif"}
    assert not {name for name in loaded if name.startswith(("pfq.lint.rules.altq", "pfq.lint.rules.fairq", "pfq.lint.rules.acks"))}


def test_the_command_line_leads_here(capsys: pytest.CaptureFixture[str]) -> None:
    from pfq.cli import main

    write("b.conf", WRONG)
    assert main(["lint", "--as", "openbsd-7.6", "b.conf"]) == 1
    assert "PFQ306" in capsys.readouterr().out
    assert main(["lint", "missing.conf"]) == 2
    assert main(["rule", "PFQ306"]) == 0
