"""A table as TOML text, keys always quoted."""

from typing import Any


def _text(text: str) -> str:
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**4000 else hex(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)} = {_value(item)}" for key, item in value.items()) + "}"
    return str(value)


def toml_text(table: dict[str, Any]) -> str:
    """The table, a line for each of its keys."""
    return "".join(f"{_text(key)} = {_value(value)}\n" for key, value in table.items())
