"""The manual page pfq(1), made from the command line so that it cannot fall behind it."""

from argparse import ArgumentParser

from pfq.completion import commands
from pfq.targets.rendering import render


def _roff(text: str) -> str:
    """Text with roff's own characters escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + escaped if escaped.startswith(".") else escaped


def manual(parser: ArgumentParser) -> str:
    """The page in man(7) macros, ending with a newline."""
    rows = [
        {
            "name": command.name,
            "help": _roff(command.help),
            "synopsis": _roff(" ".join(word for word in _synopsis(parser, command.name))),
            "options": [(_roff(", ".join(option.names)), _roff(option.help)) for option in command.options if "--help" not in option.names],
        }
        for command in commands(parser)
    ]
    return render("manual/pfq.1.j2", commands=rows)


def _synopsis(parser: ArgumentParser, command: str) -> list[str]:
    sub = next(c for action in parser._subparsers._group_actions for name, c in action.choices.items() if name == command)  # type: ignore[union-attr]
    return str(sub.format_usage()).removeprefix("usage: ").split()


def main() -> None:
    from sys import stdout

    from pfq.cli import parser

    stdout.write(manual(parser()))


if __name__ == "__main__":
    main()
