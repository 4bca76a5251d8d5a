"""Bulk transfers, pings, page fetches and a typed session, out of one process: on an emulated machine every system call is dear."""

import random
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.latency.line import CLIENT, HOSTS, SERVER, SERVERS
from bench.latency.scenarios import Scenario
from tests.e2e.namespaces import within

LOW_DELAY = 0x10
_PORT, _PAGE_PORT = 5001, 80
_CHUNK = bytes(1 << 16)
# A receiver is woken for so many bytes.
_WAKE = 1 << 14
# linux/tcp.h, struct tcp_info: tcpi_snd_mss and tcpi_delivered, segments that the other side has, in order or not.
_TCP_INFO, _SEGMENT_AT, _DELIVERED_AT = 200, 16, 192
_TIMESTAMP = 35  # SO_TIMESTAMPNS
_ECHO = {4: (8, 0), 6: (128, 129)}
_PAGE_OBJECTS, _OBJECT, _REQUEST = 8, 20_000, 300
_KEY, _KEY_MS = 36, 250
_RANDOM = 7


@dataclass(slots=True)
class Counts:
    """Milliseconds of pings, by ToS, of typed characters and of pages; lost pings; payload bits each way in `seconds`."""

    pings: dict[int, list[float]] = field(default_factory=lambda: {0: [], LOW_DELAY: []})
    sent: dict[int, int] = field(default_factory=lambda: {0: 0, LOW_DELAY: 0})
    keys: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    up: float = 0.0
    down: float = 0.0


def _stream(place: str, family: int) -> socket.socket:
    with within(place):
        return socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_STREAM)


def _listener(family: int, port: int) -> socket.socket:
    found = _stream(SERVER, family)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((SERVERS[family], port))
    found.listen(64)
    return found


def _pair(listener: socket.socket, family: int, host: int) -> tuple[socket.socket, socket.socket]:
    """A connection from a host inside: its end and the server's."""
    near = _stream(CLIENT, family)
    near.bind((HOSTS[family][host], 0))
    near.connect((SERVERS[family], _PORT))
    far, _ = listener.accept()
    return near, far


def _delivered(source: socket.socket) -> int:
    """Bytes that have arrived."""
    known = source.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO)
    return int(struct.unpack_from("=I", known, _SEGMENT_AT)[0] * struct.unpack_from("=I", known, _DELIVERED_AT)[0])


