"""Sets of packets as binary decision diagrams (OxiDD)."""

from collections.abc import Mapping, Sequence

from oxidd.bdd import BDDFunction, BDDManager

from pfq.headers.algebra import Bits, Condition
from pfq.headers.fields import ORDER

# Nodes of 16 bytes at most, and results that are remembered: together they stay below 600 MB.
_NODES, _REMEMBERED = 24_000_000, 4_000_000


class Diagrams:
    """The algebra of all packets. Conditions of two instances cannot be mixed."""

    def __init__(self) -> None:
        self._manager = BDDManager(_NODES, _REMEMBERED, 1)
        self._manager.add_vars(sum(ORDER.values()))
        self._first: dict[str, int] = {}
        number = 0
        for name, width in ORDER.items():
            self._first[name] = number
            number += width
        self._fields: dict[str, tuple[BDDFunction, ...]] = {}
        self._everything, self._nothing = self._manager.true(), self._manager.false()

    @property
    def everything(self) -> Condition:
        return self._everything

    @property
    def nothing(self) -> Condition:
        return self._nothing

    def field(self, name: str) -> Bits:
        if name not in self._fields:
            first = self._first[name]
            self._fields[name] = tuple(self._manager.var(number) for number in range(first, first + ORDER[name]))
        return self._fields[name]

    def example(self, condition: Condition) -> Mapping[str, int] | None:
        """Values of the fields of one packet in the set, bits that do not matter 0; None if the set is empty."""
        assert isinstance(condition, BDDFunction)
        cube: Sequence[bool | None] | None = condition.pick_cube()
        if cube is None:
            return None
        return {
            name: int("".join("1" if cube[number] else "0" for number in range(self._first[name], self._first[name] + width)), 2)
            for name, width in ORDER.items()
        }
