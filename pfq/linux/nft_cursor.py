"""Where a reader of nft text stands."""

from collections.abc import Sequence

from pfq.linux.faults import Faults, Skip
from pfq.linux.nft_lexer import Token


class Cursor:
    """Steps through words; the last one has the empty kind and is never passed."""

    def __init__(self, words: Sequence[Token], faults: Faults) -> None:
        self._words = words
        self._at = 0
        self.faults = faults

    @property
    def now(self) -> Token:
        return self._words[self._at]

    def ahead(self, count: int = 1) -> Token:
        """The word `count` places on, or the last."""
        return self._words[min(self._at + count, len(self._words) - 1)]

    @property
    def done(self) -> bool:
        return self.now.kind == ""

    def next(self) -> Token:
        """This word; the cursor moves behind it."""
        word = self.now
        if word.kind:
            self._at += 1
        return word

    def at(self, *texts: str) -> bool:
        """Whether this word is one of these, unquoted."""
        return self.now.kind not in ("text", "") and self.now.text in texts

    def take(self, *texts: str) -> bool:
        """Moves behind this word if it is one of these."""
        if self.at(*texts):
            self.next()
            return True
        return False

    def need(self, text: str) -> Token:
        """This word, which must be `text`."""
        if not self.at(text):
            raise self.wrong(f"{text!r} is missing")
        return self.next()

    def wrong(self, message: str) -> Skip:
        """A fault at this word, to be raised."""
        return self.faults.syntax(message if self.done else f"{message}, at {self.now.text!r}", self.now.place)

    def not_modelled(self, what: str, word: Token | None = None) -> Skip:
        """A refusal at a word (this one), to be raised."""
        return self.faults.not_modelled(what, (word or self.now).place)

    def statement(self) -> list[Token]:
        """The words up to the end of a statement, which is passed, or to the brace that closes the block, which is not."""
        found: list[Token] = []
        depth = 0
        while not self.done:
            if depth == 0 and (self.now.kind == "end" or self.at("}")):
                break
            depth += self.at("{") - self.at("}")
            word = self.next()
            if word.kind != "end":
                found.append(word)
        if self.now.kind == "end":
            self.next()
        return found

    def number(self) -> int:
        """A number, which must be here."""
        if self.now.kind != "number":
            raise self.wrong("a number is missing")
        return int(self.next().text, 0)