class Traffic:
    """One scenario's traffic; `run` counts for `seconds` after `settle` seconds."""

    def __init__(self, scenario: Scenario, interval_ms: int) -> None:
        self.scenario = scenario
        self.interval = interval_ms / 1000
        self.poll = select.epoll()
        self.actions: dict[int, Callable[[int], None]] = {}
        self.sockets: list[socket.socket] = []
        self.counts = Counts()
        self.counting = False
        self.buffer = bytearray(1 << 20)
        self.random = random.Random(_RANDOM)
        self.timers: list[tuple[float, Callable[[], float]]] = []

    def watch(self, end: socket.socket, events: int, action: Callable[[int], None]) -> None:
        end.setblocking(False)
        self.sockets.append(end)
        self.actions[end.fileno()] = action
        self.poll.register(end.fileno(), events)

    def forget(self, end: socket.socket) -> None:
        self.poll.unregister(end.fileno())
        del self.actions[end.fileno()]
        self.sockets.remove(end)
        end.close()

    def run(self, settle: float, seconds: float) -> Counts:
        scenario, family = self.scenario, self.scenario.family
        listener = _listener(family, _PORT)
        up = [_pair(listener, family, host) for host in range(scenario.hosts) for _ in range(scenario.uploads)]
        down = [_pair(listener, family, host)[::-1] for host in range(scenario.hosts) for _ in range(scenario.downloads)]
        if scenario.ssh:
            self._type(*_pair(listener, family, 0))
        if scenario.web:
            self._browse(_listener(family, _PAGE_PORT))
        self._ping(family)
        start = time.monotonic()
        transfers = [*up, *down]
        self.random.shuffle(transfers)
        for source, sink in transfers:
            self._transfer(source, sink)
            self._turn(start + 0.05)
            start = time.monotonic()
        self._turn(time.monotonic() + settle)
        self.counting = True
        began, before = time.monotonic(), [[_delivered(source) for source, _ in way] for way in (up, down)]
        self._turn(began + seconds)
        after = [[_delivered(source) for source, _ in way] for way in (up, down)]
        took = time.monotonic() - began
        bits = [sum(new - old for new, old in zip(*both, strict=True)) * 8 / took for both in zip(after, before, strict=True)]
        self.counts.up, self.counts.down = bits
        self.counting = False
        # Pings sent in time may still come back.
        self._turn(time.monotonic() + 3)
        for end in [*self.sockets, listener]:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()
        self.poll.close()
        return self.counts

    def _turn(self, until: float) -> None:
        while (now := time.monotonic()) < until:
            following = until
            for index, (due, action) in enumerate(self.timers):
                at = due
                if due <= now:
                    at = now + action()
                    self.timers[index] = (at, action)
                following = min(following, at)
            for descriptor, _ in self.poll.poll(max(following - time.monotonic(), 0)):
                if action_of := self.actions.get(descriptor):
                    action_of(descriptor)

    def _transfer(self, source: socket.socket, sink: socket.socket) -> None:
        def send(_descriptor: int) -> None:
            try:
                while source.send(_CHUNK) == len(_CHUNK):
                    pass
            except BlockingIOError:
                pass

        def receive(_descriptor: int) -> None:
            # MSG_TRUNC: nothing is copied (tcp(7)).
            sink.recv_into(self.buffer, 0, socket.MSG_TRUNC)

        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _WAKE)
        self.watch(sink, select.EPOLLIN, receive)
        self.watch(source, select.EPOLLOUT | select.EPOLLET, send)
        send(0)

    def _ping(self, family: int) -> None:
        request, reply = _ECHO[family]
        protocol = socket.getprotobyname("ipv6-icmp") if family == 6 else socket.IPPROTO_ICMP
        ends: dict[int, socket.socket] = {}
        sent: dict[tuple[int, int], tuple[int, bool]] = {}
        number = [0]
        with within(CLIENT):
            for tos in (0, LOW_DELAY):
                end = ends[tos] = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_RAW, protocol)
                if family == 6:
                    end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
                else:
                    end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        ends[0].setsockopt(socket.SOL_SOCKET, _TIMESTAMP, 1)

        def receive(_descriptor: int) -> None:
            data, notes, _, _ = ends[0].recvmsg(256, 64)
            data = data if family == 6 else data[(data[0] & 15) * 4 :]
            kind, identifier, sequence = data[0], *struct.unpack("!HH", data[4:8])
            found = sent.pop((identifier, sequence), None) if kind == reply else None
            if found and found[1]:
                second, nanosecond = struct.unpack("=qq", notes[0][2])
                self.counts.pings[identifier & 0xFF].append((second * 10**9 + nanosecond - found[0]) / 1e6)

        def send() -> float:
            number[0] += 1
            tos = LOW_DELAY if number[0] % 2 else 0
            header = struct.pack("!BBHHH", request, 0, 0, 0x7000 | tos, number[0])
            body = bytes(16)
            total = sum(struct.unpack(f"!{(len(header) + len(body)) // 2}H", header + body))
            total = (total & 0xFFFF) + (total >> 16)
            header = struct.pack("!BBHHH", request, 0, ~total & 0xFFFF, 0x7000 | tos, number[0])
            self.counts.sent[tos] += self.counting
            sent[0x7000 | tos, number[0]] = (time.time_ns(), self.counting)
            ends[tos].sendto(header + body, (SERVERS[family], 0))
            return self.interval * self.random.uniform(0.5, 1.5)

        self.watch(ends[0], select.EPOLLIN, receive)
        self.sockets.append(ends[LOW_DELAY])
        self.timers.append((time.monotonic(), send))

    def _type(self, near: socket.socket, far: socket.socket) -> None:
        pressed: list[tuple[float, bool]] = []
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            level, option = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if self.scenario.family == 6 else (socket.IPPROTO_IP, socket.IP_TOS)
            end.setsockopt(level, option, LOW_DELAY)

        def echo(_descriptor: int) -> None:
            far.send(far.recv(4096))

        def receive(_descriptor: int) -> None:
            now = time.monotonic()
            for _ in range(len(near.recv(4096)) // _KEY):
                at, counts = pressed.pop(0)
                if counts:
                    self.counts.keys.append((now - at) * 1000)

        def press() -> float:
            pressed.append((time.monotonic(), self.counting))
            near.send(bytes(_KEY))
            return _KEY_MS / 1000 * self.random.uniform(0.5, 1.5)

        self.watch(far, select.EPOLLIN, echo)
        self.watch(near, select.EPOLLIN, receive)
        self.timers.append((time.monotonic(), press))

    def _browse(self, listener: socket.socket) -> None:
        """Pages of several objects over connections of their own, one page after the other."""
        left = [0]
        began = [0.0, 0.0]

        def accept(_descriptor: int) -> None:
            end, _ = listener.accept()

            def answer(_descriptor: int) -> None:
                if end.recv(4096):
                    end.send(bytes(_OBJECT))
                else:
                    self.forget(end)

            self.watch(end, select.EPOLLIN, answer)

        def fetch() -> None:
            end = _stream(CLIENT, self.scenario.family)
            end.setblocking(False)
            end.connect_ex((SERVERS[self.scenario.family], _PAGE_PORT))
            got = [0]

            def ready(_descriptor: int) -> None:
                if not got[0]:
                    got[0] = 1
                    end.send(bytes(_REQUEST))
                    self.poll.modify(end.fileno(), select.EPOLLIN)
                    return
                data = len(end.recv(1 << 16))
                got[0] += data
                if got[0] > _OBJECT or not data:
                    self.forget(end)
                    left[0] -= 1
                    if not left[0] and began[1]:
                        self.counts.pages.append((time.monotonic() - began[0]) * 1000)

            self.watch(end, select.EPOLLOUT, ready)

        def page() -> float:
            if not left[0]:
                left[0] = _PAGE_OBJECTS
                began[:] = [time.monotonic(), float(self.counting)]
                for _ in range(_PAGE_OBJECTS):
                    fetch()
            return 0.5

        self.watch(listener, select.EPOLLIN, accept)
        self.timers.append((time.monotonic(), page))
