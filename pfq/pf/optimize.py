"""The ruleset optimizer of `pfctl -o basic`: superfluous rules go, addresses become tables, rules are put in better order.

Source: pfctl_optimize.c. The result is that of pfctl; the ways to it are other ones where pfctl compares every rule with
every other.
"""

from collections import OrderedDict

from .nodes import ADDRESS, DYNAMIC, NO_ROUTE, TABLE, URPF_FAILED, Anchor, Host, Pool, Rule, Table
from .print import table_text
from .reading import Reading

# The number of addresses from which on a table is faster than rules.
_TABLE_WORTH = 6

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    Key = Hashable


class _Item:
    """A rule in a block, and the table its addresses may go to."""

    __slots__ = ("dst_table", "rule", "src_table")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.src_table: _Addresses | None = None
        self.dst_table: _Addresses | None = None


class _Addresses:
    """Addresses that rules differ by."""

    __slots__ = ("generated", "hosts", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.hosts: list[Host] = []
        self.generated = False


def optimize(r: Reading, anchor: Anchor) -> None:
    """Improve the order and number of an anchor's filter rules; tables that come of it are printed."""
    filters = [rule for rule in anchor.rules if rule.action in ("pass", "block", "match")]
    others = [rule for rule in anchor.rules if rule.action not in ("pass", "block", "match")]
    better: list[Rule] = []
    for block in _blocks(r, filters):
        better += [item.rule for item in _better(r, block)]
    anchor.rules = others + better


def _better(r: Reading, block: list[_Item]) -> list[_Item]:
    if len(block) < 2:
        return block
    block = _without_subsets(block)
    block = _combined(r, block)
    return _reordered(r, block)


# -- blocks of rules that may change places


def _blocks(r: Reading, rules: list[Rule]) -> list[list[_Item]]:
    blocks: list[list[_Item]] = []
    key: Key = None
    for rule in rules:
        own = _block_key(r, rule)
        barrier = _is_barrier(rule)
        if not blocks or barrier or own != key or not _same_group(rule, blocks[-1][0].rule):
            blocks.append([])
            # What has a barrier stands alone.
            key = object() if barrier else own
        blocks[-1].append(_Item(rule))
    return blocks


def _is_barrier(rule: Rule) -> bool:
    return bool(
        rule.label
        or rule.probability
        or rule.max_states
        or rule.max_src_nodes
        or rule.max_src_states
        or rule.max_src_conn
        or rule.max_src_conn_rate != (0, 0)
        or rule.anchor is not None
        or rule.source_track_rule
    )


def _same_group(rule: Rule, first: Rule) -> bool:
    """Whether neither rule is on an interface group, whose members nobody knows, or both are on the same one."""
    for name in (rule.interface, first.interface):
        if name and not name[-1].isdigit():
            return rule.interface.lower() == first.interface.lower()
    return True


def _pool_key(pool: Pool | None) -> "Key":
    if pool is None:
        return None
    return tuple(_address_key(host) for host in pool.hosts), pool.low, pool.high, pool.kind, pool.key, pool.sticky


def _block_key(r: Reading, rule: Rule) -> "Key":
    """Everything that must be the same in a block."""
    return (
        rule.tag, rule.state, rule.queue, rule.ack_queue, rule.route_kind, rule.allow_opts, rule.action, rule.log,
        rule.log_options, rule.log_interface, rule.quick, rule.return_ttl, rule.overload, rule.flush, rule.rtable,
        rule.returns, rule.fragment, rule.no_sync, rule.source_track, rule.if_bound, rule.sloppy, rule.pflow, rule.once,
        rule.prio, rule.set_prio, rule.set_tos >= 0, rule.delay, rule.no_df, rule.random_id, rule.reassemble_tcp,
        rule.packet_rate, rule.divert, rule.divert_port, rule.received_on, rule.received_on_negated,
        _pool_key(rule.nat), _pool_key(rule.rdr), _pool_key(rule.route),
        # Older releases keep the pool of a route in a list of its own, so that no two are the same.
        id(rule.pool) if rule.pool is not None else None,
        _address_key(rule.divert_address) if rule.divert_address is not None else None,
        bool(rule.translation_af),
    )


def _address_key(host: Host) -> "Key":
    if host.kind == ADDRESS and not host.bits:
        return ADDRESS
    return host.kind, host.af, host.value, host.bits, host.end, host.name, host.modifiers


def _port_key(rule: Rule, source: bool) -> "Key":
    port = rule.source_port if source else rule.destination_port
    return None if port is None else (port.op, port.low, port.high)


def _other_key(rule: Rule) -> "Key":
    """What must be the same in two rules that become one, apart from what one rule can have wider than another."""
    user, group = rule.user, rule.group
    return (
        rule.interface_negated, rule.tagged, rule.tagged_negated, rule.os, tuple(sorted(rule.timeouts.items())),
        rule.return_icmp, rule.return_icmp6, None if user is None else (user.op, user.low, user.high),
        None if group is None else (group.op, group.low, group.high), rule.icmp_type, rule.icmp_code, rule.tos,
        rule.source.negated, rule.destination.negated, rule.rdomain, rule.translation_af,
    )


# -- rules that other rules include


def _includes(wide: Rule, narrow: Rule) -> bool:
    """Whether every packet of the narrow rule is one of the wide rule; everything else is the same already."""
    if wide.interface and wide.interface != narrow.interface:
        return False
    if wide.direction and wide.direction != narrow.direction:
        return False
    if wide.proto and wide.proto != narrow.proto:
        return False
    if (wide.flags or wide.flagset) and (wide.flags, wide.flagset) != (narrow.flags, narrow.flagset):
        return False
    if wide.af and wide.af != narrow.af:
        return False
    for source in (True, False):
        key = _port_key(wide, source)
        if key is not None and key != _port_key(narrow, source):
            return False
    return _covers(wide.source, narrow.source, wide.af == narrow.af) and _covers(
        wide.destination, narrow.destination, wide.af == narrow.af
    )


def _covers(wide: Host, narrow: Host, same_family: bool) -> bool:
    if wide.kind == ADDRESS and not wide.bits and not wide.negated and not narrow.negated:
        return True
    if wide.negated != narrow.negated:
        return False
    if _address_key(wide) == _address_key(narrow):
        return True
    return (
        wide.kind == ADDRESS == narrow.kind
        and same_family
        and wide.bits < narrow.bits
        and wide.value == _network(narrow, wide.bits)
    )


def _network(host: Host, bits: int) -> int:
    width = 32 if host.af == 4 else 128
    return host.value >> max(width - bits, 0) << max(width - bits, 0)


def _shape(rule: Rule) -> "tuple[Key, ...]":
    """Which of its fields a rule leaves open."""
    return (
        not rule.interface, not rule.direction, not rule.proto, not (rule.flags or rule.flagset), not rule.af,
        rule.source_port is None, rule.destination_port is None, _width(rule.source), _width(rule.destination),
    )


def _width(host: Host) -> "Key":
    if host.kind != ADDRESS:
        return None
    return 0 if not host.bits and not host.negated else host.bits


def _projected(rule: Rule, shape: "tuple[Key, ...]") -> "Key":
    """A rule with the fields that a shape leaves open left out."""
    any_interface, any_direction, any_proto, any_flags, any_af, any_source_port, any_port, source, destination = shape
    return (
        None if any_interface else rule.interface,
        None if any_direction else rule.direction,
        None if any_proto else rule.proto,
        None if any_flags else (rule.flags, rule.flagset),
        None if any_af else rule.af,
        None if any_source_port else _port_key(rule, True),
        None if any_port else _port_key(rule, False),
        _projected_host(rule.source, source),
        _projected_host(rule.destination, destination),
    )


def _projected_host(host: Host, width: "Key") -> "Key":
    if width == 0:
        return None
    if not isinstance(width, int) or host.kind != ADDRESS:
        return _address_key(host)
    return _network(host, width) if host.bits >= width else (host.value, host.bits)


def _without_subsets(block: list[_Item]) -> list[_Item]:
    """The block without the rules that others include; of two that are the same the first stays."""
    groups: dict[Key, list[int]] = {}
    for index, item in enumerate(block):
        groups.setdefault(_other_key(item.rule), []).append(index)
    gone: set[int] = set()
    for members in groups.values():
        if len(members) < 2:
            continue
        shapes: dict[tuple[Key, ...], dict[Key, list[int]]] = {}
        for index in members:
            rule = block[index].rule
            shape = _shape(rule)
            shapes.setdefault(shape, {}).setdefault(_projected(rule, shape), []).append(index)
        for index in members:
            if _is_included(block, index, shapes):
                gone.add(index)
    return [item for index, item in enumerate(block) if index not in gone]


def _is_included(
    block: list[_Item], index: int, shapes: "dict[tuple[Key, ...], dict[Key, list[int]]]"
) -> bool:
    rule = block[index].rule
    for shape, rules in shapes.items():
        for other in rules.get(_projected(rule, shape), ()):
            if other == index:
                continue
            wide = block[other].rule
            if _includes(wide, rule) and (other < index or not _includes(rule, wide)):
                return True
    return False


# -- rules that differ by an address


def _combined(r: Reading, block: list[_Item]) -> list[_Item]:
    """The block with rules that differ by one address in many places put together with a table."""
    by_source: dict[Key, list[int]] = {}
    by_destination: dict[Key, list[int]] = {}
    keys: list[tuple[Key, Key]] = []
    for index, item in enumerate(block):
        rule = item.rule
        same = (
            _other_key(rule), rule.interface, rule.direction, rule.proto, rule.flags, rule.flagset, rule.af,
            _port_key(rule, True), _port_key(rule, False),
        )
        source, destination = _address_key(rule.source), _address_key(rule.destination)
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
    r: Reading, block: list[_Item], index: int, partners: list[int], keys: "list[tuple[Key, Key]]", gone: set[int]
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


def _new_table(r: Reading, host: Host, af: int) -> _Addresses:
    table = _Addresses(f"__automatic_{r.table_count}")
    r.table_count += 1
    table.hosts.append(_table_host(host, af))
    return table


def _with_tables(r: Reading, block: list[_Item]) -> list[_Item]:
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


# -- the order in which the kernel can skip most


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
        return _port_key(rule, field == "source_port")
    if field in ("source", "destination"):
        host: Host = getattr(rule, field)
        if host.kind == ADDRESS:
            return (host.negated, _address_key(host)) if host.value else None
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

    def __init__(self, items: list[_Item], field: str) -> None:
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


def _reordered(r: Reading, block: list[_Item]) -> list[_Item]:
    fields = _SKIPS_NEW if r.dialect.nat_to else _SKIPS_OLD
    lists = [_SkipLists(block, field) for field in fields]
    if all(one.dead for one in lists):
        return block
    before: list[_Item] = []
    own: list[_Item] = []
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
            before += _reordered(r, items)
        else:
            own += items
    return before + own
