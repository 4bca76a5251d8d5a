"""The ruleset optimizer of `pfctl -o basic`: superfluous rules go, addresses become tables, rules are put in better order.

Source: pfctl_optimize.c. The result is that of pfctl; the ways to it are other ones where pfctl compares every rule with
every other.
"""

from .blocks import Addresses, Item, address_key, blocks, other_key, port_key
from .nodes import ADDRESS, TABLE, Anchor, Host, Rule, Table
from .print import table_text
from .reading import Reading
from .skips import reordered
from .subsets import without_subsets

# The number of addresses from which on a table is faster than rules.
_TABLE_WORTH = 6

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    Key = Hashable


def optimize(r: Reading, anchor: Anchor) -> None:
    """Improve the order and number of an anchor's filter rules; tables that come of it are printed."""
    filters = [rule for rule in anchor.rules if rule.action in ("pass", "block", "match")]
    others = [rule for rule in anchor.rules if rule.action not in ("pass", "block", "match")]
    better: list[Rule] = []
    for block in blocks(r, filters):
        better += [item.rule for item in _better(r, block)]
    anchor.rules = others + better


def _better(r: Reading, block: list[Item]) -> list[Item]:
    if len(block) < 2:
        return block
    block = without_subsets(block)
    block = _combined(r, block)
    return reordered(r, block)


def _combined(r: Reading, block: list[Item]) -> list[Item]:
    """The block with rules that differ by one address in many places put together with a table."""
    by_source: dict[Key, list[int]] = {}
    by_destination: dict[Key, list[int]] = {}
    keys: list[tuple[Key, Key]] = []
    for index, item in enumerate(block):
        rule = item.rule
        same = (
            other_key(rule), rule.interface, rule.direction, rule.proto, rule.flags, rule.flagset, rule.af,
            port_key(rule, True), port_key(rule, False),
        )
        source, destination = address_key(rule.source), address_key(rule.destination)
        keys.append((source, destination))
        by_source.setdefault((same, source), []).append(index)
        by_destination.setdefault((same, destination), []).append(index)
    partners: list[tuple[list[int], list[int]]] = [([], [])] * len(block)
    for which, table in ((0, by_source), (1, by_destination)):
        for members in table.values():
            if len(members) > 1:
                for index in members:
                    pair = list(partners[index])
                    pair[which] = members
                    partners[index] = (pair[0], pair[1])
    gone: set[int] = set()
    for index in range(len(block)):
        if index in gone or partners[index] == ([], []):
            continue
        _combine(r, block, index, sorted({*partners[index][0], *partners[index][1]}), keys, gone)
    return _with_tables(r, [item for index, item in enumerate(block) if index not in gone])


def _combine(
    r: Reading, block: list[Item], index: int, partners: list[int], keys: "list[tuple[Key, Key]]", gone: set[int]
) -> None:
    first = block[index]
    for other in partners:
        second = block[other]
        if other <= index or other in gone or second.src_table is not None or second.dst_table is not None:
            continue
        same_source = keys[index][0] == keys[other][0]
        same_destination = keys[index][1] == keys[other][1]
        if same_source and not same_destination and first.src_table is None:
            one, two = first.rule.destination, second.rule.destination
            if one.kind != ADDRESS or two.kind != ADDRESS:
                continue
            table = first.dst_table or _new_table(r, one, first.rule.af)
            first.dst_table = second.dst_table = table
        elif same_destination and not same_source and first.dst_table is None:
            one, two = first.rule.source, second.rule.source
            if one.kind != ADDRESS or two.kind != ADDRESS:
                continue
            table = first.src_table or _new_table(r, one, first.rule.af)
            first.src_table = second.src_table = table
        else:
            continue
        table.hosts.append(_table_host(two, first.rule.af))
        if len(table.hosts) >= _TABLE_WORTH:
            gone.add(other)


def _table_host(host: Host, af: int) -> Host:
    found = host.copy()
    found.af = af
    found.negated = False
    return found


def _new_table(r: Reading, host: Host, af: int) -> Addresses:
    table = Addresses(f"__automatic_{r.table_count}")
    r.table_count += 1
    table.hosts.append(_table_host(host, af))
    return table


def _with_tables(r: Reading, block: list[Item]) -> list[Item]:
    kept = []
    for item in block:
        rule = item.rule
        table = item.src_table or item.dst_table
        if table is None or len(table.hosts) < _TABLE_WORTH:
            kept.append(item)
            continue
        if table.generated:
            continue
        table.generated = True
        printed = Table(table.name)
        printed.const = printed.initialised = True
        printed.parts = [list(table.hosts)]
        r.show(table_text(printed))
        host = Host(TABLE, name=table.name)
        if item.src_table is not None:
            host.negated = rule.source.negated
            rule.source = host
        else:
            host.negated = rule.destination.negated
            rule.destination = host
        kept.append(item)
    return kept
