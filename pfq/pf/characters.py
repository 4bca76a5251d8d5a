"""The characters of a file that is being read, with macros and unread characters in front of them. Source: lgetc, lungetc of parse.y."""


class Source:
    """A file that is being read."""

    __slots__ = ("fake_end", "length", "line", "name", "position", "text")

    def __init__(self, name: str, text: str, line: int) -> None:
        self.name = name
        self.text = text
        self.length = len(text)
        self.position = 0
        self.line = line
        self.fake_end = False


class Characters:
    """The characters of a source, with macros and unread characters in front of them.

    `last` is the offset of the character read last, and `end` the offset behind it; characters of a macro all have those
    of its `$` and of the end of its name. `expanding` tells whether it came from a macro.
    """

    __slots__ = ("_ahead", "_buffer", "_index", "_span", "end", "expanding", "last", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self._buffer = ""
        self._index = 0
        self._span: tuple[int, int] | None = None
        self._ahead: list[tuple[str, int, int, bool]] = []
        self.last = self.end = source.position
        self.expanding = False

    def expand(self, value: str, start: int, end: int) -> None:
        """Read a macro's value next, for a name that stands at [start, end)."""
        self._buffer = value
        self._index = 0
        self._span = start, end

    def drop(self, unread: bool) -> None:
        """Forget what is left of a macro, and what was unread, which may be the line's end."""
        self._buffer = ""
        self._index = 0
        self._span = None
        if unread:
            self._ahead.clear()

    def get_raw(self) -> str:
        """The next character; '' at the end of the file."""
        if self._span is not None:
            if self._index < len(self._buffer):
                c = self._buffer[self._index]
                self._index += 1
                self.last, self.end = self._span
                self.expanding = True
                return c
            self._span = None
        if self._ahead:
            c, self.last, self.end, self.expanding = self._ahead.pop()
            return c
        self.expanding = False
        source = self.source
        self.last = source.position
        if source.position >= source.length:
            self.end = self.last
            return ""
        c = source.text[source.position]
        source.position += 1
        self.end = source.position
        return c

    def get(self) -> str:
        """The next character outside quotes: a backslash hides a line end, and vanishes before anything else."""
        c = self.get_raw()
        while c == "\\" and not self.expanding:
            following = self.get_raw()
            if following != "\n":
                return following
            self.source.line += 1
            c = self.get_raw()
        return c

    def peek(self) -> str:
        """The next character, not read."""
        c = self.get()
        self.back(c)
        return c

    def back(self, c: str) -> None:
        """Unread the character read last."""
        self.unread((c, self.last, self.end, self.expanding))

    def unread(self, read: tuple[str, int, int, bool]) -> None:
        """Unread a character with its offsets."""
        if not read[0]:
            return
        if self.expanding and self._span is not None and self._index > 0:
            self._index -= 1
        else:
            self._ahead.append(read)
