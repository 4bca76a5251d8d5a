"""The lines of bench/latency, and what physics leaves on them."""

import pytest

from bench.latency.profiles import PROFILES, limit


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # 800 ms at 1.02 Mbit/s are 68 packets of 1500 bytes; netem counts 14 bytes of Ethernet that the line does not.
        ("1020/8000", "netem rate 1020000bit -14 limit 68"),
        # 1492 and 40 bytes are 32 cells.
        ("1020/8000-atm", "netem rate 1020000bit 26 48 5 limit 60"),
        ("128/512", "netem rate 128000bit -14 limit 16"),
        ("50000/500000", "netem rate 50000000bit -14 limit 1000"),
    ],
)
def test_a_line_in_netems_words(name: str, words: str) -> None:
    assert PROFILES[name].netem(PROFILES[name].up) == words


def test_a_ping_waits_for_half_a_packet_each_way_at_least() -> None:
    found = limit(PROFILES["1020/8000"], 30.0, up=True, down=True)
    up, down = 1500 * 8 / 1020, 1500 * 8 / 8000
    assert (found.mean, found.most) == pytest.approx((30 + (up + down) / 2, 30 + up + down))


def test_headers_and_acks_leave_the_rest() -> None:
    one_way = limit(PROFILES["1020/8000"], 30.0, up=True, down=False)
    assert one_way.upload == one_way.unacknowledged == pytest.approx(1020 * 1448 / 1500)
    assert one_way.download == 0
    both = limit(PROFILES["1020/8000"], 30.0, up=True, down=True)
    acks = 8_000_000 / (1500 * 8) / 2 * 52 * 8 / 1000
    assert both.upload == pytest.approx((1020 - acks) * 1448 / 1500)
    assert both.unacknowledged == one_way.upload


def test_cells_are_filled_and_an_ack_takes_two() -> None:
    found = limit(PROFILES["1020/8000-atm"], 30.0, up=True, down=True)
    acks = 8_000_000 / (31 * 53 * 8) / 2 * 106 * 8 / 1000
    assert found.upload == pytest.approx((1020 - acks) * 1396 / (31 * 53))


def test_ipv6_has_longer_headers() -> None:
    four, six = (limit(PROFILES["1020/8000"], 30.0, up=False, down=True, family=family) for family in (4, 6))
    assert six.download / four.download == pytest.approx(1428 / 1448)
