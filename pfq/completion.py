"""Completion scripts for bash, zsh and fish, made from the command line itself so that they cannot fall behind it."""

from argparse import Action, ArgumentParser, _SubParsersAction
from dataclasses import dataclass

from pfq.targets.rendering import render


@dataclass(frozen=True, slots=True)
class Option:
    """An option or a positional (`names` empty). value: 'none', 'words', 'file', 'folder' or 'text'."""

    names: tuple[str, ...]
    help: str
    value: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    help: str
    options: tuple[Option, ...]
    positionals: tuple[Option, ...]


_VALUES = {"SITE": "file", "FILE": "file", "DIR": "folder"}


def _option(action: Action) -> Option:
    words = tuple(str(choice) for choice in action.choices or ())
    value = "none" if action.nargs == 0 else "words" if words else _VALUES.get(str(action.metavar), "text")
    return Option(tuple(action.option_strings), (action.help or "").replace("'", "").replace(":", ""), value, words)


def commands(parser: ArgumentParser) -> tuple[Command, ...]:
    """The commands of a command line, with their options."""
    subparsers = next(action for action in parser._actions if isinstance(action, _SubParsersAction))
    summaries = {choice.dest: choice.help or "" for choice in subparsers._choices_actions}
    found = []
    for name, sub in subparsers.choices.items():
        options = [_option(action) for action in sub._actions]
        found.append(
            Command(name, summaries[name], tuple(o for o in options if o.names), tuple(o for o in options if not o.names))
        )
    return tuple(found)


def top_options(parser: ArgumentParser) -> tuple[str, ...]:
    return tuple(
        name for action in parser._actions for name in action.option_strings
    )


def script(shell: str, parser: ArgumentParser) -> str:
    """The completion script for 'bash', 'zsh' or 'fish'."""
    return render(f"completion/pfq.{shell}.j2", commands=commands(parser), top=top_options(parser))
