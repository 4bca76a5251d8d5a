"""tc filters and their actions over all packets at once.

Sources: cls_api.c, cls_u32.c, cls_fw.c, cls_bpf.c, cls_flower.c, cls_matchall.c, cls_basic.c, em_meta.c, act_*.c (Linux 6.1).
"""

from collections.abc import Sequence
from typing import NamedTuple

from pfq.diagnostics import refuse
from pfq.headers.algebra import Condition
from pfq.headers.asking import Decision
from pfq.headers.bits import at_least, between, choose, constant, masked
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, FLAGS, FRAGMENT, ICMP_CODE, ICMP_TYPE, PROTOCOL, SOURCE, SOURCE_PORT, TOS
from pfq.linux.cbpf import TooManyValues, returns
from pfq.linux.queues import U32, Action, Basic, Bytecode, Everything, Fields, Filter, Fw, Meta, name
from pfq.linux.state import Packet

_OWN_CLASS = 0xFFFFFFFF
# Devices without a link-layer header.
_BARE = ("ppp", "tun", "wg", "sit", "gre")


class Outcome(NamedTuple):
    """What filters made of packets: `chosen` by class (None: a filter that names none), those that a redirection took, those that none matched."""

    chosen: list[tuple[int | None, Condition, Filter]]
    redirected: list[tuple[str, Condition, Filter]]
    unmatched: Condition


def run(filters: Sequence[Filter], packet: Packet, where: Condition) -> Outcome:
    """Ask filters in their order; packets that an action drops are dropped."""
    chosen: list[tuple[int | None, Condition, Filter]] = []
    redirected: list[tuple[str, Condition, Filter]] = []
    left = where
    over: dict[int, Condition] = {}
    for each in sorted(filters, key=lambda own: (own.preference, own.handle if isinstance(own.test, U32) else 0)):
        if not left.satisfiable():
            break
        asked = left & _of_protocol(each, packet)
        if each.preference in over:
            asked = asked & ~over[each.preference]
        matches, given_up = _matches(each, packet, asked)
        if given_up is not None:
            over[each.preference] = over.get(each.preference, packet.view.algebra.nothing) | given_up
        for number, here in matches:
            if not here.satisfiable():
                continue
            control, taken = _act(each.actions, packet, here)
            for device in taken:
                redirected.append((device, here, each))
            if control == "continue":
                packet.note(here, Decision(each.place, each.text, "the filter matches, and the next is asked"))
                continue
            left = left & ~here
            if control == "drop":
                packet.note(here, Decision(each.place, each.text, "the filter matches and drops"))
                packet.drop(here)
            elif control == "stolen":
                packet.note(here, Decision(each.place, each.text, f"the filter matches and sends it to {taken[-1]}"))
            else:
                said = f"the filter matches: class {name(number)}" if number else "the filter matches"
                packet.note(here, Decision(each.place, each.text, said))
                chosen.append((number, here, each))
    return Outcome(chosen, redirected, left)


def _of_protocol(each: Filter, packet: Packet) -> Condition:
    algebra, six = packet.view.algebra, packet.layout.six
    known = {"all": algebra.everything, "ip": ~six, "ipv4": ~six, "ipv6": six, "0x800": ~six, "0x86dd": six, "0x0003": algebra.everything}
    return known.get(each.protocol.lower(), algebra.nothing)


# --- tests


def _matches(each: Filter, packet: Packet, asked: Condition) -> tuple[list[tuple[int | None, Condition]], Condition | None]:
    """Classes and where a filter names them; and where it (with all of its preference) gives up, if it can."""
    match each.test:
        case Everything():
            return [(each.number, asked)], None
        case U32():
            where, given_up = _u32(each.test, packet)
            return [(each.number, asked & where)] if each.number is not None or each.actions else [], asked & given_up
        case Fw():
            return _fw(each, each.test, packet, asked), None
        case Bytecode():
            return _bytecode(each, each.test, packet, asked), None
        case Fields():
            return [(each.number, asked & _fields(each.test, packet))], None
        case Basic():
            where = asked
            for test in each.test.tests:
                where = where & _meta(test, packet)
            return [(each.number, where)], None


def _u32(test: U32, packet: Packet) -> tuple[Condition, Condition]:
    """Where all keys match, and where one lies beyond the packet (u32_classify then asks none of the same preference any more)."""
    algebra = packet.view.algebra
    value, mask = test.mark
    where, given_up = masked(algebra, packet.mark, value, mask) if mask else algebra.everything, algebra.nothing
    for key in test.keys:
        # Without a link that says where the next header is, `nexthdr+` counts from the IP header too.
        if key.offset < 0:
            return algebra.nothing, algebra.nothing
        bits, there = packet.layout.load("network", 8 * key.offset, 32)
        given_up = given_up | (where & ~there)
        where = where & there & masked(algebra, bits, key.value, key.mask)
    return where, given_up


