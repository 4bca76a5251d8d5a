"""Words, quotes, macros, continued lines, included files."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.pf import check, read
from pfq.pf.dialects import dialect
from pfq.pf.lexer import END, Lexer
from tests.pf.answers import DIALECTS, MIDDLE, NEW, OLD, printed, said


def _files(**files: str) -> Callable[[str], str]:
    def open_file(name: str) -> str:
        if name not in files:
            raise FileNotFoundError(2, "No such file or directory", name)
        return files[name]

    return open_file


@pytest.mark.parametrize("dialect", DIALECTS)
def test_macro_is_printed_and_used(dialect: str) -> None:
    lines = printed('wan = "em0"\nblock on $wan\n', dialect)
    assert lines == ['wan = "em0"', "block drop on em0 all"]


def test_macro_of_several_words() -> None:
    assert printed('a = "10.0.0.1" "10.0.0.2"\nblock from { $a }\n')[0] == 'a = "10.0.0.1 10.0.0.2"'


def test_macro_in_macro() -> None:
    assert printed('a = "em0"\nb = "on" $a\nblock $b\n')[-1] == "block drop on em0 all"


def test_macro_of_the_command_line_wins() -> None:
    verdict = check('wan = "em0"\nblock on $wan\n', NEW, verbose=True, macros={"wan": "em7"})
    assert verdict.stdout.endswith("block drop on em7 all\n")


def test_undefined_macro_takes_the_line_end_with_it() -> None:
    # The line end is lost with the rest of the line, so the next line is not read.
    text = "block on $wan\nblock quik\nblock\nblock\nblock quik\n"
    assert said(text) == ["stdin:1: macro 'wan' not defined", "stdin:1: syntax error", "stdin:5: syntax error"]
    # OpenBSD 4.4 forgets the line end it had unread, and counts one line less.
    assert said(text, OLD) == ["stdin:1: macro 'wan' not defined", "stdin:1: syntax error", "stdin:4: syntax error"]


def test_macro_name_with_blanks() -> None:
    assert said('"a b" = "em0"\n') == ["stdin:1: macro name cannot contain whitespace"]


def test_macros_that_double_each_other_end() -> None:
    doubled = 'a="1"\n' + "a=$a $a\n" * 60
    assert "macros make too much text" in said(doubled)[0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_continued_line(dialect: str) -> None:
    assert printed("block \\\n  on \\\n em0\n", dialect) == ["block drop on em0 all"]


def test_line_numbers_count_continued_lines() -> None:
    assert said("block \\\n on em0\nblock quik\n") == ["stdin:3: syntax error"]


def test_comments() -> None:
    assert printed("# nothing\nblock # all of it\n") == ["block drop all"]
    tree = read("# one\nblock # two\n", NEW)
    assert [(name, start, end) for name, start, end in tree.comments] == [("stdin", 0, 5), ("stdin", 12, 17)]


def test_quoted_string_over_lines() -> None:
    assert printed('block on "e\nm0"\n') == ["block drop on em0 all"]


def test_string_without_end() -> None:
    assert said('block on "em0\n') == ["stdin:1: reached end of file while parsing quoted string", "stdin:1: syntax error"]


def test_string_too_long() -> None:
    assert said(f'a = "{"x" * 9000}"\n')[0] == "stdin:1: string too long"


@pytest.mark.parametrize("text", ["block", "block\n", "", "\n", "# only this", "\\\n"])
def test_last_line_without_its_end(text: str) -> None:
    assert check(text, NEW).status == 0


def test_older_releases_want_the_last_line_end() -> None:
    assert check("block\n", OLD).status == 0
    assert said("block", OLD) == ["stdin:1: syntax error"]


def test_carriage_returns_are_no_blanks() -> None:
    assert said("block\r\n")[0] == "stdin:1: syntax error"


def test_numbers() -> None:
    assert said("set limit states 99999999999999999999\n")[0].startswith('stdin:1: "99999999999999999999" invalid number: too large')


def test_signs_of_two_characters() -> None:
    assert printed("pass proto tcp to port >= 1024\npass proto tcp to port != 25\npass proto tcp to port 1 >< 9\n") == [
        "pass proto tcp from any to any port >= 1024 flags S/SA",
        "pass proto tcp from any to any port != 25 flags S/SA",
        "pass proto tcp from any to any port 1 >< 9 flags S/SA",
    ]


def test_blank_inside_a_comparison() -> None:
    assert check("pass proto tcp to port ! = 25\n", OLD).status == 0
    assert check("pass proto tcp to port ! = 25\n", NEW).status == 1


def test_include() -> None:
    verdict = check('include "more"\npass\n', NEW, verbose=True, open_file=_files(more="block\n"))
    assert verdict.stdout == "block drop all\npass all flags S/SA\n"


def test_error_in_an_included_file_names_it() -> None:
    verdict = check('include "more"\nblock quik\n', NEW, open_file=_files(more="\nblock nosuch\n"))
    assert verdict.stderr == "more:2: syntax error\nstdin:2: syntax error\n"


@pytest.mark.parametrize("dialect", [NEW, MIDDLE])
def test_include_of_nothing(dialect: str) -> None:
    verdict = check('include "gone"\n', dialect, open_file=_files())
    assert verdict.status == 1
    assert "stdin:1: failed to include file gone" in verdict.stderr


@pytest.mark.parametrize("dialect", DIALECTS)
def test_file_that_includes_itself(dialect: str) -> None:
    verdict = check('include "again"\n', dialect, open_file=_files(again='include "again"\n'))
    assert verdict.status == 1
    assert "failed to include file again" in verdict.stderr


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nul_ends_the_text(dialect: str) -> None:
    assert said("block\0\nblock quik\n", dialect) == ["stdin:1: syntax error"]


def test_loaded_anchors_know_no_macros() -> None:
    verdict = check('load anchor a from "x"\n', NEW, macros={"wan": "em0"}, open_file=_files(x="block on $wan\n"))
    assert (verdict.status, verdict.stderr) == (1, "x:1: macro 'wan' not defined\nx:1: syntax error\npfctl: load anchors\n")


def test_loaded_anchor_that_is_not_there() -> None:
    verdict = check('load anchor a from "x"\n', NEW, open_file=_files())
    assert verdict.status == 1
    assert "No such file or directory" in verdict.stderr


_PIECES = (
    "pass", "$a", "$b", "$c", "{", "}", "(", ")", "<x>", "!", "!=", "->", "-5", "-5x", "80", "80<", '"a b"', "'c'", " ", "  ", "\t", ",", "\\\n",
    "a.b", "\u00e9", "=", "<>", "-", ">",
)


@given(st.lists(st.sampled_from(_PIECES), max_size=12), st.sampled_from(DIALECTS))
def test_a_token_knows_what_was_written_for_it(pieces: list[str], dialect_name: str) -> None:
    text = "".join(pieces) + "\n"
    lexer = Lexer(dialect(dialect_name), "stdin", text, None)
    for name, value in (("a", "em0"), ("b", "{ 80 (em0) }"), ("c", "")):
        lexer.define(name, value)
    while END not in lexer.kinds and "ERROR" not in lexer.kinds:
        lexer.fill()
    before = 0
    for index, (kind, value) in enumerate(zip(lexer.kinds, lexer.values, strict=True)):
        start, end = lexer.span(index, index)
        assert before <= start <= end <= len(text)
        written = text[start:end]
        if kind in (END, "ERROR"):
            break
        if written.startswith("$"):
            # All tokens of a macro have its place; the last one may go on in the text behind it.
            assert written[1] in "abc"
            before = start
            continue
        before = end
        assert kind == "\n" or written.replace("\\\n", "").replace("\\", "").strip("\"'") == value.strip("\"'")


CLAUSES = """\
wan = "em0"
two = "10.0.0.2 10.0.0.3"
ports = "81 82"
queue r on em0 bandwidth 10M
queue a parent r bandwidth 1M default
queue b parent r bandwidth 1M
"""


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("pass on $wan proto tcp", "on $wan"),
        ("pass to { 10.0.0.1, $two } label x", "to { 10.0.0.1, $two }"),
        ("pass proto tcp to any port {80 $ports} label x", "to any port {80 $ports}"),
        ("pass from $wan:network label x", "from $wan:network"),
        ("pass to ! 10.0.0.1 label x", "to ! 10.0.0.1"),
        ("pass proto tcp flags S/SA label x", "flags S/SA"),
        ("pass set queue (a, b) label x", "set queue (a, b)"),
    ],
)
def test_a_clause_is_what_was_written_for_it(rule: str, written: str) -> None:
    text = f"{CLAUSES}{rule} # $wan\n"
    statement = read(text, NEW).statements[-1]
    assert not statement.faulty
    assert written in [text[one.start : one.end] for one in statement.clauses]
