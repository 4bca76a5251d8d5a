"""Statements and clauses with their places, for tools that want to say something about the text."""

from pfq.pf import read
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
