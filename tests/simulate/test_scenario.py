"""Scenario files and sweeps: what is read, and what is refused with its place."""

from pathlib import Path

import pytest

from pfq.diagnostics import Refused
from pfq.simulate.packet import SECOND
from pfq.simulate.scenario import BUILT_IN, Buffer, find_scenario, load_scenario, of_length, parse_duration
from pfq.simulate.statistics import Histogram
from pfq.simulate.sweep import parse_sweep, run_sweep
from pfq.site.units import UnitError

RULESETS = Path(__file__).parent.parent.parent / "rulesets"


def _refused(tmp_path: Path, text: str) -> list[tuple[str, int]]:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    with pytest.raises(Refused) as refused:
        load_scenario(str(file))
    return [(d.code, d.place.line if d.place else 0) for d in refused.value.diagnostics]


def test_a_file_says_everything(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(
        "title = 'a test'\nduration = '2 min'\n[line]\ndelay = '10 ms'\ndelay_down = '20 ms'\nup_buffer = '50 packets'\ndown_buffer = '64 kB'\n"
        "lan = '1 Gbit'\nup = '256 kbit'\n[tcp]\ncontrol = 'newreno'\nreceive_window = '16384 bytes'\nsack = false\n"
        "[[flows]]\nkind = 'tcp'\ndirection = 'up'\ncount = 3\nstart = '0 s'\nstop = '90 s'\n[[flows]]\nkind = 'ping'\nevery = '500 ms'\n"
    )
    scenario = load_scenario(str(file))
    assert (scenario.title, scenario.duration, scenario.delay_up, scenario.delay_down) == ("a test", 120 * SECOND, 10**7, 2 * 10**7)
    assert (scenario.up_buffer, scenario.down_buffer) == (Buffer(packets=50), Buffer(size=64_000))
    assert (scenario.lan, scenario.real_up, scenario.real_down) == (10**9, 256_000, None)
    assert (scenario.tcp.control, scenario.tcp.receive_window, scenario.tcp.sack) == ("newreno", 16384, False)
    assert [(f.kind, f.count, f.start, f.stop, f.every) for f in scenario.flows] == [
        ("tcp", 3, 0, 90 * SECOND, 0), ("ping", 1, 0, 120 * SECOND, SECOND // 2),
    ]
    assert [phase.name for phase in scenario.phases] == ["all"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("duration = '0 s'\nflows = []\n", [("bad-quantity", 1)]),
        ("flows = []\n", [("missing-key", 1)]),
        ("duration = '1 s'\n[[flows]]\nkind = 'telnet'\n", [("unknown-word", 3)]),
        ("duration = '1 s'\n[[flows]]\nkind = 'ping'\nstart = '2 s'\n", [("empty-flow", 2)]),
        ("duration = '9 s'\n[[flows]]\nkind = 'ping'\n[[phases]]\nname = 'a'\nstart = '3 s'\nstop = '2 s'\n", [("empty-phase", 4)]),
        ("duration = '1 s'\n[[flows]]\nkind = 'tcp'\ncount = 9000\n[[flows]]\nkind = 'tcp'\ncount = 9000\n", [("too-many", 2)]),
        ("duration = '1 s'\nflows = []\n[tcp]\nsack = false\n", [("unsupported", 4)]),
        ("duration = '1 s'\n[[flows]]\nkind = 'udp'\nsize = '9 kB'\n", [("out-of-range", 4)]),
        ("duration = '1 s'\nspeed = 3\nflows = []\n", [("unknown-key", 2)]),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, found: list[tuple[str, int]]) -> None:
    assert _refused(tmp_path, text) == found


def test_an_unknown_name_is_refused_with_what_there_is() -> None:
    with pytest.raises(Refused) as refused:
        find_scenario("uplaod")
    assert "upload" in refused.value.diagnostics[0].hint


@pytest.mark.parametrize(("text", "time"), [("90 s", 90 * SECOND), ("1.5 min", 90 * SECOND), ("250 ms", SECOND // 4), ("24 h", 86400 * SECOND)])
def test_durations(text: str, time: int) -> None:
    assert parse_duration(text) == time


@pytest.mark.parametrize("text", ["0 s", "90", "25 h", "1 year", "-1 s", "9" * 50 + " s"])
def test_durations_that_are_none(text: str) -> None:
    with pytest.raises(UnitError):
        parse_duration(text)


def test_a_stretched_scenario_keeps_its_shape() -> None:
    scenario = of_length(BUILT_IN["phases"], 10 * SECOND)
    assert [(phase.start, phase.stop) for phase in scenario.phases] == [(2 * n * SECOND, 2 * (n + 1) * SECOND) for n in range(5)]
    assert scenario.flows[1].start == 2 * SECOND


@pytest.mark.parametrize("name", ["adsl-pppoe", "hartmeier", "lartc-htb", "shared-line", "vlan-backhaul"])
def test_the_seeds_have_scenarios(name: str) -> None:
    scenario = load_scenario(str(RULESETS / name / "scenario.toml"))
    assert scenario.flows


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("up=90..120kbit", ("90 kbit", "95 kbit", "100 kbit", "105 kbit", "110 kbit", "115 kbit", "120 kbit")),
        ("up=90..120/10kbit", ("90 kbit", "100 kbit", "110 kbit", "120 kbit")),
        ("up=1..2.5/0.5 Mbit", ("1 Mbit", "1.5 Mbit", "2 Mbit", "2.5 Mbit")),
        ("links.adsl.mtu=1000..1400/200", ("1000", "1200", "1400")),
        ("links.adsl.segments_per_ack=1..3", ("1", "2", "3")),
    ],
)
def test_rows_of_values(text: str, values: tuple[str, ...]) -> None:
    assert parse_sweep(text).values == values


@pytest.mark.parametrize("text", ["up", "up=3", "up=9..3kbit", "up=1..2/0kbit", "up=1..1000000/1kbit", "=1..2"])
def test_rows_that_are_none(text: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_sweep(text)
    assert refused.value.diagnostics[0].code == "bad-sweep"


def test_a_sweep_changes_the_number_that_it_names() -> None:
    site = str(RULESETS / "hartmeier/site.toml")
    idle = of_length(BUILT_IN["idle"], SECOND)
    for name in ("up", "hosts.kue0.links.adsl.shaped_up"):
        swept = run_sweep(site, "kue0", None, parse_sweep(f"{name}=90..110/10kbit"), idle, 1)
        assert [run.schedulers[0].split(", ")[-1].split()[0] for run in swept.runs] == ["90000", "100000", "110000"]


@pytest.mark.parametrize("text", ["up=200..300kbit", "links.none.mtu=1000..1400", "hosts.kue0.colour=1..2"])
def test_a_sweep_that_the_model_cannot_take_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        run_sweep(str(RULESETS / "hartmeier/site.toml"), "kue0", None, parse_sweep(text), of_length(BUILT_IN["idle"], SECOND), 1)
    assert refused.value.diagnostics[0].code == "bad-sweep"


def test_percentiles_by_hand() -> None:
    histogram = Histogram()
    for value in range(1, 101):
        histogram.add(value)
    assert [histogram.percentile(percent) for percent in (1, 50, 95, 100)] == [1, 50, 95, 100]
    assert (histogram.mean, histogram.least, histogram.most) == (50.5, 1, 100)
    large = Histogram()
    for value in range(10**9, 2 * 10**9, 10**6):
        large.add(value)
    assert large.percentile(95) == pytest.approx(1.95e9, rel=0.01)
    assert len(large.buckets) <= 128
