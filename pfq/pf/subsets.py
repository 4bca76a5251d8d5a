"""Rules of a block that other rules include, for the optimizer. Source: pfctl_optimize.c remove_identical_rules."""

from .blocks import Item, address_key, other_key, port_key
from .nodes import ADDRESS, Host, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    Key = Hashable


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
        key = port_key(wide, source)
        if key is not None and key != port_key(narrow, source):
            return False
    return _covers(wide.source, narrow.source, wide.af == narrow.af) and _covers(
        wide.destination, narrow.destination, wide.af == narrow.af
    )


def _covers(wide: Host, narrow: Host, same_family: bool) -> bool:
    if wide.kind == ADDRESS and not wide.bits and not wide.negated and not narrow.negated:
        return True
    if wide.negated != narrow.negated:
        return False
    if address_key(wide) == address_key(narrow):
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
        None if any_source_port else port_key(rule, True),
        None if any_port else port_key(rule, False),
        _projected_host(rule.source, source),
        _projected_host(rule.destination, destination),
    )


def _projected_host(host: Host, width: "Key") -> "Key":
    if width == 0:
        return None
    if not isinstance(width, int) or host.kind != ADDRESS:
        return address_key(host)
    return _network(host, width) if host.bits >= width else (host.value, host.bits)


def without_subsets(block: list[Item]) -> list[Item]:
    """The block without the rules that others include; of two that are the same the first stays."""
    groups: dict[Key, list[int]] = {}
    for index, item in enumerate(block):
        groups.setdefault(other_key(item.rule), []).append(index)
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
    block: list[Item], index: int, shapes: "dict[tuple[Key, ...], dict[Key, list[int]]]"
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
