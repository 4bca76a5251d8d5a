"""Every value and key of a TOML text is found where it stands."""

import tomllib
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.site.positions import Path, Source


def place(text: str, *path: str | int) -> tuple[int, int]:
    found = Source("f", text).place(path)
    return found.line, found.column


def key_place(text: str, *path: str | int) -> tuple[int, int]:
    found = Source("f", text).key_place(path)
    return found.line, found.column


@pytest.mark.parametrize(
    ("text", "path", "line", "column"),
    [
        ("a = 1", ("a",), 1, 5),
        ("\n\n  a=1", ("a",), 3, 5),
        ("# comment = 7\na = 1 # a = 2", ("a",), 2, 5),
        ("[t]\na = 1", ("t", "a"), 2, 5),
        ("[t]\na = 1", ("t",), 1, 1),
        ("[ t . u ]\na = 1", ("t", "u"), 1, 1),
        ("a.b.c = 1", ("a", "b", "c"), 1, 9),
        ("a . b = 1", ("a", "b"), 1, 9),
        ("a.b = 1", ("a",), 1, 1),
        ("[t]\na.b = 1\na.c = 2", ("t", "a", "c"), 3, 7),
        ("t = { a = 1, b = { c = 2 } }", ("t", "b", "c"), 1, 24),
        ("t = { a.b = 1, a.c = 2 }", ("t", "a", "c"), 1, 22),
        ("t = {}\nu = 1", ("u",), 2, 5),
        ("a = [1, 22, 333]", ("a", 2), 1, 13),
        ("a = [ # one\n  1, # two\n  [2, 3], # three\n]", ("a", 1, 1), 3, 7),
        ("a = [\n]\nb = 1", ("b",), 3, 5),
        ("a = [{ b = 1 }, { b = 2 }]", ("a", 1, "b"), 1, 23),
        ("[[a]]\nb = 1\n[[a]]\nb = 2", ("a", 1, "b"), 4, 5),
        ("[[a]]\nb = 1\n[[a]]\nb = 2", ("a", 1), 3, 1),
        ("[[a]]\n[a.t]\nb = 1\n[[a]]\n[a.t]\nb = 2", ("a", 1, "t", "b"), 6, 5),
        ("[[a.b]]\n[[a.b.c]]\nd = 1\n[[a.b.c]]\nd = 2", ("a", "b", 0, "c", 1, "d"), 5, 5),
        ("[[a]]\nb = 1\n[t]\nb = 2", ("t", "b"), 4, 5),
        ('"a b" = 1', ("a b",), 1, 9),
        ("'a.b' = 1", ("a.b",), 1, 9),
        ('"a\\"b\\u00e9".c = 1', ('a"bé', "c"), 1, 18),
        ('"" = 1', ("",), 1, 6),
        ('["a.b".c]\nd = 1', ("a.b", "c", "d"), 2, 5),
        ('a = "x = [1"\nb = 2', ("b",), 2, 5),
        ("a = 'x \\'\nb = 2", ("b",), 2, 5),
        ('a = "\\\\"\nb = 2', ("b",), 2, 5),
        ('a = """\nx = 1\n"y" = \\"""\n"""\nb = 2', ("b",), 5, 5),
        ('a = """"x""""\nb = 2', ("b",), 2, 5),
        ('a = """x"""""\nb = 2', ("b",), 2, 5),
        ('a = ["""x""", """"""]\nb = 2', ("b",), 2, 5),
        ("a = '''\nb = 1'' \n'''\nb = 2", ("b",), 4, 5),
        ("a = ''''x'''''\nb = 2", ("b",), 2, 5),
        ("a = 1979-05-27 07:32:00Z\nb = 2", ("b",), 2, 5),
        ("a = [1979-05-27 07:32:00, 07:32:00.5, 1979-05-27]", ("a", 2), 1, 39),
        ("a = -inf\nb = +1e-7\nc = 0xdead_beef", ("c",), 3, 5),
        ("a = 1 # é\nb = 2", ("b",), 2, 5),
        ('a = ["é", "日本", 3]', ("a", 2), 1, 17),
        ("a = 1\r\n\r\n[t]\r\nb = 2\r\n", ("t", "b"), 4, 5),
        ('a = """x\r\ny"""\r\nb = 2', ("b",), 3, 5),
        ("a\t=\t1", ("a",), 1, 5),
    ],
)
def test_values(text: str, path: Path, line: int, column: int) -> None:
    tomllib.loads(text)
    assert place(text, *path) == (line, column)


@pytest.mark.parametrize(
    ("text", "path", "line", "column"),
    [
        ("a = 1", ("a",), 1, 1),
        ("  a.b = 1", ("a", "b"), 1, 5),
        ("[t.u]\na = 1", ("t", "u"), 1, 4),
        ("[t]\n'a' = 1", ("t", "a"), 2, 1),
        ("t = { a = 1, b.c = 2 }", ("t", "b", "c"), 1, 16),
        ("[[a]]\n[[a]]\nb = 2", ("a", 1, "b"), 3, 1),
        ("[[a]]\n[[a]]\nb = 2", ("a", 1), 2, 1),
        ("a = [{ b = 1 }, { c = 1 }]", ("a", 1, "c"), 1, 19),
    ],
)
def test_keys(text: str, path: Path, line: int, column: int) -> None:
    tomllib.loads(text)
    assert key_place(text, *path) == (line, column)


