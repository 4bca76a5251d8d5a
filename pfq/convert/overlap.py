"""Whether one packet can match two rules: False only where that is certain."""

from pfq.pf.hosts import is_any
from pfq.pf.nodes import ADDRESS, DYNAMIC, TABLE, Host, Port, Rule

_BITS = {4: 32, 6: 128}


def may_meet(a: Rule, b: Rule) -> bool:
    """Whether a packet can match both."""
    if a.direction and b.direction and a.direction != b.direction:
        return False
    if not interfaces_meet(a, b):
        return False
    if (a.af and b.af and a.af != b.af) or (a.proto and b.proto and a.proto != b.proto):
        return False
    if a.tagged and a.tagged == b.tagged and a.tagged_negated != b.tagged_negated:
        return False
    return (
        _hosts_meet(a.source, b.source) and _hosts_meet(a.destination, b.destination)
        and _ports_meet(a.source_port, b.source_port) and _ports_meet(a.destination_port, b.destination_port)
    )


def interfaces_meet(a: Rule, b: Rule) -> bool:
    """Whether a packet on one interface can match both. Names without a number are groups."""
    if not a.interface or not b.interface or (a.interface_negated and b.interface_negated):
        return True
    if a.interface_negated != b.interface_negated:
        return a.interface != b.interface
    return a.interface == b.interface or not (a.interface[-1].isdigit() and b.interface[-1].isdigit())


def _hosts_meet(a: Host, b: Host) -> bool:
    if is_any(a) or is_any(b):
        return True
    if a.kind == b.kind == ADDRESS:
        if a.af != b.af:
            return False
        if not a.negated and not b.negated:
            return _shared(a, b, min(a.bits, b.bits))
        if a.negated != b.negated:
            out, within = (a, b) if a.negated else (b, a)
            return not (out.bits <= within.bits and _shared(a, b, out.bits))
        return True
    if a.kind == b.kind and a.kind in (DYNAMIC, TABLE) and (a.name, a.modifiers, a.bits) == (b.name, b.modifiers, b.bits):
        return a.negated == b.negated
    return True


def _shared(a: Host, b: Host, bits: int) -> bool:
    shift = _BITS[a.af] - bits
    return a.value >> shift == b.value >> shift


def _ports_meet(a: Port | None, b: Port | None) -> bool:
    if a is None or b is None or a.op not in ("=", ":") or b.op not in ("=", ":"):
        return True
    return a.low <= (b.high if b.op == ":" else b.low) and b.low <= (a.high if a.op == ":" else a.low)


def unrestricted(rule: Rule) -> bool:
    """Whether a rule asks for nothing but direction and interface."""
    return (
        is_any(rule.source) and is_any(rule.destination) and rule.source_port is None and rule.destination_port is None and not rule.proto
        and not rule.af and not rule.tagged and not rule.os and not rule.fragment and not rule.probability and not rule.tos and rule.icmp_type < 0
        and rule.user is None and rule.group is None and not rule.received_on and rule.prio < 0 and rule.packet_rate is None and rule.rtable < 0
        and not rule.once
    )
