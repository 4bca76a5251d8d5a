"""Line charts: what is drawn where, in units of a picture 480 wide. svg.py and png.py write it down."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Literal

WIDTH, HEIGHT = 480, 266
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 62, 34


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


@dataclass(frozen=True, slots=True)
class Word:
    """x, y: where its base line begins, has its middle or ends. A title, or quiet."""

    text: str
    x: float
    y: float
    anchor: Literal["start", "middle", "end"] = "start"
    title: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """Its upper left corner, its size, and the name of its colour."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A level line of the grid."""

    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Pieces of a line; the number of its colour."""

    pieces: tuple[tuple[tuple[float, float], ...], ...]
    colour: int


Mark = Word | Box | Rule | Curve


def _pieces(
    points: Sequence[tuple[float, float | None]], x: Callable[[float], float], y: Callable[[float], float]
) -> tuple[tuple[tuple[float, float], ...], ...]:
    """The line on the picture, in as many pieces as gaps make."""
    found: list[list[tuple[float, float]]] = [[]]
    for at, value in points:
        if value is None:
            found.append([])
        else:
            found[-1].append((x(at), y(value)))
    return tuple(tuple(piece) for piece in found if piece)


def _scales(chart: Chart) -> tuple[tuple[float, float], tuple[float, float]]:
    """The least and the most of both axes."""
    xs = [at for series in chart.series for at, value in series.points if value is not None]
    ys = [value for series in chart.series for _, value in series.points if value is not None]
    x_low, x_high = _bounds(xs, chart.log_x, False)
    y_low, y_high = _bounds(ys, chart.log_y, chart.from_zero)
    y_low = y_low if chart.y_least is None else chart.y_least
    y_high = y_high if chart.y_most is None else chart.y_most
    if chart.spans:
        x_low, x_high = min(span[1] for span in chart.spans), max(x_high, *(span[2] for span in chart.spans))
        x_low = min(x_low, *xs) if xs else x_low
    return (x_low, x_high), (y_low, y_high)


def marks(chart: Chart) -> list[Mark]:
    """Everything that is drawn, what lies below first."""
    (x_low, x_high), (y_low, y_high) = _scales(chart)
    x = _axis(x_low, x_high, chart.log_x, LEFT, WIDTH - LEFT - RIGHT)
    y = _axis(y_low, y_high, chart.log_y, HEIGHT - BOTTOM, -(HEIGHT - TOP - BOTTOM))
    found: list[Mark] = [Word(chart.title, 4, 15, title=True)]
    for index, (name, begin, end) in enumerate(chart.spans):
        if index % 2 == 0:
            found.append(Box(x(begin), TOP, x(end) - x(begin), HEIGHT - TOP - BOTTOM, "shade"))
        if x(end) - x(begin) > 7 * len(name):
            found.append(Word(name, x((begin + end) / 2), TOP - 6, "middle"))
    for value in log_ticks(y_low, y_high) if chart.log_y else ticks(y_low, y_high):
        found += [Rule(y(value)), Word(number(value), LEFT - 5, y(value) + 4, "end")]
    for value in log_ticks(x_low, x_high) if chart.log_x else ticks(x_low, x_high, 6):
        found.append(Word(number(value), x(value), HEIGHT - BOTTOM + 15, "middle"))
    found += [Word(chart.x_unit, WIDTH - RIGHT, HEIGHT - 4, "end"), Word(chart.y_unit, 4, TOP - 26)]
    at = LEFT + 8 + 7 * len(chart.y_unit) - 40
    for series in chart.series:
        found += [Box(at, TOP - 32, 14, 4, f"s{series.colour}"), Word(series.name, at + 18, TOP - 26)]
        at += 34 + int(6.8 * len(series.name))
        found.append(Curve(_pieces(series.points, x, y), series.colour))
    return found
