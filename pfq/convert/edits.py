"""Changes to a text by span. What no change touches stays as it is."""

from bisect import bisect_right


class Edits:
    """Replacements of spans of a text, which do not overlap. Insertions at one place stay in the order in which they were made."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edits: list[tuple[int, int, int, str]] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Write `new` for `text[start:end]`."""
        self._edits.append((start, end, len(self._edits), new))

    def insert(self, at: int, new: str) -> None:
        """Write `new` before the character at an offset."""
        self.replace(at, at, new)

    def drop(self, start: int, end: int) -> None:
        """Take a span out, with the blanks before it."""
        while start > 0 and self.text[start - 1] in " \t":
            start -= 1
        self.replace(start, end, "")

    def line_start(self, at: int) -> int:
        """Where the line of an offset begins."""
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Where the line of an offset ends, its line end included."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def indent(self, at: int) -> str:
        """The blanks that the line of an offset begins with."""
        start = self.line_start(at)
        end = start
        while end < len(self.text) and self.text[end] in " \t":
            end += 1
        return self.text[start:end]

    def remove(self, start: int, end: int) -> None:
        """Take a statement out: with its lines, unless something else stands behind it."""
        if self.text[end : self.line_end(end)].strip():
            self.replace(start, end, "")
        else:
            self.replace(self.line_start(start), self.line_end(end), "")

    def move(self, start: int, end: int, to: int) -> None:
        """Move whole lines, changed as they are by now, to an earlier line start."""
        inside = [one for one in self._edits if start <= one[0] < end and one[1] <= end]
        self._edits = [one for one in self._edits if one not in inside]
        moved = _applied(self.text[start:end], sorted((a - start, b - start, order, new) for a, b, order, new in inside))[0]
        self.replace(start, end, "")
        self.insert(to, moved if moved.endswith("\n") or not moved else moved + "\n")

    def applied(self) -> tuple[str, "Origins"]:
        """The new text, and where its parts come from."""
        return _applied(self.text, sorted(self._edits, key=lambda one: (one[0], one[1] > one[0], one[2])))


class Origins:
    """Maps offsets of a changed text to offsets of the text it was made of."""

    def __init__(self, starts: list[int], origins: list[int]) -> None:
        self._starts = starts
        self._origins = origins

    def of(self, offset: int) -> int:
        """Where the character at an offset comes from, or what it was written for."""
        at = bisect_right(self._starts, offset) - 1
        origin = self._origins[at]
        return -origin - 1 if origin < 0 else origin + offset - self._starts[at]


def _applied(text: str, edits: list[tuple[int, int, int, str]]) -> tuple[str, Origins]:
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = at = 0
    for start, end, _, new in edits:
        if start < at:
            raise AssertionError(f"edits overlap at {start}")
        for piece, origin in ((text[at:start], at), (new, -start - 1)):
            if piece:
                pieces.append(piece)
                starts.append(length)
                origins.append(origin)
                length += len(piece)
        at = end
    pieces.append(text[at:])
    starts.append(length)
    origins.append(at)
    return "".join(pieces), Origins(starts, origins)
