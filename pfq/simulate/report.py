"""The report: one HTML file without a script and without a network, with pictures, their numbers, the model and its derivations."""

from html import escape

from pfq.plan.model import Plan
from pfq.plan.show import as_text as plan_text
from pfq.simulate.comparison import Comparison
from pfq.simulate.packet import SECOND
from pfq.simulate.palette import COLOURS, STYLE
from pfq.simulate.plot import Chart, Series, number
from pfq.simulate.show import (
    HOST_HEADS,
    OTHER_HEADS,
    PHASE_HEADS,
    PING_HEADS,
    QUEUE_HEADS,
    host_rows,
    other_rows,
    phase_rows,
    queue_rows,
    sweep_rows,
    title_lines,
)
from pfq.simulate.statistics import Histogram
from pfq.simulate.svg import figure
from pfq.simulate.sweep import Swept
from pfq.simulate.world import Result

# Bins of a run that make one point of a throughput curve.
MERGED = 3
PERCENTS = (1, 5, 10, 25, 50, 75, 90, 95, 99, 100)

_PAGE_STYLE = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;line-height:1.25}h2{font-size:1.15rem;margin-top:2rem}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.25rem}
figure{margin:0;min-width:0}svg{width:100%;height:auto;display:block}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--quiet);font-weight:600}
td.w,th.w{text-align:left}
summary{cursor:pointer;color:var(--quiet);font-size:.85rem;padding:.4rem 0}
pre{overflow-x:auto;background:var(--shade);padding:.8rem;font-size:.8rem;line-height:1.4}
.plain{color:var(--quiet)}
@media(max-width:40rem){th,td{padding:.2rem .3rem}table{font-size:.75rem}}
"""


def _merged(values: list[float], width: float, by: int) -> list[tuple[float, float | None]]:
    """Means of `by` bins each, at their middle (seconds)."""
    return [(((index + by / 2) * width), sum(values[index : index + by]) / by) for index in range(0, len(values) - by + 1, by)]


def _spans(run: Result) -> tuple[tuple[str, float, float], ...]:
    return tuple((phase.name, phase.start / SECOND, phase.stop / SECOND) for phase in run.phases)


def _throughput(comparison: Comparison) -> list[Chart]:
    """A chart a run, one scale for both, as the article on ACKs draws them."""
    most = max(max(*run.up, *run.down) for run in comparison.runs)
    factor, unit = (1e6, "Mbit/s") if most >= 2e6 else (1e3, "kbit/s")
    drawn = []
    for run in comparison.runs:
        lines = []
        for name, values, colour in (("download", run.down, 1), ("upload", run.up, 0)):
            points = [(at, value / factor if value is not None else None) for at, value in _merged(values, run.width / SECOND, MERGED)]
            lines.append(Series(name, points, colour))
        drawn.append((run, tuple(lines)))
    top = max((value for _, pair in drawn for series in pair for _, value in series.points if value is not None), default=0.0) * 1.05 or 1.0
    return [Chart(f"Throughput, {run.label}", "s", unit, pair, _spans(run), y_least=0.0, y_most=top) for run, pair in drawn]


def _ping(comparison: Comparison) -> Chart:
    lines = []
    for colour, run in enumerate(comparison.runs):
        width = run.width / SECOND
        points = [((index + 0.5) * width, value / 1e6 if value else None) for index, value in enumerate(run.ping)]
        # Bins without a ping are no gaps: lines go from ping to ping.
        lines.append(Series(run.label, [point for point in points if point[1] is not None], colour))
    return Chart("Ping over time", "s", "ms", tuple(lines), _spans(comparison.runs[0]), log_y=True)


def _all_pings(run: Result) -> Histogram:
    whole = Histogram()
    for phase in run.phases:
        ping = phase.ping
        if ping.count:
            whole.least = min(whole.least, ping.least) if whole.count else ping.least
            whole.most = max(whole.most, ping.most)
            whole.count += ping.count
            whole.total += ping.total
            for bucket, count in ping.buckets.items():
                whole.buckets[bucket] = whole.buckets.get(bucket, 0) + count
    return whole


def _distribution(comparison: Comparison) -> Chart:
    lines = []
    for colour, run in enumerate(comparison.runs):
        whole, seen = _all_pings(run), 0
        points: list[tuple[float, float | None]] = []
        for bucket in sorted(whole.buckets):
            points.append((bucket / 1e6, 100 * seen / whole.count))
            seen += whole.buckets[bucket]
            points.append((bucket / 1e6, 100 * seen / whole.count))
        lines.append(Series(run.label, points, colour))
    return Chart("Pings that took no longer", "ms", "% of all", tuple(lines), log_x=True, y_least=0.0, y_most=100.0)


def _queues(comparison: Comparison) -> list[Chart]:
    """Packets waiting by class in the plan's run, a chart a direction."""
    run = comparison.runs[-1]
    charts = []
    for direction in ("up", "down"):
        classes = [item for item in run.classes if item.direction == direction and item.waiting]
        if classes:
            series = tuple(
                Series(item.name[:20], [((i + 0.5) * run.width / SECOND, value) for i, value in enumerate(item.waiting)], index % COLOURS)
                for index, item in enumerate(classes)
            )
            charts.append(Chart(f"Waiting in the gateway, {direction}, {run.label}", "s", "packets", series, _spans(run)))
    return charts


