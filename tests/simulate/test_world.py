"""Whole runs: determinism, laws of the network around the plan, every scheduler, the bounds."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from pfq.diagnostics import Refused
from pfq.plan.build import build
from pfq.simulate.comparison import Subject, compare, load_subject, simulate, subject_of
from pfq.simulate.disciplines import counted_lengths
from pfq.simulate.packet import SECOND
from pfq.simulate.scenario import BUILT_IN, Buffer, Phase, find_scenario, flow, of_length
from pfq.simulate.show import as_json, run_object
from pfq.simulate.world import World
from pfq.site.check import MOST_LEVELS
from pfq.site.load import load_text

RULESETS = Path(__file__).parent.parent.parent / "rulesets"
BOTH = of_length(BUILT_IN["both"], 20 * SECOND)


def _subject(system: str, more: str = "", link: str = "up = '2 Mbit'\ndown = '10 Mbit'\nencapsulation = 'pppoe-llc'", interface: str = "") -> Subject:
    interface = interface or ("ppp0" if system.startswith("linux") else "tun0")
    text = f"accept = ['soft-order']\n[links.dsl]\n{link}\n[hosts.gw]\nsystem = '{system}'\nlinks.dsl = {{ interface = '{interface}' {more} }}\n"
    return subject_of(load_text(text, "site.toml"), [], None, None)


SCHEDULERS = [
    ("openbsd-4.4", "priq"), ("openbsd-4.4", "hfsc"), ("openbsd-4.4", "cbq"), ("openbsd-7.6", "hfsc"), ("freebsd-14", "priq"), ("freebsd-14", "hfsc"),
    ("freebsd-14", "cbq"), ("linux-6.1", "htb"), ("linux-6.1", "hfsc"), ("linux-6.1", "prio"), ("linux-6.1", "cake"), ("linux-5.10", "cbq"),
]


@pytest.mark.parametrize(("system", "scheduler"), SCHEDULERS)
def test_every_scheduler_keeps_the_modem_short_and_the_download_up(system: str, scheduler: str) -> None:
    line = "up = '128 kbit'\ndown = '512 kbit'\nencapsulation = 'pppoe-llc'"
    scenario = of_length(find_scenario(str(RULESETS / "hartmeier/scenario.toml")), 100 * SECOND)
    comparison = compare(_subject(system, f", scheduler = '{scheduler}'", line), "none", scenario, 1)
    bare, shaped = comparison.runs
    assert shaped.phases[2].down > 3 * bare.phases[2].down
    assert shaped.buffers[0].time < bare.buffers[0].time / 2
    # A line carries no more than its rate, in cells: 1396 bytes of payload for 31 cells of 53 bytes.
    for run in comparison.runs:
        for phase in run.phases:
            assert phase.up <= 128_000 * 1396 / (31 * 53) * 1.05
            assert phase.down <= 512_000 * 1396 / (31 * 53) * 1.05


def test_a_scheduler_that_is_not_simulated_is_refused_by_name() -> None:
    # Every scheduler of pfq's is simulated; one that comes later must not be mistaken for another.
    subject = _subject("linux-6.1", ", scheduler = 'htb'")
    unknown = replace(subject, uplink=replace(subject.uplink, scheduler="fq_pie"))
    with pytest.raises(Refused) as refused:
        compare(unknown, "none", BOTH, 1)
    assert refused.value.diagnostics[0].code == "not-simulated"
    assert "fq_pie" in refused.value.diagnostics[0].message


def test_equal_seeds_give_equal_results_and_others_do_not() -> None:
    subject, users = _subject("linux-6.1"), of_length(BUILT_IN["many-users"], 4 * SECOND)
    first, again, other = (simulate(subject, users, "plan", seed, "run") for seed in (1, 1, 2))
    assert run_object(first) == run_object(again)
    assert run_object(first) != run_object(other)


def test_more_packets_under_way_than_memory_is_for_are_refused() -> None:
    subject = _subject("linux-6.1", link="up = '1 Gbit'\ndown = '10 Gbit'\nencapsulation = 'ethernet'", interface="eth0")
    stream = flow("udp", 0, SECOND, "down", size=100, rate=10_000_000_000)
    for wanted, refused in ((stream, True), (flow("tcp", 0, SECOND, "down", count=1000), True), (flow("tcp", 0, SECOND, "down", count=4), False)):
        scenario = replace(BUILT_IN["download"], duration=SECOND // 1000, phases=(), flows=(wanted,), down_buffer=Buffer(size=2_000_000_000))
        if refused:
            with pytest.raises(Refused) as found:
                simulate(subject, scenario, "none", 1, "run")
            assert "under way down at once" in found.value.diagnostics[0].message
            assert "down_buffer" in (found.value.diagnostics[0].hint or "")
        else:
            simulate(subject, scenario, "none", 1, "run")


def test_marks_do_instead_of_drops() -> None:
    subject = _subject("linux-6.1", ", scheduler = 'htb', leaf = 'fq_codel'")
    down = replace(BUILT_IN["download"], down_buffer=Buffer(size=10_000_000), tcp=replace(BUILT_IN["download"].tcp, receive_window=300_000))
    # A short buffer behind ours never fills: what is lost is lost to CoDel.
    dropping, marking = (simulate(subject, replace(down, tcp=replace(down.tcp, ecn=ecn)), "plan", 1, "run") for ecn in (False, True))
    lost = [sum(item.drops for item in run.classes if item.direction == "down") for run in (dropping, marking)]
    assert lost[0] > 20
    assert lost[1] == 0
    assert marking.phases[0].down > 0.98 * dropping.phases[0].down
    assert marking.phases[0].ping.percentile(99) < 1.3 * dropping.phases[0].ping.percentile(99)  # type: ignore[operator]


def test_an_idle_line_has_the_ping_that_arithmetic_gives() -> None:
    # 84 bytes of IP on PPPoE LLC: 3 cells of 53 bytes; 15 ms each way.
    result = simulate(_subject("openbsd-7.6"), BUILT_IN["idle"], "none", 1, "run")
    ping = result.phases[0].ping
    expected = 30_000_000 + 159 * 8 * SECOND // 2_000_000 + 159 * 8 * SECOND // 10_000_000
    assert ping.least == pytest.approx(expected, abs=2)
    assert ping.most == pytest.approx(expected, rel=0.05)
    assert ping.lost == 0


def test_a_plan_counts_what_its_interface_counts() -> None:
    plan = build(load_text((RULESETS / "hartmeier/site.toml").read_text(), "site.toml"))
    counted = {gateway.name: counted_lengths(gateway.uplinks[0].up)[40] for gateway in plan.gateways}
    # PF-FACTS: Ethernet IP+14, tun IP+4, pppoe IP+2.
    assert counted == {"kue0": 54, "tun0": 44, "today": 42}


def test_linux_counts_cells() -> None:
    plan = build(load_text((RULESETS / "adsl-pppoe/site.toml").read_text(), "site.toml"))
    lengths = counted_lengths(plan.gateways[0].uplinks[0].up)
    assert (lengths[40], lengths[1448], lengths[1449]) == (106, 31 * 53, 32 * 53)


def test_memory_does_not_grow_with_time() -> None:
    def kept(seconds: int) -> int:
        scenario = of_length(BUILT_IN["both"], seconds * SECOND)
        subject = _subject("openbsd-7.6", link="up = '1 Mbit'\ndown = '4 Mbit'")
        world = World(subject.gateway, subject.uplink, subject.down, scenario, "plan", 1)
        result = world.run("run")
        buckets = sum(len(phase.ping.buckets) for phase in result.phases)
        return len(world.events.heap) + len(world.up_line.departures) + sum(map(len, world.bins.values())) + buckets

    assert kept(40) <= kept(10) * 1.5


def test_thousands_of_flows_are_simulated() -> None:
    scenario = replace(of_length(BUILT_IN["idle"], 2 * SECOND), flows=(flow("tcp", 0, 2 * SECOND, "down", count=2000, hosts=500, apart=0),))
    result = simulate(_subject("linux-6.1"), scenario, "plan", 1, "run")
    assert len(result.hosts["down"]) == 500


def test_an_absurd_rate_is_refused_with_a_way_out() -> None:
    subject = _subject("linux-6.1", link="up = '1 Tbit'\ndown = '1 Tbit'", interface="eth0")
    with pytest.raises(Refused) as refused:
        compare(subject, "none", BUILT_IN["both"], 1)
    assert refused.value.diagnostics[0].code == "too-much"
    assert "--duration" in refused.value.diagnostics[0].hint


def test_a_slow_line_is_simulated() -> None:
    subject = _subject("openbsd-7.6", link="up = '12 kbit'\ndown = '12 kbit'\nencapsulation = 'ip'")
    result = simulate(subject, BOTH, "plan", 1, "run")
    assert 0 < result.phases[0].up <= 12_000


def test_a_buffer_of_packets_of_bytes_and_of_time_mean_the_same_queue() -> None:
    subject = _subject("linux-6.1", link="up = '1200 kbit'\ndown = '10 Mbit'\nencapsulation = 'ip'")
    waits = []
    for buffer in (Buffer(packets=20), Buffer(size=20 * 1500), Buffer(time=SECOND // 5)):
        scenario = replace(of_length(BUILT_IN["upload"], 20 * SECOND), up_buffer=buffer)
        waits.append(simulate(subject, scenario, "none", 1, "run").buffers[0].time)
    # 20 packets of 1500 bytes at 1200 kbit/s are 200 ms, and the one being sent.
    assert waits == [pytest.approx(210_000_000, rel=0.08)] * 3


def test_excluded_traffic_is_not_shaped() -> None:
    subject = _subject("linux-6.1", ", exclude = ['198.18.0.0/16']")
    run = simulate(subject, BOTH, "plan", 1, "run")
    assert all(item.most == 0 for item in run.classes)


def test_policing_drops_and_holds_the_rate() -> None:
    subject = load_subject(str(RULESETS / "lartc-htb/site.toml"), None, None)
    scenario = replace(of_length(BUILT_IN["download"], 30 * SECOND), real_down=1_000_000)
    run = simulate(subject, scenario, "plan", 1, "run")
    policed = next(item for item in run.classes if item.name == "policed")
    assert policed.drops > 0
    assert 0.6 * 800_000 < run.phases[0].down < 800_000


def test_a_tunnel_that_shares_by_bytes_serves_a_small_packet_within_two_frames() -> None:
    subject = load_subject(str(RULESETS / "shared-line/site.toml"), None, None)
    scenario = of_length(find_scenario(str(RULESETS / "shared-line/scenario.toml")), 60 * SECOND)
    tunnel, _ = compare(subject, "interleaved", scenario, 1).runs
    # 1500 bytes at 1 Mbit/s are 12 ms; 10 ms of delay both ways, 0.8 ms for the answer.
    assert 10 + 12 < tunnel.phases[0].ping.mean / 1e6 < 10 + 24 + 1  # type: ignore[operator]
    assert tunnel.phases[0].ping.most / 1e6 < 10 + 24 + 1


def test_phases_cover_what_they_say() -> None:
    scenario = replace(
        of_length(BUILT_IN["idle"], 10 * SECOND), phases=(Phase("a", 0, 5 * SECOND), Phase("b", 5 * SECOND, 10 * SECOND)),
        flows=(flow("ping", 0, 10 * SECOND, every=SECOND), flow("udp", 5 * SECOND, 10 * SECOND, "up", rate=80_000, size=200)),
    )
    first, second = simulate(_subject("linux-6.1"), scenario, "none", 1, "run").phases
    assert (first.ping.count, second.ping.count) == (5, 5)
    assert first.up == 0
    # 172 of 200 bytes are payload.
    assert second.up == pytest.approx(80_000 * 172 / 200, rel=0.02)


@pytest.mark.parametrize("duration", [1, 1000, SECOND // 1000])
def test_a_scenario_of_next_to_no_length_is_simulated(duration: int) -> None:
    run = simulate(_subject("openbsd-7.6"), of_length(BUILT_IN["phases"], duration), "plan", 1, "run")
    assert [phase.up for phase in run.phases] == [0] * 5


@pytest.mark.parametrize(("system", "scheduler"), [("linux-6.1", "htb"), ("linux-6.1", "hfsc"), ("openbsd-7.6", "hfsc"), ("freebsd-14", "cbq")])
def test_the_deepest_model_is_simulated(system: str, scheduler: str) -> None:
    names = [f"c{depth}" for depth in range(MOST_LEVELS)]
    inner = ", ".join(f"{{ name = '{name}', parent = '{above}' }}" for above, name in pairwise(names))
    interface = "ppp0" if system.startswith("linux") else "tun0"
    text = (
        f"[links.dsl]\nup = '2 Mbit'\npolicy = 'deep'\n[policies.deep]\nclasses = [{{ name = 'c0' }}, {inner}]\n"
        f"[hosts.gw]\nsystem = '{system}'\nlinks.dsl = {{ interface = '{interface}', scheduler = '{scheduler}' }}\n"
    )
    run = simulate(subject_of(load_text(text, "site.toml"), [], None, None), BOTH, "plan", 1, "run")
    # One leaf: it has the whole rate, in whatever bytes the system counts.
    assert 1_500_000 < run.phases[0].up < 2_000_000


def test_json_is_whole() -> None:
    comparison = compare(_subject("linux-6.1"), "none", of_length(BUILT_IN["idle"], SECOND), 1)
    document = json.loads(as_json(comparison, None))
    assert [run["label"] for run in document["runs"]] == ["no shaping", "the plan"]
    assert len(document["runs"][0]["series"]["up_bit_s"]) == 300
