"""TCP: how both ends do it, and the sender: slow start, congestion avoidance, fast retransmit and recovery, timeouts.

RFC 3168 (ECN), 5681, 6298, 6582 (without SACK), 6675 and 6937 (with it), 7323 (timestamps), 9438. Sequence numbers count segments. Nothing is sent out of
order by the network, so three later segments always mean a loss. Not simulated: HyStart, tail loss probes, pacing, Nagle.
"""

from dataclasses import dataclass

from pfq.simulate.congestion import CONTROLS, INFINITE
from pfq.simulate.events import Events
from pfq.simulate.packet import CAPABLE, ECHO, REDUCED, SECOND, Deliver, Packet
from pfq.simulate.scoreboard import DUP_THRESH, Scoreboard
from pfq.site.encapsulation import EMPTY_ACK, TIMESTAMPS

MOST_RTO = 60 * SECOND
OPEN, RECOVERY, LOSS = range(3)


@dataclass(frozen=True, slots=True)
class TcpKind:
    """How both ends do TCP. receive_window: bytes the receiver offers. initial_window: segments (RFC 6928: 10; RFC 3390: 3; before: 1 or 2).
    delayed_ack, least_rto, first_rto: ns. segments_per_ack: full segments that one ACK answers. bunch: segments that leave as one where the
    window allows (segmentation offload): the sender waits for room for so many or a third of its window (tcp_output.c tcp_tso_should_defer).
    ecn: both ends do ECN.
    """

    control: str = "cubic"
    receive_window: int = 4_194_304
    initial_window: int = 10
    sack: bool = True
    timestamps: bool = True
    delayed_ack: int = 40_000_000
    segments_per_ack: int = 2
    least_rto: int = 200_000_000
    first_rto: int = SECOND
    bunch: int = 1
    ecn: bool = False

    @property
    def header(self) -> int:
        """Bytes of IPv4 and TCP header of every segment."""
        return EMPTY_ACK + (TIMESTAMPS if self.timestamps else 0)


@dataclass(frozen=True, slots=True)
class Way:
    """How packets of one end of a flow leave: `send` them, with the class and the key of full segments and of empty ACKs."""

    send: Deliver
    data_class: int | None
    ack_class: int | None
    key: int


