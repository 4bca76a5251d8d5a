"""The seeds' tables, and the laws of the arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.site.encapsulation import (
    EMPTY_ACK,
    EMPTY_ACK_WITH_TIMESTAMPS,
    ENCAPSULATIONS,
    ETHERNET_HEADER,
    IPV4_HEADER,
    TCP_HEADER,
    Encapsulation,
    ack_rate,
    ceil_div,
    stream_rate,
)

IP_BYTES = st.integers(20, 1500)
KINDS = st.sampled_from(list(ENCAPSULATIONS.values()))
ATM = [row for row in ENCAPSULATIONS.values() if row.cells == "atm"]

# The seed article on ADSL: overhead, overhead less the 14 bytes that Linux counts, best MTU.
ADSL = [
    ("ipoa-vcmux", 8, -6, 1480),
    ("ipoa-llc", 16, 2, 1472),
    ("bridged-vcmux", 24, 10, 1464),
    ("bridged-llc", 32, 18, 1456),
    ("pppoa-vcmux", 10, -4, 1478),
    ("pppoa-llc", 14, 0, 1474),
    ("pppoe-vcmux", 32, 18, 1456),
    ("pppoe-llc", 40, 26, 1448),
]


@pytest.mark.parametrize(("name", "overhead", "stab", "mtu"), ADSL)
def test_adsl_table(name: str, overhead: int, stab: int, mtu: int) -> None:
    row = ENCAPSULATIONS[name]
    assert (row.overhead, row.overhead - ETHERNET_HEADER, row.best_mtu()) == (overhead, stab, mtu)
    assert row.line_bytes(mtu) == 31 * 53


@pytest.mark.parametrize(("name", "mtu", "mss"), [(name, mtu, mtu - 40) for name, _, _, mtu in ADSL])
def test_segment_size_is_the_mtu_less_forty(name: str, mtu: int, mss: int) -> None:
    assert ENCAPSULATIONS[name].best_mtu() - IPV4_HEADER - TCP_HEADER == mss


@pytest.mark.parametrize(
    ("name", "ip_bytes", "line"),
    [
        # ATM: 48 bytes in a cell of 53.
        ("pppoe-llc", 40, 106),
        ("pppoe-llc", 52, 106),
        ("pppoe-llc", 56, 106),
        ("pppoe-llc", 57, 159),
        ("pppoe-llc", 1448, 31 * 53),
        ("pppoe-llc", 1449, 32 * 53),
        ("pppoe-llc", 1492, 32 * 53),
        ("ipoa-vcmux", 40, 53),
        ("ipoa-vcmux", 41, 106),
        ("pppoa-vcmux", 38, 53),
        # PTM: 65 bytes for 64, no padding.
        ("ptm", 42, 65),
        ("ptm", 43, 67),
        ("ptm", 1500, 1546),
        ("ptm-vlan", 38, 65),
        ("pppoe-ptm", 1492, 1546),
        ("pppoe-ptm-vlan", 1492, 1550),
        # Ethernet: 38 more, 84 at least; a tag adds 4 to both.
        ("ethernet", 40, 84),
        ("ethernet", 46, 84),
        ("ethernet", 47, 85),
        ("ethernet", 1500, 1538),
        ("ethernet-vlan", 40, 88),
        ("ethernet-vlan", 1500, 1542),
        ("pppoe-ethernet", 38, 84),
        ("pppoe-ethernet", 1492, 1538),
        ("pppoe-ethernet-vlan", 1492, 1542),
        ("docsis", 40, 64),
        ("docsis", 1500, 1518),
        ("ip", 40, 40),
    ],
)
def test_bytes_on_the_wire(name: str, ip_bytes: int, line: int) -> None:
    assert ENCAPSULATIONS[name].line_bytes(ip_bytes) == line


def test_empty_ack_sizes() -> None:
    assert (EMPTY_ACK, EMPTY_ACK_WITH_TIMESTAMPS) == (40, 52)


def test_729_acks_a_second_are_233_kbit_of_ip_and_618_of_line() -> None:
    line = ENCAPSULATIONS["pppoe-llc"]
    assert stream_rate(729, EMPTY_ACK) == 233_280
    assert stream_rate(729, line.line_bytes(EMPTY_ACK)) == 618_192


@pytest.mark.parametrize(("packets", "microseconds"), [(1, 12_000), (14, 168_000)])
def test_worst_case_latency_at_one_megabit(packets: int, microseconds: int) -> None:
    assert packets * ENCAPSULATIONS["ip"].serialisation(1500, 1_000_000) == microseconds


def test_serialisation_rounds_up() -> None:
    assert ENCAPSULATIONS["ip"].serialisation(1, 3_000_000) == 3


def test_ack_rate_of_a_full_download() -> None:
    # 10 Mbit/s of 1538 bytes a packet are 813 packets a second (rounded up), and one ACK for two of them.
    assert ack_rate(10_000_000, ENCAPSULATIONS["ethernet"], 1500, 1) == 813
    assert ack_rate(10_000_000, ENCAPSULATIONS["ethernet"], 1500, 2) == 407


def test_pppoe_lowers_the_largest_packet() -> None:
    for name, row in ENCAPSULATIONS.items():
        assert row.mtu_limit == (1492 if name.startswith("pppoe") else 1500)


@given(KINDS, IP_BYTES, IP_BYTES)
def test_a_larger_packet_never_takes_fewer_bytes(kind: Encapsulation, one: int, other: int) -> None:
    small, large = sorted((one, other))
    assert kind.line_bytes(small) <= kind.line_bytes(large)


@given(KINDS, IP_BYTES)
def test_the_line_carries_packet_and_overhead(kind: Encapsulation, ip_bytes: int) -> None:
    assert kind.line_bytes(ip_bytes) >= max(ip_bytes + kind.overhead, kind.minimum)


@given(st.sampled_from(ATM), IP_BYTES)
def test_atm_comes_in_whole_cells(kind: Encapsulation, ip_bytes: int) -> None:
    line = kind.line_bytes(ip_bytes)
    assert line % 53 == 0
    assert line // 53 * 48 - 48 < ip_bytes + kind.overhead <= line // 53 * 48


@given(st.sampled_from(ATM), st.integers(100, 1500))
def test_best_mtu_fills_its_cells_and_no_larger_one_within_the_limit_does(kind: Encapsulation, limit: int) -> None:
    best = kind.best_mtu(limit)
    largest = min(limit, kind.mtu_limit)
    assert (best + kind.overhead) % 48 == 0
    assert best <= largest < best + 48


@given(st.sampled_from([row for row in ENCAPSULATIONS.values() if row.cells != "atm"]), st.integers(68, 1500))
def test_without_cells_the_limit_is_the_best_mtu(kind: Encapsulation, limit: int) -> None:
    assert kind.best_mtu(limit) == min(limit, kind.mtu_limit)


@given(st.integers(0, 10**20), st.integers(1, 10**10))
def test_ceil_div_is_exact(dividend: int, divisor: int) -> None:
    result = ceil_div(dividend, divisor)
    assert (result - 1) * divisor < dividend <= result * divisor


@given(KINDS, IP_BYTES, st.integers(1, 10**10))
def test_serialisation_is_the_least_time_that_suffices(kind: Encapsulation, ip_bytes: int, rate: int) -> None:
    time = kind.serialisation(ip_bytes, rate)
    bits = kind.line_bytes(ip_bytes) * 8
    assert (time - 1) * rate < bits * 1_000_000 <= time * rate
