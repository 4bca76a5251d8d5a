"""Where in a TOML text each key and value stands.

The standard library's tomllib reads the values but keeps no positions. This scanner runs over a text that tomllib
has accepted, so it needs no error handling of its own, and it runs only when something has to be reported.
"""

import re
from bisect import bisect_right
from contextlib import suppress

from pfq.diagnostics import Place

Path = tuple[str | int, ...]

# Possessive throughout: nothing is tried twice, and a text of megabytes needs no memory beyond itself.
_SPACE = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BLANK = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
_LITERAL = re.compile(r"'([^']*)'")
_MULTI_BASIC = re.compile(r'"""(?:[^"\\]++|\\.|""?(?!"))*+"{3,5}', re.DOTALL)
_MULTI_LITERAL = re.compile(r"'''(?:[^']++|''?(?!'))*+'{3,5}")
_SCALAR = re.compile(r"[^\s,\]}#]+(?: [0-9:][^\s,\]}#]*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else _ESCAPES.get(m[3], m[3]), text)


class _Scanner:
    """Fills `keys` and `values`, both from path to offset, in one pass."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.keys: dict[Path, int] = {}
        self.values: dict[Path, int] = {}
        self.array_lengths: dict[Path, int] = {}

    def skip(self, pattern: re.Pattern[str] = _SPACE) -> None:
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()

    def key_part(self) -> str:
        for pattern in (_BARE_KEY, _BASIC, _LITERAL):
            found = pattern.match(self.text, self.at)
            if found:
                self.at = found.end()
                return _unescape(found[1]) if pattern is _BASIC else found[found.lastindex or 0]
        raise ValueError("no key here")

    def dotted_key(self, base: Path, through_arrays: bool) -> Path:
        """Reads `a . b . c`; in a header, a part that names an array of tables means its last element."""
        path = base
        while True:
            self.skip(_BLANK)
            start = self.at
            if through_arrays and path in self.array_lengths:
                path += (self.array_lengths[path] - 1,)
            path += (self.key_part(),)
            self.keys.setdefault(path, start)
            self.skip(_BLANK)
            if self.text[self.at] != ".":
                return path
            self.at += 1

    def document(self) -> None:
        table: Path = ()
        self.skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip()

    def header(self) -> Path:
        of_array = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if of_array else 1
        path = self.dotted_key((), through_arrays=True)
        self.at += 2 if of_array else 1
        if of_array:
            length = self.array_lengths.get(path, 0)
            self.array_lengths[path] = length + 1
            path += (length,)
            self.keys[path] = start
        self.values.setdefault(path, start)
        return path

    def pair(self, table: Path) -> None:
        path = self.dotted_key(table, through_arrays=False)
        self.at += 1  # the '='
        self.skip(_BLANK)
        self.value(path)

    def value(self, path: Path) -> None:
        self.values.setdefault(path, self.at)
        first = self.text[self.at]
        if first == "[":
            self.array(path)
        elif first == "{":
            self.inline_table(path)
        else:
            for pattern in (_MULTI_BASIC, _MULTI_LITERAL, _BASIC, _LITERAL, _SCALAR):
                found = pattern.match(self.text, self.at)
                if found:
                    self.at = found.end()
                    return
            raise ValueError("no value here")

    def array(self, path: Path) -> None:
        self.at += 1
        self.skip()
        index = 0
        while self.text[self.at] != "]":
            self.value((*path, index))
            index += 1
            self.skip()
            if self.text[self.at] == ",":
                self.at += 1
                self.skip()
        self.at += 1

    def inline_table(self, path: Path) -> None:
        self.at += 1
        self.skip()
        while self.text[self.at] != "}":
            self.pair(path)
            self.skip()
            if self.text[self.at] == ",":
                self.at += 1
                self.skip()
        self.at += 1


class Source:
    """A model's text, and the place of each of its parts. Compares by file and text."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._scanner: _Scanner | None = None
        self._lines: list[int] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and (self.file, self.text) == (other.file, other.text)

    def __hash__(self) -> int:
        return hash((self.file, self.text))

    def _scan(self) -> _Scanner:
        if self._scanner is None:
            self._scanner = _Scanner(self.text)
            # tomllib may have had a little more stack: what was found up to there will do.
            with suppress(RecursionError):
                self._scanner.document()
            self._lines = [0, *(m.end() for m in re.finditer("\n", self.text))]
        return self._scanner

    def _at(self, offset: int) -> Place:
        line = bisect_right(self._lines, offset)
        return Place(self.file, line, offset - self._lines[line - 1] + 1)

    def place(self, path: Path) -> Place:
        """Where the value at `path` stands; of a path that is not written, the nearest enclosing table."""
        scanner = self._scan()
        while path:
            offset = scanner.values.get(path, scanner.keys.get(path))
            if offset is not None:
                return self._at(offset)
            path = path[:-1]
        return Place(self.file, 1, 1)

    def key_place(self, path: Path) -> Place:
        """Where the key at `path` stands."""
        offset = self._scan().keys.get(path)
        return self.place(path) if offset is None else self._at(offset)
