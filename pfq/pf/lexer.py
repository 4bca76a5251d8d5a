"""From text to tokens, a line at a time, as yylex of parse.y reads it: macros, quotes, continued lines, included files.

A macro takes effect for the lines below its definition, so lines are read when the parser asks for them. A line without
quotes, macros and backslashes, which is nearly every line, is cut by one regular expression; the rest is read with care.
"""

import re
from bisect import bisect_right
from collections.abc import Callable

from .characters import Characters, Source
from .dialects import Dialect

STRING, NUMBER, ERROR, END = "STRING", "NUMBER", "ERROR", "END"

# yylex has a buffer of 8096 bytes: the longest word, and the longest that a quoted string or macro name may be.
_LONGEST = 8095
_LONGEST_QUOTED = 8094
# How much text macros may make: so much, and so many characters for each one in the files. Macros that double each other
# would keep pfctl busy for longer than anyone waits.
_LONGEST_EXPANSION = 1_000_000
_EXPANSION_FACTOR = 100
# How deep files may include each other. pfctl runs until it has no more files to open.
_MOST_FILES = 256

_WORD = r"[A-Za-z0-9:_][A-Za-z0-9\"$%&'*+\-.:;?@\[\]^_`|~]*"
_NUMBER = r"-?[0-9]+(?=[ \t\n\v\f\r),/}=]|\Z)"
_PAIRS_NEW = r"<>|><|!=|<=|>=|->"
_PAIRS_OLD = r"<>|><|->"

# What keeps a line from the quick way: quotes, macros, comments, backslashes, control and non-ASCII characters, and a
# digit right before an operator, where a number is a string.
_CAREFUL = re.compile(r"[\"'$\\#]|[0-9][<>({!]|[^\t\x20-\x7e]")
# What keeps it from the second way too, where nobody asks for the places of tokens: quoted strings, macros and comments
# are cut by one regular expression as well, as long as macros stand alone and are words and punctuation.
_MORE_CAREFUL = re.compile(r"\\|[0-9][<>({!#]|[^\t\x20-\x7e]")
_QUOTED = r"\"[^\"]*\"|'[^']*'|#.*"
_PIECE = re.compile(rf"{_QUOTED}|\$([A-Za-z0-9_]+)(?=[ \t,)}}:/]|\Z)|{_WORD}")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9 _.:/{}(),!*%-]*\Z")
_DIGITS = re.compile(r"-?[0-9]+\Z")
_MARKS_OF_STRINGS = ("\"", "'", "#")

Opener = Callable[[str], str]


class Line:
    """Where the tokens of a line came from: `first` is the index of its first token in the statement's lists."""

    __slots__ = ("buffer", "first", "offset", "source", "spans")

    def __init__(self, source: Source, first: int, buffer: str, offset: int, spans: list[tuple[int, int]] | None) -> None:
        self.source = source
        self.first = first
        self.buffer = buffer
        self.offset = offset
        self.spans = spans


def _first_token(line: Line) -> int:
    return line.first


