"""How faults are shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.diagnostics import MOST_SHOWN, Diagnostic, Place, as_json, as_text, in_order, refuse, visible


def fault(line: int, column: int = 1, code: str = "c", file: str = "f", hint: str = "") -> Diagnostic:
    return Diagnostic(code, f"message {line}", Place(file, line, column), hint)


def test_one_line_each_in_the_order_of_the_file() -> None:
    found = (fault(2), fault(10, hint="do this"), fault(1, 9), fault(1, 2), Diagnostic("d", "no place"))
    assert as_text(found) == (
        "pfq: error[d]: no place\nf:1:2: error[c]: message 1\nf:1:9: error[c]: message 1\nf:2:1: error[c]: message 2\n"
        "f:10:1: error[c]: message 10; do this\n"
    )


def test_each_is_said_once() -> None:
    assert in_order((fault(1), fault(1), fault(2))) == [fault(1), fault(2)]


def test_no_more_than_a_screen_or_two() -> None:
    shown = as_text(tuple(fault(line) for line in range(1, MOST_SHOWN + 8))).splitlines()
    assert len(shown) == MOST_SHOWN + 1
    assert shown[-1] == "pfq: and 7 more"


def test_colour_is_asked_for() -> None:
    assert "\x1b" not in as_text((fault(1),))
    assert "\x1b[31merror\x1b[0m" in as_text((fault(1),), colour=True)


def test_json() -> None:
    rows = json.loads(as_json((fault(3, 4, hint="h"), Diagnostic("d", "m", severity="warning"))))
    assert rows == [
        {"code": "d", "severity": "warning", "message": "m", "hint": "", "file": None, "line": None, "column": None},
        {"code": "c", "severity": "error", "message": "message 3", "hint": "h", "file": "f", "line": 3, "column": 4},
    ]


@pytest.mark.parametrize(("text", "shown"), [("plain é 日本", "plain é 日本"), ("a\nb", "a\\nb"), ("\x1b[2J", "\\x1b[2J"), ("\u202e\x9b", "\\u202e\\x9b")])
def test_what_a_terminal_could_act_on_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(), st.text(), st.text())
def test_nothing_of_the_input_reaches_the_terminal_raw(file: str, message: str, hint: str) -> None:
    shown = as_text((Diagnostic("c", message, Place(file, 1, 1), hint),))
    assert shown.count("\n") == 1
    assert shown[:-1].isprintable()


def test_refuse() -> None:
    assert refuse("c", "m", Place("f", 1, 1), "h").diagnostics == (Diagnostic("c", "m", Place("f", 1, 1), "h"),)
