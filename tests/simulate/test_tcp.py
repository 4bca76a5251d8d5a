"""TCP end to end over lines whose numbers can be worked out by hand, and the scoreboard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.simulate.congestion import Cubic, NewReno
from pfq.simulate.events import Events
from pfq.simulate.line import Line
from pfq.simulate.packet import SECOND, Deliver, Packet
from pfq.simulate.receiver import Receiver
from pfq.simulate.scoreboard import Scoreboard
from pfq.simulate.tcp import Sender, TcpKind, Way
from pfq.simulate.traffic import Ends, Transfer
from pfq.site.encapsulation import ENCAPSULATIONS

MS = SECOND // 1000
IP = ENCAPSULATIONS["ip"]


class Path:
    """A line each way; `lose`: numbers of data packets (in the order of sending) that vanish."""

    def __init__(self, rate: int, delay: int, packets: int, lose: frozenset[int] = frozenset()) -> None:
        self.events = Events()
        self.data = Line(self.events, rate, IP, delay, packets)
        self.back = Line(self.events, 10**9, IP, delay, 10_000)
        self.lose = lose
        self.sent: list[tuple[int, int]] = []
        self.bins = [0] * 1000

    def send(self, now: int, packet: Packet) -> None:
        self.sent.append((now, packet[4]))
        if len(self.sent) - 1 not in self.lose:
            self.data.send(now, packet)

    def connect(self, kind: TcpKind, total: int | None = None, until: int = 1 << 60) -> tuple[Sender, Receiver]:
        receiver = Receiver(self.events, kind, Way(self.back.send, 0, 0, 1), 1000, self.bins, SECOND, total, None)
        sender = Sender(self.events, kind, Way(self.send, 0, 0, 1), 1000, receiver.on_data, total, until)
        receiver.to = sender.on_ack
        self.events.at(0, lambda now, _: sender.begin(now))
        return sender, receiver


def test_slow_start_doubles_every_round_trip() -> None:
    path = Path(10**9, 50 * MS, 10_000)
    path.connect(TcpKind(control="newreno", initial_window=2, segments_per_ack=1))
    path.events.run(450 * MS)
    rounds = [sum(1 for time, _ in path.sent if k * 100 * MS <= time < k * 100 * MS + 50 * MS) for k in range(4)]
    assert rounds == [2, 4, 8, 16]


def test_the_receive_window_bounds_the_rate() -> None:
    # 16 segments of 1000 bytes a round trip of 100 ms: 160 kB/s.
    path = Path(10**9, 50 * MS, 10_000)
    path.connect(TcpKind(receive_window=16_000, segments_per_ack=1))
    path.events.run(20 * SECOND)
    assert sum(path.bins[5:15]) / 10 == pytest.approx(160_000, rel=0.01)


@pytest.mark.parametrize(("control", "sack"), [("newreno", True), ("newreno", False), ("cubic", True)])
def test_a_transfer_fills_its_line(control: str, sack: bool) -> None:
    # A buffer of a round trip: 100 ms at 10 Mbit/s are 119 packets of 1052 bytes.
    path = Path(10_000_000, 50 * MS, 120)
    path.connect(TcpKind(control=control, sack=sack))
    path.events.run(80 * SECOND)
    goodput = sum(path.bins[30:80]) * 8 / 50
    assert 0.98 < goodput / (10_000_000 * 1000 / 1052) < 1.001


@pytest.mark.parametrize("sack", [True, False])
def test_one_loss_is_repaired_without_a_timeout(sack: bool) -> None:
    path = Path(10**9, 50 * MS, 10_000, frozenset({20}))
    sender, receiver = path.connect(TcpKind(control="newreno", sack=sack, segments_per_ack=1), total=200)
    path.events.run(5 * SECOND)
    assert receiver.expected == 200
    assert sender.resent == 1
    numbers = [number for _, number in path.sent]
    assert sorted(set(numbers)) == list(range(200))
    first, again = (time for time, number in path.sent if number == numbers[20])
    # Three later segments and their ACKs: a round trip, not a timeout (200 ms and more after that).
    assert again - first < 150 * MS


def test_a_loss_halves_newreno_and_leaves_cubic_seven_tenths() -> None:
    class Window:
        window, threshold, smoothed = 20.0, 1e9, 100 * MS

    assert NewReno().lost(0, Window(), 20) == 10
    assert Cubic().lost(0, Window(), 20) == 14


def test_cubic_is_back_at_its_last_maximum_after_k_seconds() -> None:
    # RFC 9438: K = cbrt(W_max (1 - beta) / C); with W_max 100 that is 4.217 s.
    class Window:
        window, threshold, smoothed = 100.0, 1e9, 0

    sender, cubic = Window(), Cubic()
    sender.threshold = sender.window = cubic.lost(0, sender, 100)
    assert sender.window == 70
    now = 0
    cubic.estimate = -1e9
    while now < 4.217 * SECOND:
        # As many ACKs as a round trip of 10 ms would bring, without the Reno-friendly region.
        cubic.grow(now, sender, int(sender.window))
        cubic.estimate = -1e9
        now += 10 * MS
    assert sender.window == pytest.approx(100, rel=0.01)


def test_a_tail_loss_waits_for_the_timeout() -> None:
    path = Path(10**9, 50 * MS, 10_000, frozenset({9}))
    sender, receiver = path.connect(TcpKind(initial_window=10, segments_per_ack=1), total=10)
    path.events.run(2 * SECOND)
    assert receiver.expected == 10
    assert sender.resent == 1
    assert path.sent[-1][0] >= 100 * MS + 200 * MS


def test_everything_lost_is_sent_again_after_a_second() -> None:
    path = Path(10**9, 50 * MS, 10_000, frozenset(range(10)))
    _, receiver = path.connect(TcpKind(initial_window=10), total=10)
    path.events.run(10 * SECOND)
    assert receiver.expected == 10
    assert path.sent[10] == (SECOND, 0)


def test_acks_are_every_second_segment_or_late() -> None:
    path = Path(10**9, 50 * MS, 10_000)
    path.connect(TcpKind(initial_window=3, delayed_ack=40 * MS), total=3)
    path.events.run(SECOND)
    # Two segments, one ACK; the third, alone, is answered after 40 ms.
    assert path.back.sent == 2


@pytest.mark.parametrize("sack", [True, False])
@given(lose=st.frozensets(st.integers(0, 120), max_size=40))
def test_whatever_is_lost_everything_arrives_once(sack: bool, lose: frozenset[int]) -> None:
    path = Path(20_000_000, 10 * MS, 30, lose)
    sender, receiver = path.connect(TcpKind(control="newreno", sack=sack), total=150)
    path.events.run(900 * SECOND)
    assert receiver.expected == 150
    assert receiver.received == 150
    assert sum(path.bins) == 150 * 1000
    assert sender.finished


def test_a_connection_begins_with_its_handshake() -> None:
    events = Events()
    up, down = Line(events, 10**9, IP, 50 * MS, 100), Line(events, 10**9, IP, 50 * MS, 100)
    bins = [0] * 100
    done: list[int] = []
    ends = Ends(Way(up.send, 0, 0, 1), Way(down.send, 0, 0, 1))
    transfer = Transfer(events, TcpKind(initial_window=10), ends, False, 1000, 10, 1 << 60, bins, SECOND, done.append)
    events.at(0, transfer.start)
    events.run(SECOND)
    # SYN and SYN+ACK are one round trip, request and data another.
    assert done[0] == pytest.approx(200 * MS, abs=MS)
    assert sum(bins) == 10_000


def test_a_lost_syn_is_sent_again_after_a_second() -> None:
    events = Events()
    lost: list[int] = []

    def lossy(now: int, packet: Packet) -> None:
        if not lost:
            lost.append(now)
        else:
            up.send(now, packet)

    up, down = Line(events, 10**9, IP, 50 * MS, 100), Line(events, 10**9, IP, 50 * MS, 100)
    done: list[int] = []
    send: Deliver = lossy
    transfer = Transfer(
        events, TcpKind(), Ends(Way(send, 0, 0, 1), Way(down.send, 0, 0, 1)), True, 1000, 1, 1 << 60, [0] * 100, SECOND, done.append
    )
    events.at(0, transfer.start)
    events.run(3 * SECOND)
    assert done[0] == pytest.approx(SECOND + 150 * MS, abs=MS)


def test_the_scoreboard_finds_holes_three_below() -> None:
    board = Scoreboard()
    assert board.add([(3, 4)], 0) == 1
    board.mark(0)
    assert board.lost == {0}
    assert board.add([(3, 6)], 0) == 2
    board.mark(0)
    assert board.lost == {0, 1, 2}
    assert board.flight(0, 8) == 8 - 3 - 3
    assert [board.next_lost(8) for _ in range(4)] == [0, 1, 2, None]
    assert board.flight(0, 8) == 5


def test_blocks_that_meet_are_counted_once() -> None:
    board = Scoreboard()
    assert board.add([(5, 8)], 0) == 3
    assert board.add([(9, 15)], 0) == 6
    assert board.add([(5, 15)], 0) == 1
    assert board.add([(6, 12)], 0) == 0
    assert board.acknowledge(0, 10) == 5
    assert board.sacked == set(range(10, 15))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=30))
def test_the_scoreboard_agrees_with_a_set(blocks: list[tuple[int, int]]) -> None:
    board = Scoreboard()
    plain: set[int] = set()
    for begin, length in blocks:
        block = set(range(begin, begin + length))
        assert board.add([(begin, begin + length)], 0) == len(block - plain)
        plain |= block
        assert board.sacked == plain


@pytest.mark.parametrize("control", ["newreno", "cubic"])
def test_six_flows_over_a_short_queue_lose_little_and_share(control: str) -> None:
    """A flow that loses what it sends again must not go on sending as if nothing had happened."""
    path = Path(2_000_000, 15 * MS, 38)
    pairs = [path.connect(TcpKind(control=control)) for _ in range(6)]
    path.events.run(60 * SECOND)
    received = [receiver.received for _, receiver in pairs]
    # 2 Mbit/s are 237 packets of 1052 bytes a second.
    assert sum(received) > 0.95 * 237 * 60
    assert path.data.drops < 0.1 * sum(received)
    assert max(received) < 2 * min(received)
