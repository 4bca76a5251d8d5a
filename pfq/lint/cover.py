"""Which packets a rule matches, as far as that can be told from the rules alone.

`covers` and `apart` answer True only when they are sure: what depends on addresses of interfaces, the content of tables, groups of
interfaces or chance is not known.
"""

from pfq.pf.nodes import ADDRESS, DYNAMIC, RANGE, TABLE, Host, Port, Rule

_BITS = {4: 32, 6: 128}
_TCP = 6
# flags S/SA: what a pass rule that keeps state has if it says nothing else.
_BEGIN = (0x02, 0x12)


def is_any(host: Host) -> bool:
    """Whether every address is meant. IPv4's 0/0 in a rule of that family is all of it."""
    return host.kind == ADDRESS and not host.negated and not host.scope and (host.af == 0 or host.bits == 0)


def _same_host(a: Host, b: Host) -> bool:
    return (a.kind, a.af, a.value, a.bits, a.end, a.name, a.modifiers, a.negated, a.scope) == (
        b.kind, b.af, b.value, b.bits, b.end, b.name, b.modifiers, b.negated, b.scope,
    )


def _bounds(host: Host) -> "tuple[int, int] | None":
    """First and last address; None where they are not known from the rule."""
    if host.negated or host.af not in _BITS or host.scope:
        return None
    if host.kind == RANGE:
        return host.value, host.end
    if host.kind != ADDRESS:
        return None
    size = _BITS[host.af]
    free = size - min(host.bits, size)
    return host.value >> free << free, host.value | ((1 << free) - 1)


def host_covers(wide: Host, narrow: Host) -> bool:
    """Whether every address of `narrow` is one of `wide`."""
    if is_any(wide) and (wide.af in (0, narrow.af)):
        return narrow.kind != "no-route" or wide.af == 0
    if _same_host(wide, narrow):
        return wide.kind in (ADDRESS, RANGE, TABLE, DYNAMIC)
    if wide.af != narrow.af:
        return False
    outer, inner = _bounds(wide), _bounds(narrow)
    return outer is not None and inner is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _hosts_apart(a: Host, b: Host) -> bool:
    if is_any(a) or is_any(b):
        return False
    if a.af and b.af and a.af != b.af:
        return True
    if a.kind == b.kind == TABLE and a.name == b.name:
        return a.negated != b.negated
    first, second = _bounds(a), _bounds(b)
    return first is not None and second is not None and (first[1] < second[0] or second[1] < first[0])


def _ranges(port: "Port | None") -> "list[tuple[int, int]] | None":
    """The ports of a condition; None for all."""
    if port is None:
        return None
    low, high = port.low, port.high
    return {
        "=": [(low, low)], "!=": [(0, low - 1), (low + 1, 65535)], "<": [(0, low - 1)], "<=": [(0, low)],
        ">": [(low + 1, 65535)], ">=": [(low, 65535)], ":": [(low, high)], "><": [(low + 1, high - 1)],
        "<>": [(0, low - 1), (high + 1, 65535)],
    }.get(port.op)


def _ports_cover(wide: "Port | None", narrow: "Port | None") -> bool:
    outer, inner = _ranges(wide), _ranges(narrow)
    if wide is None:
        return True
    if outer is None or inner is None:
        return False
    return all(any(a <= low and high <= b for a, b in outer) for low, high in inner if low <= high)


def _ports_apart(a: "Port | None", b: "Port | None") -> bool:
    first, second = _ranges(a), _ranges(b)
    if first is None or second is None:
        return False
    return not any(low <= top and bottom <= high for low, high in first for bottom, top in second)


def _interface_covers(wide: Rule, narrow: Rule) -> bool:
    if wide.rdomain not in (-1, narrow.rdomain):
        return False
    if not wide.interface:
        return not wide.interface_negated
    return wide.interface == narrow.interface and wide.interface_negated == narrow.interface_negated


def _identity(rule: Rule) -> "list[tuple[str, int, int] | None]":
    return [(one.op, one.low, one.high) if one is not None else None for one in (rule.user, rule.group)]


def covers(wide: Rule, narrow: Rule, addresses: bool = True, flags: bool = True) -> bool:
    """Whether every packet that `narrow` matches is matched by `wide`.

    With `addresses` False, addresses and ports may change in between; with `flags` False, `flags S/SA` of `wide` do not count.
    """
    if wide.direction not in ("", narrow.direction) or wide.af not in (0, narrow.af) or wide.proto not in (0, narrow.proto):
        return False
    if wide.probability or wide.once or wide.packet_rate is not None or wide.anchor is not None:
        return False
    if not _interface_covers(wide, narrow):
        return False
    if addresses:
        if not (host_covers(wide.source, narrow.source) and host_covers(wide.destination, narrow.destination)):
            return False
        if not (_ports_cover(wide.source_port, narrow.source_port) and _ports_cover(wide.destination_port, narrow.destination_port)):
            return False
    elif not (is_any(wide.source) and is_any(wide.destination)) or wide.source_port is not None or wide.destination_port is not None:
        return False
    begins = not flags and (wide.flags, wide.flagset) == _BEGIN
    return (begins or _flags_cover(wide, narrow)) and _rest_covers(wide, narrow)


