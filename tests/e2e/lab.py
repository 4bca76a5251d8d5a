"""A gateway between a client's side and a server's side, in network namespaces; says which class each crafted packet was counted in.

Runs as root, on a test kernel (tests/e2e/kernel) or on the host's kernel for what that can do. The two sides have no addresses and
no stack that answers: every packet that crosses the gateway is one that a test sent.
"""

import contextlib
import os
import socket
import subprocess
import time
from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.e2e.counters import CLASSFUL, INGRESS, ROOT, Counter, CounterSocket, name_of
from tests.e2e.namespaces import LabError, run, run_inside, within, write_setting
from tests.e2e.packet import Packet, read
from tests.e2e.ports import FarEnd, OwnTraffic, Port, configuration, far_end, wiring

CLIENT, SERVER, GATEWAY = "client", "server", "gateway"

INSIDE = Port(
    "eth1",
    ("192.168.1.1/24", "2001:db8:1::1/64"),
    tuple(f"192.168.1.{n}" for n in range(10, 30)) + tuple(f"2001:db8:1::{n:x}" for n in range(16, 36)),
)
UPLINK = Port(
    "eth0",
    ("203.0.113.2/24", "2001:db8:2::2/64"),
    ("203.0.113.1", "2001:db8:2::1"),
    (("default", "203.0.113.1"), ("::/0", "2001:db8:2::1")),
)

# Nothing on the gateway may speak unasked: a router advertisement or a multicast report would be counted with the test's packets.
_QUIET = {
    "net/ipv4/ip_forward": 1,
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
    "net/ipv4/conf/all/send_redirects": 0,
    "net/ipv4/conf/default/send_redirects": 0,
    "net/ipv4/conf/all/accept_source_route": 1,
    "net/ipv4/conf/default/accept_source_route": 1,
    "net/ipv4/icmp_ratelimit": 0,
    "net/ipv6/conf/all/forwarding": 1,
    "net/ipv6/conf/default/forwarding": 1,
    "net/ipv6/conf/default/accept_dad": 0,
    "net/ipv6/conf/default/dad_transmits": 0,
    "net/ipv6/conf/default/router_solicitations": 0,
    "net/ipv6/conf/default/addr_gen_mode": 1,
    "net/ipv6/conf/default/mldv2_unsolicited_report_interval": 1,
}
_SETTLE_SECONDS = 0.005
_PATIENCE_SECONDS = 10.0
# A busy machine takes its time with a packet; only one that nothing ever counts costs all of it.
_QUIET_SECONDS = 0.15
_SILENCE_SECONDS = 0.06


@dataclass(frozen=True, slots=True)
class Count:
    """Packets, and bytes as the discipline counts them."""

    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Observation:
    """What one sending did.

    counted: for each device, the innermost classes that packets were counted in. A packet that went past all classes of a
    discipline ("direct" in htb) is under the discipline's own name ("1:"), as is one of a discipline without classes; CAKE's tins
    are the discipline's name and the tin's number from 1 on, as a packet's priority would name them ("1:3").
    dropped: packets each device's disciplines threw away. arrived: device and IP packet, at the far ends, in the order of the ports.
    """

    counted: Mapping[str, Mapping[str, Count]]
    dropped: Mapping[str, int]
    arrived: tuple[tuple[str, bytes], ...] = field(repr=False)

    def class_on(self, device: str) -> str | None:
        """The class that everything sent was counted in on `device`, None if nothing was. Raises LabError if it was more than one."""
        classes = self.counted.get(device, {})
        if len(classes) > 1:
            raise LabError(f"{device}: packets in more than one class: {dict(classes)}")
        return next(iter(classes), None)

    def packets(self, device: str) -> dict[str, int]:
        """Packets in each class of `device`."""
        return {name: count.packets for name, count in self.counted.get(device, {}).items()}

    def came_out(self, device: str) -> tuple[Packet, ...]:
        """The packets that left the gateway by the device at whose far end they arrived, as read from the wire (NAT applied)."""
        return tuple(read(data) for port, data in self.arrived if port == device)


def _key(counter: Counter) -> tuple[str, int, int, int]:
    return counter.what, counter.index, counter.handle, counter.parent if not counter.handle else 0


@dataclass(frozen=True, slots=True)
class _Change:
    """A discipline or class that counted something."""

    counter: Counter
    count: Count
    drops: int
    tins: tuple[Count, ...]


def _change(before: Counter | None, after: Counter) -> _Change:
    old = (before.packets, before.bytes, before.drops) if before else (0, 0, 0)
    old_tins = before.tins if before and len(before.tins) == len(after.tins) else ((0, 0),) * len(after.tins)
    tins = tuple(Count(new[0] - last[0], new[1] - last[1]) for new, last in zip(after.tins, old_tins, strict=True))
    return _Change(after, Count(after.packets - old[0], after.bytes - old[1]), after.drops - old[2], tins)


