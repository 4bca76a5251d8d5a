"""What connection tracking makes of a packet. Sources: nf_conntrack_core.c, nf_conntrack_proto_tcp.c, _icmp.c, _icmpv6.c (Linux 6.1).

TCP's windows and sequence numbers, checksums, timeouts and helpers are left out: they are taken to be in order.
"""

from pfq.headers.algebra import Condition
from pfq.headers.asking import View
from pfq.headers.bits import any_of, choose, masked
from pfq.headers.fields import FLAGS, FRAGMENT, ICMP_TYPE, PAYLOAD
from pfq.linux.expressions import Binary, Concatenation, Ct, Expression, Lookup
from pfq.linux.packet import Layout
from pfq.linux.rules import Assign, Match, Notrack, Rule, Table, Translate, VerdictMap

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
# tcp_valid_flags, without PSH, ECE, CWR; those of them that open a flow, in its middle too (nf_conntrack_tcp_loose, on by default).
_LOOKED_AT = FIN | SYN | RST | ACK | URG
_VALID = (SYN, SYN | URG, SYN | ACK, RST, RST | ACK, FIN | ACK, FIN | ACK | URG, ACK, ACK | URG)
_OPENING = (SYN, SYN | URG, ACK, ACK | URG)
_OPENING_ICMP = (8, 13, 15, 17)
_OPENING_ICMP6 = (128, 139)
# nf_conntrack_proto_icmpv6.c noct_valid_new: neighbours, routers, multicast listeners are not tracked.
_UNTRACKED_ICMP6 = (130, 131, 132, 133, 134, 135, 136, 143)


def families(tables: list[Table]) -> frozenset[int]:
    """The IP versions for which the rules ask for connection tracking."""
    found: set[int] = set()
    for table in tables:
        own = {"ip": {4}, "ip6": {6}, "inet": {4, 6}}.get(table.family, set())
        if any((chain.hook is not None and chain.hook.kind == "nat") or any(map(_tracks, chain.rules)) for chain in table.chains.values()):
            found |= own
    return frozenset(found)


def _tracks(rule: Rule) -> bool:
    for statement in rule.statements:
        match statement:
            case Match():
                if _of_ct(statement.left) or (not isinstance(statement.right, tuple) and _of_ct(statement.right)):
                    return True
            case VerdictMap():
                if _of_ct(statement.key):
                    return True
            case Assign():
                if statement.target == "ct mark" or _of_ct(statement.value):
                    return True
            case Translate() | Notrack():
                return True
    return False


def _of_ct(expression: Expression) -> bool:
    match expression:
        case Ct():
            return True
        case Concatenation():
            return any(map(_of_ct, expression.parts))
        case Binary():
            return _of_ct(expression.left) or _of_ct(expression.right)
        case Lookup():
            return _of_ct(expression.key)
    return False


def of_families(layout: Layout, versions: frozenset[int]) -> Condition:
    """Packets of these IP versions."""
    everything, nothing = layout.algebra.everything, layout.algebra.nothing
    return everything if len(versions) == 2 else nothing if not versions else layout.six if 6 in versions else ~layout.six


def whole(view: View, where: Condition) -> View:
    """The packet as it is once its fragments are put together: there is a payload, and no fragment header."""
    algebra = view.algebra
    bits = view.bits[FRAGMENT]
    some = where & ~masked(algebra, bits, 0)
    pieces = where & (bits[0] ^ bits[1])
    nothing = algebra.nothing
    payload = view.bits[PAYLOAD]
    return view.seen(**{
        FRAGMENT: choose(some, (nothing, nothing), bits),
        PAYLOAD: choose(pieces, (*payload[:12], algebra.everything, *payload[13:]), payload),
    })


def valid(layout: Layout) -> Condition:
    """Packets of a known flow that conntrack takes for the flow's."""
    algebra, flags = layout.algebra, layout.bits[FLAGS]
    return ~layout.tcp | any_of(algebra, (_flagged(layout, number) for number in _VALID)) if flags else algebra.everything


def _flagged(layout: Layout, number: int) -> Condition:
    flags = layout.bits[FLAGS]
    looked_at = tuple(bit for bit, place in zip(flags, range(7, -1, -1), strict=True) if _LOOKED_AT >> place & 1)
    packed = int("".join(str(number >> place & 1) for place in range(7, -1, -1) if _LOOKED_AT >> place & 1), 2)
    return masked(layout.algebra, looked_at, packed)


def opens(layout: Layout) -> Condition:
    """Packets of no known flow that open one."""
    algebra, kind = layout.algebra, layout.bits[ICMP_TYPE]
    tcp = any_of(algebra, (_flagged(layout, number) for number in _OPENING))
    four = any_of(algebra, (masked(algebra, kind, number) for number in _OPENING_ICMP))
    six = any_of(algebra, (masked(algebra, kind, number) for number in _OPENING_ICMP6))
    return layout.tcp.ite(tcp, layout.icmp.ite(layout.six.ite(six, four), algebra.everything))


def not_tracked(layout: Layout) -> Condition:
    """Packets that conntrack lets alone."""
    algebra, kind = layout.algebra, layout.bits[ICMP_TYPE]
    return layout.icmp & layout.six & any_of(algebra, (masked(algebra, kind, number) for number in _UNTRACKED_ICMP6))
