"""Words of a tc command line, taken one after another. Sources: tc(8)."""

import re
from collections.abc import Sequence

from pfq.diagnostics import Place
from pfq.linux.faults import Faults, Skip
from pfq.linux.queues import ARRIVING, INGRESS, LEAVING, ROOT

_WORD = re.compile(r"""\s+|\#.*|'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<plain>[^\s'"]+)""").match
_HEX = re.compile(r"[0-9a-fA-F]{1,4}\Z").match


class Words:
    """A line's words."""

    def __init__(self, line: str, place: Place, faults: Faults) -> None:
        self.line = line.strip()
        self.place = place
        self.faults = faults
        self._words: list[tuple[str, int]] = []
        self._at = 0
        at = 0
        while at < len(line):
            found = _WORD(line, at)
            if found is None:
                raise faults.syntax("a quote is not closed", Place(place.file, place.line, place.column + at))
            if found.lastgroup:
                self._words.append((found.group(found.lastgroup), at))
            at = found.end()

    @property
    def done(self) -> bool:
        return self._at >= len(self._words)

    @property
    def now(self) -> str:
        return "" if self.done else self._words[self._at][0]

    def here(self) -> Place:
        """The place of this word, or of the line's last."""
        column = self._words[min(self._at, len(self._words) - 1)][1] if self._words else 0
        return Place(self.place.file, self.place.line, self.place.column + column)

    def next(self) -> str:
        """This word; raises Skip at the end."""
        if self.done:
            raise self.faults.syntax("the line ends too early", self.here())
        word = self.now
        self._at += 1
        return word

    def ahead(self) -> str:
        """The word after this one, '' if there is none."""
        return self._words[self._at + 1][0] if self._at + 1 < len(self._words) else ""

    def back(self) -> None:
        """One word back."""
        self._at -= 1

    def take(self, *words: str) -> bool:
        """Passes this word if it is one of these."""
        if not self.done and self.now in words:
            self._at += 1
            return True
        return False

    def rest(self) -> Sequence[str]:
        """The words that are left; all are passed."""
        found = [word for word, _ in self._words[self._at :]]
        self._at = len(self._words)
        return found

    def not_modelled(self, what: str) -> Skip:
        """A refusal at the word that was passed last."""
        self._at = max(0, self._at - 1)
        return self.faults.not_modelled(what, self.here())

    def wrong(self, message: str) -> Skip:
        """A fault at the word that was passed last."""
        self._at = max(0, self._at - 1)
        return self.faults.syntax(f"{message}, at {self.now!r}", self.here())

    def number(self) -> int:
        """A number, decimal, 0x or 0 (octal)."""
        word = self.next()
        try:
            return int(word, 16) if word.lower().startswith("0x") else int(word, 8) if len(word) > 1 and word.startswith("0") else int(word)
        except ValueError:
            raise self.wrong("a number is missing") from None

    def handle(self) -> int:
        """A handle (1:, 1), a class (1:10), root, ingress."""
        word = self.next()
        found = handle(word)
        if found is None:
            raise self.wrong("a handle is missing")
        return found


_NAMED = {"root": ROOT, "none": 0, "ingress": INGRESS, "clsact": INGRESS, "ffff:fff2": ARRIVING, "ffff:fff3": LEAVING}


def handle(word: str) -> int | None:
    """A handle's number: MAJOR << 16 | MINOR; None if it is none."""
    if word in _NAMED:
        return _NAMED[word]
    major, colon, minor = word.partition(":")
    if (major and not _HEX(major)) or (minor and not _HEX(minor)) or not (major or minor):
        return None
    return int(major or "0", 16) << 16 | int(minor or "0", 16) if colon else int(major, 16) << 16
