"""The reference: which class a packet of a flow belongs to. Every target is measured against it."""

from dataclasses import dataclass
from typing import Literal

from pfq.plan.model import Classifier, Express
from pfq.site.model import Address, Match, Network

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
ACK = 0x10
LOW_DELAY = 0x10

# The class of a packet that is not shaped.
EXCLUDED = None


@dataclass(frozen=True, slots=True)
class Packet:
    """What a classifier can see of an IP packet, with the addresses the inside sees (before source NAT, after 1:1 NAT).

    payload: bytes after the transport header. tos: the whole byte (IPv6: traffic class), ECN bits included.
    fragment: a fragment other than the first, which has no transport header.
    """

    source: Address
    destination: Address
    protocol: int
    source_port: int = 0
    port: int = 0
    flags: int = 0
    payload: int = 0
    tos: int = 0
    fragment: bool = False


def _inside(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _in(port: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= port <= high for low, high in ranges)


def matches(match: Match, packet: Packet, opened: Literal["inside", "outside"]) -> bool:
    """Whether a flow whose first packet this is, sent from the side `opened`, matches."""
    version = packet.source.version
    protocol = (ICMP if version == 4 else ICMP6) if match.protocol == "icmp" else match.protocol
    return (
        match.opened in ("both", opened)
        and match.family in (None, version)
        and protocol in (None, packet.protocol)
        and (not match.sources or _inside(packet.source, match.sources))
        and (not match.destinations or _inside(packet.destination, match.destinations))
        and (not match.ports or (not packet.fragment and _in(packet.port, match.ports)))
        and (not match.source_ports or (not packet.fragment and _in(packet.source_port, match.source_ports)))
        and (not match.dscp or packet.tos >> 2 in match.dscp)
    )


def flow_class(classifier: Classifier, first: Packet, opened: Literal["inside", "outside"]) -> str | None:
    """The class of the flow that begins with `first`; EXCLUDED if its far end (or, from outside, its origin) is not behind the link."""
    if _inside(first.destination if opened == "inside" else first.source, classifier.exclude):
        return EXCLUDED
    for rule in classifier.rules:
        if matches(rule.match, first, opened):
            return rule.queue
    return classifier.default


def is_express(express: Express, packet: Packet) -> bool:
    """pf's test for the second queue (pf.c pf_test, OpenBSD and FreeBSD): an empty TCP ACK, or ToS bit 0x10."""
    if packet.source.version not in express.families:
        return False
    empty_ack = packet.protocol == TCP and not packet.fragment and bool(packet.flags & ACK) and packet.payload == 0
    return empty_ack or bool(packet.tos & LOW_DELAY)


def classify(classifier: Classifier, packet: Packet, flow: str | None) -> str | None:
    """The class of a packet whose flow has the class `flow` (from `flow_class`)."""
    express = classifier.express
    if flow is not EXCLUDED and express and flow in express.upgraded and is_express(express, packet):
        return express.queue
    return flow
