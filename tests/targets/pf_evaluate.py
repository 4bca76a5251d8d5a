"""Which queues a flow gets from a pf.conf: as little of pf as the outputs of the targets need, on rules as pfq.pf reads them.

Sources: pf.c pf_test_rule and pf_match_translation of OpenBSD 4.4 and FreeBSD 12.1, pf_match_rule of OpenBSD 7.6.
"""

from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address

from pfq.pf.nodes import ADDRESS, DYNAMIC, TABLE, Host, Port, Rule
from pfq.pf.verdict import Tree
from pfq.plan.classify import ICMP, ICMP6, TCP, Packet
from pfq.site.model import Address

GATEWAY4, GATEWAY6 = IPv4Address("198.18.0.1"), IPv6Address("2001:db8:ffff::1")


@dataclass(frozen=True)
class Outcome:
    """What became of a first packet: the final rule's action, and the queues."""

    action: str
    queue: str
    second: str
    stateful: bool


def _host(host: Host, address: Address, tree: Tree) -> bool:
    if host.kind == TABLE:
        table = next(table for table in tree.reading.tables if table.name == host.name)
        entries = [entry for part in table.parts if isinstance(part, list) for entry in part]
        return any(_host(entry, address, tree) for entry in entries) != host.negated
    if host.kind == DYNAMIC:
        return (address in (GATEWAY4, GATEWAY6)) != host.negated
    assert host.kind == ADDRESS
    if host.bits == 0 and not host.negated and host.af in (0, address.version):
        return True
    if host.af != address.version:
        return host.negated
    shift = (32 if address.version == 4 else 128) - host.bits
    return (int(address) >> shift == host.value >> shift) != host.negated


def _port(port: Port | None, number: int) -> bool:
    if port is None:
        return True
    return port.low <= number <= port.high if port.op == ":" else port.op == "=" and number == port.low


def _matches(rule: Rule, direction: str, interface: str, packet: Packet, tag: str, tree: Tree) -> bool:
    altq = not tree.reading.dialect.name.startswith("openbsd-7")
    exact = tree.reading.dialect.name == "openbsd-4.4"
    tos = packet.tos if exact else packet.tos & 0xFC
    if altq and packet.source.version == 6:
        tos = 0
    return (
        rule.direction in ("", direction)
        and rule.interface in ("", interface)
        and rule.af in (0, packet.source.version)
        and rule.proto in (0, packet.protocol)
        and _host(rule.source, packet.source, tree)
        and _host(rule.destination, packet.destination, tree)
        and _port(rule.source_port, packet.source_port)
        and _port(rule.destination_port, packet.port)
        and (not rule.tos or rule.tos == tos)
        and (not rule.tagged or (rule.tagged == tag) != rule.tagged_negated)
        and (packet.protocol != TCP or packet.flags & rule.flagset == rule.flags)
        and (rule.icmp_type in (-1, packet.port) if packet.protocol in (ICMP, ICMP6) else rule.icmp_type == -1)
    )


def _flat(rules: list[Rule]) -> list[Rule]:
    found: list[Rule] = []
    for rule in rules:
        found += _flat(rule.anchor.rules) if rule.anchor else [rule]
    return found


def _filtered(tree: Tree, direction: str, interface: str, packet: Packet, tag: str) -> tuple[Outcome, str]:
    """The outcome for a packet on an interface, and the tag it leaves with."""
    final: Rule | None = None
    queue = second = ""
    for rule in _flat(tree.reading.main.rules):
        if rule.action not in ("pass", "block", "match") or not _matches(rule, direction, interface, packet, tag, tree):
            continue
        tag = rule.tag or tag
        if rule.action == "match":
            if rule.queue:
                queue, second = rule.queue, rule.ack_queue or rule.queue
            packet = _translated(rule, packet)
            continue
        final = rule
        if rule.quick:
            break
    if final is None:
        return Outcome("pass", "", "", False), tag
    modern = tree.reading.dialect.name.startswith("openbsd-7")
    stateful = final.state == "keep"
    if final.queue or not modern or not stateful:
        queue, second = final.queue, final.ack_queue or final.queue
    return Outcome(final.action, queue, second, stateful), tag


def _translated(rule: Rule, packet: Packet) -> Packet:
    if rule.nat:
        host = rule.nat.hosts[0]
        gateway: Address = GATEWAY4 if packet.source.version == 4 else GATEWAY6
        return replace(packet, source=gateway if host.kind == DYNAMIC else type(packet.source)(host.value))
    if rule.rdr:
        return replace(packet, destination=type(packet.destination)(rule.rdr.hosts[0].value))
    return packet


def _natted(tree: Tree, interface: str, packet: Packet) -> Packet:
    """The packet after the translation statements for outgoing packets: binat first, then nat."""
    for kind in ("binat", "nat"):
        for rule in tree.reading.main.rules:
            if rule.action in (kind, f"no {kind}") and _matches(rule, rule.direction, interface, packet, "", tree):
                if rule.action != kind or rule.pool is None:
                    break
                host = rule.pool.hosts[0]
                return replace(packet, source=GATEWAY4 if host.kind == DYNAMIC else type(packet.source)(host.value))
    return packet


def from_inside(tree: Tree, inside: str, link: str, packet: Packet) -> Outcome:
    """A flow that a host of the inside opens; `packet` is its first as it comes in there."""
    _, tag = _filtered(tree, "in", inside, packet, "")
    return _filtered(tree, "out", link, _natted(tree, link, packet), tag)[0]


def from_outside(tree: Tree, link: str, packet: Packet) -> Outcome:
    """A flow opened from the link; `packet` is its first after 1:1 NAT for ALTQ's translation statements, before it for match rules."""
    return _filtered(tree, "in", link, packet, "")[0]
