"""What a simulation found, as text for people, JSON and CSV for programs."""

import csv
import io
import json
from typing import Any

from pfq.diagnostics import visible
from pfq.simulate.comparison import Comparison, Subject
from pfq.simulate.packet import SECOND
from pfq.simulate.statistics import Histogram
from pfq.simulate.sweep import Swept
from pfq.simulate.world import PhaseResult, Result
from pfq.site.units import show_rate

PERCENTILES = (95, 99)


def milliseconds(time: float | None) -> str:
    return "-" if time is None else f"{time / 1e6:.1f}"


def kilobits(rate: float) -> str:
    return f"{rate / 1000:.1f}" if rate < 100_000 else f"{rate / 1000:.0f}"


def ping_row(ping: Histogram) -> list[str]:
    """min, mean, p95, p99, max in ms, and lost ones."""
    if not ping.count:
        return ["-"] * 5 + [str(ping.lost)]
    found = [ping.least, ping.mean, *(ping.percentile(percent) for percent in PERCENTILES), ping.most]
    return [*(milliseconds(value) for value in found), str(ping.lost)]


PING_HEADS = ("min", "mean", *(f"p{percent}" for percent in PERCENTILES), "max", "lost")
PHASE_HEADS = ("phase", "run", *PING_HEADS, "up kbit/s", "down kbit/s")


def phase_rows(runs: tuple[Result, ...]) -> list[list[str]]:
    """A row for each phase and run: pings in ms, goodput in kbit/s."""
    rows = []
    for phases in zip(*(run.phases for run in runs), strict=True):
        for run, phase in zip(runs, phases, strict=True):
            rows.append([phase.name if run is runs[0] else "", run.label, *ping_row(phase.ping), kilobits(phase.up), kilobits(phase.down)])
    return rows


QUEUE_HEADS = ("run", "way", "queue", "longest", "dropped")


def queue_rows(runs: tuple[Result, ...]) -> list[list[str]]:
    """A row for each queue of each run, the bottlenecks' own buffers last."""
    rows = []
    for run in runs:
        for item in run.classes:
            rows.append([run.label, item.direction, visible(item.name), f"{item.most} packets", str(item.drops)])
        for buffer in run.buffers:
            rows.append([run.label, buffer.direction, buffer.name, f"{milliseconds(buffer.time)} ms", str(buffer.drops)])
    return rows


OTHER_HEADS = ("run", "what", "count", "min", "mean", "p95", "p99", "max", "lost")


def other_rows(runs: tuple[Result, ...]) -> list[list[str]]:
    """Shells, pages and streams, in ms."""
    rows = []
    for run in runs:
        found = [("shell, key to echo", run.shell), ("page", run.pages)]
        found += [(f"stream {direction}, one way", histogram) for direction, histogram in sorted(run.streams.items())]
        rows += [[run.label, name, str(histogram.count), *ping_row(histogram)] for name, histogram in found if histogram.count or histogram.lost]
    return rows


HOST_HEADS = ("run", "way", "hosts", "least kB", "mean kB", "most kB", "least of mean", "most of mean")


def host_rows(runs: tuple[Result, ...]) -> list[list[str]]:
    """What each of several hosts got, in all of the run."""
    rows = []
    for run in runs:
        for direction, sizes in run.hosts.items():
            mean = sum(sizes) / len(sizes)
            if len(sizes) > 1 and mean:
                kilobytes = [f"{value / 1000:.0f}" for value in (min(sizes), mean, max(sizes))]
                parts = [f"{value / mean * 100:.0f} %" for value in (min(sizes), max(sizes))]
                rows.append([run.label, direction, str(len(sizes)), *kilobytes, *parts])
    return rows


