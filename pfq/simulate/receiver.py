"""The receiving end of TCP: delayed ACKs (RFC 5681 4.2), selective acknowledgements (RFC 2018), the echo of timestamps (RFC 7323)."""

from bisect import bisect_left
from collections.abc import Callable

from pfq.simulate.events import Events
from pfq.simulate.packet import CAPABLE, ECHO, EXPERIENCED, Deliver, Packet
from pfq.simulate.tcp import TcpKind, Way

MOST_BLOCKS = 3


def _nowhere(_now: int, _packet: Packet) -> None:
    """A way that has not been joined yet."""


class Receiver:
    """Counts what arrives into `bins` of `width` ns (bytes of payload); calls `complete` after segment `total`."""

    __slots__ = (
        "ack_at", "answer", "begins", "bins", "complete", "delay", "echo", "ends", "events", "expected", "header", "payload", "pending", "received", "recent",
        "sack", "timing", "to", "total", "way", "width",
    )

    def __init__(
        self, events: Events, kind: TcpKind, way: Way, payload: int, bins: list[int], width: int, total: int | None, complete: Callable[[int], None] | None
    ) -> None:
        self.events = events
        self.sack = kind.sack
        self.echo = 0
        self.header = kind.header
        self.way = way
        self.payload = payload
        self.bins = bins
        self.width = width
        self.total = total
        self.complete = complete
        self.delay = kind.delayed_ack
        self.answer = kind.segments_per_ack
        self.expected = 0
        self.pending = 0
        self.ack_at = 0
        self.timing = False
        self.recent = 0
        self.received = 0
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.to: Deliver = _nowhere

    def on_data(self, now: int, packet: Packet) -> None:
        number = packet[4]
        marks = packet[9]
        if marks > CAPABLE:
            # The sender has slowed down, or is asked to; until it says so, every ACK asks (RFC 3168 6.1.3).
            self.echo = ECHO if marks & EXPERIENCED else 0
        if number == self.expected and not self.begins:
            self.expected = number + 1
            self.bins[now // self.width] += self.payload
            self.received += 1
            pending = self.pending
            if not pending:
                # The echo is of the first segment that an ACK answers (RFC 7323 4.3).
                self.recent = packet[5]
            if pending + 1 >= self.answer:
                self._ack(now, None)
            else:
                self.pending = pending + 1
                self.ack_at = now + self.delay
                if not self.timing:
                    self.timing = True
                    events = self.events
                    events.at(now + self.delay, self._late)
            if number + 1 == self.total:
                self._finish(now)
            return
        self._out_of_order(now, number, packet[5])

    def _out_of_order(self, now: int, number: int, sent: int) -> None:
        begins, ends = self.begins, self.ends
        blocks: list[tuple[int, int]] = []
        if number == self.expected:
            self.recent = sent
            self.expected = number + 1
            if begins[0] == self.expected:
                self.expected = ends[0]
                del begins[0], ends[0]
            self._arrived(now)
            if self.total is not None and self.expected >= self.total:
                self._finish(now)
        elif number > self.expected:
            at = bisect_left(ends, number)
            known = at < len(begins) and begins[at] <= number < ends[at]
            if not known:
                self._arrived(now)
            if known:
                pass
            elif at < len(begins) and ends[at] == number:
                ends[at] += 1
                if at + 1 < len(begins) and begins[at + 1] == ends[at]:
                    ends[at] = ends[at + 1]
                    del begins[at + 1], ends[at + 1]
            elif at < len(begins) and begins[at] == number + 1:
                begins[at] = number
            else:
                begins.insert(at, number)
                ends.insert(at, number + 1)
            if self.sack:
                blocks.append((begins[at], ends[at]))
        if self.sack and begins:
            # The block of the newest segment first, then the highest others.
            for index in range(len(begins) - 1, -1, -1):
                if len(blocks) >= MOST_BLOCKS:
                    break
                block = (begins[index], ends[index])
                if block not in blocks:
                    blocks.append(block)
        self._ack(now, blocks or None)

    def _arrived(self, now: int) -> None:
        """Payload counts when it arrives, be there a hole before it or not: a line never seems to carry more than it can."""
        self.bins[now // self.width] += self.payload
        self.received += 1

    def _finish(self, now: int) -> None:
        if self.pending:
            self._ack(now, None)
        complete, self.complete = self.complete, None
        if complete is not None:
            complete(now)

    def _late(self, now: int, _nothing: None) -> None:
        if not self.pending:
            self.timing = False
        elif now < self.ack_at:
            self.events.at(self.ack_at, self._late)
        else:
            self.timing = False
            self._ack(now, None)

    def _ack(self, now: int, blocks: list[tuple[int, int]] | None) -> None:
        self.pending = 0
        way = self.way
        size = self.header + 4 + 8 * len(blocks) if blocks else self.header
        way.send(now, [size, way.ack_class, way.key, self.to, self.expected, self.recent, blocks or (), 0, 0, self.echo])
