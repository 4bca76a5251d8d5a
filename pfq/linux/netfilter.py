"""A packet's way through netfilter's hooks. Sources: netfilter_ipv4.h (order), nf_nat_core.c, ip_forward.c, net/ipv4/route.c (Linux 6.1)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import ip_address

from pfq.headers.algebra import Bits, Condition
from pfq.headers.bits import choose, constant
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, SOURCE, SOURCE_PORT, TOS, TRANSLATED_PORT
from pfq.linux.chains import Walk
from pfq.linux.compare import Comparison
from pfq.linux.conntrack import not_tracked, of_families, opens, valid, whole
from pfq.linux.rules import Chain, Table, Translate
from pfq.linux.state import Packet, Translation

_CONNTRACK, _DSTNAT, _SRCNAT = -200, -100, 100
_FAMILIES = {"ip": frozenset({4}), "ip6": frozenset({6}), "inet": frozenset({4, 6}), "netdev": frozenset({4, 6})}

# Interface name -> the gateway's own addresses there.
Addresses = Mapping[str, Sequence[str]]


class Netfilter:
    """The rules of a gateway, at their hooks."""

    def __init__(self, tables: Sequence[Table], tracked: frozenset[int], addresses: Addresses) -> None:
        self.tracked = tracked
        self.addresses = addresses
        self._base: dict[str, list[tuple[Table, Chain]]] = {}
        found = [(table, chain) for table in tables if table.family in _FAMILIES for chain in table.chains.values() if chain.hook is not None]
        # nf_hook_entries_grow: of chains with one priority the one that came last goes first.
        for _, table, chain in sorted(((-number, table, chain) for number, (table, chain) in enumerate(found)), key=_priority):
            if chain.hook is not None:
                self._base.setdefault(chain.hook.hook, []).append((table, chain))

    def hook(self, name: str, packet: Packet) -> None:
        """Everything that stands at a hook, in order; what drops out is taken from `packet.alive`."""
        steps: list[tuple[int, Callable[[Packet, str], None]]] = [
            (chain.hook.priority, _rules(table, chain)) for table, chain in self._chains(name, packet) if chain.hook is not None and chain.hook.kind != "nat"
        ]
        for priority, step in _OWN_STEPS.get(name, ()):
            steps.insert(next((index for index, (other, _) in enumerate(steps) if other >= priority), len(steps)), (priority, partial(step, self)))
        for _, each in steps:
            each(packet, name)

    def _chains(self, name: str, packet: Packet) -> Iterator[tuple[Table, Chain]]:
        device = packet.iif if name == "ingress" else packet.oif
        for table, chain in self._base.get(name, ()):
            if chain.hook is not None and (not chain.hook.devices or device in chain.hook.devices):
                yield table, chain

    # --- conntrack

    def conntrack(self, packet: Packet, hook: str) -> None:
        """Fragments are put together, and the packet's flow is looked up."""
        here = of_families(packet.layout, self.tracked)
        packet.view = whole(packet.view, here)
        layout = packet.layout
        free = packet.untracked | not_tracked(layout) | ~here
        known = packet.memory.known & ~free
        packet.untracked = packet.untracked | not_tracked(layout) & here
        packet.established = known & valid(layout)
        # In the middle of things that nobody knows, it opens a flow of its own.
        packet.new = ~packet.memory.known & ~free & opens(layout)
        packet.ct_mark = choose(packet.established, packet.memory.mark, constant(layout.algebra, 0, 32))
        packet.seen_by_conntrack = True

    # --- translation

    def translate_destination(self, packet: Packet, hook: str) -> None:
        """DNAT of a new flow; of a known one what conntrack remembers."""
        memory = packet.memory
        back = memory.source if packet.reply else memory.destination
        # A reply goes to where the opener is; an opener's packet to where the flow was sent.
        address = packet.memory.opener.bits[SOURCE] if packet.reply else back.address
        port = packet.memory.opener.bits[SOURCE_PORT] if packet.reply else back.port
        where = packet.established & back.where
        packet.change(where, DESTINATION, address)
        packet.change(where, DESTINATION_PORT, port)
        self._nat(packet, hook, destination=True)

    def translate_source(self, packet: Packet, hook: str) -> None:
        """SNAT of a new flow; of a known one what conntrack remembers."""
        memory = packet.memory
        back = memory.destination if packet.reply else memory.source
        address = packet.memory.opener.bits[DESTINATION] if packet.reply else back.address
        port = packet.memory.opener.bits[DESTINATION_PORT] if packet.reply else back.port
        where = packet.established & back.where
        packet.change(where, SOURCE, address)
        packet.change(where, SOURCE_PORT, port)
        self._nat(packet, hook, destination=False)

    def _nat(self, packet: Packet, hook: str, destination: bool) -> None:
        waiting = packet.new & packet.alive
        for table, chain in self._chains(hook, packet):
            if chain.hook is None or chain.hook.kind != "nat" or not waiting.satisfiable():
                continue
            walk = Walk(table, packet)
            walk.base(chain, waiting & _of(table, packet))
            packet.drop(walk.refused)
            for where, statement in walk.translated:
                if (statement.kind in ("dnat", "redirect")) == destination:
                    waiting = waiting & ~self._translate(packet, where, statement)

    def _translate(self, packet: Packet, where: Condition, statement: Translate) -> Condition:
        layout = packet.layout
        comparison = Comparison(packet)
        if statement.version is not None:
            where = where & (layout.six if statement.version == 6 else ~layout.six)
        to_source = statement.kind in ("snat", "masquerade")
        name, port_name = (SOURCE, SOURCE_PORT) if to_source else (DESTINATION, DESTINATION_PORT)
        address, port = packet.view.bits[name], packet.view.bits[port_name]
        if statement.kind in ("masquerade", "redirect"):
            address = self._own_address(packet, packet.oif if to_source else packet.iif)
        elif statement.address is not None:
            bits, ok = comparison.value(statement.address)
            where = where & ok
            if statement.prefix:
                bits = (*bits[: -statement.prefix], *address[-statement.prefix :])
            address = (*address[: 128 - len(bits)], *bits)
        if statement.port is not None:
            bits, ok = comparison.value(statement.port)
            where, port = where & ok, bits
        elif statement.free_port:
            port = choose(layout.tcp | layout.udp, packet.view.bits[TRANSLATED_PORT], port)
        done = Translation(where, choose(where, address, packet.view.bits[name]), choose(where, port, packet.view.bits[port_name]))
        packet.view = packet.view.seen(**{name: done.address, port_name: done.port})
        before = packet.memory.source if to_source else packet.memory.destination
        both = Translation(before.where | where, done.address, done.port)
        packet.memory = replace(packet.memory, source=both) if to_source else replace(packet.memory, destination=both)
        return where

    def _own_address(self, packet: Packet, device: str | None) -> Bits:
        """The first address of each family on a device; 0 where none is known."""
        algebra = packet.view.algebra
        found = {4: 0, 6: 0}
        for text in reversed(self.addresses.get(device or "", ())):
            address = ip_address(text.partition("/")[0])
            found[address.version] = int(address)
        return choose(packet.layout.six, constant(algebra, found[6], 128), constant(algebra, found[4], 128))


