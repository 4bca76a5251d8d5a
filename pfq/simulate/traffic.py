"""What people do: transfers, pings, calls, a shell, pages. Each is made once and lives through events.

Classes and keys come in as `Way`s, so nothing here knows of plans.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from pfq.simulate.events import Events
from pfq.simulate.packet import SECOND, Packet
from pfq.simulate.receiver import Receiver
from pfq.simulate.statistics import Bins, Histogram
from pfq.simulate.tcp import Sender, TcpKind, Way

SYN = 60
REQUEST = 300
# RFC 6298: a SYN is repeated after a second, then twice that, and so on.
SYN_RTO = SECOND
MOST_TRIES = 8


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ways of a flow that the inside opens: `out` from the inside, `back` from the server."""

    out: Way
    back: Way


class Transfer:
    """A TCP connection: handshake, request, then `total` segments of `payload` bytes up or down. `complete(now)` at its end."""

    __slots__ = ("asked", "complete", "ends", "events", "kind", "opened", "receiver", "sender", "started", "tries", "up")

    def __init__(
        self, events: Events, kind: TcpKind, ends: Ends, up: bool, payload: int, total: int | None, until: int, bins: list[int], width: int,
        complete: Callable[[int], None] | None = None,
    ) -> None:
        self.events = events
        self.kind = kind
        self.ends = ends
        self.up = up
        data, acks = (ends.out, ends.back) if up else (ends.back, ends.out)
        self.receiver = Receiver(events, kind, acks, payload, bins, width, total, complete)
        self.sender = Sender(events, kind, data, payload, self.receiver.on_data, total, until)
        self.receiver.to = self.sender.on_ack
        self.started = False
        self.opened = False
        self.asked = 0
        self.tries = 0

    def start(self, now: int, _nothing: None = None) -> None:
        """The SYN, again and again until it is answered."""
        if self.opened or self.tries >= MOST_TRIES:
            return
        self.asked = now
        way = self.ends.out
        way.send(now, [SYN, way.data_class, way.key, self._at_server, 0, now, None, 0, 0, 0])
        self.events.at(now + (SYN_RTO << self.tries), self.start)
        self.tries += 1

    def _at_server(self, now: int, packet: Packet) -> None:
        way = self.ends.back
        way.send(now, [SYN, way.ack_class, way.key, self._at_client, 0, packet[5], None, 0, 0, 0])

    def _at_client(self, now: int, packet: Packet) -> None:
        if self.opened:
            return
        self.opened = True
        self.tries = 0
        if self.up:
            self.started = True
            self.sender.begin(now, now - self.asked)
        else:
            self._request(now, None)

    def _request(self, now: int, _nothing: None) -> None:
        if self.started or self.tries >= MOST_TRIES:
            return
        way = self.ends.out
        way.send(now, [REQUEST, way.data_class, way.key, self._asked, 0, now, None, 0, 0, 0])
        self.events.at(now + (SYN_RTO << self.tries), self._request)
        self.tries += 1

    def _asked(self, now: int, _packet: Packet) -> None:
        if not self.started:
            self.started = True
            self.sender.begin(now)