def _flags_cover(wide: Rule, narrow: Rule) -> bool:
    if not wide.flagset or narrow.proto not in (0, _TCP):
        return True
    return narrow.flagset & wide.flagset == wide.flagset and narrow.flags & wide.flagset == wide.flags


def _rest_covers(wide: Rule, narrow: Rule) -> bool:
    for name in ("os", "received_on", "tagged"):
        if getattr(wide, name) and getattr(wide, name) != getattr(narrow, name):
            return False
    if wide.received_on and wide.received_on_negated != narrow.received_on_negated:
        return False
    if wide.tagged and wide.tagged_negated != narrow.tagged_negated:
        return False
    for mine, other in zip(_identity(wide), _identity(narrow), strict=True):
        if mine is not None and mine != other:
            return False
    if wide.icmp_type >= 0 and (wide.icmp_type != narrow.icmp_type or (wide.icmp_code >= 0 and wide.icmp_code != narrow.icmp_code)):
        return False
    if (wide.tos and wide.tos != narrow.tos) or (wide.prio >= 0 and wide.prio != narrow.prio):
        return False
    return not wide.fragment or narrow.fragment


def _is_group(name: str) -> bool:
    return not name[-1:].isdigit()


def apart(a: Rule, b: Rule) -> bool:
    """Whether no packet can match both."""
    if a.direction and b.direction and a.direction != b.direction:
        return True
    if (a.af and b.af and a.af != b.af) or (a.proto and b.proto and a.proto != b.proto):
        return True
    if a.interface and b.interface and not (_is_group(a.interface) or _is_group(b.interface)):
        same = a.interface == b.interface
        if not a.interface_negated and not b.interface_negated and not same:
            return True
        if same and a.interface_negated != b.interface_negated:
            return True
    if a.tagged and b.tagged and not a.tagged_negated and not b.tagged_negated and a.tagged != b.tagged:
        return True
    return (
        _hosts_apart(a.source, b.source)
        or _hosts_apart(a.destination, b.destination)
        or _ports_apart(a.source_port, b.source_port)
        or _ports_apart(a.destination_port, b.destination_port)
    )


# Bounds what a ruleset of a hundred thousand rules costs: this many candidates are compared for a rule and a shape.
_MOST_COMPARED = 64

_ANY, _EXACT, _WIDE = 0, 1, 2


def _host_shape(host: Host) -> int:
    if is_any(host):
        return _ANY
    bounds = _bounds(host)
    return _WIDE if bounds is None or bounds[0] != bounds[1] else _EXACT


class Index:
    """Rules by what they compare, so that the ones that may cover another are found without comparing with all."""

    def __init__(self) -> None:
        # Per shape (which of the fields a rule compares) the rules by the values of those fields.
        self._shapes: dict[tuple[bool, bool, bool, int, int, bool], dict[tuple[object, ...], list[Rule]]] = {}

    def _key(self, rule: Rule, shape: tuple[bool, bool, bool, int, int, bool]) -> tuple[object, ...]:
        port = rule.destination_port
        return (
            rule.direction if shape[0] else None,
            rule.interface if shape[1] else None,
            rule.proto if shape[2] else None,
            rule.source.value if shape[3] == _EXACT else None,
            rule.destination.value if shape[4] == _EXACT else None,
            (port.low if port is not None else -1) if shape[5] else None,
        )

    def add(self, rule: Rule) -> None:
        """Make a rule one of those that may cover others."""
        port = rule.destination_port
        shape = (
            bool(rule.direction), bool(rule.interface), bool(rule.proto), _host_shape(rule.source), _host_shape(rule.destination),
            port is not None and port.op == "=",
        )
        self._shapes.setdefault(shape, {}).setdefault(self._key(rule, shape), []).append(rule)

    def covering(self, rule: Rule, addresses: bool = True, flags: bool = True) -> "Rule | None":
        """A rule that covers this one, or None."""
        for shape, rules in self._shapes.items():
            for candidate in rules.get(self._key(rule, shape), ())[:_MOST_COMPARED]:
                if covers(candidate, rule, addresses, flags):
                    return candidate
        return None
