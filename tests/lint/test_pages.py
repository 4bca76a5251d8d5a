"""docs/rules is made from the rules, and is up to date."""

from pathlib import Path

from pfq.lint.pages import main, pages, summary
from pfq.lint.registry import RULES

DOCS = Path(__file__).parent.parent.parent / "docs" / "rules"


def test_the_pages_are_current() -> None:
    """`python -m pfq.lint.pages docs/rules` makes them so."""
    assert {path.name: path.read_text() for path in DOCS.iterdir()} == pages()


def test_a_page_of_a_rule_that_is_gone_is_removed(tmp_path: Path) -> None:
    (tmp_path / "PFQ999.md").write_text("")
    (tmp_path / "notes.md").write_text("")
    main(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {*pages(), "notes.md"}


def test_the_summary_has_a_line_a_rule() -> None:
    assert [line.split()[0] for line in summary().splitlines()] == list(RULES)
