"""What pfctl says about a ruleset: its output, its messages, its exit status. Source: pfctl_rules and parse_config."""

from .dialects import Dialect, dialect
from .lexer import END, Opener
from .nodes import Anchor, Statement
from .reading import Exit, Fault, Reading
from .system import System

_LOADS = ("scrub", "no scrub"), ("nat", "no nat"), ("rdr", "no rdr"), ("binat", "no binat"), ("pass", "block", "match")


class Verdict:
    """The answer of `pfctl -nf` (or `-nvf`): standard output, standard error, exit status."""

    __slots__ = ("status", "stderr", "stdout")

    def __init__(self, stdout: str, stderr: str, status: int) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.status = status


class Tree:
    """A ruleset as it is written and what it comes to: statements with their places, and the reading with its rules.

    `loaded` are the readings of the files that `load anchor` names, in order, each with its own statements and rules and
    `anchor_name` for the anchor that they go to; a statement says which file it stands in.
    """

    __slots__ = ("comments", "loaded", "reading", "statements", "verdict")

    def __init__(self, reading: Reading, verdict: Verdict, loaded: list[Reading]) -> None:
        self.reading = reading
        self.loaded = loaded
        self.statements: list[Statement] = reading.statements
        self.comments: list[tuple[str, int, int]] = reading.lexer.comments
        self.verdict = verdict