def _changes(before: Sequence[Counter], after: Sequence[Counter]) -> list[_Change]:
    """What counted something between two readings; the rest is the same object in both."""
    unchanged = set(map(id, before))
    moved = [each for each in after if id(each) not in unchanged]
    current = set(map(id, after)) if moved else set()
    old = {_key(each): each for each in before if id(each) not in current} if moved else {}
    return [_change(old.get(_key(each)), each) for each in moved]


def _counted(changes: Sequence[_Change]) -> dict[str, Count]:
    """What one device's tree of disciplines did, by innermost class."""
    found: dict[str, Count] = {}
    classes = [change for change in changes if change.counter.what == "class" and change.count.packets]
    parents = {change.counter.parent for change in classes}
    disciplines = {change.counter.handle & 0xFFFF0000 for change in classes}
    for change in classes:
        if change.counter.handle not in parents and change.counter.leaf not in disciplines - {0}:
            found[name_of(change.counter.handle)] = change.count
    for change in changes:
        if change.counter.what != "qdisc" or change.counter.parent not in (ROOT, INGRESS):
            continue
        name = name_of(change.counter.handle)
        if change.tins:
            found |= {f"{name}{number}": tin for number, tin in enumerate(change.tins, 1) if tin.packets}
            continue
        rest = change.count.packets
        size = change.count.bytes
        if change.counter.kind in CLASSFUL:
            rest -= sum(count.packets for count in found.values())
            size -= sum(count.bytes for count in found.values())
        if rest > 0:
            found[name] = Count(rest, size)
    return found


