"""`pfq simulate`: the arguments and the run of the command."""

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from pfq.diagnostics import refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from pfq.simulate.plot import Chart

SUMMARY = "simulate a scenario on the line, with and without the plan"
MORE = (
    "examples:\n"
    "  pfq simulate site.toml                                  # idle, download, both, upload; no shaping beside the plan\n"
    "  pfq simulate site.toml --scenario both --report out.html\n"
    "  pfq simulate site.toml --sweep up=90..120kbit           # a number of the model at seven values\n"
    "  pfq simulate site.toml --against other.toml\n"
    "scenarios: phases, idle, download, upload, both, many-users, or a file"
)
SCENARIO_BESIDE = "scenario.toml"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("site", metavar="SITE", help="the model, a TOML file; - for standard input")
    parser.add_argument("--host", metavar="NAME", help="the gateway; the first one if left out")
    parser.add_argument("--link", metavar="NAME", help="the gateway's link; its first one if left out")
    parser.add_argument("--scenario", metavar="NAME|FILE", help=f"what happens; if left out, {SCENARIO_BESIDE} beside the model if there is one, else 'phases'")
    parser.add_argument("--against", metavar="none|interleaved|FILE", default="none",
                        help="compare with no shaping (none), with a tunnel that shares by bytes, or with another model")
    parser.add_argument("--seed", metavar="N", default="1", help="equal seeds give equal results; 1 if left out")
    parser.add_argument("--duration", metavar="TIME", help="stretch or cut the scenario to this: 90 (seconds), '10 min'")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text", help="text for people (default), json and csv for programs")
    parser.add_argument("--sweep", metavar="NAME=A..BUNIT", help="the plan at a row of values of one number of the model")
    parser.add_argument("--report", metavar="FILE", help="write a page with pictures (HTML, one file)")
    parser.add_argument("--plot", metavar="FILE", help="write the pictures (SVG or PNG, as the name ends)")


class _Progress:
    """One line on a terminal's standard error; nothing elsewhere."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self.last = ""

    def __call__(self, label: str, part: float) -> None:
        line = f"{label}: {part:4.0%}"
        if self.shown and line != self.last:
            self.last = line
            sys.stderr.write(f"\r{line:<60}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self.shown and self.last:
            sys.stderr.write("\r" + " " * 60 + "\r")
            sys.stderr.flush()


def _whole(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise refuse("bad-number", f"{text[:40]!r} is no {what}", hint="a whole number, 0 or more")
    return int(text)


def _duration(text: str) -> int:
    from pfq.simulate.scenario import parse_duration
    from pfq.site.units import UnitError

    try:
        return parse_duration(f"{text} s" if text.replace(".", "", 1).isdigit() else text)
    except UnitError as error:
        raise refuse("bad-duration", str(error), hint=error.hint) from None


def _scenario_name(arguments: Namespace) -> str:
    from pfq.simulate.scenario import DEFAULT

    if arguments.scenario is not None:
        return str(arguments.scenario)
    beside = os.path.join(os.path.dirname(arguments.site) or ".", SCENARIO_BESIDE)
    return beside if arguments.site != "-" and os.path.isfile(beside) else DEFAULT


def _png_drawer() -> "Callable[[list[Chart]], bytes]":
    try:
        from pfq.simulate.png import png_file
    except ImportError:
        raise refuse("no-pillow", "a PNG needs Pillow, which is not installed", hint="pip install 'pfq[plot]', or name a file that ends in .svg") from None
    return png_file


def run(arguments: Namespace) -> int:
    """Runs the command; the result goes to standard output. Returns the exit status; raises Refused for what cannot be done."""
    from pfq.simulate import show
    from pfq.simulate.comparison import INTERLEAVED, NOTHING, compare, load_subject
    from pfq.simulate.scenario import find_scenario, of_length
    from pfq.simulate.sweep import parse_sweep, run_sweep

    seed = _whole(arguments.seed, "seed")
    sweep = parse_sweep(arguments.sweep) if arguments.sweep else None
    if sweep is not None and arguments.site == "-":
        raise refuse("bad-sweep", "a sweep reads the model several times", hint="name a file")
    if arguments.plot is not None and not arguments.plot.endswith((".svg", ".png")):
        raise refuse("bad-plot", f"{arguments.plot!r} ends in neither .svg nor .png", hint="pictures are written as SVG or PNG")
    draw = _png_drawer() if arguments.plot is not None and arguments.plot.endswith(".png") else None
    scenario = find_scenario(_scenario_name(arguments))
    if arguments.duration is not None:
        scenario = of_length(scenario, _duration(arguments.duration))
    subject = load_subject(arguments.site, arguments.host, arguments.link)
    against = arguments.against
    other = against if against in (NOTHING, INTERLEAVED) else load_subject(against, arguments.host, arguments.link)
    progress = _Progress()
    try:
        comparison = compare(subject, other, scenario, seed, progress)
        swept = run_sweep(arguments.site, arguments.host, arguments.link, sweep, scenario, seed, progress) if sweep else None
    finally:
        progress.clear()
    if arguments.report or arguments.plot:
        from pfq.output import write_file
        from pfq.simulate.report import charts_of, page
        from pfq.simulate.svg import svg_file

        if arguments.report:
            write_file(arguments.report, page(comparison, swept))
        if arguments.plot:
            charts = charts_of(comparison, swept)
            write_file(arguments.plot, draw(charts) if draw else svg_file(charts))
    if arguments.format == "json":
        sys.stdout.write(show.as_json(comparison, swept))
    elif arguments.format == "csv":
        sys.stdout.write(show.as_csv(comparison, swept))
    else:
        sys.stdout.write(show.as_text(comparison) + (show.sweep_text(swept) if swept else ""))
    return 0