class Pages:
    """Short fetches one after the other: `size` bytes each, a pause of `pause` ns on average (exponential) in between."""

    __slots__ = ("bins", "ends", "events", "kind", "pause", "payload", "random", "size", "times", "until", "width")

    def __init__(
        self, events: Events, kind: TcpKind, ends: Ends, payload: int, size: int, pause: int, until: int, bins: list[int], width: int, random: Random,
        times: list[Histogram],
    ) -> None:
        self.events, self.kind, self.ends, self.payload, self.size, self.pause, self.until = events, kind, ends, payload, size, pause, until
        self.bins, self.width, self.random, self.times = bins, width, random, times

    def start(self, now: int, _nothing: None = None) -> None:
        if now >= self.until:
            return
        total = -(-self.size // self.payload)

        def done(then: int) -> None:
            for histogram in self.times:
                histogram.add(then - now)
            self.events.at(then + int(self.random.expovariate(1 / self.pause)), self.start)

        Transfer(self.events, self.kind, self.ends, False, self.payload, total, self.until + 60 * SECOND, self.bins, self.width, done).start(now)


class Ping:
    """ICMP echo of `size` bytes of IP every `every` ns; times go to the histograms of `phases` ((start, stop, histogram)) and to `bins`.

    What is sent from `settled` on and does not come back is not counted as lost: it may be on its way. So with streams and shells."""

    __slots__ = ("bins", "ends", "events", "every", "phases", "settled", "size", "until")

    def __init__(
        self, events: Events, ends: Ends, size: int, every: int, until: int, settled: int, bins: Bins, phases: list[tuple[int, int, Histogram]]
    ) -> None:
        self.events, self.ends, self.size, self.every, self.until, self.settled = events, ends, size, every, until, settled
        self.bins, self.phases = bins, phases

    def start(self, now: int, _nothing: None = None) -> None:
        if now >= self.until:
            return
        # Lost until it comes back.
        for begin, end, histogram in self.phases:
            if begin <= now < end and now < self.settled:
                histogram.lost += 1
        way = self.ends.out
        way.send(now, [self.size, way.data_class, way.key, self._at_server, 0, now, None, 0, 0, 0])
        self.events.at(now + self.every, self.start)

    def _at_server(self, now: int, packet: Packet) -> None:
        way = self.ends.back
        way.send(now, [self.size, way.data_class, way.key, self._back, 0, packet[5], None, 0, 0, 0])

    def _back(self, now: int, packet: Packet) -> None:
        sent = packet[5]
        self.bins.add(sent, now - sent)
        for begin, end, histogram in self.phases:
            if begin <= sent < end:
                histogram.lost -= sent < self.settled
                histogram.add(now - sent)


class Stream:
    """UDP packets of `size` bytes of IP every `every` ns, one way; their one-way delay goes to `delays`, what is lost is counted there."""

    __slots__ = ("bins", "delays", "events", "every", "settled", "size", "until", "way", "width")

    def __init__(self, events: Events, way: Way, size: int, every: int, until: int, settled: int, bins: list[int], width: int, delays: Histogram) -> None:
        self.events, self.way, self.size, self.every, self.until, self.settled = events, way, size, every, until, settled
        self.bins, self.width, self.delays = bins, width, delays

    def start(self, now: int, _nothing: None = None) -> None:
        if now >= self.until:
            return
        self.delays.lost += now < self.settled
        way = self.way
        way.send(now, [self.size, way.data_class, way.key, self._there, 0, now, None, 0, 0, 0])
        self.events.at(now + self.every, self.start)

    def _there(self, now: int, packet: Packet) -> None:
        self.delays.lost -= packet[5] < self.settled
        self.delays.add(now - packet[5])
        self.bins[now // self.width] += packet[0] - 28


class Shell:
    """An ssh session: keys struck `every` ns on average (exponential), each echoed; the time until the echo goes to `times`.

    A key or echo that is lost is sent again as TCP would: after a second, since nothing follows it that could tell.
    """

    __slots__ = ("answered", "ends", "events", "every", "keys", "random", "settled", "size", "times", "until")

    def __init__(self, events: Events, ends: Ends, size: int, every: int, until: int, settled: int, random: Random, times: Histogram) -> None:
        self.events, self.ends, self.size, self.every, self.until, self.settled = events, ends, size, every, until, settled
        self.random, self.times = random, times
        self.keys = 0
        self.answered: set[int] = set()

    def start(self, now: int, _nothing: None = None) -> None:
        if now >= self.until:
            return
        self.keys += 1
        self.times.lost += now < self.settled
        self.answered.add(self.keys)
        self._strike(now, (self.keys, now, 0))
        self.events.at(now + int(self.random.expovariate(1 / self.every)) + 1, self.start)

    def _strike(self, now: int, key: tuple[int, int, int]) -> None:
        number, struck, tries = key
        if number not in self.answered or tries >= MOST_TRIES:
            self.answered.discard(number)
            return
        way = self.ends.out
        way.send(now, [self.size, way.data_class, way.key, self._at_server, number, struck, None, 0, 0, 0])
        self.events.at(now + (SECOND << tries), self._strike, (number, struck, tries + 1))

    def _at_server(self, now: int, packet: Packet) -> None:
        way = self.ends.back
        way.send(now, [self.size, way.data_class, way.key, self._echo, packet[4], packet[5], None, 0, 0, 0])

    def _echo(self, now: int, packet: Packet) -> None:
        if packet[4] in self.answered:
            self.answered.discard(packet[4])
            self.times.lost -= packet[5] < self.settled
            self.times.add(now - packet[5])
