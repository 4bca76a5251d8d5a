"""The report and the pictures: as text, and in a real browser."""

import os
import shutil
import struct
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pfq.cli import main
from pfq.simulate.comparison import Comparison, compare, load_subject
from pfq.simulate.palette import LIGHT
from pfq.simulate.plot import HEIGHT, WIDTH, Chart, Series, log_ticks, number, ticks
from pfq.simulate.report import charts_of, page
from pfq.simulate.scenario import load_scenario
from pfq.simulate.svg import drawing, svg_file
from pfq.simulate.sweep import Swept, parse_sweep, run_sweep

SITE = Path(__file__).parent.parent.parent / "rulesets/hartmeier/site.toml"
CHROMIUM = shutil.which("chromium")
# In CI it must be there; elsewhere the tests in a browser need it installed.
in_browser = pytest.mark.skipif(CHROMIUM is None and "CI" not in os.environ, reason="chromium is not installed")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(load_subject(str(SITE), "kue0", None), "none", load_scenario(str(SITE.parent / "scenario.toml")), 1)


@pytest.fixture(scope="module")
def swept(comparison: Comparison) -> Swept:
    return run_sweep(str(SITE), "kue0", None, parse_sweep("up=90..120/15kbit"), comparison.scenario, 1)


class _Reader(HTMLParser):
    VOID = frozenset({"meta", "rect", "line", "path", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: dict[str, int] = {}
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "data", "action", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(comparison: Comparison, swept: Swept) -> None:
    reader = _Reader()
    text = page(comparison, swept)
    reader.feed(text)
    assert reader.open == []
    assert reader.addresses == []
    assert "script" not in reader.tags
    assert "url(" not in text
    assert "@import" not in text
    # A table of numbers for each picture.
    assert reader.tags["svg"] == reader.tags["details"] == len(charts_of(comparison, swept))


def test_the_page_holds_the_model_and_its_derivations(comparison: Comparison) -> None:
    text = page(comparison, None)
    assert "shaped_up = &quot;100 kbit&quot;" in text
    assert "19 ACKs/s" in text
    assert "ALTQ priq, token bucket" in text


def test_the_pictures_file_is_xml(comparison: Comparison, swept: Swept) -> None:
    root = ElementTree.fromstring(svg_file(charts_of(comparison, swept)))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall("{http://www.w3.org/2000/svg}g")) == len(charts_of(comparison, swept))


def test_names_cannot_break_out() -> None:
    chart = Chart("<b>&", "s", '"', (Series("</svg><script>", [(0, 1), (1, 2)], 0),), (("<i>", 0, 100),))
    ElementTree.fromstring(drawing(chart))


def test_a_line_breaks_where_there_is_nothing() -> None:
    chart = Chart("t", "s", "ms", (Series("a", [(0, 1), (1, None), (2, 3), (3, 4)], 0),))
    path = drawing(chart).split(' d="')[1].split('"')[0]
    assert (path.count("M"), path.count("L")) == (2, 1)


def test_empty_and_constant_charts_are_drawn() -> None:
    for points in ([], [(0.0, 0.0)], [(0.0, 5.0), (1.0, 5.0)]):
        for log in (False, True):
            ElementTree.fromstring(drawing(Chart("t", "s", "ms", (Series("a", [(x, y + log) for x, y in points], 0),), log_y=log)))


def test_axes_have_round_numbers() -> None:
    assert ticks(0, 433) == [0, 100, 200, 300, 400]
    assert ticks(0, 1) == [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]
    assert log_ticks(50, 2400) == [50, 100, 200, 500, 1000, 2000]
    assert log_ticks(34, 130) == [40, 50, 70, 100]
    assert [number(value) for value in (0, 0.6000000000000001, 12.34, 1234, 0.00123)] == ["0", "0.6", "12.3", "1234", "0.00123"]


def _browse(folder: Path, name: str, *options: str) -> str:
    assert CHROMIUM is not None
    words = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", f"--user-data-dir={folder}/profile",
        *options, (folder / name).as_uri(),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout + done.stderr


def _pixels(path: Path) -> set[bytes]:
    """The colours of a PNG of 8 bits a channel."""
    data = path.read_bytes()
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    channels = {2: 3, 6: 4}[kind]
    packed, at = b"", 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += length + 12
    raw, before = zlib.decompress(packed), bytes(width * channels)
    found: set[bytes] = set()
    for row in range(height):
        start = row * (width * channels + 1)
        method, line = raw[start], bytearray(raw[start + 1 : start + 1 + width * channels])
        for index in range(len(line)):
            left = line[index - channels] if index >= channels else 0
            up, corner = before[index], before[index - channels] if index >= channels else 0
            if method == 1:
                line[index] = (line[index] + left) & 255
            elif method == 2:
                line[index] = (line[index] + up) & 255
            elif method == 3:
                line[index] = (line[index] + (left + up) // 2) & 255
            elif method == 4:
                guess = left + up - corner
                nearest = min((left, up, corner), key=lambda value: abs(guess - value))
                line[index] = (line[index] + nearest) & 255
        before = bytes(line)
        found.update(bytes(line[index : index + 3]) for index in range(0, len(line), channels))
    return found


@pytest.mark.slow
@in_browser
def test_a_browser_shows_it_in_the_light_and_in_the_dark(comparison: Comparison, swept: Swept, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page(comparison, swept))
    (tmp_path / "loud.html").write_text("<script>console.error('heard')</script>")
    assert "CONSOLE" in _browse(tmp_path, "loud.html", f"--screenshot={tmp_path}/loud.png")
    for scheme, ground, line in (("1", "ffffff", "1d5fd1"), ("0", "14171b", "7db2ff")):
        shot = tmp_path / f"{scheme}.png"
        said = _browse(tmp_path, "report.html", "--window-size=800,1200", f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}")
        assert "CONSOLE" not in said
        colours = _pixels(shot)
        assert {bytes.fromhex(ground), bytes.fromhex(line)} <= colours


_WIDEST = """<script>
document.documentElement.style.width = '360px';
const rights = [...document.querySelectorAll('body *')].filter(e => !e.closest('.wide, pre, svg, details table')).map(e => e.getBoundingClientRect().right);
document.title = 'widest ' + Math.max(...rights);
</script>"""


@pytest.mark.slow
@in_browser
def test_nothing_is_wider_than_a_phone(comparison: Comparison, swept: Swept, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page(comparison, swept) + _WIDEST)
    said = _browse(tmp_path, "report.html", "--window-size=500,900", "--dump-dom")
    widest = float(said.split("<title>widest ")[1].split("<")[0])
    assert widest <= 360.5


def test_a_png_is_the_same_picture(comparison: Comparison, tmp_path: Path) -> None:
    from pfq.simulate.png import png_file

    charts = charts_of(comparison, None)[:2]
    data = png_file(charts)
    assert data == png_file(charts)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (2 * WIDTH, 2 * (2 * HEIGHT + 10))
    (tmp_path / "a.png").write_bytes(data)
    for name in ("ground", "shade", "s0", "s1"):
        assert bytes.fromhex(LIGHT[name][1:]) in _pixels(tmp_path / "a.png")


def test_a_png_without_pillow_is_refused_before_anything_is_simulated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "pfq.simulate.png", raising=False)
    assert main(["simulate", str(SITE), "--plot", str(tmp_path / "a.png")]) == 2
    assert "pip install 'pfq[plot]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
