"""`pfq verify`: its options, and what it does with them. Exit status 0: equal; 1: different; 2: broken use or input, or not modelled."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from pfq.diagnostics import refuse

EQUAL, DIFFERENT = 0, 1


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `pfq verify`."""
    parser.add_argument("subjects", nargs="+", metavar="SITE|RULESET", help="a model (*.toml), or two rulesets: files, or folders of recorded files")
    parser.add_argument("--host", metavar="NAME", help="of a model: only this gateway")
    parser.add_argument("--against", metavar="DIR", help="of a model: check the files in DIR, a folder a host, instead of fresh output")
    parser.add_argument(
        "--as", dest="systems", action="append", default=[], metavar="SYSTEM",
        help="of rulesets: openbsd-7.6, freebsd-14.0, linux; once for both, or once for each in their order; guessed if left out",
    )
    parser.add_argument("--in", dest="enters", metavar="IF[=IF]", help="of rulesets: packets come in here (in the second one: there); 'self': from the gateway")
    parser.add_argument("--out", dest="leaves", metavar="IF[=IF]", help="of rulesets: packets leave by this interface; 'self': they are for the gateway")
    parser.add_argument(
        "--same", action="append", default=[], metavar="QUEUE=QUEUE", help="of rulesets: a queue of the first one, and what it is called in the second"
    )
    parser.add_argument("--format", choices=("text", "json", "github"), default="text", help="text for people (default), json, or github (annotations)")


def run(arguments: Namespace) -> int:
    """Verify. Raises Refused for broken use and input, and for what is not modelled."""
    try:
        import oxidd  # noqa: F401
    except ImportError:
        raise refuse("no-oxidd", "a proof needs the package oxidd", hint="pip install 'pfq[verify]'") from None
    from pfq.parity.proof import Disagreement

    progress = _Progress()
    try:
        return _run(arguments, progress)
    except Disagreement as wrong:
        raise refuse("internal", f"the proof and the evaluation of one packet do not agree: {wrong}", hint="this is a fault of pfq's") from None
    finally:
        progress.clear()


def _run(arguments: Namespace, progress: "_Progress") -> int:
    subjects = arguments.subjects
    if len(subjects) == 1:
        return _site(arguments, subjects[0], progress)
    if len(subjects) > 2:
        raise refuse("wrong-use", f"{len(subjects)} rulesets", hint="one model, or two rulesets")
    if arguments.host or arguments.against:
        raise refuse("wrong-use", "--host and --against are for a model", hint="pfq verify SITE, or pfq verify A B")
    from pfq.parity.between import compare, shown

    found = compare(subjects, arguments, progress)
    progress.clear()
    sys.stdout.write(shown(found, arguments.format))
    return DIFFERENT if found.changes else EQUAL


def _site(arguments: Namespace, path: str, progress: Callable[[str], None]) -> int:
    if arguments.systems or arguments.enters or arguments.leaves or arguments.same:
        raise refuse("wrong-use", "--as, --in, --out and --same are for two rulesets", hint="pfq verify SITE, or pfq verify A B")
    from pfq.compiling import compile_site, plan_of
    from pfq.parity.show import FORMATS
    from pfq.parity.site import pairs, texts_in, verify

    if arguments.against is None:
        compiled, plan = compile_site(path, arguments.host, None, None, several=True)
        texts = {name: {f"{name}/{files[0].name}": files[0].text} for name, files in compiled.items()}
    else:
        plan = plan_of(path, arguments.host)
        texts = {gateway.name: texts_in(arguments.against, gateway) for gateway in plan.gateways}
    verdicts = verify(plan, texts, progress)
    sys.stdout.write(FORMATS[arguments.format](verdicts, pairs(verdicts)))
    return DIFFERENT if any(verdict.findings for verdict in verdicts) else EQUAL


class _Progress:
    """One line on a terminal's standard error; nothing elsewhere."""

    def __init__(self) -> None:
        self.shown = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, what: str) -> None:
        if self.shown:
            sys.stderr.write(f"\r{'verifying ' + what:<78.78}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()