def read_text(path: str) -> str:
    """The text of a file, every byte of it kept. Raises OSError."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.read()


def check(
    text: str,
    dialect_name: str,
    *,
    verbose: bool = False,
    optimize: str | None = None,
    macros: dict[str, str] | None = None,
    system: System | None = None,
    file_name: str = "stdin",
    open_file: Opener | None = read_text,
) -> Verdict:
    """What pfctl of a dialect says about a ruleset.

    `optimize` is the argument of `-o` (None: as the ruleset and the release say), `macros` those of `-D`; `file_name` is
    what messages call the ruleset; `open_file` gives the text of included files or raises OSError. Raises UnknownDialect.
    """
    return read(
        text, dialect_name, verbose=verbose, optimize=optimize, macros=macros, system=system, file_name=file_name,
        open_file=open_file, keep_tree=False,
    ).verdict


def read(
    text: str,
    dialect_name: str,
    *,
    verbose: bool = False,
    optimize: str | None = None,
    macros: dict[str, str] | None = None,
    system: System | None = None,
    file_name: str = "stdin",
    open_file: Opener | None = read_text,
    keep_tree: bool = True,
) -> Tree:
    """The same as `check`, with the statements and the rules they came to. Raises UnknownDialect."""
    chosen = dialect(dialect_name)
    if system is None:
        system = System(chosen.family, chosen.release)
    stdout: list[str] = []
    stderr: list[str] = []
    reading = _one(text, chosen, system, file_name, open_file, verbose, macros or {}, "", stdout, stderr, optimize, keep_tree)
    first, result = reading
    loaded: list[Reading] = []
    if result == 0:
        for name, path in first.loads:
            if verbose:
                stderr.append(f"\nLoading anchor {name} from {path}\n")
            anchor, result = _load(first, chosen, system, open_file, verbose, name, path, stdout, stderr, optimize)
            if anchor is not None:
                loaded.append(anchor)
            if result:
                stderr.append("pfctl: load anchors\n")
                break
    return Tree(first, Verdict("".join(stdout), "".join(stderr), 1 if result else 0), loaded)


def _load(
    first: Reading,
    chosen: Dialect,
    system: System,
    open_file: Opener | None,
    verbose: bool,
    name: str,
    path: str,
    stdout: list[str],
    stderr: list[str],
    optimize: str | None,
) -> tuple[Reading | None, int]:
    """Read the ruleset of a `load anchor`; None where the file cannot be opened, and 0 when all is right."""
    try:
        if open_file is None:
            raise FileNotFoundError
        text = open_file(path)
    except OSError as error:
        reason = error.strerror or "No such file or directory"
        prefix = "pushfile: " if chosen.final_newline_supplied else ""
        stderr.append(f"pfctl: {prefix}{path}: {reason}\n")
        stderr.append(f"pfctl: cannot open the main config file!: {reason}\n")
        return None, 1
    # Macros, those of the command line too, are gone once the main ruleset was read.
    return _one(text, chosen, system, path, open_file, verbose, {}, name, stdout, stderr, optimize, first.keep_tree, first)


def _one(
    text: str,
    chosen: Dialect,
    system: System,
    file_name: str,
    open_file: Opener | None,
    verbose: bool,
    macros: dict[str, str],
    anchor: str,
    stdout: list[str],
    stderr: list[str],
    optimize: str | None,
    keep_tree: bool,
    first: Reading | None = None,
) -> tuple[Reading, int]:
    reading = Reading(chosen, system, file_name, text, open_file, verbose, stdout, stderr)
    reading.keep_tree = reading.lexer.keep_places = keep_tree
    reading.anchor_name = anchor
    reading.main.path = anchor
    reading.main.name = anchor.rpartition("/")[2]
    if first is not None:
        reading.table_count = first.table_count
        reading.child_queues = first.child_queues
        reading.child_queue_names = first.child_queue_names
        reading.root_queues = first.root_queues
        reading.if_bound = first.if_bound
        reading.state_defaults = first.state_defaults
        reading.optimize = first.optimize
    if optimize is not None:
        reading.optimize = optimize
        reading.optimize_fixed = True
    for name, value in macros.items():
        reading.lexer.define(name, value, persistent=True)
    try:
        parse(reading)
        if reading.errors:
            return reading, 1
        _finish(reading, first is None)
    except Exit:
        return reading, 1
    except Fault:
        return reading, 1
    return reading, 0


def parse(reading: Reading) -> None:
    """Read all statements, going on after each fault."""
    from .statements import table

    statements = table(reading)
    while True:
        reading.begin()
        kind = reading.kinds[0]
        if kind == "\n":
            reading.accepted += 1
            continue
        if kind == END and not reading.values[0]:
            return
        reading.new_rules = []
        reading.result = None
        faulty = False
        try:
            statement = statements.get(kind)
            if statement is None:
                raise _syntax()
            statement(reading)
            if reading.kinds[reading.i] != "\n":
                raise _syntax()
            reading.i += 1
        except Fault as fault:
            faulty = True
            if not reading.recover(fault):
                reading.end_of_statement(kind, faulty)
                return
        reading.end_of_statement(kind, faulty)


def _syntax() -> Fault:
    from .reading import SyntaxFault

    return SyntaxFault()


def _show(reading: Reading) -> None:
    """Print the rules, improved first unless that is switched off. Nobody sees the optimizer's work otherwise."""
    from .print import Printer

    printer = Printer(reading.dialect, reading.system)
    show = reading.stdout.append
    if reading.ether_rules:
        from .ether import ether_text

        for rule in reading.ether_rules:
            show(f"{ether_text(rule, printer.network(rule.conditions))}\n")
    improve = None
    if reading.optimize != "none":
        from .optimize import optimize

        def improve(anchor: Anchor) -> None:
            optimize(reading, anchor)

    if reading.dialect.translation_rules:
        for kinds in _LOADS[:-1]:
            printer.ruleset(reading.main, show, kinds)
        printer.ruleset(reading.main, show, _LOADS[-1], improve)
    else:
        printer.ruleset(reading.main, show, None, improve)


def _finish(reading: Reading, main: bool) -> None:
    """What pfctl does once a ruleset is read: queues, the optimizer, printing."""
    if reading.dialect.queue_trees and main:
        from . import queues

        queues.settle(reading)
        if reading.verbose:
            queues.show(reading)
    if reading.verbose:
        _show(reading)
    if reading.dialect.altq and main:
        from . import altq_rates

        altq_rates.commit(reading)
