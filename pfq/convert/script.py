"""A ruleset as a sequence of statements with their tokens, each with its place in the text. Statements in inline anchors stand for themselves.

The tokens are those of `pfq.pf.lexer`, macros replaced; a token knows whether it came from a macro, and whether it is all that the macro stands for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pfq.pf.dialects import Dialect
from pfq.pf.lexer import END, ERROR, NUMBER, STRING, Lexer, Opener

_MACRO = re.compile(r"\$[A-Za-z0-9_]*")
# What stands before the brace of a list; the brace of an anchor's rules has something else before it.
_BEFORE_LIST = frozenset(("on", "proto", "from", "to", "port", "user", "group", "icmp-type", "icmp6-type", "os", "for", "queue", "!"))


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `text[start:end]` is what was written for it. `macro` is the text of the macro that it came from, with others beside it, or ''."""

    kind: str
    value: str
    start: int
    end: int
    expanded: bool
    quoted: bool
    macro: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A statement, or the head of an anchor up to its brace, or the closing brace. `nested`: it stands in an anchor's braces."""

    kind: str
    file: str
    line: int
    tokens: tuple[Token, ...]
    nested: bool
    macros: dict[str, str] = field(repr=False)

    @property
    def start(self) -> int:
        """Where it begins in its file."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Where it ends in its file."""
        return self.tokens[-1].end

    def flat(self) -> Iterator[tuple[int, Token]]:
        """The tokens outside lists and parentheses, with their indexes."""
        depth = 0
        for index, token in enumerate(self.tokens):
            if token.kind in ("}", ")"):
                depth -= 1
            if not depth:
                yield index, token
            if token.kind in ("{", "("):
                depth += 1

    def find(self, *kinds: str) -> int:
        """The index of the first token of these kinds outside lists and parentheses, or -1."""
        return next((index for index, token in self.flat() if token.kind in kinds), -1)

    def closing(self, index: int) -> int:
        """The index of what closes the list or parenthesis that opens at `index`."""
        depth = 0
        for at in range(index, len(self.tokens)):
            kind = self.tokens[at].kind
            depth += (kind in ("{", "(")) - (kind in ("}", ")"))
            if not depth:
                return at
        return len(self.tokens) - 1


class _Scanner:
    def __init__(self, text: str, dialect: Dialect, name: str, open_file: Opener | None) -> None:
        self.lexer = Lexer(dialect, name, text, open_file)
        self.found: list[Written] = []
        self.current: list[int] = []

    def flush(self, nested: bool) -> None:
        if not self.current:
            return
        lexer = self.lexer
        source = next(one for one in reversed(lexer.origins) if one.first <= self.current[0]).source
        tokens = _tokens(lexer, source.text, self.current)
        kind = lexer.kinds[self.current[0]]
        macros = dict(lexer.macros) if "$" in source.text[tokens[0].start : tokens[-1].end] else {}
        self.found.append(Written(kind, source.name, lexer.lines[self.current[0]], tuple(tokens), nested, macros))
        self.current = []

    def line(self) -> bool:
        """Read a statement with all it holds; False at the end, or where nothing more can be read."""
        lexer = self.lexer
        lexer.start()
        lexer.fill()
        stack: list[str] = []
        first = -1
        at = 0
        while True:
            while at >= len(lexer.kinds):
                lexer.fill()
            kind = lexer.kinds[at]
            if kind in (END, ERROR):
                return False
            if kind == "\n":
                if not stack or stack[-1] == "body":
                    self.flush(bool(stack))
                if not stack:
                    return True
            else:
                if not self.current:
                    first = at
                self._token(kind, at, stack, lexer.kinds[first])
            at += 1

    def _token(self, kind: str, at: int, stack: list[str], statement: str) -> None:
        self.current.append(at)
        if kind == "{":
            before = self.lexer.kinds[at - 1]
            body = statement == "anchor" and stack[-1:] != ["list"] and before not in _BEFORE_LIST
            if body:
                self.flush(bool(stack))
            stack.append("body" if body else "list")
        elif kind == "}" and stack:
            stack.pop()


def _tokens(lexer: Lexer, text: str, indexes: list[int]) -> list[Token]:
    spans = [lexer.span(index, index) for index in indexes]
    uses: dict[int, int] = {}
    for start, _ in spans:
        uses[start] = uses.get(start, 0) + 1
    found = []
    for index, (start, end) in zip(indexes, spans, strict=True):
        expanded = text[start : start + 1] == "$"
        value = lexer.values[index]
        # Punctuation is one token wherever it ends.
        least = len(value) if text.startswith(value, start) else 0
        macro = ""
        if expanded:
            reference = _MACRO.match(text, start)
            name = reference.group() if reference else "$"
            least = len(name)
            if uses[start] > 1:
                macro = name
        found.append(Token(lexer.kinds[index], value, start, max(end, start + least), expanded, text[start : start + 1] in ("'", '"'), macro))
    return found


def scan(text: str, dialect: Dialect, name: str, open_file: Opener | None) -> list[Written]:
    """The statements of a ruleset that the dialect accepts, those of included files among them."""
    scanner = _Scanner(text, dialect, name, open_file)
    lexer = scanner.lexer
    while True:
        before = len(scanner.found)
        if not scanner.line():
            return scanner.found
        if len(scanner.found) == before:
            continue
        first = scanner.found[before]
        if first.kind == STRING and len(first.tokens) > 2 and first.tokens[1].kind == "=":
            words = [str(int(one.value)) if one.kind == NUMBER else one.value for one in first.tokens[2:]]
            lexer.define(first.tokens[0].value, " ".join(words))
        elif first.kind == "include":
            lexer.include(first.tokens[1].value)
