"""The clock and the line, against hand-computed times."""

from pfq.simulate.events import Events
from pfq.simulate.line import Line
from pfq.simulate.packet import SECOND, Packet
from pfq.site.encapsulation import ENCAPSULATIONS

MS = SECOND // 1000


def _arrivals(line: Line, events: Events, sends: list[tuple[int, int]], until: int = SECOND) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []

    def sink(now: int, packet: Packet) -> None:
        seen.append((now, packet[4]))

    for number, (time, size) in enumerate(sends):
        events.at(time, line.send, [size, 0, 0, sink, number, 0, None, 0, 0, 0])
    events.run(until)
    return seen


def test_events_of_one_time_come_in_the_order_of_their_making() -> None:
    events, seen = Events(), []
    for word in ("a", "b", "c"):
        events.at(5, lambda now, word: seen.append((now, word)), word)
    events.at(3, lambda now, word: seen.append((now, word)), "first")
    events.run(5)
    assert seen == [(3, "first")]
    events.run(6)
    assert seen == [(3, "first"), (5, "a"), (5, "b"), (5, "c")]


def test_a_packet_takes_its_cells_and_the_delay() -> None:
    # 1448 bytes of IP on PPPoE LLC are 31 cells = 1643 bytes: 12.886 ms at 1020 kbit/s.
    events = Events()
    line = Line(events, 1_020_000, ENCAPSULATIONS["pppoe-llc"], 5 * MS, 10)
    time = -(-1643 * 8 * SECOND // 1_020_000)
    assert _arrivals(line, events, [(0, 1448), (0, 1448)]) == [(time + 5 * MS, 0), (2 * time + 5 * MS, 1)]


def test_an_empty_ack_takes_two_cells() -> None:
    events = Events()
    line = Line(events, 106 * 8, ENCAPSULATIONS["pppoe-llc"], 0, 10)
    assert _arrivals(line, events, [(0, 40)], 2 * SECOND) == [(SECOND, 0)]


def test_a_buffer_of_packets_drops_the_last() -> None:
    events = Events()
    line = Line(events, 8000, ENCAPSULATIONS["ip"], 0, 2)
    # One is being sent, two wait, the fourth does not fit; a second later there is room for one.
    seen = _arrivals(line, events, [(0, 1000), (0, 1000), (0, 1000), (0, 1000), (SECOND, 1000), (SECOND, 1000)], 10 * SECOND)
    assert seen == [(SECOND, 0), (2 * SECOND, 1), (3 * SECOND, 2), (4 * SECOND, 4)]
    assert line.drops == 2


def test_a_buffer_of_bytes_counts_what_is_left_of_the_packet_on_the_line() -> None:
    events = Events()
    line = Line(events, 8000, ENCAPSULATIONS["ip"], 0, None, 2000)
    seen = _arrivals(line, events, [(0, 1000), (0, 1000), (0, 1000), (SECOND // 2, 500)], 10 * SECOND)
    assert [number for _, number in seen] == [0, 1, 3]
    assert line.backlog(SECOND // 2) == 0 or line.drops == 1


def test_an_idle_line_begins_at_once() -> None:
    events = Events()
    line = Line(events, 8000, ENCAPSULATIONS["ip"], 0, 5)
    assert _arrivals(line, events, [(0, 100), (SECOND, 100)], 3 * SECOND) == [(SECOND // 10, 0), (SECOND + SECOND // 10, 1)]
