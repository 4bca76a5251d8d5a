"""One run: a gateway's uplink with or without its plan, the line behind it, and a scenario's traffic."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from random import Random
from typing import Literal

from pfq.diagnostics import refuse
from pfq.plan.classify import ACK, ICMP, TCP, UDP, classify, flow_class
from pfq.plan.classify import Packet as Seen
from pfq.plan.model import Gateway, Tree, Uplink
from pfq.simulate.disciplines import Made, counted_lengths, make
from pfq.simulate.events import Events
from pfq.simulate.gate import Gate
from pfq.simulate.line import Line
from pfq.simulate.packet import SECOND, Deliver
from pfq.simulate.scenario import Buffer, Flow, Scenario
from pfq.simulate.schedulers.cake_flows import HOST_SHIFT
from pfq.simulate.schedulers.interleave import Interleave
from pfq.simulate.schedulers.policer import Policer
from pfq.simulate.statistics import Bins, Histogram
from pfq.simulate.tcp import Way
from pfq.simulate.traffic import Ends, Pages, Ping, Shell, Stream, Transfer
from pfq.site.encapsulation import ceil_div
from pfq.site.model import Direction

# Points of a picture; samples of queues in each.
BINS = 300
SAMPLES = 4
UNSETTLED = 5 * SECOND
# Packets of one sender that wait for the tunnel.
TUNNEL_LIMIT = 50
# More packets than this take minutes; nobody waits for that by accident.
MOST_PACKETS = 100_000_000
# A packet takes some 300 bytes while it is under way.
MOST_HELD = 1_000_000
# Addresses of servers and, where the model names no inside network, of inside hosts (RFC 2544; RFC 1918).
_SERVERS, _INSIDE = IPv4Address("198.18.0.0"), IPv4Address("10.99.0.0")

Manner = Literal["plan", "none", "interleaved"]


@dataclass(slots=True)
class PhaseResult:
    """What happened in a phase: pings, and goodput (bit/s of TCP and UDP payload) by direction."""

    name: str
    start: int
    stop: int
    ping: Histogram
    up: float = 0.0
    down: float = 0.0


@dataclass(slots=True)
class ClassResult:
    """A class of one direction: packets waiting over time (mean of each bin), the most that were seen waiting, drops."""

    direction: Direction
    name: str
    waiting: list[float | None] = field(default_factory=list)
    most: int = 0
    drops: int = 0


@dataclass(slots=True)
class BufferResult:
    """A bottleneck's own buffer, in bytes of the line. `time`: ns that the most took to leave."""

    direction: Direction
    name: str
    waiting: list[float | None]
    most: int
    time: int
    drops: int


@dataclass(slots=True)
class Result:
    """A run. Series have one value a bin of `width` ns; goodput in bit/s, ping in ns."""

    label: str
    duration: int
    width: int
    packets: int
    phases: list[PhaseResult]
    up: list[float]
    down: list[float]
    ping: list[float | None]
    ping_least: list[int]
    ping_most: list[int]
    classes: list[ClassResult]
    buffers: list[BufferResult]
    shell: Histogram
    pages: Histogram
    streams: dict[str, Histogram]
    hosts: dict[str, list[int]]
    schedulers: list[str]


