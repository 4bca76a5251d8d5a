"""The seeds' articles, simulated with the parameters that docs/simulate.md names. Numbers in brackets are the article's."""

from dataclasses import replace
from pathlib import Path

import pytest

from pfq.simulate.comparison import Comparison, compare, load_subject, simulate
from pfq.simulate.packet import SECOND
from pfq.simulate.scenario import load_scenario
from pfq.simulate.sweep import parse_sweep, run_sweep
from pfq.simulate.world import PhaseResult

RULESETS = Path(__file__).parent.parent.parent / "rulesets"


def _compared(name: str, host: str | None = None, link: str | None = None) -> Comparison:
    folder = RULESETS / name
    return compare(load_subject(str(folder / "site.toml"), host, link), "none", load_scenario(str(folder / "scenario.toml")), 1)


def _phases(comparison: Comparison) -> tuple[dict[str, PhaseResult], dict[str, PhaseResult]]:
    bare, shaped = comparison.runs
    return {phase.name: phase for phase in bare.phases}, {phase.name: phase for phase in shaped.phases}


def _ping(phase: PhaseResult) -> tuple[float, float, float]:
    assert phase.ping.mean is not None
    return phase.ping.least / 1e6, phase.ping.mean / 1e6, phase.ping.most / 1e6


def _near(found: tuple[float, ...], *wanted: tuple[float, float]) -> None:
    """Each number within a distance of what is wanted."""
    assert len(found) == len(wanted)
    for number, (aim, distance) in zip(found, wanted, strict=True):
        assert number == pytest.approx(aim, abs=distance)


@pytest.mark.parametrize("host", ["kue0", "tun0"])
def test_acks_first(host: str) -> None:
    bare, shaped = _phases(_compared("hartmeier", host))
    kilobytes = {name: phase.down / 8000 for name, phase in bare.items()}
    assert kilobytes["download"] == pytest.approx(54, abs=1)  # (about 50)
    assert kilobytes["both"] == pytest.approx(7, abs=0.5)  # (about 7)
    assert shaped["both"].down / 8000 == pytest.approx(53.5, abs=1)  # (back to about 50)
    assert shaped["upload"].up > 0.8 * bare["upload"].up


def test_the_same_line_today_also_has_a_short_ping() -> None:
    bare, shaped = _phases(_compared("hartmeier", "today"))
    assert shaped["both"].down > 7 * bare["both"].down
    assert _ping(shaped["upload"])[1] < 150
    assert _ping(bare["upload"])[1] > 2000


def test_the_conditioner_as_cbq() -> None:
    bare, shaped = _phases(_compared("lartc-cbq"))
    assert _ping(bare["upload"])[1] == pytest.approx(2332, abs=70)  # (2041/2332/2428)
    # The article's 16/52/80 are reached but for the highest; see docs/simulate.md for why cbq lets two packets go at once.
    _near(_ping(shaped["upload"])[:2], (16, 8), (52, 10))
    assert 80 < _ping(shaped["upload"])[2] < 125
    _near(_ping(shaped["download"]), (20, 5), (47, 8), (74, 20))  # (20/47/74)
    assert shaped["both"].up / bare["upload"].up == pytest.approx(0.9, abs=0.05)  # (90 %)
    # (850 ms), which hang on the modem's buffer.
    assert 500 < _ping(shaped["both"])[1] < 1500


def test_the_conditioner() -> None:
    bare, shaped = _phases(_compared("lartc-htb"))
    assert _ping(bare["idle"])[1] == pytest.approx(17, abs=1)  # (14/17/22)
    _near(_ping(bare["download"]), (561, 12), (574, 12), (586, 12))  # (561/574/586)
    _near(_ping(bare["upload"])[1:], (2332, 70), (2428, 140))  # (2041/2332/2428)
    _near(_ping(shaped["upload"]), (16, 8), (52, 14), (80, 25))  # (16/52/80)
    _near(_ping(shaped["download"]), (20, 5), (47, 8), (74, 20))  # (20/47/74)
    # Both directions busy, over each alone.
    assert shaped["both"].up / bare["upload"].up == pytest.approx(0.9, abs=0.05)  # (90 %)
    assert shaped["both"].down / bare["download"].down == pytest.approx(0.74, abs=0.04)  # (80 %): see docs/simulate.md
    assert _ping(shaped["both"])[2] == pytest.approx(850, abs=80)  # (850)