class Lexer:
    """The tokens of a ruleset in three parallel lists: kinds, values, lines. A kind is a keyword or punctuation itself,
    or STRING, NUMBER, ERROR (its value is the message), END."""

    def __init__(self, dialect: Dialect, name: str, text: str, open_file: Opener | None) -> None:
        self._dialect = dialect
        self._open = open_file
        pairs = _PAIRS_NEW if dialect.comparison_tokens else _PAIRS_OLD
        if not dialect.translation_rules:
            pairs = pairs.removesuffix("|->")
        self._token = re.compile(rf"{_NUMBER}|{_WORD}|{pairs}|[^ \t]")
        self._rich_token = re.compile(rf"{_QUOTED}|{_NUMBER}|{_WORD}|{pairs}|[^ \t]")
        self._kinds: dict[str, str] = {word: word for word in dialect.keywords}
        self._kinds |= {mark: mark for mark in "{}()<>!=/,-\n*&%.;?@[]^`|~+\"'"} | {mark: mark for mark in pairs.split("|")}
        self.macros: dict[str, str] = {}
        self.persistent: set[str] = set()
        self.used: set[str] = set()
        self.sources = [Source(name, text, 1)]
        self.kinds: list[str] = []
        self.values: list[str] = []
        self.lines: list[int] = []
        self.origins: list[Line] = []
        self.comments: list[tuple[str, int, int]] = []
        # Whether somebody will ask where tokens and comments are.
        self.keep_places = True
        self._expandable = _LONGEST_EXPANSION + _EXPANSION_FACTOR * len(text)

    @property
    def file(self) -> str:
        """The name of the file that is being read."""
        return self.sources[-1].name

    def define(self, name: str, value: str, persistent: bool = False) -> None:
        """Define a macro; one of the command line is not redefined."""
        if name not in self.persistent:
            self.macros[name] = value
            self.used.discard(name)
            if persistent:
                self.persistent.add(name)

    def include(self, name: str) -> str:
        """Read a file next; the reason when it cannot be opened, or ''."""
        if self._open is None:
            return "No such file or directory"
        if len(self.sources) >= _MOST_FILES:
            return "Too many open files"
        try:
            text = self._open(name)
        except OSError as error:
            return error.strerror or "No such file or directory"
        self.sources.append(Source(name, text, 1))
        self._expandable += _EXPANSION_FACTOR * len(text)
        return ""

    def start(self) -> None:
        """Forget the tokens of the last statement."""
        self.kinds = []
        self.values = []
        self.lines = []
        self.origins = []

    def fill(self) -> None:
        """Read the tokens of the next line; the last one is a line end, END or ERROR."""
        source = self.sources[-1]
        if source.position >= source.length:
            self._end(source)
            return
        text = source.text
        start = source.position
        end = text.find("\n", start)
        if end < 0:
            end = source.length
        line = text[start:end]
        if end - start > _LONGEST:
            self._fill_carefully(source)
            return
        if _CAREFUL.search(line) is None:
            words = self._token.findall(line)
        else:
            words = [] if self.keep_places else self._cut(line)
            if not words:
                self._fill_carefully(source)
                return
        kinds = self._kinds
        known = kinds.get
        found: list[str] = []
        for word in words:
            kind = known(word)
            if kind is None:
                kind = NUMBER if word.isdigit() or _DIGITS.match(word) else STRING
                if word[0] in _MARKS_OF_STRINGS:
                    if word[0] == "#":
                        words.pop()
                        break
                    words[len(found)] = word[1:-1]
                if kind is NUMBER and len(word) > 18 and not -(2**63) <= int(word) < 2**63:
                    self._fill_carefully(source)
                    return
            found.append(kind)
        self.origins.append(Line(source, len(self.kinds), line, start, None))
        self.kinds += found
        self.values += words
        self.lines += [source.line] * len(found)
        source.position = end
        if end < source.length:
            source.position += 1
            self.kinds.append("\n")
            self.values.append("\n")
            self.lines.append(source.line)
            source.line += 1
        else:
            self._end(source)

    def _cut(self, line: str) -> list[str]:
        """The tokens of a line with quotes, macros or a comment, quoted strings with their quotes; [] when it needs more care."""
        spent = self._expandable
        if "$" in line:
            missing = False

            def value(match: re.Match[str]) -> str:
                nonlocal missing
                name = match[1]
                if name is None:
                    return match[0]
                found = self.macros.get(name)
                if found is None or _PLAIN_VALUE.match(found) is None:
                    missing = True
                    return ""
                self.used.add(name)
                self._expandable -= len(found)
                return found

            line = _PIECE.sub(value, line)
            if missing or self._expandable < 0 or len(line) > _LONGEST:
                self._expandable = spent
                return []
        words = self._rich_token.findall(line) if _MORE_CAREFUL.search(line) is None else []
        if "$" in words or '"' in words or "'" in words:
            words = []
        if not words:
            self._expandable = spent
        return words

    def _end(self, source: Source) -> None:
        """The end of a file: a line end first where the dialect supplies one, then back to the file that included it."""
        if not self.origins:
            self.origins.append(Line(source, 0, "", source.length, None))
        kind = "\n"
        if self._dialect.final_newline_supplied and not source.fake_end:
            source.fake_end = True
        elif len(self.sources) > 1:
            # What is left of the including line is its end.
            self.sources.pop()
        else:
            kind = END
        self.kinds.append(kind)
        self.values.append("\n" if kind == "\n" else "")
        self.lines.append(source.line)
        spans = self.origins[-1].spans
        if spans is not None:
            spans.append((source.length, source.length))

    def _add(self, kind: str, value: str, line: int, span: tuple[int, int]) -> None:
        self.kinds.append(kind)
        self.values.append(value)
        self.lines.append(line)
        spans = self.origins[-1].spans
        if spans is not None:
            spans.append(span)

    def _fill_carefully(self, source: Source) -> None:
        """Read a line that has quotes, macros, comments or continuations."""
        reader = Characters(source)
        self.origins.append(Line(source, len(self.kinds), "", source.position, []))
        while True:
            c = reader.get()
            while c in (" ", "\t"):
                c = reader.get()
            line = source.line
            start = reader.last
            if c == "#":
                while c not in ("\n", ""):
                    c = reader.get()
                self.comments.append((source.name, start, reader.last))
            if c == "$" and not reader.expanding:
                if not self._expand(reader, line, start):
                    return
                continue
            if c in ("'", '"'):
                if not self._quoted(reader, c, line, start):
                    return
                continue
            if c == "":
                self._end(source)
                return
            if c == "\n":
                self._add("\n", "\n", source.line, (reader.last, reader.last + 1))
                source.line += 1
                return
            if c == "\0":
                self._add(END, "", line, (start, start))
                source.position = source.length
                return
            if not self._plain(reader, c, line, start):
                return

    def _expand(self, reader: Characters, line: int, start: int) -> bool:
        name = ""
        end = reader.end
        c = reader.get()
        while c.isascii() and (c.isalnum() or c == "_"):
            name += c
            end = reader.end
            c = reader.get()
            if len(name) > _LONGEST_QUOTED:
                return self._fault(reader, "string too long", line, start)
        if c == "":
            self._add(END, "", line, (start, start))
            return False
        reader.back(c)
        value = self.macros.get(name)
        if value is None:
            return self._fault(reader, f"macro '{name}' not defined", line, start)
        self.used.add(name)
        self._expandable -= len(value)
        if self._expandable < 0:
            return self._fault(reader, "macros make too much text", line, start)
        reader.expand(value, start, end)
        return True

    def _quoted(self, reader: Characters, quote: str, line: int, start: int) -> bool:
        source = reader.source
        pieces: list[str] = []
        length = 0
        while True:
            c = reader.get_raw()
            if c == "":
                self._add(END, "reached end of file while parsing quoted string", line, (start, reader.last))
                return False
            if c == "\n":
                source.line += 1
                continue
            if c == "\\":
                following = reader.get_raw()
                if following == quote or (following in (" ", "\t") and self._dialect.quoted_blanks):
                    c = following
                elif following == "\n":
                    if self._dialect.quoted_blanks:
                        source.line += 1
                    continue
                elif following:
                    reader.back(following)
            elif c == quote:
                break
            elif c == "\0" and self._dialect.final_newline_supplied:
                return self._fault(reader, "syntax error", line, start)
            if length >= _LONGEST_QUOTED:
                return self._fault(reader, "string too long", line, start)
            pieces.append(c)
            length += 1
        self._add(STRING, "".join(pieces), line, (start, reader.end))
        return True

    def _plain(self, reader: Characters, c: str, line: int, start: int) -> bool:
        """A word, a number or punctuation that begins with `c`."""
        word = c
        end = reader.end
        if c == "-" or (c.isascii() and c.isdigit()):
            minus, digits = end, []
            n = reader.get()
            while n.isascii() and n.isdigit():
                word += n
                end = reader.end
                digits.append((n, reader.last, end, reader.expanding))
                n = reader.get()
                if len(word) > _LONGEST:
                    return self._fault(reader, "string too long", line, start)
            reader.back(n)
            if word != "-" and (n == "" or n in " \t\n\v\f\r),/}="):
                if not -(2**63) <= (number := int(word) if len(word) < 40 else 10**40) < 2**63:
                    wrong = "too small" if word[0] == "-" else "too large"
                    return self._fault(reader, f'"{word}" invalid number: {wrong}', line, start)
                self._add(NUMBER, str(number) if len(word) > 18 else word, line, (start, end))
                return True
            if c == "-":
                for digit in reversed(digits):
                    reader.unread(digit)
                word = "-"
                end = minus
                if n == ">" and len(self._kinds) and "->" in self._kinds and reader.peek() == ">":
                    reader.get()
                    end = reader.end
                    word = "->"
                self._add(word, word, line, (start, end))
                return True
        if c.isascii() and (c.isalnum() or c in ":_"):
            n = reader.get()
            while n and n in _IN_WORD:
                word += n
                end = reader.end
                n = reader.get()
                if len(word) > _LONGEST:
                    return self._fault(reader, "string too long", line, start)
            reader.back(n)
            kind = self._kinds.get(word, STRING)
            self._add(kind, word, line, (start, end))
            return True
        if c in "<>!":
            n = reader.get()
            if c + n in self._kinds and n:
                word += n
                end = reader.end
            else:
                reader.back(n)
        self._add(self._kinds.get(word, word), word, line, (start, end))
        return True

    def _fault(self, reader: Characters, message: str, line: int, start: int) -> bool:
        """An error of the lexer itself: the rest of the line is skipped, its end included."""
        reader.drop(not self._dialect.unread_kept)
        c = reader.get()
        while c not in ("\n", ""):
            c = reader.get()
        if c == "\n":
            reader.source.line += 1
        self._add(ERROR, message, line, (start, reader.last))
        return False

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The offsets [start, end) in the file from token `first` to token `last` of the current statement."""
        return self._span(first)[0], self._span(last)[1]

    def source_of(self, index: int) -> Source:
        """The file that a token of the current statement stands in."""
        return self._origin(index).source

    def _origin(self, index: int) -> Line:
        return self.origins[max(bisect_right(self.origins, index, key=_first_token) - 1, 0)]

    def _span(self, index: int) -> tuple[int, int]:
        origin = self._origin(index)
        if origin.spans is None:
            origin.spans = [(origin.offset + match.start(), origin.offset + match.end()) for match in self._token.finditer(origin.buffer)]
            end = origin.offset + len(origin.buffer)
            origin.spans.append((end, end + 1))
        at = index - origin.first
        return origin.spans[at] if at < len(origin.spans) else (origin.source.position, origin.source.position)


_IN_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\"$%&'*+-.:;?@[]^_`|~\\")
