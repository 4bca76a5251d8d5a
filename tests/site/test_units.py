"""What every kind of quantity accepts, refuses, and says instead."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.site.units import UnitError, parse_packets, parse_percent, parse_rate, parse_size, parse_time, show_rate, show_time


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("128 kbit", 128_000),
        ("128kbit", 128_000),
        ("100Kb", 100_000),
        ("100 kb", 100_000),
        ("20M", 20_000_000),
        ("20 Mb", 20_000_000),
        ("20 Mbps", 20_000_000),
        ("20 Mb/s", 20_000_000),
        ("1.5 Mbit/s", 1_500_000),
        ("1.020 Mbit", 1_020_000),
        ("1 Gbit", 10**9),
        ("2.5Gbit/s", 2_500_000_000),
        ("10 Tbit", 10**13),
        ("1 bit", 1),
        ("8000 bits/s", 8000),
        ("9600 bps", 9600),
        ("9600b", 9600),
        ("0.001 kbit", 1),
        ("  128   kbit ", 128_000),
        ("128 K", 128_000),
        ("128 k", 128_000),
        ("1.000000000000000000000000000000 M", 1_000_000),
    ],
)
def test_rates(text: str, rate: int) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("128", "say the unit: '128 kbit' or '128 Mbit'"),
        ("20 MB", "multiply the bytes by 8"),
        ("20 kbyte", "multiply the bytes by 8"),
        ("20 bytes", "multiply the bytes by 8"),
        ("20 MBit", "'20 Mbit'"),
        ("20 KBit/s", "'20 Kbit/s'"),
        ("20 Mibit", "decimal"),
        ("20 mbit", "capital M"),
        ("20 %", "known units"),
        ("20 furlongs", "known units"),
        ("1,5 Mbit", "a point"),
        ("-5 kbit", "write a number and a unit"),
        ("+5 kbit", "write a number and a unit"),
        ("1e6 bit", "write a number and a unit"),
        ("1_000 kbit", "write a number and a unit"),
        ("0x10 kbit", "write a number and a unit"),
        (".5 Mbit", "write a number and a unit"),
        ("5. Mbit", "write a number and a unit"),
        ("", "write a number and a unit"),
        ("kbit", "write a number and a unit"),
        ("\N{ARABIC-INDIC DIGIT THREE} kbit", "write a number and a unit"),
        ("20 kbit; reboot", "write a number and a unit"),
        ("1" * 50 + " kbit", "write a number and a unit"),
        ("0 kbit", "1 bit to 10 Tbit"),
        ("10.1 Tbit", "1 bit to 10 Tbit"),
        ("0.5 bit", "round the rate"),
        ("1.00000000000000000000000000000001 k", "round the rate"),
    ],
)
def test_what_is_no_rate(text: str, hint: str) -> None:
    with pytest.raises(UnitError) as found:
        parse_rate(text)
    assert hint in found.value.hint


@pytest.mark.parametrize(("text", "percent"), [("10%", "10"), ("0.001 %", "0.001"), ("100%", "100"), ("33.3%", "33.3")])
def test_percentages(text: str, percent: str) -> None:
    assert parse_percent(text) == Decimal(percent)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [("20 ms", 20_000), ("1.5 s", 1_500_000), ("500us", 500), ("7 µs", 7), ("7 μs", 7), ("0.25 ms", 250), ("60 s", 60_000_000)],
)
def test_times(text: str, microseconds: int) -> None:
    assert parse_time(text) == microseconds


@pytest.mark.parametrize(
    ("text", "size"), [("6 kB", 6000), ("6 KB", 6000), ("1500 bytes", 1500), ("1 byte", 1), ("9B", 9), ("1.5 kB", 1500), ("1000 MB", 10**9)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(("text", "packets"), [("50 packets", 50), ("1 packet", 1), ("65535packets", 65_535)])
def test_packets(text: str, packets: int) -> None:
    assert parse_packets(text) == packets


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_percent, "0%"),
        (parse_percent, "100.1%"),
        (parse_percent, "10"),
        (parse_percent, "10 kbit"),
        (parse_time, "20"),
        (parse_time, "0 ms"),
        (parse_time, "61 s"),
        (parse_time, "1 min"),
        (parse_time, "0.5 us"),
        (parse_time, "20 MS"),
        (parse_size, "6"),
        (parse_size, "6 kbit"),
        (parse_size, "6 KiB"),
        (parse_size, "0 bytes"),
        (parse_size, "1001 MB"),
        (parse_size, "0.5 bytes"),
        (parse_packets, "50"),
        (parse_packets, "0 packets"),
        (parse_packets, "65536 packets"),
        (parse_packets, "1.5 packets"),
        (parse_packets, "50 pakets"),
    ],
)
def test_refused_with_a_hint(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(UnitError) as found:
        parse(text)
    assert found.value.hint


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (1, "1 bit/s"),
        (999, "999 bit/s"),
        (99_840, "99.84 kbit/s"),
        (100_000, "100 kbit/s"),
        (1_500_000, "1.5 Mbit/s"),
        (1_234_567, "1234.567 kbit/s"),
        (10**9, "1 Gbit/s"),
        (1_000_000_001, "1000000.001 kbit/s"),
    ],
)
def test_rates_are_shown_exactly(rate: int, text: str) -> None:
    assert show_rate(rate) == text


@pytest.mark.parametrize(("time", "text"), [(800, "800 us"), (12_000, "12 ms"), (1696, "1.696 ms"), (1_500_000, "1500 ms")])
def test_times_are_shown_exactly(time: int, text: str) -> None:
    assert show_time(time) == text


@given(st.integers(1, 10**13))
def test_a_shown_rate_is_read_as_the_same(rate: int) -> None:
    assert parse_rate(show_rate(rate)) == rate


@given(st.integers(1, 60_000_000))
def test_a_shown_time_is_read_as_the_same(time: int) -> None:
    assert parse_time(show_time(time)) == time


@given(st.sampled_from([parse_rate, parse_percent, parse_time, parse_size, parse_packets]), st.text(max_size=60))
def test_any_text_is_a_quantity_or_a_unit_error(parse: Callable[[str], object], text: str) -> None:
    try:
        parse(text)
        hint = "none needed"
    except UnitError as error:
        hint = error.hint
    assert hint
