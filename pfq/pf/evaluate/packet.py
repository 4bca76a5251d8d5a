"""A packet on its way through pf: what pf sees of it, and what pf has written on it so far."""

from dataclasses import dataclass, replace

from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.asking import View
from pfq.headers.bits import constant, masked, same
from pfq.headers.fields import FAMILY, FLAGS, FRAGMENT, ICMP_TYPE, PAYLOAD, PROTOCOL, TOS
from pfq.pf.evaluate.features import Features

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
FIN, SYN, RST, PUSH, ACK, URG = 1, 2, 4, 8, 16, 32
IN, OUT = "in", "out"
LOW_DELAY, NOT_ECN = 0x10, 0xFC

# Types that tell about another packet (pf.c pf_icmp_mapping, pf_test_rule): they keep no state.
_ERRORS = {ICMP: (3, 4, 5, 11, 12), ICMP6: (1, 2, 3, 4)}
# Requests with their replies (pf.c pf_icmp_mapping).
QUERIES = {ICMP: ((8, 0), (13, 14), (15, 16), (17, 18), (33, 34), (35, 36), (10, 9)), ICMP6: ((128, 129), (130, 131), (135, 136), (139, 140), (200, 201))}


@dataclass(frozen=True)
class Packet:
    """`alive`: where nothing has dropped it yet. `queue`: the number of the queue that it is marked with, 0 for none; `tag` likewise.

    `received_on`: the interface that it came in on, None where it begins at the gateway.
    `later`: where it leaves the gateway as a fragment behind the first, though pf saw the whole datagram. `strayed`: where rules translated
    it although it belongs to a flow, so that the states of that flow do not know it any more.
    """

    view: View
    alive: Condition
    tag: Bits
    queue: Bits
    received_on: str | None
    later: Condition
    strayed: Condition

    @property
    def algebra(self) -> Algebra:
        return self.view.algebra

    def seen(self, **bits: Bits) -> "Packet":
        """The same packet with other bits."""
        return replace(self, view=self.view.seen(**bits))


def ipv6(view: View) -> Condition:
    """Where it is an IPv6 packet."""
    return view.bits[FAMILY][0]


def of_family(view: View, family: int) -> Condition:
    """Where it is of a family, 4 or 6."""
    six = ipv6(view)
    return six if family == 6 else ~six


def of_protocol(view: View, number: int) -> Condition:
    """Where it is of a protocol."""
    return masked(view.algebra, view.bits[PROTOCOL], number)


def icmp_types(view: View, protocol: int, types: tuple[int, ...]) -> Condition:
    """Where it is ICMP (protocol 1 or 58) of one of these types."""
    found = view.algebra.nothing
    for number in types:
        found = found | masked(view.algebra, view.bits[ICMP_TYPE], number)
    return found & of_protocol(view, protocol)


def icmp_error(view: View) -> Condition:
    """Where it is an ICMP message about another packet."""
    return icmp_types(view, ICMP, _ERRORS[ICMP]) | icmp_types(view, ICMP6, _ERRORS[ICMP6])


def icmp_reply(view: View) -> Condition:
    """Where it is an ICMP answer."""
    return icmp_types(view, ICMP, tuple(reply for _, reply in QUERIES[ICMP])) | icmp_types(view, ICMP6, tuple(reply for _, reply in QUERIES[ICMP6]))


def whole(view: View) -> Condition:
    """Where it is no fragment."""
    return masked(view.algebra, view.bits[FRAGMENT], 0)


def tos_seen(view: View, features: Features) -> Bits:
    """The ToS byte that pf goes by."""
    tos = view.bits[TOS]
    if features.ecn_masked:
        tos = (*tos[:6], *constant(view.algebra, 0, 2))
    if not features.tos_of_ipv6:
        four = of_family(view, 4)
        tos = tuple(bit & four for bit in tos)
    return tos


def empty_ack(view: View, features: Features) -> Condition:
    """Where it is a TCP segment with ACK and without payload, of a family for which pf looks."""
    found = masked(view.algebra, view.bits[FLAGS], ACK, ACK) & masked(view.algebra, view.bits[PAYLOAD], 0) & of_protocol(view, TCP) & whole(view)
    return found if features.empty_acks_of_ipv6 else found & of_family(view, 4)


def low_delay(view: View, features: Features) -> Condition:
    """Where pf sees the ToS bit 0x10."""
    return masked(view.algebra, tos_seen(view, features), LOW_DELAY, LOW_DELAY)


def states_icmp(opener: View, later: View, features: Features, reply: bool) -> Condition:
    """Where a later packet belongs to the opener's state as far as ICMP types tell.

    Errors belong to another state. Newer releases keep a state a kind of query, and let requests through in its direction, answers against it;
    other types get a state of their own, which lets no answer through.
    """
    algebra = later.algebra
    icmp = of_protocol(later, ICMP) | of_protocol(later, ICMP6)
    if not features.icmp_replies_need_state:
        return ~icmp_error(later)
    fits = algebra.nothing
    for protocol, pairs in QUERIES.items():
        for request, answer in pairs:
            fits = fits | icmp_types(opener, protocol, (request, answer)) & icmp_types(later, protocol, (answer if reply else request,))
    if not reply:
        queries = icmp_types(opener, ICMP, sum(QUERIES[ICMP], ())) | icmp_types(opener, ICMP6, sum(QUERIES[ICMP6], ()))
        fits = fits | ~queries & same(algebra, opener.bits[ICMP_TYPE], later.bits[ICMP_TYPE])
    return ~icmp | fits & ~icmp_error(later)
