"""What nat-to, rdr-to and their elder kin make of a packet's addresses. Source: pf_get_transaddr and pf_map_addr of pf_lb.c, pf_get_translation of pf.c."""

from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import View
from pfq.headers.bits import add, between, choose, constant, subtract
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, SOURCE, SOURCE_PORT, TRANSLATED_PORT
from pfq.pf.evaluate.facts import Facts
from pfq.pf.evaluate.packet import TCP, UDP, of_protocol
from pfq.pf.nodes import ADDRESS, DYNAMIC, Host, Pool, Rule

_WIDTH = {4: 32, 6: 128}
_LINK_LOCAL = 0x3FA


def choices(pool: Pool, facts: Facts, family: int) -> list[tuple[int, int]]:
    """The addresses that a pool picks from, as (value, bits): one of them, whatever the flow, where there is one."""
    found: list[tuple[int, int]] = []
    for host in pool.hosts:
        if host.kind == ADDRESS:
            whole = host.bits >= _WIDTH[family] or pool.kind in ("", "bitmask")
            found += [(host.value, min(host.bits, _WIDTH[family]))] if whole else [(host.value, host.bits), (host.value + 1, host.bits)]
        elif host.kind == DYNAMIC:
            found += _interface(host, facts, family)
        else:
            entries = facts.table(host.name) or []
            found += [(entry.value, entry.bits) for entry in entries if entry.af == family] or [(0, 0), (1, 0)]
    return found


def _interface(host: Host, facts: Facts, family: int) -> list[tuple[int, int]]:
    own = [one for one in facts.addresses(host.name, host.modifiers) if one[0] == family]
    usable = [one for one in own if family == 4 or one[1] >> 118 != _LINK_LOCAL]
    return [(value, min(bits, host.bits)) for _, value, bits in usable or own]


def translated(view: View, facts: Facts, rule: Rule) -> View:
    """The packet after a rule with nat-to or rdr-to (binat-to is one of each)."""
    if rule.nat is not None:
        view = from_pool(view, facts, rule.nat, rule.af, SOURCE)
        view = _source_port(view, rule.nat)
    if rule.rdr is not None:
        view = from_pool(view, facts, rule.rdr, rule.af, DESTINATION)
        view = destination_port(view, rule.rdr, rule)
    return view


def from_pool(view: View, facts: Facts, pool: Pool, family: int, field: str) -> View:
    """The packet with the pool's address in a field. The pool has one address for each packet (`choices`)."""
    bits = view.bits[field]
    for one in (family,) if family else (4, 6):
        for value, prefix in choices(pool, facts, one)[:1]:
            six = view.bits["family"][0]
            of_one = six if one == 6 else ~six
            keeps = prefix if pool.kind == "bitmask" else _WIDTH[one]
            bits = choose(of_one, renumbered(view, bits, one, value, keeps), bits)
    return view.seen(**{field: bits})


def renumbered(view: View, bits: Bits, family: int, value: int, prefix: int) -> Bits:
    """An address with the first `prefix` bits of another one."""
    width = _WIDTH[family]
    new = constant(view.algebra, value, width)
    return (*bits[: 128 - width], *new[:prefix], *bits[128 - width + prefix :])


def _with_ports(view: View) -> Condition:
    return of_protocol(view, TCP) | of_protocol(view, UDP)


def _source_port(view: View, pool: Pool) -> View:
    return source_port(view, pool) if pool.low or pool.high else view


def source_port(view: View, pool: Pool) -> View:
    """The packet with a source port of the pool's range: any of it, since pf picks at random."""
    algebra = view.algebra
    low, high = pool.low, max(pool.low, pool.high)
    if not low and not high:
        return view
    picked = algebra.field(TRANSLATED_PORT)
    port = choose(between(algebra, picked, low, high), picked, constant(algebra, low, 16))
    return view.seen(**{SOURCE_PORT: choose(_with_ports(view), port, view.bits[SOURCE_PORT])})


def destination_port(view: View, pool: Pool, rule: Rule) -> View:
    """The packet with a destination port of a redirection: one port, or as far into the range as the old one was into the rule's."""
    if not pool.low:
        return view
    algebra = view.algebra
    port = constant(algebra, pool.low, 16)
    if pool.high > pool.low and rule.destination_port is not None:
        offset = subtract(algebra, view.bits[DESTINATION_PORT], constant(algebra, rule.destination_port.low, 16))
        port = add(algebra, port, offset)
    return view.seen(**{DESTINATION_PORT: choose(_with_ports(view), port, view.bits[DESTINATION_PORT])})


def wraps(pool: Pool, rule: Rule) -> bool:
    """Whether a redirection to a range of ports goes round in it."""
    port = rule.destination_port
    if pool.high <= pool.low:
        return False
    wide = 0xFFFF if port is None else port.high - port.low if port.op == ":" else 0 if port.op == "=" else 0xFFFF
    return wide > pool.high - pool.low
