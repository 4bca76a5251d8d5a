"""Which values of the fields are packets at all, and which are ordinary ones.

The proof is about packets that hosts send and lines carry: values that no packet has (a TCP header of two words, ports of ICMP) would
only be noise. Sources: RFC 791, 8200, 9293, 792, 4443; the combinations of TCP flags are those that neither pf (pf_norm.c
pf_normalize_tcp) nor Linux (nf_conntrack_proto_tcp.c tcp_valid_flags) refuses.
"""


from collections.abc import Sequence

from pfq.headers import fields as space
from pfq.headers.algebra import Condition
from pfq.headers.asking import View
from pfq.headers.bits import any_of, at_least, between, masked
from pfq.parity.packet import ACK, FIN, PUSH, RST, SYN, URG, WORDS
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP

# Without the bits that may be set or not in all of them: PUSH and URG with a plain or a last ACK, ECE and CWR always (RFC 3168).
_FLAGS = ((SYN, 0), (SYN | ACK, 0), (ACK, PUSH | URG), (FIN | ACK, PUSH | URG), (RST, 0), (RST | ACK, 0))
_ECN_FLAGS = 0xC0
# Next-header values that are no protocol of their own in IPv6: extension headers.
_EXTENSIONS = (0, 43, 44, 51, 60, 135, 139, 140)
# Packets are 65535 bytes long at most; an IPv6 header, destination options, a fragment header and a TCP header take this many of them at most.
_MOST_PAYLOAD = 65_535 - 40 - 24 - 8 - 60
# ICMP's questions, which begin flows, with the answer to each.
QUESTIONS = {8: 0, 13: 14, 15: 16, 17: 18}
QUESTIONS6 = {128: 129}
# Answers, with those that pf takes for such (RFC 792, 4443, 4861, 2710; pf.c pf_icmp_mapping).
_ANSWERS, _ANSWERS6 = (0, 9, 14, 16, 18, 34, 36), (129, 131, 136, 140, 201)


def well_formed_flow(view: View) -> Condition:
    """Where family, protocol, addresses and ports belong to a packet, and what means nothing is 0."""
    algebra, bits = view.algebra, view.bits
    (six,) = bits[space.FAMILY]
    short = masked(algebra, bits[space.SOURCE][:96], 0) & masked(algebra, bits[space.DESTINATION][:96], 0)
    no_ports = masked(algebra, bits[space.SOURCE_PORT], 0) & masked(algebra, bits[space.DESTINATION_PORT], 0)
    # Port 0 is reserved (IANA), and pf drops what goes there.
    some_ports = at_least(algebra, bits[space.SOURCE_PORT], 1) & at_least(algebra, bits[space.DESTINATION_PORT], 1)
    ports = any_of(algebra, [masked(algebra, bits[space.PROTOCOL], number) for number in (TCP, UDP)])
    extension = any_of(algebra, [masked(algebra, bits[space.PROTOCOL], number) for number in _EXTENSIONS])
    other_icmp = six.ite(masked(algebra, bits[space.PROTOCOL], ICMP), masked(algebra, bits[space.PROTOCOL], ICMP6))
    return (six | short) & ports.ite(some_ports, no_ports) & ~(six & extension) & ~other_icmp


def well_formed_packet(view: View) -> Condition:
    """Where the rest of a packet fits its family and protocol, and what means nothing is 0. What a later fragment does not carry is that of
    its datagram: a gateway that puts fragments together sees it, no other may look."""
    algebra, bits = view.algebra, view.bits
    (six,) = bits[space.FAMILY]

    def zero(*names: str) -> Condition:
        found = algebra.everything
        for name in names:
            found = masked(algebra, bits[name], 0) & found
        return found

    four = zero(space.EXTENSION_WORDS) & at_least(algebra, bits[space.HEADER_WORDS], WORDS) & ~masked(algebra, bits[space.FRAGMENT], 3)
    later = masked(algebra, bits[space.FRAGMENT], 2)
    tcp = masked(algebra, bits[space.PROTOCOL], TCP)
    icmp = six.ite(masked(algebra, bits[space.PROTOCOL], ICMP6), masked(algebra, bits[space.PROTOCOL], ICMP))
    flags = any_of(algebra, [masked(algebra, bits[space.FLAGS], value, 0xFF & ~(_ECN_FLAGS | free)) for value, free in _FLAGS])
    of_tcp = tcp.ite(flags & at_least(algebra, bits[space.OFFSET_WORDS], WORDS), zero(space.FLAGS, space.OFFSET_WORDS))
    of_icmp = icmp | zero(space.ICMP_TYPE, space.ICMP_CODE)
    payload = between(algebra, bits[space.PAYLOAD], 0, _MOST_PAYLOAD)
    # A fragment carries something; of a first one, at least what lies behind a transport header.
    parts = (later | masked(algebra, bits[space.FRAGMENT], 1)) & zero(space.PAYLOAD)
    return six.ite(zero(space.HEADER_WORDS), four) & of_tcp & of_icmp & payload & ~parts


def _is_icmp(view: View, types: Sequence[int], types6: Sequence[int]) -> Condition:
    algebra, bits = view.algebra, view.bits
    (six,) = bits[space.FAMILY]

    def among(listed: Sequence[int], protocol: int) -> Condition:
        return any_of(algebra, [masked(algebra, bits[space.ICMP_TYPE], number) for number in listed]) & masked(algebra, bits[space.PROTOCOL], protocol)

    return six.ite(among(types6, ICMP6), among(types, ICMP))


def begins_no_flow(view: View) -> Condition:
    """Where a packet is an ICMP message that is no question: about another packet, whose class it then has, or about neighbours and routers.
    Nobody has said which class one has that belongs to none."""
    (six,) = view.bits[space.FAMILY]
    icmp = six.ite(masked(view.algebra, view.bits[space.PROTOCOL], ICMP6), masked(view.algebra, view.bits[space.PROTOCOL], ICMP))
    return icmp & ~_is_icmp(view, tuple(QUESTIONS), tuple(QUESTIONS6))


def is_answer(view: View) -> Condition:
    """Where a packet is an ICMP answer, which begins no flow."""
    return _is_icmp(view, _ANSWERS, _ANSWERS6)
