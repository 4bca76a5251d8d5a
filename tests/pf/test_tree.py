"""Statements and clauses with their places, for tools that want to say something about the text."""

from pfq.pf import read
from pfq.pf.nodes import Rule
from tests.pf.answers import NEW, OLD

TEXT = """\
# shaping
wan = "em0"
queue r on $wan bandwidth 10M
queue d parent r bandwidth 1M default   # the rest
pass out on $wan proto { tcp udp } \\
    from 10.0.0.0/8 to any port 80 set queue d
block quik
anchor "a" {
  pass in
}
"""


def test_places() -> None:
    tree = read(TEXT, NEW)
    found = [(one.kind, one.line, TEXT[one.start : one.end]) for one in tree.statements]
    assert found[0][1:] == (2, 'wan = "em0"')
    assert found[1] == ("queue", 3, "queue r on $wan bandwidth 10M")
    assert found[2][2] == "queue d parent r bandwidth 1M default"
    assert found[3][0] == "pass"
    assert found[3][2].endswith("set queue d")


def test_faulty_statements() -> None:
    tree = read(TEXT, NEW)
    assert [one.line for one in tree.statements if one.faulty] == [7]
    assert tree.verdict.status == 1


def test_clauses() -> None:
    statement = read(TEXT, NEW).statements[3]
    clauses = {one.name: TEXT[one.start : one.end] for one in statement.clauses}
    assert any("queue d" in text for text in clauses.values())


def test_rules_know_their_statement() -> None:
    statement = read(TEXT, NEW).statements[3]
    assert [rule.proto for rule in statement.rules] == [6, 17]
    assert all(rule.statement is statement for rule in statement.rules)


def test_comments() -> None:
    tree = read(TEXT, NEW)
    assert [TEXT[start:end] for _, start, end in tree.comments] == ["# shaping", "# the rest"]


def test_value_of_tables() -> None:
    tree = read("table <x> { 10.0.0.1 }\n", OLD)
    assert [table.name for table in tree.reading.tables] == ["x"]
    assert tree.statements[0].value is tree.reading.tables[0]


ANCHORS = """\
pass
anchor "a" on em0 {
  pass in proto { tcp, udp } to port 80
  include "more"
  anchor out {
    block out
  }
}
load anchor "b" from "loaded"
"""
FILES = {"more": "# of the house\nblock in from 10.0.0.1\nblock in from 10.0.0.2\n", "loaded": "\npass in\nanchor in {\n  block proto udp\n}\n"}


def test_rules_in_braces_and_in_other_files_know_their_line() -> None:
    tree = read(ANCHORS, NEW, file_name="pf.conf", open_file=lambda name: FILES[name])
    assert tree.verdict.status == 0, tree.verdict.stderr
    texts = {"pf.conf": ANCHORS, **FILES}
    found = []

    def walk(rules: list[Rule]) -> None:
        for rule in rules:
            statement = rule.statement
            assert statement is not None
            assert statement.line == rule.line == texts[statement.file].count("\n", 0, statement.start) + 1
            found.append((statement.file, rule.line, texts[statement.file][statement.start : statement.end].partition("\n")[0]))
            if rule.anchor is not None:
                walk(rule.anchor.rules)

    walk(tree.reading.main.rules)
    assert [reading.anchor_name for reading in tree.loaded] == ["b"]
    walk(tree.loaded[0].main.rules)
    assert found == [
        ("pf.conf", 1, "pass"),
        ("pf.conf", 2, 'anchor "a" on em0 {'),
        *[("pf.conf", 3, "pass in proto { tcp, udp } to port 80")] * 2,
        ("more", 2, "block in from 10.0.0.1"),
        ("more", 3, "block in from 10.0.0.2"),
        ("pf.conf", 5, "anchor out {"),
        ("pf.conf", 6, "block out"),
        ("loaded", 2, "pass in"),
        ("loaded", 3, "anchor in {"),
        ("loaded", 4, "block proto udp"),
    ]


def test_a_faulty_rule_in_braces_is_faulty_itself() -> None:
    tree = read('anchor "a" {\n  pass in\n  pass quik\n}\n', NEW)
    assert tree.statements[0].faulty
    assert [(one.line, one.faulty) for one in tree.statements[0].inner] == [(2, False), (3, True)]