@pytest.mark.slow
def test_the_french_line() -> None:
    bare, shaped = _phases(_compared("adsl-pppoe"))
    assert _ping(bare["idle"])[1] == pytest.approx(35.4, abs=0.3)  # (35/35/36)
    _near(_ping(shaped["upload"]), (36, 1), (42, 1), (48, 1))  # (36/42/48)
    _near(_ping(shaped["both"]), (36, 1), (48, 5), (57, 5))  # (36/48/57)
    # The article's highest values, 368 and 360 ms, are not reached: see docs/simulate.md.
    _near(_ping(bare["upload"])[:2], (64, 12), (86, 15))  # (64/86/368)
    _near(_ping(bare["both"])[:2], (67, 17), (109, 10))  # (67/109/360)
    assert bare["both"].down < 0.7 * shaped["both"].down


def test_the_shared_line() -> None:
    folder = RULESETS / "shared-line"
    subject, scenario = load_subject(str(folder / "site.toml"), None, None), load_scenario(str(folder / "scenario.toml"))
    tunnel, plan = compare(subject, "interleaved", scenario, 1).runs
    delay = 10
    assert 12 <= _ping(tunnel.phases[0])[2] - delay <= 24.1  # (12 to 24)
    for run in (tunnel, plan):
        # Two minutes, the start among them; for five of them see below.
        mean = sum(run.hosts["up"]) / 14
        assert max(abs(size - mean) for size in run.hosts["up"]) < 0.07 * mean  # (within 5 %)


def test_twenty_share_within_five_percent_unless_two_fall_on_one_queue() -> None:
    folder = RULESETS / "shared-line"
    subject, scenario = load_subject(str(folder / "site.toml"), None, None), load_scenario(str(folder / "scenario.toml"))
    twenty = replace(scenario.flows[0], count=20, hosts=20, stop=300 * SECOND)
    longer = replace(scenario, duration=300 * SECOND, flows=(twenty,), phases=())
    for seed in range(1, 10):
        sizes = sorted(simulate(subject, longer, "plan", seed, "").hosts["up"])
        mean = sum(sizes) / 20
        if sizes[0] < 0.8 * mean:
            # Seeds differ in the hash only; here two share a queue, and have one share between them.
            assert sum(sizes[:2]) == pytest.approx(sizes[10], rel=0.07)
            sizes = sizes[2:]
            mean = sum(sizes) / 18
        assert max(abs(size - mean) for size in sizes) < 0.05 * mean


def test_packet_by_packet_the_ping_waits_for_everybody(tmp_path: Path) -> None:
    # The scheduler of the time: sfq by source address. 14 packets of 12 ms stand before the ping (168 ms), and one is on the line.
    folder = RULESETS / "shared-line"
    site = tmp_path / "site.toml"
    site.write_text((folder / "site.toml").read_text().replace("nat = true", "nat = true, leaf = 'sfq'"))
    _, plan = compare(load_subject(str(site), None, None), "none", load_scenario(str(folder / "scenario.toml")), 1).runs
    least, mean, most = _ping(plan.phases[0])
    assert 150 < least - 10 < mean - 10 < 180
    assert most - 10 <= 168 + 3 * 12


@pytest.mark.slow
def test_the_backhaul() -> None:
    folder = RULESETS / "vlan-backhaul"
    site, scenario = str(folder / "site.toml"), load_scenario(str(folder / "scenario.toml"))
    bare = compare(load_subject(site, "h7", "backhaul"), "none", scenario, 1).runs[0]
    one, _, udp = bare.phases
    assert one.up < 12e6  # (10 to 20 Mbit/s)
    assert udp.up == pytest.approx(60e6 * 1470 / 1498, rel=0.01)  # (60 Mbit/s without loss)
    assert bare.streams["up"].lost == 0
    swept = run_sweep(site, "h7", "backhaul", parse_sweep("burst=3..63/60kB"), scenario, 1)
    small, large = (run.phases[0].up for run in swept.runs)
    assert small > 90e6  # (50 Mbit/s and more)
    assert large < 12e6


@pytest.mark.slow
def test_the_download_without_queueing_depends_on_the_uploads_window() -> None:
    """The one number that the ACK article leaves open: what the upload's far end offers."""
    folder = RULESETS / "hartmeier"
    subject, scenario = load_subject(str(folder / "site.toml"), "kue0", None), load_scenario(str(folder / "scenario.toml"))
    found = []
    for window in (16_384, 32_768, 49_152):
        flows = tuple(replace(item, window=window) if item.direction == "up" and item.kind == "tcp" else item for item in scenario.flows)
        run = compare(subject, "none", replace(scenario, flows=flows, duration=600 * SECOND), 1).runs[0]
        found.append(run.phases[2].down / 8000)
    # A download's rate is its own window a round trip, and the round trip is the upload's window at 128 kbit/s.
    assert found == [pytest.approx(14.4, abs=0.5), pytest.approx(7.0, abs=0.5), pytest.approx(4.7, abs=0.5)]
