"""`pfq convert`: from ALTQ, nat and scrub rules to the pf.conf of OpenBSD 5.5 and later.

Exit status 0: converted; 1: losses that were not accepted; 2: broken use or input.
"""

import os
import sys

# mypy takes a name like this for true; the real modules are imported where they are needed.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from pfq.pf.system import System

FINE, NOT_ACCEPTED, BROKEN = 0, 1, 2


def add_arguments(parser: "ArgumentParser") -> None:
    """The options of `pfq convert`."""
    what = "what FILE is written for: openbsd-4.4 ... openbsd-5.4, freebsd-12.1 ..."
    parser.add_argument("--from", dest="source", required=True, metavar="DIALECT", help=what)
    parser.add_argument("--to", dest="target", required=True, metavar="DIALECT", help="openbsd-5.5 or later")
    parser.add_argument("--accept", action="append", default=[], metavar="CODE", help="take a loss, by its code; several may be joined by commas")
    parser.add_argument("--system", metavar="FILE", help="the gateway's interfaces, services, hosts and users (TOML), as for pfq check")
    parser.add_argument("-o", "--output", metavar="FILE", help="write this file, whole or not at all, instead of standard output")
    parser.add_argument("file", metavar="FILE", help="the ruleset, - for standard input")


def run(arguments: "Namespace") -> int:
    """Convert a ruleset. Raises Refused for broken use."""
    from pfq.convert.convert import convert, convertible
    from pfq.convert.losses import LOSSES
    from pfq.diagnostics import as_text, refuse
    from pfq.pf.dialects import UnknownDialect, dialect

    accept = frozenset(code for text in arguments.accept for code in text.replace(",", " ").split())
    for code in sorted(accept - LOSSES.keys()):
        raise refuse("unknown-code", f"there is no loss called {code[:40]!r}", hint=f"one of {', '.join(LOSSES)}")
    try:
        source, target = dialect(arguments.source), dialect(arguments.target)
    except UnknownDialect as error:
        raise refuse("unknown-dialect", str(error)) from None
    if not convertible(source, target):
        hint = "from a system with ALTQ (OpenBSD to 5.4, FreeBSD) to OpenBSD 5.5 or later"
        raise refuse("no-way", f"there is no way from {source.name} to {target.name}", hint=hint)
    systems = None
    if arguments.system is not None:
        systems = (_system(arguments.system, source.family, source.release), _system(arguments.system, target.family, target.release))
    name = "stdin" if arguments.file == "-" else arguments.file
    done = convert(_read(arguments.file), source.name, target.name, accept, systems, name)
    sys.stderr.write(as_text(done.diagnostics, sys.stderr.isatty() and "NO_COLOR" not in os.environ))
    if not done.good:
        return BROKEN if any(one.code == "unreadable-ruleset" for one in done.diagnostics) else NOT_ACCEPTED
    if arguments.output is None:
        sys.stdout.buffer.write(done.text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    else:
        from pfq.output import write_file

        try:
            done.text.encode("utf-8")
        except UnicodeEncodeError:
            raise refuse("not-text", f"{name} is not UTF-8: the result can only go to standard output") from None
        write_file(arguments.output, done.text)
    return FINE


def _system(path: str, family: str, release: tuple[int, int]) -> "System":
    from pfq.diagnostics import refuse
    from pfq.pf.system import load_system

    try:
        return load_system(path, family, release)
    except (OSError, ValueError) as error:
        raise refuse("wrong-system", f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _read(file: str) -> str:
    """The text, every byte of it kept."""
    from pfq.diagnostics import refuse
    from pfq.pf.verdict import read_text

    try:
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if file == "-" else read_text(file)
    except (OSError, ValueError) as error:
        raise refuse("unreadable", f"{file!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