@pytest.mark.parametrize("find", [place, key_place])
def test_what_is_not_written_is_where_its_table_is(find: Any) -> None:
    assert find("a = 1\n[t]\nb = 2", "t", "c", "d") == (2, 1)
    assert find("a = 1", "x", 3) == (1, 1)
    assert find("", "x") == (1, 1)


def test_nesting_as_deep_as_tomllib_reads_it() -> None:
    for depth in range(400, 520):
        text = "a = " + "[" * depth + "]" * depth
        try:
            tomllib.loads(text)
        except RecursionError:
            break
        assert place(text, "a", 0) == (1, 6)


# --- any document

_SCALARS = (
    "1", "-17", "+0", "0xdead_beef", "0o7", "0b1_0", "1.5", "-0.0", "6.6e-3", "inf", "-nan", "true", "false", '""', '"x"', '"a # b"', '"é\\n\\""', '"\\\\"',
    "''", "'a\\'", '"]"', '"}"', "1979-05-27", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00.25-07:00", "1979-05-27 07:32:00", "07:32:00",
    '""""""', '"""\na = 1\n[t]\n"""', '"""a\\\n   b"""', '"""a""b\\""""', '"""x"""""', "''''''", "'''\n]'''", "'''it's'''''",
)  # fmt: skip
_KEY_FORMS = ("k{}", "K-{}_", '"q {}"', "'l.{}'", '"\\u00e9{}"', '"#{}"', "{}", '"\\"{}"')


class _Document:
    """Writes a random document and keeps where each value stands."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.text = ""
        self.keys = 0
        self.values: dict[Path, int] = {}

    def key(self) -> tuple[str, str]:
        """How a new key is written, and what it is."""
        self.keys += 1
        written = self.random.choice(_KEY_FORMS).format(self.keys)
        return written, next(iter(tomllib.loads(f"{written} = 1")))

    def dotted(self, base: Path) -> Path:
        path = base
        for index in range(self.random.choice((1, 1, 2, 3))):
            if index:
                self.text += self.random.choice((".", " . ", "\t."))
            written, key = self.key()
            self.text += written
            path += (key,)
        return path

    def pair(self, base: Path) -> None:
        path = self.dotted(base)
        self.text += self.random.choice((" = ", "=", "\t=  "))
        self.value(path)

    def space(self) -> str:
        return self.random.choice(("", "", " ", "\n", "  # ] comment \"\n", "\r\n\t", "\n# 'x\n  "))

    def value(self, path: Path, depth: int = 0) -> None:
        self.values[path] = len(self.text)
        kind = self.random.randrange(6) if depth < 3 else 0
        if kind == 4:
            self.text += "["
            for index in range(self.random.randrange(4)):
                self.text += "," if index else ""
                self.text += self.space()
                self.value((*path, index), depth + 1)
                self.text += self.space()
            self.text += self.random.choice(("", ",")) if self.text[-1] not in "[,\n" else ""
            self.text += self.space() + "]"
        elif kind == 5:
            self.text += "{"
            for index in range(self.random.randrange(4)):
                self.text += ", " if index else " "
                sub = self.dotted(path)
                self.text += " = "
                self.value(sub, depth + 1)
            self.text += " }"
        else:
            self.text += self.random.choice(_SCALARS)

    def line(self) -> None:
        self.text += self.random.choice(("\n", "\r\n", " # comment\n", "\n\n", "\n  "))

    def table(self) -> None:
        start = len(self.text)
        if self.random.randrange(3):
            self.text += "["
            path = self.dotted(())
            self.text += "]"
            self.values[path] = start
            self.line()
            self.pairs(path)
            return
        written, key = self.key()
        for index in range(self.random.randrange(1, 4)):
            self.values[key, index] = len(self.text)
            self.text += f"[[{written}]]"
            self.line()
            self.pairs((key, index))
            if self.random.randrange(2):
                inner, name = self.key()
                self.values[key, index, name] = len(self.text)
                self.text += f"[{written}.{inner}]"
                self.line()
                self.pairs((key, index, name))

    def pairs(self, base: Path) -> None:
        for _ in range(self.random.randrange(4)):
            self.pair(base)
            self.line()


def _document(random: Random) -> _Document:
    document = _Document(random)
    document.pairs(())
    for _ in range(random.randrange(4)):
        document.table()
    return document


def _paths(value: object, path: Path = ()) -> list[Path]:
    found = [path]
    if isinstance(value, dict):
        found += [inner for key, item in value.items() for inner in _paths(item, (*path, key))]
    elif isinstance(value, list):
        found += [inner for index, item in enumerate(value) for inner in _paths(item, (*path, index))]
    return found


@given(st.randoms(use_true_random=False).map(_document))
def test_any_document(document: _Document) -> None:
    text = document.text
    source = Source("f", text)
    for path, offset in document.values.items():
        expected = (text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
        found = source.place(path)
        assert (found.line, found.column) == expected, (path, text)
    for path in _paths(tomllib.loads(text))[1:]:
        found = source.key_place(path)
        assert text.split("\n")[found.line - 1][found.column - 1 :], (path, text)


@given(st.text(alphabet="ab1.=[]{}\"'\\#\n\r,- é:T", max_size=40))
def test_whatever_tomllib_accepts_is_scanned(text: str) -> None:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    source = Source("f", text)
    for path in _paths(values):
        source.place(path)
        source.key_place(path)