class Sender:
    """Sends `total` segments (None: without end) of `payload` bytes. `until`: nothing new is sent from then on (ns)."""

    __slots__ = (
        "board", "bunch", "control", "duplicates", "events", "finished", "following", "kind", "least_rto", "marks", "measured", "measuring", "most",
        "partial", "payload", "prr_delivered", "prr_flight", "prr_out", "recover", "resent", "rto", "size", "slowed", "smoothed", "state", "tell",
        "threshold", "timer_at", "timestamps", "timing", "to", "total", "una", "until", "variation", "way", "window",
    )

    def __init__(self, events: Events, kind: TcpKind, way: Way, payload: int, to: Deliver, total: int | None, until: int) -> None:
        self.events = events
        self.kind = kind
        self.timestamps, self.bunch = kind.timestamps, kind.bunch
        self.marks = CAPABLE if kind.ecn else 0
        # The last segment that was sent before the window was made smaller for a mark.
        self.slowed = -1
        self.tell = False
        self.way = way
        self.payload = payload
        self.size = payload + kind.header
        self.to = to
        self.total = (1 << 60) if total is None else total
        self.until = until
        self.control = CONTROLS[kind.control]()
        self.window = float(kind.initial_window)
        self.threshold = INFINITE
        self.most = max(1, kind.receive_window // payload)
        self.least_rto = kind.least_rto
        self.una = 0
        self.following = 0
        self.state = OPEN
        self.board = Scoreboard()
        self.recover = 0
        self.duplicates = 0
        self.prr_delivered = self.prr_flight = self.prr_out = 0
        self.smoothed = self.variation = 0
        self.rto = kind.first_rto
        self.timer_at = 0
        self.timing = False
        self.finished = False
        self.partial = False
        self.measured = 0
        self.measuring = -1
        self.resent = 0

    def begin(self, now: int, round_trip: int = 0) -> None:
        """The connection stands; `round_trip`: what the handshake took (ns), 0 if it cannot tell."""
        if round_trip:
            self._measure(round_trip)
        self.timer_at = now + self.rto
        self._send_new(now)
        self._time(now)

    def _time(self, now: int) -> None:
        if not self.timing and self.una < self.following:
            self.timing = True
            self.events.at(self.timer_at, self._timer)

    def _timer(self, now: int, _nothing: None) -> None:
        if self.una >= self.following or self.finished:
            self.timing = False
        elif now < self.timer_at:
            self.events.at(self.timer_at, self._timer)
        else:
            self.timing = False
            self._timeout(now)

    def _measure(self, round_trip: int) -> None:
        """RFC 6298."""
        smoothed, variation = self.smoothed, self.variation
        if not smoothed:
            smoothed = round_trip
            variation = round_trip >> 1
        else:
            # Conditions and not abs(), min() and max(): this is done for every ACK.
            error = round_trip - smoothed
            smoothed += error >> 3
            variation += ((error if error >= 0 else -error) - variation) >> 2
        self.smoothed, self.variation = smoothed, variation
        rto = smoothed + (4 * variation if variation > 250_000 else 1_000_000)
        rto = rto if rto > self.least_rto else self.least_rto
        self.rto = rto if rto < MOST_RTO else MOST_RTO

    def _send_new(self, now: int) -> None:
        """Sends new segments as far as the window and the receiver allow."""
        following, una = self.following, self.una
        window = self.window
        limit = una + (int(window) if window < self.most else self.most)
        limit = limit if limit < self.total else self.total
        if following >= limit or now >= self.until:
            return
        bunch = self.bunch
        if bunch > 1 and following > una and limit - following < min(bunch, window // 3) and limit < self.total:
            return
        way = self.way
        send, size, label, key, to = way.send, self.size, way.data_class, way.key, self.to
        if self.measuring < 0:
            self.measuring, self.measured = following, now
        marks = self.marks
        if self.tell:
            self.tell = False
            send(now, [size, label, key, to, following, now, None, 0, 0, marks | REDUCED])
            following += 1
        while following < limit:
            send(now, [size, label, key, to, following, now, None, 0, 0, marks])
            following += 1
        self.following = following

    def _echoed(self, now: int, ack: int) -> None:
        """A packet was marked on its way: as after a loss, once a window, but nothing is sent again (RFC 3168 6.1.2)."""
        if self.state == OPEN and ack > self.slowed:
            self.threshold = self.control.lost(now, self, self.following - self.una)
            self.window = self.threshold
            self.slowed = self.following
            self.tell = True

    def _transmit(self, now: int, number: int) -> None:
        """Sends a segment again."""
        self.resent += 1
        # A segment sent twice measures nothing (Karn), unless timestamps tell the two apart.
        self.measuring = -1
        way = self.way
        way.send(now, [self.size, way.data_class, way.key, self.to, number, now, None, 0, 0, 0])

    def on_ack(self, now: int, packet: Packet) -> None:
        ack = packet[4]
        una = self.una
        acked = ack - una
        if acked < 0 or self.finished:
            return
        if packet[9] & ECHO:
            self._echoed(now, ack)
        if acked:
            if self.timestamps:
                if packet[5]:
                    self._measure(now - packet[5])
            elif 0 <= self.measuring < ack:
                self._measure(now - self.measured)
                self.measuring = -1
            # Of partial ACKs only the first one starts the timer anew (RFC 6582, the impatient variant).
            if self.state != RECOVERY or not self.partial:
                self.timer_at = now + self.rto
            if self.state == OPEN and not packet[6] and not self.duplicates and not self.board.sacked:
                # The usual case, made short.
                if (self.following - una >= int(self.window) or self.window < self.threshold) and not packet[9]:
                    self.control.grow(now, self, acked)
                self.una = ack
                if ack >= self.total:
                    self.finished = True
                    return
                self._send_new(now)
                if not self.timing and ack < self.following:
                    self.timing = True
                    self.events.at(self.timer_at, self._timer)
                return
        if self.kind.sack:
            self._on_sack(now, ack, acked, packet[6])
        else:
            self._on_reno(now, ack, acked)
        if self.una >= self.total:
            self.finished = True
            return
        self._time(now)

    # --- with SACK

    def _on_sack(self, now: int, ack: int, acked: int, blocks: list[tuple[int, int]] | None) -> None:
        board = self.board
        delivered = 0
        if acked:
            delivered = board.acknowledge(self.una, ack)
            self.una = ack
        if blocks:
            delivered += board.add(blocks, ack)
        worse = board.mark(ack)
        if self.state != OPEN and ack >= self.recover:
            self._recovered()
        if self.state == OPEN:
            if board.lost:
                self._enter_recovery(now, board.flight(ack, self.following) + len(board.lost))
            else:
                if acked:
                    self.control.grow(now, self, acked)
                # Limited transmit (RFC 3042): what has arrived makes room.
                self._send_flight(now, int(self.window) - board.flight(ack, self.following))
                return
        if self.state == LOSS:
            if delivered:
                self.control.grow(now, self, delivered)
            self._send_flight(now, int(self.window) - board.flight(ack, self.following))
            return
        # Proportional rate reduction (RFC 6937), with the kernel's caution.
        self.prr_delivered += delivered
        flight = board.flight(ack, self.following)
        if flight > self.threshold:
            room = -(-self.prr_delivered * int(self.threshold) // max(self.prr_flight, 1)) - self.prr_out
        else:
            # One more than was delivered only as long as things get better (tcp_input.c tcp_cwnd_reduction).
            more = acked > 0 and not worse
            room = min(int(self.threshold) - flight, max(self.prr_delivered - self.prr_out, delivered) + more)
        if not self.prr_out:
            room = max(room, 1)
        self.prr_out += self._send_flight(now, room)

    def _enter_recovery(self, now: int, flight: int) -> None:
        self.threshold = self.control.lost(now, self, flight)
        self.window = self.threshold
        self.state = RECOVERY
        self.recover = self.following
        self.prr_delivered = self.prr_out = 0
        self.prr_flight = flight

    def _recovered(self) -> None:
        if self.state == RECOVERY:
            self.window = self.threshold
        self.state = OPEN
        self.duplicates = 0

    def _send_flight(self, now: int, room: int) -> int:
        """Sends `room` segments, lost ones first; returns how many were sent."""
        sent = 0
        board = self.board
        while sent < room:
            number = board.next_lost(self.following)
            if number is not None:
                self._transmit(now, number)
            elif self.following < min(self.una + self.most, self.total) and now < self.until:
                way = self.way
                way.send(now, [self.size, way.data_class, way.key, self.to, self.following, now, None, 0, 0, self.marks])
                self.following += 1
            else:
                break
            sent += 1
        return sent

    # --- without SACK

    def _on_reno(self, now: int, ack: int, acked: int) -> None:
        if acked:
            self.una = ack
            if self.state == RECOVERY:
                if ack >= self.recover:
                    self.window = min(self.threshold, max(self.following - ack, 1) + 1)
                    self._recovered()
                else:
                    # A partial ACK: the next hole (RFC 6582).
                    self.partial = True
                    self._transmit(now, ack)
                    self.window = max(self.window - acked + 1, 1.0)
            else:
                self.duplicates = 0
                if self.state == LOSS:
                    if ack >= self.recover:
                        self.state = OPEN
                    self.following = max(self.following, ack)
                self.control.grow(now, self, acked)
        elif self.una < self.following:
            self.duplicates += 1
            if self.state == RECOVERY:
                self.window += 1
            elif self.duplicates == DUP_THRESH and self.state == OPEN and ack >= self.recover:
                self.threshold = self.control.lost(now, self, self.following - ack)
                self.window = self.threshold + DUP_THRESH
                self.state = RECOVERY
                self.recover = self.following
                self.partial = False
                self._transmit(now, ack)
        self._send_new(now)

    # --- timeout

    def _timeout(self, now: int) -> None:
        # In recovery the threshold has been lowered already (tcp_input.c tcp_enter_loss).
        if self.state == OPEN:
            flight = self.board.flight(self.una, self.following) if self.kind.sack else self.following - self.una
            self.threshold = self.control.lost(now, self, max(flight, 1))
        self.window = 1.0
        self.state = LOSS
        self.recover = self.following
        self.duplicates = 0
        self.rto = min(self.rto * 2, MOST_RTO)
        self.timer_at = now + self.rto
        if self.kind.sack:
            self.board.lose_all(self.una, self.following)
            self._send_flight(now, 1)
        else:
            # Everything again from the first hole on (go-back-N).
            self.following = self.una + 1
            self._transmit(now, self.una)
        self._time(now)