def _buffers(comparison: Comparison) -> list[Chart]:
    charts = []
    for index, name in enumerate(("modem", "exchange")):
        series = []
        for colour, run in enumerate(comparison.runs):
            buffer = run.buffers[index]
            rate = buffer.most / buffer.time * SECOND if buffer.time else 1.0
            points = [((i + 0.5) * run.width / SECOND, value / rate * 1000 if value is not None else None) for i, value in enumerate(buffer.waiting)]
            series.append(Series(run.label, points, colour))
        charts.append(Chart(f"Waiting in the {name}", "s", "ms", tuple(series), _spans(comparison.runs[0])))
    return charts


def _sweep(swept: Swept) -> list[Chart]:
    """The trade-off of the busiest phase: ping against goodput at every value."""
    index = max(range(len(swept.runs[0].phases)), key=lambda i: sum(min(run.phases[i].up, 1e18) * max(run.phases[i].down, 1.0) for run in swept.runs))
    name = swept.runs[0].phases[index].name
    pairs = list(zip(swept.sweep.numbers, swept.runs, strict=True))
    pings = [(value, run.phases[index].ping) for value, run in pairs]
    mean: list[tuple[float, float | None]] = [(value, ping.mean / 1e6 if ping.mean is not None else None) for value, ping in pings]
    late: list[tuple[float, float | None]] = [(value, (ping.percentile(95) or 0) / 1e6 if ping.count else None) for value, ping in pings]
    up: list[tuple[float, float | None]] = [(value, run.phases[index].up / 1000) for value, run in pairs]
    down: list[tuple[float, float | None]] = [(value, run.phases[index].down / 1000) for value, run in pairs]
    axis = f"{swept.sweep.name}, {swept.sweep.unit}".rstrip(", ")
    return [
        Chart(f"Ping by {swept.sweep.name}, {name}", axis, "ms", (Series("mean", mean, 1), Series("95 %", late, 0))),
        Chart(f"Goodput by {swept.sweep.name}, {name}", axis, "kbit/s", (Series("download", down, 1), Series("upload", up, 0))),
    ]


def charts_of(comparison: Comparison, swept: Swept | None) -> list[Chart]:
    charts = [*_throughput(comparison), _ping(comparison), _distribution(comparison), *_queues(comparison), *_buffers(comparison)]
    return charts + (_sweep(swept) if swept else [])


def _table(heads: tuple[str, ...], rows: list[list[str]], words: int) -> str:
    def row(cells: list[str] | tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}{' class=w' if index < words else ''}>{escape(cell)}</{tag}>" for index, cell in enumerate(cells)) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f'<div class="wide"><table><thead>{row(heads, "th")}</thead><tbody>{body}</tbody></table></div>'


def _numbers(chart: Chart) -> str:
    """The points of a chart, one row an x."""
    found: dict[float, dict[int, float | None]] = {}
    for index, series in enumerate(chart.series):
        for at, value in series.points:
            found.setdefault(at, {})[index] = value
    rows = []
    for at in sorted(found):
        values = [found[at].get(index) for index in range(len(chart.series))]
        rows.append([number(at), *("" if value is None else number(value) for value in values)])
    heads = (chart.x_unit, *(f"{series.name}, {chart.y_unit}" for series in chart.series))
    return f"<details><summary>The numbers</summary>{_table(heads, rows, 0)}</details>"


def _picture(chart: Chart) -> str:
    return f"<figure>{figure(chart)}{_numbers(chart)}</figure>"


def page(comparison: Comparison, swept: Swept | None) -> str:
    """The whole page."""
    runs, subject = comparison.runs, comparison.subject
    titles = title_lines(subject, comparison)
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<meta name=color-scheme content='light dark'><title>{escape(comparison.scenario.title)}</title>",
        f"<style>{STYLE}{_PAGE_STYLE}</style></head><body>",
        f"<h1>{escape(comparison.scenario.title)}</h1>",
        "".join(f"<p class=plain>{escape(line)}</p>" for line in titles),
        "<h2>Result</h2>", _table(PHASE_HEADS, phase_rows(runs), 2),
        "<p class=plain>Ping in ms; goodput is payload that arrived.</p>",
        "<h2>Pictures</h2><div class=pictures>", *(_picture(chart) for chart in charts_of(comparison, None)), "</div>",
        "<h2>Queues</h2>", _table(QUEUE_HEADS, queue_rows(runs), 3),
    ]
    others, hosts = other_rows(runs), host_rows(runs)
    if others:
        parts += ["<h2>Shells, pages, streams (ms)</h2>", _table(OTHER_HEADS, others, 2)]
    if hosts:
        parts += ["<h2>Bytes of each host</h2>", _table(HOST_HEADS, hosts, 2)]
    if swept is not None:
        heads = ("phase", swept.sweep.name, *PING_HEADS, "up kbit/s", "down kbit/s")
        parts += ["<h2>Trade-off</h2><div class=pictures>", *(_picture(chart) for chart in _sweep(swept)), "</div>", _table(heads, sweep_rows(swept), 2)]
    parts += ["<h2>Schedulers</h2><ul>", *(f"<li>{escape(run.label)}: {escape('; '.join(run.schedulers) or 'none')}</li>" for run in runs), "</ul>"]
    parts += ["<h2>Percentiles of all pings (ms)</h2>", _percentiles(runs)]
    plan: Plan = subject.plan
    parts += ["<h2>Derivations</h2>", f"<pre>{escape(plan_text(plan))}</pre>", "<h2>Model</h2>", f"<pre>{escape(plan.source.text)}</pre>", "</body></html>\n"]
    return "".join(parts)


def _percentiles(runs: tuple[Result, ...]) -> str:
    rows = []
    for run in runs:
        whole = _all_pings(run)
        rows.append([run.label, *(number((whole.percentile(percent) or 0) / 1e6) for percent in PERCENTS)])
    return _table(("run", *(f"{percent} %" for percent in PERCENTS)), rows, 1)
