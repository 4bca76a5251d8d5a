"""What can be told apart about packets: the fields of the header space, in bits.

Two packets of a flow are in view: the one that opens it, and a later one. They share addresses, protocol and ports (a reply has them
the other way round); everything else each has for itself. `LATER` gives the later packet's name for a field.
"""

from collections.abc import Mapping
from types import MappingProxyType

FAMILY = "family"  # 0: IPv4, 1: IPv6
PROTOCOL = "protocol"
SOURCE = "source"  # as the flow's opener writes it, before any translation; IPv4 in the low 32 bits, the others mean nothing then
DESTINATION = "destination"
SOURCE_PORT = "source_port"  # TCP and UDP
DESTINATION_PORT = "destination_port"

FLAGS = "flags"  # TCP: FIN 1, SYN 2, RST 4, PUSH 8, ACK 16, URG 32, ECE 64, CWR 128
TOS = "tos"  # the whole byte, or IPv6's traffic class
PAYLOAD = "payload"  # bytes behind the transport header (TCP: behind its options)
FRAGMENT = "fragment"  # 0: no fragment, 1: the first of several, 2: a later one, which has no transport header, 3: an atomic one (IPv6)
HEADER_WORDS = "header_words"  # IPv4 header's length in words of 4 bytes, 5 to 15
EXTENSION_WORDS = "extension_words"  # IPv6: destination options before the transport header, in words of 8 bytes; 0 is none
OFFSET_WORDS = "offset_words"  # TCP header's length in words of 4 bytes, 5 to 15
ICMP_TYPE = "icmp_type"
ICMP_CODE = "icmp_code"
TRANSLATED_PORT = "translated_port"  # the source port that NAT picks: any

OF_FLOW: Mapping[str, int] = MappingProxyType({
    FAMILY: 1, PROTOCOL: 8, DESTINATION_PORT: 16, SOURCE_PORT: 16, SOURCE: 128, DESTINATION: 128, TRANSLATED_PORT: 16,
})
OF_PACKET: Mapping[str, int] = MappingProxyType({
    FLAGS: 8, TOS: 8, PAYLOAD: 16, FRAGMENT: 2, HEADER_WORDS: 4, EXTENSION_WORDS: 2, OFFSET_WORDS: 4, ICMP_TYPE: 8, ICMP_CODE: 8,
})
LATER: Mapping[str, str] = MappingProxyType({name: f"later_{name}" for name in OF_PACKET})

# From the top of a decision diagram to its bottom: what rules ask of one value at a time first, addresses last.
ORDER: Mapping[str, int] = MappingProxyType(
    {FAMILY: OF_FLOW[FAMILY], PROTOCOL: OF_FLOW[PROTOCOL]}
    | dict(OF_PACKET)
    | {LATER[name]: width for name, width in OF_PACKET.items()}
    | {name: width for name, width in OF_FLOW.items() if name not in (FAMILY, PROTOCOL)}
)
