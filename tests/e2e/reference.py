"""A crafted packet as the reference classifier sees it."""

from ipaddress import ip_address

from pfq.plan import classify
from tests.e2e.packet import ICMP, ICMP6, Packet


def seen(packet: Packet) -> classify.Packet:
    """What `pfq.plan.classify` is asked about; for a packet from outside, give it the addresses that the inside sees."""
    ports = (0, 0) if packet.protocol in (ICMP, ICMP6) else (packet.source_port, packet.port)
    return classify.Packet(
        source=ip_address(packet.source),
        destination=ip_address(packet.destination),
        protocol=packet.protocol,
        source_port=ports[0],
        port=ports[1],
        flags=packet.flags,
        payload=len(packet.body()),
        tos=packet.tos,
    )