def _fw(each: Filter, test: Fw, packet: Packet, asked: Condition) -> list[tuple[int | None, Condition]]:
    algebra = packet.view.algebra
    if test.number is None:
        raise refuse("not-modelled", "not modelled: a fw filter without a handle", each.place)
    return [(each.number, asked & masked(algebra, packet.mark, test.number & test.mask, test.mask))]


def _bytecode(each: Filter, test: Bytecode, packet: Packet, asked: Condition) -> list[tuple[int | None, Condition]]:
    try:
        found = returns(test.program, packet, asked, not each.device.startswith(_BARE))
    except TooManyValues:
        raise refuse("not-modelled", "not modelled: a program that computes an offset or a class out of what can be anything", each.place) from None
    return [(each.number if value == _OWN_CLASS else value, where) for value, where in found.items() if value]


def _meta(test: Meta, packet: Packet) -> Condition:
    algebra = packet.view.algebra
    bits = packet.priority if test.key == "priority" else packet.mark
    bits = tuple(bit & one for bit, one in zip(bits, constant(algebra, test.mask, 32), strict=True))
    found = {
        "eq": lambda: masked(algebra, bits, test.number),
        "gt": lambda: at_least(algebra, bits, test.number + 1),
        "lt": lambda: ~at_least(algebra, bits, test.number),
    }[test.operator]()
    return ~found if test.negated else found


_FLOWER = {"ip_proto": PROTOCOL, "ip_tos": TOS, "tcp_flags": FLAGS, "type": ICMP_TYPE, "code": ICMP_CODE}


def _fields(test: Fields, packet: Packet) -> Condition:
    """flower: a later fragment has no ports, flags or types, which read as 0 (skb_flow_dissect)."""
    algebra, layout, bits = packet.view.algebra, packet.layout, packet.view.bits
    where = algebra.everything
    for field, one, other in test.fields:
        if field == "eth_type":
            where = where & (layout.six if one == 0x86DD else ~layout.six if one == 0x0800 else algebra.nothing)
        elif field in ("src_port", "dst_port"):
            own = bits[SOURCE_PORT if field == "src_port" else DESTINATION_PORT]
            where = where & (layout.tcp | layout.udp) & ~layout.later & between(algebra, own, one, other)
        elif field.endswith(("ip4", "ip6")):
            own = bits[SOURCE if field.startswith("src") else DESTINATION]
            six = field.endswith("6")
            where = where & (layout.six if six else ~layout.six) & masked(algebra, own if six else own[96:], one, other)
        elif field == "ip_flags":
            some = ~masked(algebra, bits[FRAGMENT], 0)
            asked = some if other == 1 else some & ~layout.later
            where = where & (asked if one else ~asked)
        else:
            of = layout.tcp if field == "tcp_flags" else layout.icmp if field in ("type", "code") else algebra.everything
            if field in ("tcp_flags", "type", "code"):
                of = of & ~layout.later
            where = where & of & masked(algebra, bits[_FLOWER[field]], one & other, other)
    return where


# --- actions


def _act(actions: Sequence[Action], packet: Packet, where: Condition) -> tuple[str, list[str]]:
    """Carry out a filter's actions: what comes after them, and the devices that they redirect to."""
    taken: list[str] = []
    for action in actions:
        match action.kind:
            case "mirred":
                if action.redirect:
                    taken.append(action.device)
            case "skbedit":
                _edit(action, packet, where)
            case "ctinfo":
                _restore(action, packet, where)
        if action.control != "pipe":
            return action.control, taken
    return "pass", taken


def _edit(action: Action, packet: Packet, where: Condition) -> None:
    algebra = packet.view.algebra
    if action.priority is not None:
        packet.priority = choose(where, constant(algebra, action.priority, 32), packet.priority)
    if action.mark is not None:
        value, mask = action.mark
        kept = tuple(bit & one for bit, one in zip(packet.mark, constant(algebra, mask ^ 0xFFFFFFFF, 32), strict=True))
        new = tuple(bit | one for bit, one in zip(kept, constant(algebra, value & mask, 32), strict=True))
        packet.mark = choose(where, new, packet.mark)


def _restore(action: Action, packet: Packet, where: Condition) -> None:
    """The connection's mark into the packet's. On arrival the flow is looked up, and a later fragment shows none."""
    if action.mark is None:
        return
    algebra = packet.view.algebra
    if packet.seen_by_conntrack:
        known, mark = packet.tracked, packet.ct_mark
    else:
        known, mark = packet.memory.known & ~packet.layout.later, packet.memory.mark
    bits = tuple(bit & one for bit, one in zip(mark, constant(algebra, action.mark[1], 32), strict=True))
    packet.mark = choose(where & known, bits, packet.mark)



