"""The options of a project: table [lint] of pfq.toml, or section [pfq:lint] of setup.cfg, the nearest one upwards."""

import os

_FILES = ("pfq.toml", "setup.cfg")
_KEYS = ("as", "baseline", "ignore", "select", "system")
_SECTION = "pfq:lint"


class WrongConfig(ValueError):
    """A configuration that cannot be meant; the message names the file."""


class Config:
    """What a project says; '' and () where it says nothing. File names are relative to the configuration's folder, made absolute."""

    __slots__ = ("baseline", "dialect", "ignore", "path", "select", "system")

    def __init__(self) -> None:
        self.path = ""
        self.dialect = ""
        self.select: tuple[str, ...] = ()
        self.ignore: tuple[str, ...] = ()
        self.baseline = ""
        self.system = ""


def load(folder: str, name: str = "") -> Config:
    """The configuration in a file, or in the nearest folder upwards that has one. Raises WrongConfig, OSError."""
    if name:
        return _read(name) or Config()
    here = os.path.abspath(folder)
    while True:
        for file in _FILES:
            path = os.path.join(here, file)
            if os.path.isfile(path):
                found = _read(path)
                if found is not None:
                    return found
        above = os.path.dirname(here)
        if above == here or os.path.isdir(os.path.join(here, ".git")):
            return Config()
        here = above


def _read(path: str) -> Config | None:
    """None where the file says nothing about lint."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        raise WrongConfig(f"{path}: not UTF-8") from None
    table = _toml(path, text) if path.endswith(".toml") else _ini(path, text)
    return None if table is None else _config(path, table)


def _toml(path: str, text: str) -> dict[str, object] | None:
    import tomllib

    try:
        tree = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongConfig(f"{path}: {error}") from None
    table = tree.get("lint")
    if table is not None and not isinstance(table, dict):
        raise WrongConfig(f"{path}: lint is a table")
    return table


def _ini(path: str, text: str) -> dict[str, object] | None:
    if f"[{_SECTION}]" not in text:
        return None
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text, path)
    except configparser.Error as error:
        raise WrongConfig(f"{path}: {str(error).splitlines()[0]}") from None
    table: dict[str, object] = dict(parser.items(_SECTION)) if parser.has_section(_SECTION) else {}
    for key in ("select", "ignore"):
        if key in table:
            table[key] = str(table[key]).replace(",", " ").split()
    return table


def _config(path: str, table: dict[str, object]) -> Config:
    found = Config()
    found.path = path
    for key, value in table.items():
        if key not in _KEYS:
            raise WrongConfig(f"{path}: unknown key {key!r}; known: {', '.join(_KEYS)}")
        if key in ("select", "ignore"):
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise WrongConfig(f"{path}: {key} is a list of codes, such as ['PFQ2', 'PFQ301']")
            setattr(found, key, tuple(value))
        elif not isinstance(value, str):
            raise WrongConfig(f"{path}: {key} is text")
        elif key == "as":
            found.dialect = value
        else:
            setattr(found, key, os.path.join(os.path.dirname(os.path.abspath(path)), value) if value else "")
    return found
