"""The simplest packet of a set: with the usual value of each field where the set has such a packet, else the smallest one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_address

from pfq.headers import fields as space
from pfq.headers.algebra import Condition
from pfq.headers.bits import masked
from pfq.parity.packet import ACK, PUSH, SYN, WORDS
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP

# The package is wanted for proofs only.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.headers.diagrams import Diagrams

# Hosts beyond the link, of the networks for documentation (RFC 5737, 3849).
FAR = (ip_address("198.51.100.7"), ip_address("2001:db8:ffff::7"))

Usual = tuple[str, Sequence[int] | Callable[[Mapping[str, int]], Sequence[int]]]


def _payload(flags: str) -> Callable[[Mapping[str, int]], Sequence[int]]:
    def of(found: Mapping[str, int]) -> Sequence[int]:
        bare = found[space.PROTOCOL] == TCP and found[flags] != ACK
        return (0, 100) if bare else (100, 0)

    return of


def _icmp(found: Mapping[str, int]) -> Sequence[int]:
    return (8, 128, 0, 129) if found[space.PROTOCOL] in (ICMP, ICMP6) else (0,)


def _of_packet(name: Callable[[str], str], flags: Sequence[int]) -> list[Usual]:
    return [
        (name(space.FRAGMENT), (0,)), (name(space.EXTENSION_WORDS), (0,)), (name(space.HEADER_WORDS), (WORDS, 0)), (name(space.OFFSET_WORDS), (WORDS, 0)),
        (name(space.FLAGS), flags), (name(space.TOS), (0, 0x10, 0xB8)), (name(space.PAYLOAD), _payload(name(space.FLAGS))),
        (name(space.ICMP_TYPE), _icmp), (name(space.ICMP_CODE), (0,)),
    ]  # fmt: skip


def _of_family(addresses: Iterable[int]) -> Callable[[Mapping[str, int]], Sequence[int]]:
    listed = tuple(addresses)
    return lambda found: [value for value in listed if (value >> 32 > 0) == bool(found[space.FAMILY])]


def usual(sources: Iterable[int], destinations: Iterable[int]) -> list[Usual]:
    """The fields in the order in which they are settled, with their usual values, the best first; addresses as given."""
    return [
        (space.FAMILY, (0, 1)),
        (space.PROTOCOL, (TCP, UDP, ICMP, ICMP6)),
        *_of_packet(str, (SYN, ACK, 0)),
        *_of_packet(lambda name: space.LATER[name], (ACK, SYN | ACK, SYN, ACK | PUSH, 0)),
        (space.DESTINATION_PORT, (443, 80, 53, 22, 0)),
        (space.SOURCE_PORT, (40_000, 0)),
        (space.TRANSLATED_PORT, (50_000,)),
        (space.SOURCE, _of_family(sources)),
        (space.DESTINATION, _of_family(destinations)),
    ]


def simplest(diagrams: "Diagrams", where: Condition, order: Sequence[Usual]) -> dict[str, int]:
    """The values of one packet (and a later one of its flow) in the set, which must not be empty."""
    assert where.satisfiable(), "an empty set has no packet"
    found: dict[str, int] = {}
    for name, wanted in order:
        bits = diagrams.field(name)
        for value in wanted(found) if callable(wanted) else wanted:
            part = where & masked(diagrams, bits, value)
            if part.satisfiable():
                where, found[name] = part, value
                break
        else:
            value = 0
            for bit in bits:
                part = where & ~bit
                if part.satisfiable():
                    where = part
                else:
                    where, value = where & bit, value | 1
                value <<= 1
            found[name] = value >> 1
    return found
