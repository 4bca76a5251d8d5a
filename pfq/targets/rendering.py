"""Templates to text. A template writes down what a target decided; it holds no arithmetic and no decision."""

import os
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined, Template

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "templates")


def _bytecode_cache() -> FileSystemBytecodeCache | None:
    """Compiled templates stay beside their sources, as Python's own do; where that cannot be written, nothing is kept."""
    folder = os.path.join(_FOLDER, "__pycache__")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return None
    return FileSystemBytecodeCache(folder, "%s.jinja") if os.access(folder, os.W_OK) else None


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER),
        bytecode_cache=_bytecode_cache(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


def render(name: str, **values: Any) -> str:
    """The text of the template `name` (a path below templates/). Raises jinja2.UndefinedError for a value that is missing."""
    return _template(name).render(**values)
