"""Blocks of rules that may change places without changing what they do, for the optimizer. Source: pfctl_optimize.c."""

from .nodes import ADDRESS, Host, Pool, Rule
from .reading import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    Key = Hashable


class Item:
    """A rule in a block, and the table its addresses may go to."""

    __slots__ = ("dst_table", "rule", "src_table")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.src_table: Addresses | None = None
        self.dst_table: Addresses | None = None


class Addresses:
    """Addresses that rules differ by."""

    __slots__ = ("generated", "hosts", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.hosts: list[Host] = []
        self.generated = False


def blocks(r: Reading, rules: list[Rule]) -> list[list[Item]]:
    """The rules as the longest blocks, in order, in which every rule does the same with what it matches."""
    found: list[list[Item]] = []
    key: Key = None
    for rule in rules:
        own = _block_key(r, rule)
        barrier = _is_barrier(rule)
        if not found or barrier or own != key or not _same_group(rule, found[-1][0].rule):
            found.append([])
            # What has a barrier stands alone.
            key = object() if barrier else own
        found[-1].append(Item(rule))
    return found


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
    return tuple(address_key(host) for host in pool.hosts), pool.low, pool.high, pool.kind, pool.key, pool.sticky


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
        address_key(rule.divert_address) if rule.divert_address is not None else None,
        bool(rule.translation_af),
    )


def address_key(host: Host) -> "Key":
    """What two addresses must have in common to be the same."""
    if host.kind == ADDRESS and not host.bits:
        return ADDRESS
    return host.kind, host.af, host.value, host.bits, host.end, host.name, host.modifiers


def port_key(rule: Rule, source: bool) -> "Key":
    """What the ports of two rules must have in common to be the same."""
    port = rule.source_port if source else rule.destination_port
    return None if port is None else (port.op, port.low, port.high)


def other_key(rule: Rule) -> "Key":
    """What must be the same in two rules that become one, apart from what one rule can have wider than another."""
    user, group = rule.user, rule.group
    return (
        rule.interface_negated, rule.tagged, rule.tagged_negated, rule.os, tuple(sorted(rule.timeouts.items())),
        rule.return_icmp, rule.return_icmp6, None if user is None else (user.op, user.low, user.high),
        None if group is None else (group.op, group.low, group.high), rule.icmp_type, rule.icmp_code, rule.tos,
        rule.source.negated, rule.destination.negated, rule.rdomain, rule.translation_af,
    )
