"""What a target hands back."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """A file of a gateway's output: `name` relative to the gateway's folder, `text` with its final newline."""

    name: str
    text: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Ability:
    """A line of `pfq targets`: what is meant, whether the system has it, and how or why not."""

    feature: str
    has: bool
    note: str