def table(heads: tuple[str, ...], rows: list[list[str]], words: int) -> list[str]:
    """Lines of a table; the first `words` columns are text, the others numbers."""
    widths = [max(len(row[column]) for row in [list(heads), *rows]) for column in range(len(heads))]
    lines = []
    for row in [list(heads), *rows]:
        cells = [cell.ljust(width) if index < words else cell.rjust(width) for index, (cell, width) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def title_lines(subject: Subject, comparison: Comparison) -> list[str]:
    """What was simulated, in words."""
    uplink, scenario = subject.uplink, comparison.scenario
    down = show_rate(subject.down) + ("" if subject.down_given else " (as up; the model names none)")
    return [
        f"{uplink.link} on {subject.gateway.name} ({subject.gateway.system.name}, {uplink.interface}): "
        f"{show_rate(uplink.up.line)} up, {down} down, {uplink.encapsulation.name}, mtu {uplink.mtu.value}",
        f"scenario: {visible(scenario.title)}, {scenario.duration / SECOND:g} s, {scenario.tcp.control}, seed {comparison.seed}",
    ]


def as_text(comparison: Comparison) -> str:
    """Side by side: pings, goodput, queues, drops."""
    runs = comparison.runs
    lines = title_lines(comparison.subject, comparison)
    for run in runs:
        lines += [f"{run.label}: {words}" for words in run.schedulers]
    lines += ["", "ping in ms; goodput: payload that arrived", *table(PHASE_HEADS, phase_rows(runs), 2)]
    lines += ["", "longest queue and packets dropped", *table(QUEUE_HEADS, queue_rows(runs), 3)]
    others = other_rows(runs)
    if others:
        lines += ["", "times in ms", *table(OTHER_HEADS, others, 2)]
    hosts = host_rows(runs)
    if hosts:
        lines += ["", "bytes of each host", *table(HOST_HEADS, hosts, 2)]
    return "\n".join(lines) + "\n"


def _histogram(histogram: Histogram) -> dict[str, Any]:
    return {
        "count": histogram.count,
        "lost": histogram.lost,
        "min": histogram.least if histogram.count else None,
        "mean": histogram.mean,
        **{f"p{percent}": histogram.percentile(percent) for percent in (50, *PERCENTILES)},
        "max": histogram.most if histogram.count else None,
    }


def _phase(phase: PhaseResult) -> dict[str, Any]:
    return {
        "name": phase.name, "start_ns": phase.start, "stop_ns": phase.stop, "ping_ns": _histogram(phase.ping), "up_bit_s": phase.up, "down_bit_s": phase.down,
    }


def run_object(run: Result) -> dict[str, Any]:
    """A run as JSON has it: times in ns, rates in bit/s."""
    return {
        "label": run.label,
        "packets": run.packets,
        "schedulers": run.schedulers,
        "phases": [_phase(phase) for phase in run.phases],
        "queues": [{"way": item.direction, "name": item.name, "longest_packets": item.most, "dropped": item.drops} for item in run.classes],
        "buffers": [
            {"way": item.direction, "name": item.name, "longest_bytes": item.most, "longest_ns": item.time, "dropped": item.drops} for item in run.buffers
        ],
        "shell_ns": _histogram(run.shell),
        "pages_ns": _histogram(run.pages),
        "streams_ns": {direction: _histogram(histogram) for direction, histogram in sorted(run.streams.items())},
        "bytes_by_host": run.hosts,
        "series": {"width_ns": run.width, "up_bit_s": run.up, "down_bit_s": run.down, "ping_ns": run.ping},
    }


def as_json(comparison: Comparison, swept: Swept | None) -> str:
    subject, scenario = comparison.subject, comparison.scenario
    document: dict[str, Any] = {
        "host": subject.gateway.name, "system": subject.gateway.system.name, "link": subject.uplink.link, "up_bit_s": subject.uplink.up.line,
        "down_bit_s": subject.down, "scenario": scenario.name, "duration_ns": scenario.duration, "seed": comparison.seed,
        "runs": [run_object(run) for run in comparison.runs],
    }
    if swept is not None:
        document["sweep"] = {"name": swept.sweep.name, "values": list(swept.sweep.values), "runs": [run_object(run) for run in swept.runs]}
    return json.dumps(document, indent=1) + "\n"


def as_csv(comparison: Comparison, swept: Swept | None) -> str:
    """One measure a line: run, phase or queue, measure, unit, value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", "where", "measure", "unit", "value"])
    for run in (*comparison.runs, *(swept.runs if swept else ())):
        for phase in run.phases:
            for name, value in _histogram(phase.ping).items():
                plain = name in ("count", "lost")
                shown = "" if value is None else value if plain else round(value / 1e6, 3)
                writer.writerow([run.label, phase.name, f"ping {name}", "" if plain else "ms", shown])
            writer.writerow([run.label, phase.name, "goodput up", "bit/s", round(phase.up)])
            writer.writerow([run.label, phase.name, "goodput down", "bit/s", round(phase.down)])
        for item in run.classes:
            writer.writerow([run.label, f"{item.direction} {item.name}", "longest", "packets", item.most])
            writer.writerow([run.label, f"{item.direction} {item.name}", "dropped", "packets", item.drops])
        for buffer in run.buffers:
            writer.writerow([run.label, f"{buffer.direction} {buffer.name}", "longest", "ms", round(buffer.time / 1e6, 3)])
            writer.writerow([run.label, f"{buffer.direction} {buffer.name}", "dropped", "packets", buffer.drops])
    return out.getvalue()


def sweep_rows(swept: Swept) -> list[list[str]]:
    """A row for each phase and value."""
    rows = []
    for index in range(len(swept.runs[0].phases)):
        for number, run in enumerate(swept.runs):
            phase = run.phases[index]
            rows.append([phase.name if not number else "", run.label, *ping_row(phase.ping), kilobits(phase.up), kilobits(phase.down)])
    return rows


def sweep_text(swept: Swept) -> str:
    heads = ("phase", swept.sweep.name, *PING_HEADS, "up kbit/s", "down kbit/s")
    return "\n".join(["", f"{swept.sweep.name} at {len(swept.runs)} values", *table(heads, sweep_rows(swept), 2)]) + "\n"
