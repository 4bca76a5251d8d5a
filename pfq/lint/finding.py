"""A finding: a rule's code, what is wrong, where (offsets in a text), and how to fix it.

Plain classes: `pfq lint` runs in a pre-commit hook, and a dataclass costs more to import than a small ruleset to read.
"""

ERROR, WARNING, NOTE = "error", "warning", "note"


class Fix:
    """Replacements of spans of one file's text. `safe`: the kernel does the same before and after."""

    __slots__ = ("edits", "safe", "what")

    def __init__(self, what: str, edits: "list[tuple[int, int, str]]", safe: bool) -> None:
        self.what = what
        self.edits = edits
        self.safe = safe


class Finding:
    """`start` and `end` are offsets [start, end) in the text of `file`.

    `covers` are parts of pfctl's messages about the same thing, which are then not reported a second time. `code` and `severity` are
    set by the rule that found it.
    """

    __slots__ = ("code", "covers", "end", "file", "fix", "hint", "message", "severity", "start")

    def __init__(
        self, file: str, start: int, end: int, message: str, hint: str = "", fix: Fix | None = None, covers: tuple[str, ...] = (),
        code: str = "", severity: str = "",
    ) -> None:
        self.file = file
        self.start = start
        self.end = end
        self.message = message
        self.hint = hint
        self.fix = fix
        self.covers = covers
        self.code = code
        self.severity = severity


class Text:
    """A file's text, and the lines and columns of its offsets. Lines and columns count from 1, a column counts characters."""

    __slots__ = ("_starts", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._starts: list[int] = []

    def starts(self) -> list[int]:
        """The offset of each line."""
        if not self._starts:
            starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._starts = starts
        return self._starts

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        from bisect import bisect_right

        starts = self.starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """A line's text, without its end; '' where there is no such line."""
        starts = self.starts()
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")

    def line_span(self, number: int) -> tuple[int, int]:
        """The offsets of what is written on a line, without the blanks around it."""
        starts = self.starts()
        number = min(max(number, 1), len(starts))
        line = self.line(number)
        start = starts[number - 1] + len(line) - len(line.lstrip())
        return start, max(starts[number - 1] + len(line.rstrip()), start)