def buffer_of(buffer: Buffer, rate: int, largest: int) -> tuple[int | None, int]:
    """(packets or None, bytes of the line). A buffer of time holds at least 16 full packets of `largest` bytes."""
    if buffer.packets is not None:
        return buffer.packets, 0
    if buffer.size is not None:
        return None, buffer.size
    assert buffer.time is not None
    return None, max(rate * buffer.time // (8 * SECOND), 16 * largest)


class World:
    """Everything of one run. manner: 'plan': with the plan's schedulers; 'none': packets go straight to the modem; 'interleaved': up, through a
    tunnel that shares by bytes instead."""

    def __init__(self, gateway: Gateway, uplink: Uplink, down_rate: int, scenario: Scenario, manner: Manner, seed: int) -> None:
        self.uplink, self.scenario = uplink, scenario
        networks = [network for inside in gateway.inside for network in inside.networks]
        self.inside = next((network for network in networks if isinstance(network, IPv4Network)), None)
        self.random = Random(seed)
        self.events = Events()
        self.width = ceil_div(scenario.duration, BINS)
        encapsulation = scenario.real_encapsulation or uplink.encapsulation
        full = encapsulation.line_bytes(uplink.mtu.value)
        up_rate, down_rate = scenario.real_up or uplink.up.line, scenario.real_down or down_rate
        self._check_size(up_rate + down_rate, full)
        up_packets, up_bytes = buffer_of(scenario.up_buffer, up_rate, full)
        down_packets, down_bytes = buffer_of(scenario.down_buffer, down_rate, full)
        self._check_memory("up", up_rate, up_bytes or (up_packets or 0) * full, scenario.delay_up)
        self._check_memory("down", down_rate, down_bytes or (down_packets or 0) * full, scenario.delay_down)
        self.up_line = Line(self.events, up_rate, encapsulation, scenario.delay_up, up_packets, up_bytes)
        self.down_line = Line(self.events, down_rate, encapsulation, scenario.delay_down, down_packets, down_bytes)
        self.made: dict[Direction, Made] = {}
        self.policer: Policer | None = None
        self.words: list[str] = []
        self.up_send: Deliver = self.up_line.send
        self.by_host = manner == "interleaved"
        if manner == "interleaved":
            self.up_send = Interleave(self.events, up_rate, scenario.delay_up, TUNNEL_LIMIT).send
            self.words.append(f"up: bytes of all senders interleaved in frames, {up_rate} bit/s")
        if manner == "plan":
            self.up_send = self._gate(gateway, "up", uplink.up, self.up_line.send).send
            if uplink.down is not None:
                self._shape_down(gateway, uplink.down)
        if scenario.lan is not None:
            self.up_send = Line(self.events, scenario.lan, encapsulation, 0, 1_000_000, 0, self.up_send).send
        self.phases = [PhaseResult(phase.name, phase.start, phase.stop, Histogram()) for phase in scenario.phases]
        self.ping = Bins(self.width, BINS)
        self.bins: dict[tuple[Direction, int], list[int]] = {}
        self.shell, self.pages = Histogram(), Histogram()
        self.streams: dict[str, Histogram] = {}
        self.flows = 0
        # What is sent later may well be on its way when the run ends: not lost.
        self.settled = scenario.duration - min(UNSETTLED, scenario.duration // 2)
        self._place_flows()

    def _check_size(self, rate: int, full: int) -> None:
        """Refuses what would take minutes: full-size packets both ways, and as many ACKs."""
        packets = rate * self.scenario.duration // (8 * SECOND * full) * 2
        if packets > MOST_PACKETS:
            raise refuse(
                "too-much", f"{packets} packets or so would have to be simulated, at most {MOST_PACKETS} are",
                hint=f"--duration {max(MOST_PACKETS * self.scenario.duration // packets // SECOND, 1)} is what that allows, in seconds",
            )

    def _check_memory(self, direction: Direction, rate: int, buffer: int, delay: int) -> None:
        """Refuses what would hold too many packets at once: of what the buffer and the line hold, no more than windows and streams can fill."""
        flows = self.scenario.flows
        room = buffer + rate * delay // (8 * SECOND)
        windows = sum(item.count * (item.window or self.scenario.tcp.receive_window) for item in flows if item.kind in ("tcp", "web"))
        streams = [item.size for item in flows if item.kind == "udp" and item.direction == direction]
        packets = max(min(room, windows) // self.uplink.mtu.value, room // min(streams) if streams else 0)
        if packets > MOST_HELD:
            raise refuse(
                "too-much", f"{packets} packets or so could be under way {direction} at once, at most {MOST_HELD} are simulated",
                hint=f"a smaller {direction}_buffer, delay, rate or receive_window",
            )

    def _gate(self, gateway: Gateway, direction: Direction, tree: Tree, forward: Deliver | None) -> Gate:
        made = make(gateway.system, self.uplink, tree, self.random)
        self.made[direction] = made
        self.words.append(f"{direction}: {made.words}, {tree.rate.value} bit/s on {tree.interface}")
        return Gate(self.events, made.discipline, made.lengths, forward)

    def _shape_down(self, gateway: Gateway, tree: Tree) -> None:
        if tree.where == "police":
            self.policer = Policer(tree.rate.value, tree.burst.value, counted_lengths(tree), None)
            self.down_line.deliver = self.policer.send
            self.words.append(f"down: Linux police, {tree.rate.value} bit/s, burst {tree.burst.value} bytes")
        else:
            self.down_line.deliver = self._gate(gateway, "down", tree, None).send

    # --- flows

    def _ends(self, item: Flow, host: int) -> Ends:
        """Both ways of a flow of an inside host, classified as the plan says."""
        self.flows += 1
        protocol = {"udp": UDP, "ping": ICMP}.get(item.kind, TCP)
        inside, server = self._inside(host), _SERVERS + 1 + host % 65000
        port = item.port if protocol != ICMP else 0
        source_port = 1024 + self.flows % 60000 if protocol != ICMP else 0
        first = Seen(inside, server, protocol, source_port, port, 0, 100, item.tos)
        classifier = self.uplink.classifier
        label = flow_class(classifier, first, "inside")
        acks = classify(classifier, Seen(inside, server, protocol, source_port, port, ACK, 0, item.tos), label)
        data = classify(classifier, Seen(inside, server, protocol, source_port, port, ACK, 100, item.tos), label)
        return Ends(self._way("up", self.up_send, data, acks, host), self._way("down", self.down_line.send, data, acks, host))

    def _inside(self, host: int) -> IPv4Address:
        network = self.inside
        if network is None:
            return _INSIDE + 10 + host % 65000
        return network[min(10 + host, network.num_addresses - 1)]

    def _way(self, direction: Direction, send: Deliver, data: str | None, acks: str | None, host: int) -> Way:
        tree = self.uplink.up if direction == "up" else self.uplink.down
        if tree is None or data is None:
            return Way(send, None, None, host if self.by_host else self.flows)
        leaves = tree.leaves()
        index = {leaf.name: number for number, leaf in enumerate(leaves)}
        by_host = self.by_host or leaves[index[data]].fair in ("source", "destination")
        # CAKE tells flows and hosts apart both.
        key = (host << HOST_SHIFT) + self.flows if self.uplink.scheduler == "cake" else host if by_host else self.flows
        return Way(send, index[data], index[acks] if acks is not None else None, key)

    def _place_flows(self) -> None:
        for item in self.scenario.flows:
            for number in range(item.count):
                start = item.start + number * item.apart
                if start < item.stop:
                    self.events.at(start, self._flow(item, item.host + number % item.hosts))

    def _bins_of(self, direction: Direction, host: int) -> list[int]:
        return self.bins.setdefault((direction, host), [0] * (BINS + 2))

    def _flow(self, item: Flow, host: int) -> Callable[[int, None], None]:
        ends, events, scenario = self._ends(item, host), self.events, self.scenario
        payload = self.uplink.mtu.value - scenario.tcp.header
        if item.kind == "tcp":
            bins = self._bins_of(item.direction, host)
            kind = replace(scenario.tcp, receive_window=item.window) if item.window else scenario.tcp
            return Transfer(events, kind, ends, item.direction == "up", payload, None, item.stop, bins, self.width).start
        if item.kind == "web":
            bins = self._bins_of("down", host)
            return Pages(events, scenario.tcp, ends, payload, item.size, item.every, item.stop, bins, self.width, self.random, [self.pages]).start
        if item.kind == "ping":
            phases = [(phase.start, phase.stop, phase.ping) for phase in self.phases]
            return Ping(events, ends, item.size, item.every, item.stop, self.settled, self.ping, phases).start
        if item.kind == "udp":
            delays = self.streams.setdefault(item.direction, Histogram())
            way = ends.out if item.direction == "up" else ends.back
            every = max(item.size * 8 * SECOND // item.rate, 1)
            return Stream(events, way, item.size, every, item.stop, self.settled, self._bins_of(item.direction, host), self.width, delays).start
        return Shell(events, ends, item.size, item.every, item.stop, self.settled, self.random, self.shell).start

    # --- the run

    def run(self, label: str, progress: Callable[[float], None] | None = None) -> Result:
        """Runs the scenario. `progress` is called with the part that is done, 0 to 1."""
        waiting = {direction: [Bins(self.width, BINS) for _ in made.queues] for direction, made in self.made.items()}
        buffers = {"up": Bins(self.width, BINS), "down": Bins(self.width, BINS)}
        every = max(self.width // SAMPLES, 1)

        def sample(now: int, _nothing: None) -> None:
            for direction, bins in waiting.items():
                for queue, kept in zip(self.made[direction].queues, bins, strict=True):
                    kept.add(now, queue.count)
            buffers["up"].add(now, self.up_line.backlog(now))
            buffers["down"].add(now, self.down_line.backlog(now))
            self.events.at(now + every, sample)

        def at_start(_now: int, phase: PhaseResult) -> None:
            phase.up, phase.down = self._received("up"), self._received("down")

        def at_stop(_now: int, phase: PhaseResult) -> None:
            seconds = max(phase.stop - phase.start, 1) / SECOND
            phase.up = (self._received("up") - phase.up) * 8 / seconds
            phase.down = (self._received("down") - phase.down) * 8 / seconds

        self.events.at(0, sample)
        for phase in self.phases:
            self.events.at(phase.start, at_start, phase)
            # The last moment that still is handled.
            self.events.at(min(phase.stop, self.scenario.duration - 1), at_stop, phase)
        for step in range(1, BINS + 1):
            self.events.run(min(step * self.width, self.scenario.duration))
            if progress is not None:
                progress(step / BINS)
        return self._result(label, waiting, buffers)

    def _received(self, direction: Direction) -> int:
        return sum(sum(bins) for (way, _), bins in self.bins.items() if way == direction)

    def _series(self, direction: Direction) -> list[float]:
        """Bit/s of payload in each bin; the last one may be short."""
        total = [0] * (BINS + 2)
        for (way, _), bins in self.bins.items():
            if way == direction:
                total = [a + b for a, b in zip(total, bins, strict=True)]
        return [value * 8 * SECOND / self.width for value in total[:BINS]]

    def _result(self, label: str, waiting: dict[Direction, list[Bins]], buffers: dict[str, Bins]) -> Result:
        classes = []
        for direction, made in self.made.items():
            for name, queue, kept in zip(made.names, made.queues, waiting[direction], strict=True):
                classes.append(ClassResult(direction, name, kept.means(), max(kept.most), queue.drops))
        if self.policer is not None:
            classes.append(ClassResult("down", "policed", [], 0, self.policer.drops))
        kept_buffers = []
        ends: tuple[tuple[Direction, str, Line], ...] = (("up", "modem", self.up_line), ("down", "exchange", self.down_line))
        for direction, name, line in ends:
            kept = buffers[direction]
            most = max(kept.most)
            kept_buffers.append(BufferResult(direction, name, kept.means(), most, most * 8 * SECOND // line.rate, line.drops))
        hosts: dict[str, list[int]] = {}
        for (direction, _), bins in sorted(self.bins.items()):
            hosts.setdefault(direction, []).append(sum(bins))
        return Result(
            label, self.scenario.duration, self.width, self.up_line.sent + self.down_line.sent, self.phases, self._series("up"), self._series("down"),
            self.ping.means(), self.ping.least, self.ping.most, classes, kept_buffers, self.shell, self.pages, self.streams, hosts, self.words,
        )