class Lab:
    """The namespaces, from `with Lab() as lab` to the block's end.

    inside, links: the gateway's interfaces; the first of each is where "client" and "server" are.
    """

    def __init__(self, inside: Sequence[Port] = (INSIDE,), links: Sequence[Port] = (UPLINK,)) -> None:
        self._prefix = f"pfq{os.getpid()}-"
        self._ports = (*inside, *links)
        self._far: dict[str, FarEnd] = {}
        self._places = {CLIENT: inside[0].device, SERVER: links[0].device}
        self._inside = {port.device for port in inside}
        self._wires: dict[str, int] = {}
        self._resources = contextlib.ExitStack()

    def namespace(self, place: str) -> str:
        """The name that `ip netns` knows "client", "gateway" or "server" by."""
        return self._prefix + place

    def _side(self, port: Port) -> str:
        return self.namespace(CLIENT if port.device in self._inside else SERVER)

    def __enter__(self) -> Self:
        with self._resources:
            self._build()
            self._resources = self._resources.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._resources.close()

    def _build(self) -> None:
        for place in (CLIENT, GATEWAY, SERVER):
            run(["ip", "netns", "add", self.namespace(place)])
            self._resources.callback(run, ["ip", "netns", "delete", self.namespace(place)])
        gateway = self.namespace(GATEWAY)
        with within(gateway):
            for name, value in _QUIET.items():
                write_setting(name, value)
        for place in (CLIENT, SERVER):
            with within(self.namespace(place)):
                for scope in ("all", "default"):
                    write_setting(f"net/ipv6/conf/{scope}/disable_ipv6", 1)
        ports = [(port, self._wires.setdefault(port.carrier, len(self._wires)), self._side(port)) for port in self._ports]
        plugs = dict.fromkeys(line for port, wire, side in ports for line in wiring(port, wire, gateway, side))
        run(["ip", "-batch", "-"], "\n".join(plugs))
        for place in (CLIENT, SERVER):
            ends = {wire for port, wire, side in ports if side == self.namespace(place) and port.kind != "tun"}
            run(["ip", "-n", self.namespace(place), "-batch", "-"], "\n".join(f"link set far-{wire} up promisc on" for wire in ends))
        for port, wire, side in ports:
            self._far[port.device] = far_end(port, wire, side, gateway)
            self._resources.callback(self._far[port.device].close)
        lines = ["link set lo up", *(line for port, wire, _ in ports for line in configuration(port, wire))]
        run(["ip", "-n", gateway, "-batch", "-"], "\n".join(lines))
        self._own = OwnTraffic(gateway)
        self._resources.callback(self._own.close)
        with within(gateway):
            self._counters = self._resources.enter_context(CounterSocket())
        self._names: dict[int, str] = {}
        self._wait_for_carrier()
        self._wait_for_quiet()

    def _wait_for_carrier(self) -> None:
        """The kernel tells of a link that came up up to a second later: a list of interfaces made before would differ from one made after."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while "NO-CARRIER" in run(["ip", "-n", self.namespace(GATEWAY), "link", "show", "up"]) and time.monotonic() < deadline:
            time.sleep(_SETTLE_SECONDS)

    def _wait_for_quiet(self) -> None:
        """Let the multicast reports pass that a new interface sends."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        quiet_since, last = time.monotonic(), self._counters.read()
        while time.monotonic() - quiet_since < _SILENCE_SECONDS and time.monotonic() < deadline:
            time.sleep(_SETTLE_SECONDS)
            counters = self._counters.read()
            if self._take() or counters != last:
                quiet_since, last = time.monotonic(), counters

    def run_gateway(
        self, command: Sequence[str], text: str | None = None, check: bool = True, settle: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the gateway, `text` on its standard input. Raises LabError if it fails, unless `check` is False.

        settle: wait for the packets to pass that a change of interfaces brings forth.
        """
        done = run_inside(self.namespace(GATEWAY), command, text)
        if settle:
            self._wait_for_quiet()
        if check and done.returncode:
            raise LabError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def set_gateway(self, name: str, value: object) -> None:
        """Set a sysctl of the gateway's namespace by its path below /proc/sys."""
        with within(self.namespace(GATEWAY)):
            write_setting(name, value)

    def devices(self) -> list[str]:
        """Names of the gateway's network devices, now."""
        with within(self.namespace(GATEWAY)):
            return [name for _, name in socket.if_nameindex()]

    def counters(self, device: str) -> list[Counter]:
        """The raw counters of a device's disciplines and classes, now."""
        return [counter for counter in self._counters.read() if self._device(counter.index) == device]

    def _device(self, index: int) -> str:
        if index not in self._names:
            with within(self.namespace(GATEWAY)):
                # The table of names follows what scripts do; only an unknown index makes it stale.
                self._names = dict(socket.if_nameindex())
        return self._names.get(index, f"#{index}")

    def _take(self) -> list[tuple[str, bytes]]:
        return [(port.device, data) for port in self._ports for data in self._far[port.device].take()]

    def _settled(self, before: Sequence[Counter], sent: int) -> tuple[tuple[Counter, ...], list[tuple[str, bytes]]]:
        """Counters once no packet waits and each of those sent has arrived or been dropped (or nothing more comes), and what arrived."""
        arrived = self._take()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        quiet = time.monotonic() + _QUIET_SECONDS
        while True:
            after = self._counters.read()
            waiting = any(counter.backlog for counter in after)
            arrived += self._take()
            seen = len(arrived) + sum(change.drops for change in _changes(before, after)) >= sent
            now = time.monotonic()
            if not waiting and (seen or now > quiet):
                return after, arrived
            if now > deadline:
                raise LabError(f"packets still wait after {_PATIENCE_SECONDS:g} s: {[each for each in after if each.backlog]}")
            time.sleep(_SETTLE_SECONDS)

    def send(self, origin: str, *packets: Packet | bytes, segment: int = 0, padding: int = 0) -> Observation:
        """Send packets to the gateway, and say where they were counted.

        origin: "client", "server", a device whose far end sends, or "gateway" for the gateway's own traffic.
        segment: each packet is a super-packet (GSO) of TCP segments of so many bytes; padding: bytes after each IP packet in its frame.
        """
        self._take()
        before = self._counters.read()
        for packet in packets:
            data = packet.data() if isinstance(packet, Packet) else packet
            if origin == GATEWAY:
                self._own.put(data)
            else:
                self._far[self._places.get(origin, origin)].put(data, segment, padding)
        return self._observe(before, len(packets))

    def send_frame(self, origin: str, frame: bytes) -> Observation:
        """Send a whole link-layer frame, destination address first (ARP and the like), and say where what came of it was counted."""
        self._take()
        before = self._counters.read()
        self._far[self._places.get(origin, origin)].put_frame(frame)
        return self._observe(before, 1)

    def _observe(self, before: Sequence[Counter], sent: int) -> Observation:
        after, arrived = self._settled(before, sent)
        changes: dict[int, list[_Change]] = {}
        for change in _changes(before, after):
            changes.setdefault(change.counter.index, []).append(change)
        counted = {self._device(index): _counted(each) for index, each in changes.items()}
        dropped: Tally[str] = Tally()
        for index, each in changes.items():
            roots = [change for change in each if change.counter.what == "qdisc" and change.counter.parent in (ROOT, INGRESS)]
            dropped[self._device(index)] = sum(change.drops for change in roots)
        return Observation(
            counted={device: classes for device, classes in counted.items() if classes},
            dropped={device: number for device, number in dropped.items() if number},
            arrived=tuple(arrived),
        )

    def send_each(self, origin: str, packets: Iterable[Packet | bytes]) -> list[Observation]:
        """Send packets one at a time."""
        return [self.send(origin, packet) for packet in packets]
