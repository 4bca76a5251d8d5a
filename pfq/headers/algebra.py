"""Conditions on packets: true or false for one packet (`Exactly`), or the set of all packets of which they hold (`Diagrams`)."""

from collections.abc import Mapping
from typing import Protocol, Self

from pfq.headers.fields import ORDER


class Condition(Protocol):
    """A set of packets: `&`, `|`, `^` and `~` as of sets. Equal conditions of one algebra are the same set, and hash alike."""

    def __and__(self, other: Self, /) -> Self: ...
    def __or__(self, other: Self, /) -> Self: ...
    def __xor__(self, other: Self, /) -> Self: ...
    def __invert__(self) -> Self: ...
    def __hash__(self) -> int: ...

    def ite(self, t: Self, e: Self, /) -> Self:
        """`t` where this condition holds, `e` elsewhere."""

    def satisfiable(self) -> bool:
        """Whether there is a packet in the set."""


# A number whose every bit is a condition, the most significant bit first.
Bits = tuple[Condition, ...]


class Algebra(Protocol):
    """Where conditions come from."""

    @property
    def everything(self) -> Condition: ...

    @property
    def nothing(self) -> Condition: ...

    def field(self, name: str) -> Bits:
        """The bits of a field of `fields.ORDER`. Raises KeyError if there is none of that name."""


class _Truth:
    """Whether a condition holds of the one packet there is."""

    __slots__ = ("holds",)

    def __init__(self, holds: bool) -> None:
        self.holds = holds

    def __and__(self, other: "_Truth") -> "_Truth":
        return other if self.holds else self

    def __or__(self, other: "_Truth") -> "_Truth":
        return self if self.holds else other

    def __xor__(self, other: "_Truth") -> "_Truth":
        return ~other if self.holds else other

    def __invert__(self) -> "_Truth":
        return _FALSE if self.holds else _TRUE

    def ite(self, t: "_Truth", e: "_Truth") -> "_Truth":
        return t if self.holds else e

    def satisfiable(self) -> bool:
        return self.holds


_TRUE, _FALSE = _Truth(True), _Truth(False)


class Exactly:
    """The algebra of one packet (and a later one of its flow): `values` by the names of `fields.ORDER`, 0 where not given."""

    def __init__(self, values: Mapping[str, int]) -> None:
        self._values = values

    @property
    def everything(self) -> Condition:
        return _TRUE

    @property
    def nothing(self) -> Condition:
        return _FALSE

    def field(self, name: str) -> Bits:
        width, value = ORDER[name], self._values.get(name, 0)
        return tuple(_TRUE if value >> bit & 1 else _FALSE for bit in reversed(range(width)))
