"""The order of a block's rules in which the kernel can skip most. Source: pfctl_optimize.c reorder_rules."""

from collections import OrderedDict

from .blocks import Item, address_key, port_key
from .nodes import ADDRESS, DYNAMIC, NO_ROUTE, TABLE, URPF_FAILED, Host, Rule
from .reading import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    Key = Hashable


_SKIPS_OLD = ("interface", "direction", "af", "proto", "source", "source_port", "destination", "destination_port")
_SKIPS_NEW = (
    "interface", "direction", "rdomain", "af", "proto", "source", "destination", "source_port", "destination_port",
)


def _skip_key(rule: Rule, field: str) -> "Key":
    """What two rules must have in common to be skipped together; None when they never are."""
    if field == "interface":
        return (rule.interface, rule.interface_negated) if rule.interface else None
    if field == "rdomain":
        return rule.rdomain if rule.rdomain >= 0 else None
    if field in ("source_port", "destination_port"):
        return port_key(rule, field == "source_port")
    if field in ("source", "destination"):
        host: Host = getattr(rule, field)
        if host.kind == ADDRESS:
            return (host.negated, address_key(host)) if host.value else None
        if host.kind == DYNAMIC:
            return host.negated, DYNAMIC, host.name, host.bits
        if host.kind in (NO_ROUTE, URPF_FAILED, TABLE):
            return host.negated, host.kind, host.name
        return None
    value: int | str = getattr(rule, field)
    return value or None


class _SkipLists:
    """The rules of a block by one field: lists of rules with the same value, the longest list first."""

    __slots__ = ("_by_length", "_lists", "_of", "dead")

    def __init__(self, items: list[Item], field: str) -> None:
        self._lists: list[dict[int, None]] = []
        self._by_length: dict[int, OrderedDict[int, None]] = {}
        self._of: list[int] = []
        known: dict[Key, int] = {}
        for index, item in enumerate(items):
            key = _skip_key(item.rule, field)
            at = known.get(key) if key is not None else None
            if at is None:
                at = len(self._lists)
                self._lists.append({})
                if key is not None:
                    known[key] = at
            else:
                del self._by_length[len(self._lists[at])][at]
            self._lists[at][index] = None
            self._of.append(at)
            # A list that grows goes behind those of its new length.
            self._bucket(len(self._lists[at]))[at] = None
        # A field that all rules share, or none, is of no use.
        self.dead = self.longest() in (1, len(items))

    def _bucket(self, length: int) -> "OrderedDict[int, None]":
        return self._by_length.setdefault(length, OrderedDict())

    def longest(self) -> int:
        """The length of the first list; 0 when none is left."""
        return max((length for length, lists in self._by_length.items() if lists), default=0)

    def take_first(self) -> list[int]:
        """Take the first list out."""
        length = self.longest()
        at = next(iter(self._by_length[length]))
        del self._by_length[length][at]
        taken = list(self._lists[at])
        self._lists[at] = {}
        return taken

    def remove(self, index: int) -> None:
        """Take a rule out of its list."""
        if self.dead or self.longest() <= 1:
            return
        at = self._of[index]
        rules = self._lists[at]
        if index not in rules:
            return
        length = len(rules)
        self._by_length[length].pop(at, None)
        del rules[index]
        # A list that shrinks goes before those of its new length.
        shorter = self._bucket(length - 1)
        shorter[at] = None
        shorter.move_to_end(at, last=False)


def reordered(r: Reading, block: list[Item]) -> list[Item]:
    """The block with rules that have most in common side by side."""
    fields = _SKIPS_NEW if r.dialect.nat_to else _SKIPS_OLD
    lists = [_SkipLists(block, field) for field in fields]
    if all(one.dead for one in lists):
        return block
    before: list[Item] = []
    own: list[Item] = []
    left = dict.fromkeys(range(len(block)))
    while left:
        largest = 1
        best: _SkipLists | None = None
        for one in lists:
            if not one.dead and (length := one.longest()) > largest:
                largest, best = length, one
        if best is None:
            own += [block[index] for index in left]
            break
        taken = best.take_first()
        for index in taken:
            del left[index]
            for one in lists:
                one.remove(index)
        items = [block[index] for index in taken]
        if len(items) > 2:
            before += reordered(r, items)
        else:
            own += items
    return before + own
