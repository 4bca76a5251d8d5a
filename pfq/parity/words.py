"""The words that packets are written with: protocols, TCP flags, ICMP types and codes, code points.

Sources: IANA's registries of protocol numbers and DSCP, RFC 9293 (flags), RFC 3168 (ECN); ICMP's names are pf.conf's (pfq.pf.names).
"""

from pfq.parity.packet import ACK, CWR, ECE, FIN, PUSH, RST, SYN, URG
from pfq.pf.names import ICMP6_CODES, ICMP6_TYPES, ICMP6_TYPES_LATER, ICMP_CODES, ICMP_TYPES
from pfq.plan.classify import ICMP, ICMP6
from pfq.site.schema import DSCP, PROTOCOLS

NUMBERS = PROTOCOLS | {"icmp": ICMP, "icmp6": ICMP6}
PROTOCOL_NAMES = {number: name for name, number in NUMBERS.items()}

FLAG_BITS = {"fin": FIN, "syn": SYN, "rst": RST, "psh": PUSH, "ack": ACK, "urg": URG, "ece": ECE, "cwr": CWR}
NO_FLAGS = "noflags"

# The low delay, throughput and reliability of RFC 1349, and the code points.
TOS_BYTES = {"lowdelay": 0x10, "throughput": 0x08, "reliability": 0x04, "cs0": 0} | {
    name: code << 2 for name, code in DSCP.items() if name != "lowdelay"
}
CODE_POINTS = {"cs0": 0, **DSCP}
ECN = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}

FRAGMENTS = {"whole": 0, "first": 1, "later": 2, "atomic": 3}


def types(six: bool) -> dict[str, int]:
    """ICMP's types by name."""
    return ICMP6_TYPES | ICMP6_TYPES_LATER if six else ICMP_TYPES


def codes(six: bool, of_type: int) -> dict[str, int]:
    """The names of an ICMP type's codes."""
    return {name: value for (number, name), value in (ICMP6_CODES if six else ICMP_CODES).items() if number == of_type}


def name_of(table: dict[str, int], number: int) -> str:
    """The first name of a number, or the number."""
    return next((name for name, value in table.items() if value == number), str(number))
