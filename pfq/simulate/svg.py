"""Charts as SVG text. Colours are classes (`s0`, `s1`, ...) that a style sheet gives a light and a dark form."""

from html import escape

from pfq.simulate.palette import STYLE
from pfq.simulate.plot import HEIGHT, LEFT, RIGHT, WIDTH, Box, Chart, Curve, Mark, Rule, Word, marks


def _element(mark: Mark) -> str:
    if isinstance(mark, Word):
        anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
        return f'<text class="{"title" if mark.title else "quiet"}"{anchor} x="{mark.x:.1f}" y="{mark.y:.1f}">{escape(mark.text)}</text>'
    if isinstance(mark, Box):
        colour = mark.colour.replace("s", "k") if mark.colour[1:].isdigit() else mark.colour
        return f'<rect class="{colour}" x="{mark.x:.1f}" y="{mark.y:.1f}" width="{mark.width:.1f}" height="{mark.height:.1f}"/>'
    if isinstance(mark, Rule):
        return f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{mark.y:.1f}" y2="{mark.y:.1f}"/>'
    return f'<path class="line s{mark.colour}" d="{_path(mark)}"/>'


def _path(curve: Curve) -> str:
    return "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in piece) for piece in curve.pieces)


def drawing(chart: Chart, top: int = 0) -> str:
    """The chart's elements, `top` units down."""
    return f'<g transform="translate(0 {top})">{"".join(map(_element, marks(chart)))}</g>'


def figure(chart: Chart) -> str:
    """The chart as an <svg> element to stand in a page."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title, quote=True)}">{drawing(chart)}</svg>'


def svg_file(charts: list[Chart]) -> str:
    """An SVG file with the charts one below the other."""
    height = HEIGHT * len(charts) + 10
    body = "".join(drawing(chart, index * HEIGHT + 5) for index, chart in enumerate(charts))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 2}" height="{height * 2}">'
        f'<style>{STYLE}</style><rect width="{WIDTH}" height="{height}" style="fill:var(--ground)"/>{body}</svg>\n'
    )