def _priority(entry: tuple[int, Table, Chain]) -> tuple[int, int]:
    number, _, chain = entry
    return (chain.hook.priority if chain.hook is not None else 0), number


def _of(table: Table, packet: Packet) -> Condition:
    """Packets that a table's family is for."""
    return of_families(packet.layout, _FAMILIES[table.family])


def _rules(table: Table, chain: Chain) -> Callable[[Packet, str], None]:
    """A base chain as a step of its hook."""

    def step(packet: Packet, hook: str) -> None:
        walk = Walk(table, packet)
        walk.base(chain, packet.alive & _of(table, packet))
        packet.drop(walk.refused)

    return step


# What stands at the hooks beside the chains, with its priority, in order.
_OWN_STEPS: Mapping[str, Sequence[tuple[int, Callable[[Netfilter, Packet, str], None]]]] = {
    "prerouting": ((_CONNTRACK, Netfilter.conntrack), (_DSTNAT, Netfilter.translate_destination)),
    "output": ((_CONNTRACK, Netfilter.conntrack), (_DSTNAT, Netfilter.translate_destination)),
    "input": ((_SRCNAT, Netfilter.translate_source),),
    "postrouting": ((_SRCNAT, Netfilter.translate_source),),
}


def forwarded_priority(packet: Packet) -> Bits:
    """What forwarding makes of an IPv4 packet's priority: a number by its ToS (ip_forward.c, rt_tos2priority). IPv6's stays."""
    algebra = packet.view.algebra
    tos = packet.view.bits[TOS]
    high, low = tos[3], tos[4]
    # 0x10: interactive 6; 0x08: bulk 2; both: interactive bulk 4.
    zero = constant(algebra, 0, 29)
    of_tos = (*zero, high, low ^ high, algebra.nothing)
    return choose(packet.layout.six, packet.priority, of_tos)
