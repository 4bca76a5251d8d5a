"""Line charts as SVG text. Colours are classes (`s0`, `s1`, ...) that a style sheet gives a light and a dark form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

WIDTH, HEIGHT = 480, 266
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 62, 34
COLOURS = 8

# Light first; dark where the reader's system asks for it. Pairs keep a contrast of 4.5 and more with their ground.
STYLE = """
:root{--ground:#fff;--ink:#1b1f24;--quiet:#5a6472;--rule:#d8dde3;--shade:#f3f5f8;
--s0:#c2410c;--s1:#1d5fd1;--s2:#15803d;--s3:#7e22ce;--s4:#a16207;--s5:#0e7490;--s6:#be185d;--s7:#4d5562}
@media(prefers-color-scheme:dark){:root{--ground:#14171b;--ink:#e6e9ed;--quiet:#a3adba;--rule:#333a44;--shade:#1c2127;
--s0:#ff9c66;--s1:#7db2ff;--s2:#6fd693;--s3:#cfa2ff;--s4:#e8c25a;--s5:#63d3e6;--s6:#ff8fc0;--s7:#b6c0cc}}
svg text{fill:var(--ink);font:13px system-ui,sans-serif}
svg .quiet{fill:var(--quiet);font-size:12px}
svg .title{font-weight:600;font-size:14px}
svg .rule{stroke:var(--rule);stroke-width:1}
svg .shade{fill:var(--shade)}
svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
""" + "".join(f"svg .s{n}{{stroke:var(--s{n})}}svg .k{n}{{fill:var(--s{n})}}" for n in range(COLOURS))


@dataclass(frozen=True, slots=True)
class Series:
    """A line: points (x, y), y None where it breaks. `colour`: number of its class."""

    name: str
    points: Sequence[tuple[float, float | None]]
    colour: int


@dataclass(frozen=True, slots=True)
class Chart:
    """spans: named parts of the x axis. log_x, log_y: logarithmic axes, whose values must be above 0."""

    title: str
    x_unit: str
    y_unit: str
    series: tuple[Series, ...]
    spans: tuple[tuple[str, float, float], ...] = ()
    log_x: bool = False
    log_y: bool = False
    y_least: float | None = None
    y_most: float | None = None
    from_zero: bool = True


def number(value: float) -> str:
    """A number for an axis or a table: three digits that count, no exponent."""
    if not value:
        return "0"
    digits = max(0, 2 - floor(log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round values from `low` to `high`, about `wanted` of them."""
    if high <= low:
        return [low]
    rough = (high - low) / wanted
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first = -(-low // step)
    return [(first + index) * step for index in range(int((high - first * step) / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round factors of powers of ten, as many as find room."""
    inside: list[float] = []
    for factors in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1,)):
        found = [factor * 10.0**power for power in range(floor(log10(low)), floor(log10(high)) + 1) for factor in factors]
        inside = [value for value in found if low * 0.999 <= value <= high * 1.001]
        if len(inside) <= 8:
            break
    return inside


def _axis(low: float, high: float, log: bool, begin: float, length: float) -> Callable[[float], float]:
    if log:
        width = log10(high) - log10(low) or 1.0
        return lambda value: begin + (log10(max(value, low)) - log10(low)) / width * length
    width = high - low or 1.0
    return lambda value: begin + (value - low) / width * length


def _bounds(values: list[float], log: bool, from_zero: bool) -> tuple[float, float]:
    if not values:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = min(values), max(values)
    if log:
        return max(low * 0.9, 1e-6), max(high * 1.1, low * 1.2, 1e-5)
    return (0.0, high * 1.05 or 1.0) if from_zero else (low, high if high > low else low + 1)


def _path(points: Sequence[tuple[float, float | None]], x: Callable[[float], float], y: Callable[[float], float]) -> str:
    parts, pen = [], "M"
    for at, value in points:
        if value is None:
            pen = "M"
            continue
        parts.append(f"{pen}{x(at):.1f} {y(value):.1f}")
        pen = "L"
    return "".join(parts)


def drawing(chart: Chart, top: int = 0) -> str:
    """The chart's elements, `top` units down."""
    xs = [at for series in chart.series for at, value in series.points if value is not None]
    ys = [value for series in chart.series for _, value in series.points if value is not None]
    x_low, x_high = _bounds(xs, chart.log_x, False)
    y_low, y_high = _bounds(ys, chart.log_y, chart.from_zero)
    y_low = y_low if chart.y_least is None else chart.y_least
    y_high = y_high if chart.y_most is None else chart.y_most
    if chart.spans:
        x_low, x_high = min(span[1] for span in chart.spans), max(x_high, *(span[2] for span in chart.spans))
        x_low = min(x_low, *xs) if xs else x_low
    x = _axis(x_low, x_high, chart.log_x, LEFT, WIDTH - LEFT - RIGHT)
    y = _axis(y_low, y_high, chart.log_y, HEIGHT - BOTTOM, -(HEIGHT - TOP - BOTTOM))
    out = [f'<g transform="translate(0 {top})">', f'<text class="title" x="4" y="15">{escape(chart.title)}</text>']
    for index, (name, begin, end) in enumerate(chart.spans):
        if index % 2 == 0:
            out.append(f'<rect class="shade" x="{x(begin):.1f}" y="{TOP}" width="{x(end) - x(begin):.1f}" height="{HEIGHT - TOP - BOTTOM}"/>')
        if x(end) - x(begin) > 7 * len(name):
            out.append(f'<text class="quiet" text-anchor="middle" x="{x((begin + end) / 2):.1f}" y="{TOP - 6}">{escape(name)}</text>')
    for value in log_ticks(y_low, y_high) if chart.log_y else ticks(y_low, y_high):
        out.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        out.append(f'<text class="quiet" text-anchor="end" x="{LEFT - 5}" y="{y(value) + 4:.1f}">{number(value)}</text>')
    for value in log_ticks(x_low, x_high) if chart.log_x else ticks(x_low, x_high, 6):
        out.append(f'<text class="quiet" text-anchor="middle" x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 15}">{number(value)}</text>')
    out.append(f'<text class="quiet" text-anchor="end" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}">{escape(chart.x_unit)}</text>')
    out.append(f'<text class="quiet" x="4" y="{TOP - 26}">{escape(chart.y_unit)}</text>')
    at = LEFT + 8 + 7 * len(chart.y_unit) - 40
    for series in chart.series:
        out.append(f'<rect class="k{series.colour}" x="{at}" y="{TOP - 32}" width="14" height="4"/>')
        out.append(f'<text class="quiet" x="{at + 18}" y="{TOP - 26}">{escape(series.name)}</text>')
        at += 30 + int(6.6 * len(series.name))
        out.append(f'<path class="line s{series.colour}" d="{_path(series.points, x, y)}"/>')
    out.append("</g>")
    return "".join(out)


def figure(chart: Chart) -> str:
    """The chart as an <svg> element to stand in a page."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title, quote=True)}">{drawing(chart)}</svg>'


def file_of(charts: list[Chart]) -> str:
    """An SVG file with the charts one below the other."""
    height = HEIGHT * len(charts) + 10
    body = "".join(drawing(chart, index * HEIGHT + 5) for index, chart in enumerate(charts))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 2}" height="{height * 2}">'
        f'<style>{STYLE}</style><rect width="{WIDTH}" height="{height}" style="fill:var(--ground)"/>{body}</svg>\n'
    )
