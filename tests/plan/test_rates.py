"""The shaped rate and the ACKs' demand, against numbers worked out by hand."""

import pytest

from pfq.plan.build import accounting_of
from pfq.plan.model import Accounting
from pfq.plan.rates import ack_demand, counted, shaped_rate
from pfq.site.encapsulation import ENCAPSULATIONS
from pfq.site.model import Direction, Link
from pfq.site.systems import parse_system
from pfq.site.units import tidy
from tests.plan.planned import model, uplink_of

IP_14 = Accounting(14, False, 0, 0, "none")


def link(up: int, down: int | None, encapsulation: str = "ethernet", segments_per_ack: int = 2) -> Link:
    return Link((), "dsl", up, down, ENCAPSULATIONS[encapsulation], "default", True, None, segments_per_ack)


@pytest.mark.parametrize(("system", "interface"), [("openbsd-4.4", "kue0"), ("openbsd-4.4", "tun0"), ("openbsd-7.6", "pppoe0"), ("freebsd-14", "em0")])
def test_the_ack_article_found_100_kbit_by_experiment(system: str, interface: str) -> None:
    uplink = uplink_of(model(system=system, attachment=f'"{interface}"', up="128 kbit", down="512 kbit", link='encapsulation = "pppoe-llc"\n'))
    assert uplink.up.rate.value == pytest.approx(100_000, rel=0.05)


def test_the_adsl_article_shaped_to_1008_of_1020_kbit() -> None:
    uplink = uplink_of(model(up="1020 kbit", link='encapsulation = "pppoe-llc"\n'))
    assert uplink.up.rate.value == pytest.approx(1_008_000, rel=0.001)


def test_ack_demand_of_a_full_download() -> None:
    # 512 kbit/s of packets of 1643 bytes are 38.95 a second; an ACK for two of them; each 52 bytes of IP, 66 counted.
    demand = ack_demand(link(128_000, 512_000, "pppoe-llc"), "up", 1448, IP_14)
    assert (demand.packets, demand.rate, demand.capped) == (20, 20 * 66 * 8, False)


def test_ack_demand_counts_cells_where_the_scheduler_does() -> None:
    exact = Accounting(0, True, 40, 0, "atm")
    assert ack_demand(link(128_000, 512_000, "pppoe-llc"), "up", 1448, exact).rate == 20 * 106 * 8


def test_acks_take_three_quarters_of_the_line_at_most() -> None:
    demand = ack_demand(link(100_000, 100_000_000), "up", 1500, IP_14)
    assert demand.capped
    assert demand.packets == 75_000 // (8 * 90)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_without_a_rate_the_other_way_there_are_no_acks(direction: str) -> None:
    assert ack_demand(link(100_000, None), "up" if direction == "up" else "down", 1500, IP_14).packets == 0


def test_more_segments_an_ack_are_fewer_acks() -> None:
    demands = [ack_demand(link(1_000_000, 10_000_000, segments_per_ack=n), "up", 1500, IP_14).packets for n in (1, 2, 4)]
    assert demands == [813, 407, 204]


@pytest.mark.parametrize(
    ("encapsulation", "direction", "exact", "rate"),
    [
        ("ethernet", "up", True, 988_000),
        ("ethernet", "down", True, 9_720_000),
        ("pppoe-llc", "up", True, 988_000),
        ("ptm", "up", True, 1_000_000 * 64 // 65 * 988 // 1000),
    ],
)
def test_exact_rates(encapsulation: str, direction: str, exact: bool, rate: int) -> None:
    found = shaped_rate(link(1_000_000, 10_000_000, encapsulation), "up" if direction == "up" else "down", 1448, Accounting(0, exact, 0, 0, "none"))
    assert found.value == tidy(rate)
    assert not found.given


def test_on_a_slow_line_five_packets_a_second_stay_free() -> None:
    exact = Accounting(0, True, 0, 0, "none")
    rates = [shaped_rate(link(128_000, down, "ip"), "down", 1500, exact).value for down in (100_000, 512_000, 2_000_000, 3_000_000)]
    assert rates == [80_000, tidy(512_000 * 882 // 1000), 2_000_000 * 970 // 1000, 3_000_000 * 972 // 1000]


def test_without_download_the_mix_is_full_packets() -> None:
    # 1514 of 1538 bytes, 98.8 %.
    assert shaped_rate(link(1_000_000, None), "up", 1500, IP_14).value == tidy(tidy(1_000_000 * 1514 // 1538) * 988 // 1000)


def test_a_computed_rate_is_below_the_line() -> None:
    # Where the line adds less to a packet than the system counts, the counted rate may be above the line's.
    for name in [name for name, row in ENCAPSULATIONS.items() if row.overhead >= 14]:
        for system, interface in (("openbsd-7.6", "em0"), ("openbsd-7.6", "pppoe0"), ("freebsd-14", "tun0"), ("linux-6.1", "ppp0"), ("linux-6.1", "eth0")):
            accounting = accounting_of(parse_system(system), interface, interface, ENCAPSULATIONS[name])
            assert accounting
            for down in (None, 1_000_000, 50_000_000):
                found = shaped_rate(link(1_000_000, down, name), "up", 1448, accounting).value
                assert 0 < found < 1_000_000


@pytest.mark.parametrize("name", ENCAPSULATIONS)
@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("interface", ["em0", "pppoe0"])
def test_full_size_packets_alone_never_overflow_the_line(name: str, direction: Direction, interface: str) -> None:
    """pf counts 14 bytes on Ethernet, whatever the line does: an allowance for ACKs must not let more full-size packets through."""
    encapsulation = ENCAPSULATIONS[name]
    accounting = accounting_of(parse_system("openbsd-7.6"), interface, interface, encapsulation)
    assert accounting
    mtu = encapsulation.best_mtu()
    for up, down in ((1_000_000, 16_000_000), (512_000, 512_000), (128_000, 20_000_000), (20_000_000, 128_000)):
        rate = shaped_rate(link(up, down, name), direction, mtu, accounting).value
        on_the_line = rate * encapsulation.line_bytes(mtu) // counted(mtu, accounting, encapsulation)
        assert on_the_line <= (up if direction == "up" else down)


@pytest.mark.parametrize(
    ("encapsulation", "accounting", "ip_bytes", "bytes_counted"),
    [
        ("pppoe-llc", Accounting(14, False, 0, 0, "none"), 52, 66),
        ("pppoe-llc", Accounting(2, False, 0, 0, "none"), 52, 54),
        ("pppoe-llc", Accounting(0, True, 40, 0, "atm"), 52, 106),
        ("ethernet", Accounting(14, True, 24, 84, "none"), 40, 84),
        ("ethernet", Accounting(14, True, 24, 84, "none"), 1500, 1538),
        ("ptm", Accounting(14, True, 8, 0, "none"), 1500, 1522),
    ],
)
def test_counted_bytes(encapsulation: str, accounting: Accounting, ip_bytes: int, bytes_counted: int) -> None:
    assert counted(ip_bytes, accounting, ENCAPSULATIONS[encapsulation]) == bytes_counted


@pytest.mark.parametrize(
    ("interface", "queue_on", "overhead"), [("eth0", "eth0", 26), ("ppp0", "ppp0", 40), ("eth0.7", "eth0.7", 26), ("eth0.7", "eth0", 26)]
)
def test_linux_is_told_what_it_does_not_count(interface: str, queue_on: str, overhead: int) -> None:
    found = accounting_of(parse_system("linux-6.1"), interface, queue_on, ENCAPSULATIONS["pppoe-llc"])
    assert found
    assert (found.exact, found.overhead, found.cells) == (True, overhead, "atm")
