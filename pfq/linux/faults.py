"""Faults of what is read: all are collected, and what cannot be modelled is named."""

from pfq.diagnostics import Diagnostic, Place

# The number of faults after which a file is not worth reading on.
_MOST = 1000


class Skip(Exception):
    """The statement cannot be used; its fault has been noted."""


class Faults:
    """What has been found wrong so far."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def not_modelled(self, what: str, place: Place, hint: str = "") -> Skip:
        """Note that a construct is refused; to be raised."""
        return self._note("not-modelled", f"not modelled: {what}", place, hint)

    def syntax(self, message: str, place: Place, hint: str = "") -> Skip:
        """Note that the text is not of its language; to be raised."""
        return self._note("syntax", message, place, hint)

    def _note(self, code: str, message: str, place: Place, hint: str) -> Skip:
        if len(self.found) < _MOST:
            self.found.append(Diagnostic(code, message, place, hint))
        return Skip(message)
