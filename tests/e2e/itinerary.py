"""Which flows a gateway is tried with: every rule of its links hit and just missed, in both directions, and the odd packets."""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address

from pfq.plan.model import Uplink
from pfq.site.model import Match, Network
from tests.e2e.packet import ICMP, ICMP6, TCP, UDP, Packet
from tests.e2e.traffic import GATEWAY, Traffic

# Without a key, carrying IPv4 (RFC 2784): conntrack looks into it.
_GRE = b"\0\0\x08\0" + bytes(36)
_ICMP = {4: ICMP, 6: ICMP6}


def far(index: int, version: int) -> str:
    """An address behind the link with that number."""
    return f"198.51.{100 + index}.7" if version == 4 else f"2001:db8:f{index}::7"


def _some(networks: tuple[Network, ...], version: int, otherwise: str, index: int) -> str:
    own = [network for network in networks if network.version == version]
    if not own:
        return otherwise
    network = own[index % len(own)]
    return str(network[min(5, network.num_addresses - 1)])


def _hits(match: Match, version: int, source: str, destination: str) -> Iterator[Packet]:
    """First packets of flows that the match is for, at the ends of its ranges and just outside."""
    protocol = _ICMP[version] if match.protocol == "icmp" else match.protocol
    if protocol is None:
        protocol = TCP if match.ports or match.source_ports else UDP
    ends = sorted({end for low, high in match.ports for end in (low, high, high + 1)}) or [5_000]
    for index, port in enumerate(ends):
        yield Packet(
            _some(match.sources, version, source, index),
            _some(match.destinations, version, destination, index),
            protocol,
            match.source_ports[0][0] if match.source_ports else 0,
            port if protocol in (TCP, UDP) else 0,
            payload=0 if protocol == TCP else _GRE if protocol == 47 else 40,
            tos=match.dscp[index % len(match.dscp)] << 2 if match.dscp else 0,
        )


def _beyond(traffic: Traffic, uplink: Uplink, came_by: str) -> list[tuple[int, str, str]]:
    """Version, inside end and far end of flows that cross a link."""
    index = list(traffic.gateway.uplinks).index(uplink)
    hosts = traffic.port(came_by).hosts
    inside = {version: [host for host in hosts if ip_address(host).version == version] for version in (4, 6)}
    # On the link's own interface, the first host is the way out.
    return [(version, inside[version][-1 if came_by == uplink.interface else 0], far(index, version)) for version in (4, 6)]


def _rules(traffic: Traffic, uplink: Uplink, came_by: str, full: bool) -> None:
    """Flows for each rule, opened from both sides. Whether a flow matches is the reference's business."""
    device = uplink.interface
    taken: set[tuple[object, ...]] = set()
    for rule in uplink.classifier.rules:
        for version, inner, outer in _beyond(traffic, uplink, came_by):
            for opened in ("inside", "outside"):
                ends = (inner, outer) if opened == "inside" else (outer, inner)
                if opened == "outside" and rule.match.protocol not in (None, TCP, UDP, "icmp"):
                    # Without ports, both directions would be one flow.
                    ends = (str(ip_address(outer) + 1), inner)
                for first in _hits(rule.match, version, *ends):
                    ways = (came_by, device) if opened == "inside" else (device, came_by)
                    key = (first, opened)
                    if key in taken or not _crosses(traffic, first, *ways):
                        continue
                    taken.add(key)
                    (traffic.run if full else traffic.glance)(first, *ways)


def _crosses(traffic: Traffic, packet: Packet, came_by: str, leaves_by: str) -> bool:
    """Whether both ends can be where the flow needs them: no address on two sides."""
    if came_by == leaves_by:
        return packet.source != packet.destination
    for address, device in ((packet.source, came_by), (packet.destination, leaves_by)):
        if any(address in traffic.routes.get(other, ()) for other in traffic.routes if other != device):
            return False
        other_side = (traffic.inside, *traffic.links)
        if any(address in port.hosts for port in other_side if port.device != device):
            return False
        if device != traffic.inside.device and any(address == str(pair.inside) for u in traffic.gateway.uplinks for pair in u.one_to_one):
            return False
    return packet.source != packet.destination


