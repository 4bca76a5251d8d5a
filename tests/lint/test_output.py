"""How findings are shown: a snapshot a format, and what each format promises.

`python -m tests.lint.test_output` writes the snapshots anew.
"""

import json
from pathlib import Path

import jsonschema
import pytest

from pfq.lint.registry import RULES, rule
from pfq.lint.sarif import as_sarif
from pfq.lint.show import as_github, as_json, as_text
from tests.lint.lint import lint

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE / "sarif.schema.json").read_text())
FORMATS = {"text": as_text, "json": as_json, "sarif": as_sarif, "github": as_github}
ENDINGS = {"text": "txt", "json": "json", "sarif": "sarif", "github": "github"}

RULESET = """# A ruleset with a finding of each severity, a fix of each safety, and a tab.
altq on em0 hfsc bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 80% hfsc(default)
queue voice bandwidth 20% \tpriority 7 hfsc(realtime 1Mb)
pass out on em0 proto tcp queue (bulk, vioce)
pass out on em0 proto udp queue (bulk, voice)
"""


@pytest.mark.parametrize("form", FORMATS)
def test_snapshot(form: str) -> None:
    assert FORMATS[form]([lint(RULESET, "openbsd-4.4")]) == (HERE / "snapshots" / f"findings.{ENDINGS[form]}").read_text()


@pytest.mark.parametrize("code", RULES)
def test_sarif_fits_its_schema(code: str) -> None:
    one = rule(code)
    log = json.loads(as_sarif([lint(one.wrong, one.example)]))
    jsonschema.validate(log, SCHEMA)
    run = log["runs"][0]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_of_nothing_fits_its_schema() -> None:
    jsonschema.validate(json.loads(as_sarif([])), SCHEMA)


def test_colour_only_if_asked() -> None:
    result = lint(RULESET, "openbsd-4.4")
    assert "\x1b" not in as_text([result])
    assert "\x1b[31merror" in as_text([result], colour=True)


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_reaches_a_terminal_raw(form: str) -> None:
    result = lint("pass in on em0 proto \x1b[31m\udcff\u202e\x07\n")
    shown = FORMATS[form]([result])
    assert result.findings
    assert shown.encode("utf-8")
    assert not any(character in shown for character in "\x1b\x07\u202e")


@pytest.mark.parametrize("text", ["x" * 5000, "pass in on em0 proto tpc " + "x" * 5000, "\t" * 300 + "pass in proto tpc"])
def test_a_long_line_is_shown_in_part(text: str) -> None:
    shown = as_text([lint(text + "\n")])
    assert max(map(len, shown.splitlines())) < 400


def test_carets_stand_under_what_they_mean() -> None:
    shown = as_text([lint("altq on tun0\tpriq bandwidth 1Mb queue { a }\nqueue a priq(default)\n pass\tout queue nope\n", "openbsd-4.4")])
    lines = shown.splitlines()
    carets = next(line for line in lines if line.endswith("^^^^"))
    source = lines[lines.index(carets) - 1]
    assert source[carets.index("^") :] == "nope"


def test_github_escapes_what_ends_a_command() -> None:
    result = lint("pass in proto tpc\n")
    result.findings[0].message = "50%\r\n::error::x"
    assert "::50%25\\r\\n::error::x\n" in as_github([result])


def test_json_names_the_end_of_a_finding() -> None:
    tree = json.loads(as_json([lint("pass in proto tpc\n")]))
    assert [(row["line"], row["column"], row["end_line"], row["end_column"]) for row in tree["findings"]] == [(1, 1, 1, 18)]
    assert tree["files"] == [{"file": "pf.conf", "dialect": "openbsd-7.6", "guessed": False}]


def main() -> None:
    """Write the snapshots."""
    for form, show in FORMATS.items():
        (HERE / "snapshots" / f"findings.{ENDINGS[form]}").write_text(show([lint(RULESET, "openbsd-4.4")]))


if __name__ == "__main__":
    main()
