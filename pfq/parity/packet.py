"""One packet with all that the header space tells apart, and its values by the names of `pfq.headers.fields`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import IPv4Address, IPv6Address

from pfq.headers import fields as space
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP
from pfq.site.model import Address

FIN, SYN, RST, PUSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
# Words of 4 bytes of an IPv4 or TCP header without options.
WORDS = 5


@dataclass(frozen=True, slots=True)
class Packet:
    """An IP packet: lengths and numbers as `pfq.headers.fields` has them; what the protocol has not is 0."""

    source: Address
    destination: Address
    protocol: int
    source_port: int = 0
    destination_port: int = 0
    flags: int = 0
    tos: int = 0
    payload: int = 0
    fragment: int = 0
    header_words: int = 0
    extension_words: int = 0
    offset_words: int = 0
    icmp_type: int = 0
    icmp_code: int = 0

    def reply_of(self, opener: "Packet") -> bool:
        """Whether this packet goes the other way of the flow that `opener` opened."""
        return (
            (self.source, self.destination, self.protocol) == (opener.destination, opener.source, opener.protocol)
            and (self.source_port, self.destination_port) == (opener.destination_port, opener.source_port)
        )

    def follows(self, opener: "Packet") -> bool:
        """Whether this packet goes the same way of the flow that `opener` opened."""
        return (
            (self.source, self.destination, self.protocol) == (opener.source, opener.destination, opener.protocol)
            and (self.source_port, self.destination_port) == (opener.source_port, opener.destination_port)
        )

    def opens(self) -> bool:
        """Whether it begins a connection: any packet but TCP's that has no lone SYN."""
        return self.protocol != TCP or self.flags & (SYN | ACK) == SYN


def is_icmp(version: int, protocol: int) -> bool:
    """Whether it is the ICMP of this IP version."""
    return protocol == (ICMP if version == 4 else ICMP6)


def has_ports(protocol: int) -> bool:
    """Whether the header space knows ports of this protocol."""
    return protocol in (TCP, UDP)


def values(packet: Packet) -> dict[str, int]:
    """The fields' values of a packet that belongs to no flow yet."""
    return {name: int(getattr(packet, name)) for name in (*space.OF_FLOW, *space.OF_PACKET) if hasattr(packet, name)} | {
        space.FAMILY: int(packet.source.version == 6)
    }


def flow_values(opener: Packet, later: Packet) -> dict[str, int]:
    """The values of a flow's opening packet and a later one, which may be a reply."""
    more = values(later)
    return values(opener) | {space.LATER[name]: more[name] for name in space.OF_PACKET}


def packet_of(found: Mapping[str, int], later: bool = False, reply: bool = False) -> Packet:
    """The packet that values stand for: the opening one, or the later one, with the addresses as its sender writes them."""
    family = IPv6Address if found.get(space.FAMILY) else IPv4Address
    most = (1 << 128) - 1 if found.get(space.FAMILY) else (1 << 32) - 1
    own = {name: found.get(space.LATER[name] if later else name, 0) for name in space.OF_PACKET}
    ends = (
        (family(found.get(space.SOURCE, 0) & most), found.get(space.SOURCE_PORT, 0)),
        (family(found.get(space.DESTINATION, 0) & most), found.get(space.DESTINATION_PORT, 0)),
    )
    (source, source_port), (destination, destination_port) = reversed(ends) if reply else ends
    return Packet(source, destination, found.get(space.PROTOCOL, 0), source_port, destination_port, **own)


assert set(space.OF_PACKET) <= {field.name for field in fields(Packet)}
