"""`pfq rule`: lists the rules, or explains one."""

import sys

from .pages import page, summary
from .registry import RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: "ArgumentParser") -> None:
    """The options of `pfq rule`."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="the rule to explain; all of them in a line each if left out")


def run(arguments: "Namespace") -> int:
    """Explain a rule, or list all. Raises Refused for a code that no rule has."""
    if arguments.code is None:
        sys.stdout.write(summary())
        return 0
    code = arguments.code.upper()
    if code not in RULES:
        from pfq.diagnostics import refuse

        raise refuse("unknown-code", f"there is no rule {arguments.code[:40]!r}", hint="`pfq rule` lists them")
    sys.stdout.write(page(code))
    return 0
