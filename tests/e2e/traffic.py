"""Crafted traffic for a gateway, and the class that the plan's reference gives each packet on every device with queues.

A packet is written down as the inside sees it; its wire form (NAT) is worked out for the side it is sent from.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_interface
from typing import Literal

from pfq.plan.classify import EXCLUDED, classify, flow_class
from pfq.plan.model import Gateway, Tree, Uplink
from pfq.targets.linux_kernels import has
from pfq.targets.linux_queues import Root, addresses, beside_address, control_class, roots
from tests.e2e.packet import ACK, FRAGMENT, ICMP, ICMP6, RST, SYN, TCP, UDP, Packet, fragments
from tests.e2e.ports import Port, mac
from tests.e2e.reference import seen
from tests.e2e.shapes import brief, every_shape

GATEWAY = "gateway"
_MSS = b"\x02\x04\x05\xb4"
_LINK_LAYERS = ("ethernet", "vlan")

# Devices with queues and the one class that counts there; a device without an entry counts nothing.
Expected = dict[str, str]
Exit = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Step:
    """Something sent at once by the far end of a device or by the gateway, and where it must be counted.

    expected: None where nothing is asked. out: device, source and destination as they come out, None where nothing is asked.
    command: run on the gateway instead.
    """

    what: str
    origin: str
    data: tuple[bytes, ...]
    expected: Expected | None
    out: Exit | None = None
    segment: int = 0
    padding: int = 0
    frame: bool = False
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """A connection: its first packet as the inside sees it, the device it comes in by and the one it leaves by."""

    first: Packet
    came_by: str
    leaves_by: str


@dataclass(slots=True)
class Traffic:
    """Builds the steps for one gateway. inside: the port of the inside hosts; links: the ports of the uplinks; far: an address behind each link."""

    gateway: Gateway
    inside: Port
    links: tuple[Port, ...]
    steps: list[Step] = field(default_factory=list)
    routes: dict[str, set[str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(20_000))
    _roots: tuple[Root, ...] = ()

    def __post_init__(self) -> None:
        self._roots = roots(self.gateway)

    # --- the plan's view

    def uplink(self, device: str) -> Uplink | None:
        return next((uplink for uplink in self.gateway.uplinks if uplink.interface == device), None)

    def port(self, device: str) -> Port:
        return next(port for port in (self.inside, *self.links) if port.device == device)

    def _own(self, device: str, version: int) -> str:
        """The gateway's address on a device."""
        return next(str(own) for each in self.port(device).addresses if (own := ip_interface(each).ip).version == version)

    def _place(self, tree: Tree, name: str | None) -> Expected:
        """The device and the class's name there; {} for what passes by without being counted."""
        root, planted = next((root, planted) for root in self._roots for planted in root.planted if planted.tree is tree)
        if name is EXCLUDED:
            return {} if tree.where == "ingress" else {root.interface: beside_address(root)}
        return {root.interface: addresses(root, planted)[name]}

    def _class(self, uplink: Uplink, flow: Flow, packet: Packet, way: Literal["up", "down"], stray: bool) -> str | None:
        classifier = uplink.classifier
        far = ip_address(packet.destination if way == "up" else packet.source)
        if any(far.version == network.version and far in network for network in classifier.exclude):
            return EXCLUDED
        origin = ip_address(flow.first.source)
        beside = any(origin.version == network.version and origin in network for network in classifier.exclude)
        leaving = flow.leaves_by == uplink.interface and (flow.came_by != uplink.interface or beside)
        of_flow = flow_class(classifier, seen(flow.first), "inside" if leaving else "outside")
        if stray and of_flow is not EXCLUDED:
            # The reference knows flows by their first packet; one that was never seen has none.
            of_flow = classifier.default
        name = classify(classifier, seen(packet), of_flow)
        # The accepted difference `ipv6-extension-express`: rules do not see such an ACK, the program for arriving packets does, low delay shows
        # all the same, and conntrack takes an atomic fragment's header off.
        on_arrival = way == "down" and uplink.down is not None and uplink.down.where == "ingress"
        behind = set(packet.extensions) - {FRAGMENT} and not on_arrival and not packet.tos & 0x10
        return of_flow if behind and not has(self.gateway.system, "inner-header") else name

    def expected(self, flow: Flow, packet: Packet, entering: str, leaving: str | None, stray: bool = False) -> Expected:
        """Where a packet of the flow counts that comes in by `entering` and goes out by `leaving` (None: it goes nowhere)."""
        found: Expected = {}
        if leaving is not None and leaving != GATEWAY:
            found |= self._beside(leaving)
        for uplink in self.gateway.uplinks:
            down = uplink.down
            if entering == uplink.interface and down is not None:
                name = self._class(uplink, flow, packet, "down", stray)
                if down.where == "ingress" or (down.where == "inside" and leaving == down.interface):
                    found |= self._place(down, name)
            if leaving == uplink.interface:
                found |= self._place(uplink.up, self._class(uplink, flow, packet, "up", stray))
        return found

    def _beside(self, device: str) -> Expected:
        """Where that counts which leaves by a device and is no link's."""
        here = (device, self.port(device).carrier)
        # CAKE on an inside interface shapes what is not the link's, too.
        apart = [root for root in self._roots if root.interface in here and root.beside is not None and root.scheduler != "cake"]
        return {root.interface: beside_address(root) for root in apart}

    # --- the wire's view

    def _translated(self, flow: Flow, address: str, device: str) -> str:
        """What an inside address of a flow is called beyond `device`."""
        uplink = self.uplink(device)
        if uplink is None:
            return address
        inner = ip_address(address)
        for pair in uplink.one_to_one:
            if pair.inside == inner:
                return str(pair.outside)
        if uplink.nat is False or inner.version != 4 or address != flow.first.source or flow.leaves_by != device:
            return address
        own = [network for arm in self.gateway.inside for network in arm.networks if network.version == 4]
        far = ip_address(flow.first.destination)
        if not any(inner in network for network in own) or any(far in network for network in own):
            return address
        return self._own(device, 4) if uplink.nat is True else str(uplink.nat)

    def route(self, address: str, device: str) -> None:
        """See to it that the gateway sends packets for an address to a device."""
        if device != GATEWAY:
            self.routes.setdefault(device, set()).add(address)

    def _send(
        self, what: str, flow: Flow, packet: Packet, back: bool, leaves: bool = True, stray: bool = False, segment: int = 0, padding: int = 0,
        expected: Expected | None = None,
    ) -> None:
        """One packet of a flow; `packet` as the inside sees it."""
        entering, leaving = (flow.leaves_by, flow.came_by) if back else (flow.came_by, flow.leaves_by)
        at_entry, at_exit = packet, packet
        if entering != GATEWAY:
            at_entry = replace(packet, destination=self._translated(flow, packet.destination, entering))
        if leaving != GATEWAY:
            at_exit = replace(packet, source=self._translated(flow, packet.source, leaving))
        if expected is None:
            expected = self.expected(flow, packet, entering, leaving if leaves else None, stray)
        if leaving == GATEWAY and packet.protocol == TCP and not packet.flags & RST:
            # Nobody on the gateway waits for it (RFC 9293, section 3.10.7.1).
            reset = packet.back(flags=RST if packet.flags & ACK else RST | ACK, payload=0, tcp_options=b"")
            expected |= self.expected(flow, reset, GATEWAY, entering)
        policed = (arriving := self.uplink(entering)) is not None and arriving.down is not None and arriving.down.where == "police"
        out = (leaving, at_exit.source, packet.destination) if leaves and leaving != GATEWAY and not (segment or policed or stray) else None
        title = f"{what} {'back ' if back else ''}{entering}>{leaving} {packet.source}>{packet.destination} {packet.protocol}/{packet.port}"
        # A policer may have dropped it.
        self.steps.append(Step(title, entering, (at_entry.data(),), None if policed and not out and back else expected, out, segment, padding))

    # --- flows

    def connection(self, flow: Flow, full: bool) -> None:
        """A TCP connection with packets both ways: of every shape, or a few."""
        self._send("SYN", flow, flow.first, False)
        self._send("SYN ACK", flow, flow.first.back(flags=SYN | ACK), True)
        self.segments(flow, full)

    def segments(self, flow: Flow, full: bool) -> None:
        """What follows once a connection is open."""
        back = flow.first.back(tcp_options=b"", payload=0, tos=0)
        for packet, turned in ((replace(flow.first, tcp_options=b"", tos=0), False), (back, True)):
            for what, shape in every_shape(packet) if full else brief(packet):
                # conntrack holds a SYN against the direction for another connection's.
                if not (turned and shape.flags == SYN):
                    self._send(what, flow, shape, turned)

    def command(self, *words: str) -> None:
        """A command on the gateway."""
        self.steps.append(Step(" ".join(words), "", (), {}, command=words))

    def exchange(self, flow: Flow) -> None:
        """Datagrams both ways."""
        start = flow.first.payload if isinstance(flow.first.payload, bytes) else b""
        for what, packet in (("first", flow.first), ("again", replace(flow.first, payload=start + bytes(900))), ("low delay", replace(flow.first, tos=0x10))):
            self._send(what, flow, packet, False)
        if flow.came_by == GATEWAY:
            return
        back = flow.first.back(payload=start + bytes(200), tos=0)
        for what, packet in (("answer", back), ("low delay", replace(back, tos=0x12)), ("expedited", replace(back, tos=0xB8))):
            self._send(what, flow, packet, True)

    def flow(self, first: Packet, came_by: str, leaves_by: str) -> Flow:
        """A flow with numbers of its own; its ends are routed to its devices."""
        number = next(self._numbers)
        if first.protocol in (TCP, UDP) and not first.source_port:
            first = replace(first, source_port=number)
        if first.protocol in (ICMP, ICMP6):
            first = replace(first, identifier=number & 0xFFFF, icmp=(8, 0) if first.protocol == ICMP else (128, 0))
        if first.protocol == TCP:
            first = replace(first, flags=SYN, tcp_options=_MSS)
        self.route(first.source, came_by)
        self.route(first.destination, leaves_by)
        return Flow(first, came_by, leaves_by)

    def run(self, first: Packet, came_by: str, leaves_by: str, full: bool = False) -> Flow:
        """All packets of one flow."""
        flow = self.flow(first, came_by, leaves_by)
        if not self._admitted(flow):
            self._send("not admitted", flow, flow.first, False, leaves=False)
        elif first.protocol == TCP:
            self.connection(flow, full)
        else:
            self.exchange(flow)
        return flow

    def glance(self, first: Packet, came_by: str, leaves_by: str) -> None:
        """The fewest packets of a flow that tell its class in both directions."""
        flow = self.flow(first, came_by, leaves_by)
        if not self._admitted(flow):
            self._send("not admitted", flow, flow.first, False, leaves=False)
            return
        self._send("first", flow, flow.first, False)
        if first.protocol == TCP:
            # conntrack takes data before the answer for another connection's.
            self._send("SYN ACK", flow, flow.first.back(flags=SYN | ACK), True)
            self._send("data", flow, replace(flow.first, flags=ACK, tcp_options=b"", payload=1, tos=0), False)
        start = flow.first.payload if isinstance(flow.first.payload, bytes) else b""
        self._send("answer", flow, flow.first.back(flags=ACK, tcp_options=b"", payload=start + bytes(200), tos=0), True)

    def _admitted(self, flow: Flow) -> bool:
        """Whether the inbound policy of the link it comes in by lets it in."""
        uplink = self.uplink(flow.came_by)
        if uplink is None or uplink.inbound is None:
            return True
        packet = flow.first
        protocol = {TCP: "tcp", UDP: "udp", ICMP: "icmp", ICMP6: "icmp"}.get(packet.protocol)
        return any(
            service.protocol == protocol and (service.ports is None or service.ports[0] <= packet.port <= service.ports[1])
            for service in uplink.inbound.services
        )

    def strays(self, source: str, destination: str, came_by: str, leaves_by: str) -> None:
        """TCP from the middle of connections that nobody saw open."""
        for port, flags, payload in ((53, ACK, 10), (22, ACK, 0), (80, SYN | ACK, 0), (22, 4, 0), (443, ACK | 1, 5)):
            first = Packet(source, destination, TCP, next(self._numbers), port, flags, payload)
            self.route(source, came_by)
            self.route(destination, leaves_by)
            self._send("stray", Flow(first, came_by, leaves_by), first, False, stray=True)

    def pieces(self, source: str, destination: str, came_by: str, leaves_by: str, port: int) -> None:
        """A datagram in fragments: conntrack puts them together, but queues on arrival see them one by one."""
        flow = self.flow(Packet(source, destination, UDP, 0, port, payload=2900), came_by, leaves_by)
        if not self._admitted(flow):
            return
        size = 1400 if flow.first.version == 4 else 1208
        # One after another: on arrival each is its own; all leave when the last is there.
        entry = replace(flow.first, destination=self._translated(flow, destination, came_by))
        parts = fragments(entry, size)
        arriving = self.uplink(came_by)
        on_arrival = arriving is not None and arriving.down is not None and arriving.down.where == "ingress"
        everywhere = self.expected(flow, flow.first, came_by, leaves_by)
        for index, part in enumerate(parts):
            wanted = dict(everywhere) if index == len(parts) - 1 else {}
            if on_arrival and arriving is not None and arriving.down is not None:
                alone = flow.first if index == 0 else replace(flow.first, port=0, source_port=0)
                classifier = arriving.classifier
                # A later fragment has no ports: on arrival it is a flow of its own.
                view = replace(seen(alone), fragment=index > 0)
                of_flow = flow_class(classifier, view, "outside")
                wanted |= self._place(arriving.down, classify(classifier, view, of_flow))
            self.steps.append(Step(f"fragment {index} {came_by}>{leaves_by} {source}>{destination}", came_by, (part,), wanted))

    def super_packets(self, flow: Flow) -> None:
        """Segments that a card has not cut yet, both ways, of a connection that is open."""
        for back in (False, True):
            base = flow.first.back() if back else flow.first
            entering = flow.leaves_by if back else flow.came_by
            if entering != GATEWAY and self.port(entering).kind in _LINK_LAYERS:
                packet = replace(base, flags=ACK, payload=12_000, tcp_options=b"", tos=0)
                self._send("super-packet", flow, packet, back, segment=1_200)

    def padded(self, flow: Flow) -> None:
        """Short packets filled up to Ethernet's least length."""
        if flow.came_by != GATEWAY and self.port(flow.came_by).kind in _LINK_LAYERS:
            self._send("padded", flow, replace(flow.first, flags=ACK, tcp_options=b"", payload=0), False, padding=6)
            self._send("padded", flow, replace(flow.first, flags=ACK, tcp_options=b"", payload=3), False, padding=3)

    def address_resolution(self) -> None:
        """ARP: the gateway's answer is a frame without an IP header."""
        for number, port in enumerate((self.inside, *self.links)):
            if port.kind != "ethernet" or port.device not in {root.interface for root in self._roots}:
                continue
            root = next(root for root in self._roots if root.interface == port.device)
            own = next((ip_interface(each) for each in port.addresses if "." in each), None)
            if own is None or root.planted[0].uplink.queue_on != root.planted[0].uplink.interface:
                continue
            sender = next((host for host in port.hosts if "." in host), None)
            if sender is None:
                continue
            hardware = mac(number, True).replace(":", "")
            ask = f"ffffffffffff{hardware}08060001080006040001{hardware}{ip_address(sender).packed.hex()}000000000000{own.ip.packed.hex()}"
            planted = root.planted[0]
            wanted = self._beside(port.device)
            if planted.tree.where != "inside":
                wanted = {root.interface: self._control(root)}
            elif root.beside is None or root.scheduler == "cake":
                continue
            arriving = self.uplink(port.device)
            if arriving is not None and arriving.down is not None and arriving.down.where == "ingress":
                wanted |= self._place(arriving.down, arriving.classifier.unclassified or arriving.classifier.default)
            self.steps.append(Step(f"ARP on {port.device}", port.device, (bytes.fromhex(ask),), wanted, frame=True))

    @staticmethod
    def _control(root: Root) -> str:
        """Where a frame without an IP header counts: as the model says, else by the scheduler's nature."""
        planted = root.planted[0]
        names = addresses(root, planted)
        if root.scheduler == "cake" and planted.uplink.classifier.unclassified is None:
            return max(names.values())
        return names[control_class(planted.uplink, planted.tree)]

    def to_gateway(self, source: str, device: str, version: int) -> None:
        """A ping and a refused connection from outside, answered by the gateway's own stack."""
        own = self._own(device, version)
        ping = Packet(source, own, ICMP if version == 4 else ICMP6, payload=40)
        refused = Packet(source, own, TCP, 0, 9)
        for first in (ping, refused):
            flow = self.flow(first, device, GATEWAY)
            if not self._admitted(flow):
                continue
            wanted = self.expected(flow, flow.first, device, None)
            if first is ping:
                wanted |= self.expected(flow, flow.first.back(), GATEWAY, device)
            self._send("to the gateway", flow, flow.first, False, expected=wanted)

    def ports(self) -> tuple[Port, tuple[Port, ...]]:
        """The ports with a route for every address that a flow has used."""

        def routed(port: Port) -> Port:
            hops = {ip_address(host).version: host for host in reversed(port.hosts)} if port.kind in _LINK_LAYERS else {}
            used = sorted(self.routes.get(port.device, set()) - set(port.hosts))
            return replace(port, routes=(*port.routes, *((address, hops.get(ip_address(address).version)) for address in used)))

        return routed(self.inside), tuple(routed(port) for port in self.links)

