"""`pfq check`: what `pfctl -nf` of another system would say about a ruleset."""

import sys

from .dialects import NAMES, Dialect, UnknownDialect, dialect
from .system import System, load_system
from .verdict import check, read_text

# mypy takes a name like this for true; the real modules are imported where they are needed.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: "ArgumentParser") -> None:
    """The options of `pfq check`."""
    parser.add_argument("--as", dest="dialect", required=True, metavar="DIALECT", help=f"a system and its release: {', '.join(NAMES)}, or one between")
    parser.add_argument("-v", dest="verbose", action="store_true", help="print the ruleset in pfctl's normal form")
    parser.add_argument(
        "-o", dest="optimize", choices=("none", "basic", "profile"), default=None, help="the ruleset optimizer"
    )
    parser.add_argument(
        "-D", dest="macros", action="append", default=[], metavar="MACRO=VALUE", help="define a macro before the ruleset is read"
    )
    parser.add_argument("--system", metavar="FILE", help="the target's interfaces, services, hosts and users (TOML)")
    parser.add_argument("file", metavar="FILE", help="the ruleset, - for standard input")


def run(arguments: "Namespace") -> int:
    """Check the ruleset: 0 when pfctl would take it, 1 when it would not, 2 for a command that makes no sense."""
    try:
        macros = dict(_macro(text) for text in arguments.macros)
        chosen = dialect(arguments.dialect)
        system = _system(arguments.system, chosen)
        text = _standard_input() if arguments.file == "-" else read_text(arguments.file)
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}")
    except UnknownDialect as error:
        return _refuse(str(error))
    except ValueError as error:
        return _refuse(f"{arguments.system}: {error}" if arguments.system is not None else str(error))
    verdict = check(
        text,
        chosen.name,
        verbose=arguments.verbose,
        optimize=arguments.optimize,
        macros=macros,
        system=system,
        file_name="stdin" if arguments.file == "-" else arguments.file,
    )
    _write(sys.stdout, verdict.stdout)
    _write(sys.stderr, verdict.stderr)
    return verdict.status


def _system(path: str | None, chosen: Dialect) -> System:
    if path is None:
        return System(chosen.family, chosen.release)
    return load_system(path, chosen.family, chosen.release)


def _macro(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise ValueError(f"-D {text}: MACRO=VALUE is wanted")
    return name, value


def _standard_input() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _write(stream: object, text: str) -> None:
    """Write every byte of the ruleset back as it was."""
    buffer = getattr(stream, "buffer", None)
    data = text.encode("utf-8", "surrogateescape")
    if buffer is not None:
        buffer.write(data)
        buffer.flush()
    elif text:
        print(text, end="", file=stream)  # type: ignore[call-overload]


def _refuse(message: str) -> int:
    print(f"pfq check: {message}", file=sys.stderr)
    return 2