def across(traffic: Traffic, uplink: Uplink, came_by: str, full: bool) -> None:
    """What goes over one link from and to hosts behind `came_by`."""
    device = uplink.interface
    version: int
    for version, inner, outer in _beyond(traffic, uplink, came_by):
        web = traffic.run(Packet(inner, outer, TCP, 0, 80), came_by, device, full)
        open_again = traffic.run(Packet(inner, outer, TCP, 0, 8443), came_by, device)
        traffic.super_packets(open_again)
        traffic.padded(open_again)
        traffic.run(Packet(inner, outer, TCP, 0, 53), came_by, device)
        traffic.run(Packet(inner, outer, UDP, 0, 53, payload=40), came_by, device)
        traffic.run(Packet(inner, outer, _ICMP[version], payload=56), came_by, device)
        traffic.run(Packet(inner, outer, 50, payload=80), came_by, device)
        traffic.run(Packet(outer, inner, TCP, 0, 80), device, came_by, full and version == 6)
        traffic.run(Packet(outer, inner, UDP, 0, 5_060, payload=30), device, came_by)
        traffic.strays(inner, outer, came_by, device)
        traffic.strays(outer, inner, device, came_by)
        traffic.pieces(inner, outer, came_by, device, 53)
        traffic.pieces(outer, inner, device, came_by, 53)
        assert web.leaves_by == device
    for pair in uplink.one_to_one:
        outer = far(0, pair.inside.version)
        traffic.run(Packet(str(pair.inside), outer, TCP, 0, 80), came_by, device)
        traffic.run(Packet(outer, str(pair.inside), TCP, 0, 22), device, came_by)
    _rules(traffic, uplink, came_by, full)


def from_gateway(traffic: Traffic, uplink: Uplink) -> None:
    """What the gateway says itself, and what is said to it."""
    index = list(traffic.gateway.uplinks).index(uplink)
    for version in (4, 6):
        own = next((a for a in traffic.port(uplink.interface).addresses if (":" in a) == (version == 6)), None)
        if own is None:
            continue
        source, outer = own.partition("/")[0], far(index, version)
        traffic.run(Packet(source, outer, TCP, 0, 22), GATEWAY, uplink.interface)
        traffic.run(Packet(source, outer, UDP, 0, 53, payload=30), GATEWAY, uplink.interface)
        traffic.run(Packet(source, outer, _ICMP[version], payload=30), GATEWAY, uplink.interface)
        traffic.to_gateway(outer, uplink.interface, version)


def everything(traffic: Traffic, full: bool, arm: bool) -> None:
    """All of the above for every link of a gateway, from its inside. arm: the inside is on the link's own interface, too."""
    for uplink in traffic.gateway.uplinks:
        across(traffic, uplink, traffic.inside.device, full and not arm)
        if arm:
            across(traffic, uplink, uplink.interface, full)
        from_gateway(traffic, uplink)
    _to_the_inside(traffic)
    traffic.address_resolution()


def _to_the_inside(traffic: Traffic) -> None:
    """What the gateway itself says to inside hosts, which is no link's; CAKE knows no such traffic."""
    if any(uplink.scheduler == "cake" for uplink in traffic.gateway.uplinks):
        return
    device = traffic.inside.device
    for version in (4, 6):
        host = next(host for host in traffic.inside.hosts if ip_address(host).version == version)
        own = next(address for address in traffic.inside.addresses if (":" in address) == (version == 6)).partition("/")[0]
        traffic.run(Packet(own, host, TCP, 0, 22), GATEWAY, device)
        traffic.run(Packet(own, host, UDP, 0, 53, payload=30), GATEWAY, device)


def transit(traffic: Traffic, one: str, other: str, inner: str, outer: str, full: bool = False) -> None:
    """Flows that come in by one link and leave by another, in both orders. inner: an address behind `one`; outer: behind `other`."""
    version = ip_address(inner).version
    for source, destination, ways in ((inner, outer, (one, other)), (outer, inner, (other, one))):
        for port in (80, 53, 22):
            traffic.run(Packet(source, destination, TCP, 0, port), *ways, full=full and port == 80)
        traffic.run(Packet(source, destination, UDP, 0, 53, payload=50), *ways)
        traffic.run(replace(Packet(source, destination, _ICMP[version], payload=50)), *ways)


def failover(traffic: Traffic, one: str, other: str) -> None:
    """Connections that move from one link to another and back: they have a class of their own on each."""
    moved = []
    for version in (4, 6):
        inner = next(host for host in traffic.inside.hosts if ip_address(host).version == version)
        outer = str(ip_address(far(0, version)) + 90)
        flows = [traffic.flow(Packet(inner, outer, TCP, 0, port), traffic.inside.device, one) for port in (80, 53, 22, 25)]
        for flow in flows:
            traffic.connection(flow, False)
        moved.append((version, outer, flows))
    for device in (other, one):
        for version, outer, flows in moved:
            hop = next(host for host in traffic.port(device).hosts if ip_address(host).version == version)
            traffic.command("ip", f"-{version}", "route", "replace", outer, "via", hop, "dev", device, "onlink")
            for flow in flows:
                traffic.segments(replace(flow, leaves_by=device), False)
