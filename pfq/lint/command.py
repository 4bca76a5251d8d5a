"""`pfq lint`: its options, and what it does with them. Exit status 0: nothing found but notes; 1: findings; 2: broken use."""

import os
import sys

from .registry import RULES, chosen
from .run import Result, lint_ruleset
from .show import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from pfq.diagnostics import Refused

    from .config import Config

FINE, FINDINGS = 0, 1
# A fix may uncover the next one: a comment that silenced what is gone. No chain is longer than a few.
_MOST_PASSES = 10


def add_arguments(parser: "ArgumentParser") -> None:
    """The options of `pfq lint`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="pf.conf files, and models (*.toml); - for standard input")
    parser.add_argument(
        "--as", dest="dialect", metavar="DIALECT",
        help="read pf.conf as openbsd-7.6, freebsd-14.0, ...; guessed if left out. site: standard input is a model",
    )
    parser.add_argument("--select", metavar="CODES", help="only the rules whose codes begin so: PFQ2,PFQ301")
    parser.add_argument("--ignore", metavar="CODES", help="not the rules whose codes begin so")
    parser.add_argument("--format", choices=FORMATS, default="text", help="text for people (default), json, sarif (2.1.0), or github (annotations)")
    parser.add_argument("--fix", action="store_true", help="mend what can be mended without changing what the kernel does; the rest is reported")
    parser.add_argument("--baseline", metavar="FILE", help="report only what is not in this file")
    parser.add_argument("--write-baseline", action="store_true", help="write what is found to the file of --baseline, and report nothing")
    parser.add_argument("--config", metavar="FILE", help="a pfq.toml ([lint]) or setup.cfg ([pfq:lint]) instead of the nearest one upwards")
    parser.add_argument("--system", metavar="FILE", help="the target's interfaces, services, hosts and users (TOML), as for pfq check")
    parser.add_argument("-D", dest="macros", action="append", default=[], metavar="MACRO=VALUE", help="define a macro before a ruleset is read")


def run(arguments: "Namespace") -> int:
    """Lint the files. Raises Refused for broken use."""
    config = _config(arguments)
    active = _active(arguments, config)
    baseline = arguments.baseline or config.baseline
    if arguments.write_baseline and not baseline:
        raise _refuse("no-baseline", "--write-baseline needs --baseline FILE")
    if arguments.fix and "-" in arguments.files:
        raise _refuse("cannot-fix", "--fix rewrites files, and standard input is none")
    results = [_lint(file, arguments, config, active) for file in dict.fromkeys(arguments.files)]
    if baseline:
        if arguments.write_baseline:
            return _write_baseline(baseline, results)
        _subtract(baseline, results)
    _notes(results)
    sys.stdout.write(_shown(results, arguments.format))
    return FINDINGS if any(finding.severity != "note" for result in results for finding in result.findings) else FINE


def _refuse(code: str, message: str, hint: str = "") -> "Refused":
    from pfq.diagnostics import refuse

    return refuse(code, message, hint=hint)


def _config(arguments: "Namespace") -> "Config":
    from .config import WrongConfig, load

    try:
        return load(os.getcwd(), arguments.config or "")
    except WrongConfig as error:
        raise _refuse("wrong-config", str(error)) from None
    except OSError as error:
        raise _refuse("unreadable", f"{error.filename or 'the configuration'} cannot be read: {error.strerror}") from None


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _active(arguments: "Namespace", config: "Config") -> frozenset[str]:
    select = _codes(arguments.select) if arguments.select is not None else config.select
    ignore = config.ignore + (_codes(arguments.ignore) if arguments.ignore is not None else ())
    for code in select + ignore:
        if not any(known.startswith(code) for known in RULES):
            raise _refuse("unknown-code", f"no rule has a code that begins with {code[:40]!r}", "`pfq rule` lists them")
    return chosen(select, ignore)


def _read(file: str) -> str:
    """The text, every byte of it kept."""
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        with open(file, "rb") as stream:
            return stream.read().decode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:
        raise _refuse("unreadable", f"{file!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _is_model(file: str, dialect: str) -> bool:
    return file.endswith(".toml") or (file == "-" and dialect == "site")


def _lint(file: str, arguments: "Namespace", config: "Config", active: frozenset[str]) -> Result:
    text = _read(file)
    result = _lint_text(file, text, arguments, config, active)
    if not arguments.fix:
        return result
    from .fixing import fixed, write

    begun, broken = text, _is_broken(result)
    for _ in range(_MOST_PASSES):
        new, applied = fixed(text, [finding for finding in result.findings if finding.file == file])
        if not applied:
            break
        again = _lint_text(file, new, arguments, config, active)
        if _is_broken(again) and not broken:
            # No fix may make a ruleset that is no longer accepted; if one would, that is a fault of the rule.
            raise _refuse("broken-fix", f"{file}: the fixes would break the ruleset; nothing was written")
        text, result = new, again
    if text != begun:
        write(file, text)
    return result


def _is_broken(result: Result) -> bool:
    return any(finding.code in ("PFQ001", "PFQ004") for finding in result.findings)


def _lint_text(file: str, text: str, arguments: "Namespace", config: "Config", active: frozenset[str]) -> Result:
    dialect = arguments.dialect or config.dialect
    name = "<stdin>" if file == "-" else file
    if _is_model(file, dialect):
        from .model import lint_model

        return lint_model(name, text, active)
    from pfq.pf.dialects import UnknownDialect

    try:
        return lint_ruleset(name, text, dialect or None, active, _macros(arguments.macros), arguments.system or config.system)
    except UnknownDialect as error:
        raise _refuse("unknown-dialect", str(error)) from None
    except (OSError, ValueError) as error:
        system = arguments.system or config.system
        raise _refuse("wrong-system", f"{system}: {getattr(error, 'strerror', None) or error}") from None


def _macros(given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise _refuse("wrong-macro", f"-D {text}: MACRO=VALUE is wanted")
        found[name] = value
    return found


def _write_baseline(path: str, results: list[Result]) -> int:
    from pfq.output import write_file

    from .baseline import written

    write_file(path, written(path, [(result.findings, result.texts) for result in results]))
    return FINE


def _subtract(path: str, results: list[Result]) -> None:
    from .baseline import Baseline, WrongBaseline

    try:
        baseline = Baseline(path)
    except WrongBaseline as error:
        raise _refuse("wrong-baseline", str(error)) from None
    except OSError as error:
        raise _refuse("unreadable", f"{path} cannot be read: {error.strerror}", "--write-baseline makes one") from None
    for result in results:
        result.findings = baseline.new(result.findings, result.texts)


def _notes(results: list[Result]) -> None:
    """Say on standard error which dialects were guessed."""
    from .show import visible

    for result in results:
        if result.guessed is not None:
            by = f" (told by: {result.guessed})" if result.guessed else ""
            sys.stderr.write(f"pfq: note: {visible(result.file)} is read as {result.dialect}{by}; --as DIALECT says otherwise\n")


def _shown(results: list[Result], form: str) -> str:
    from . import show

    if form == "json":
        return show.as_json(results)
    if form == "github":
        return show.as_github(results)
    if form == "sarif":
        from .sarif import as_sarif

        return as_sarif(results)
    return show.as_text(results, sys.stdout.isatty() and "NO_COLOR" not in os.environ)
