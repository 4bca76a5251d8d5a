"""Charts as a PNG picture, in the light colours: the same as the SVG. Needs Pillow (the extra `plot`)."""

from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from pfq.simulate.palette import LIGHT
from pfq.simulate.plot import HEIGHT, LEFT, RIGHT, WIDTH, Box, Chart, Mark, Rule, Word, marks

# Pixels a unit in the file; lines are drawn twice as large first, or they would have stairs.
SCALE, FINER = 2, 2
_TITLE, _QUIET, _LINE = 14, 12, 1.8
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def _draw(pen: ImageDraw.ImageDraw, mark: Mark, top: float, unit: int) -> None:
    if isinstance(mark, Word):
        font = ImageFont.load_default((_TITLE if mark.title else _QUIET) * unit)
        colour = LIGHT["ink" if mark.title else "quiet"]
        # The font has no bold form: a title is drawn with an edge.
        edge = unit // 4 if mark.title else 0
        pen.text((mark.x * unit, (top + mark.y) * unit), mark.text, colour, font, _ANCHORS[mark.anchor], stroke_width=edge, stroke_fill=colour)
    elif isinstance(mark, Box):
        corner = (mark.x * unit, (top + mark.y) * unit)
        pen.rectangle((corner, (corner[0] + max(mark.width * unit - 1, 0), corner[1] + mark.height * unit - 1)), LIGHT[mark.colour])
    elif isinstance(mark, Rule):
        height = (top + mark.y) * unit
        pen.line(((LEFT * unit, height), ((WIDTH - RIGHT) * unit, height)), LIGHT["rule"], unit)
    else:
        for piece in mark.pieces:
            pen.line([(x * unit, (top + y) * unit) for x, y in piece], LIGHT[f"s{mark.colour}"], round(_LINE * unit), "curve")


def png_file(charts: list[Chart]) -> bytes:
    """A PNG file with the charts one below the other, two pixels a unit."""
    width, height = WIDTH * SCALE, (HEIGHT * len(charts) + 10) * SCALE
    picture = Image.new("RGB", (width, height), LIGHT["ground"])
    for index, chart in enumerate(charts):
        part = Image.new("RGB", (width * FINER, HEIGHT * SCALE * FINER), LIGHT["ground"])
        pen = ImageDraw.Draw(part)
        for mark in marks(chart):
            _draw(pen, mark, 0, SCALE * FINER)
        picture.paste(part.resize((width, HEIGHT * SCALE), Image.Resampling.LANCZOS), (0, (index * HEIGHT + 5) * SCALE))
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()
