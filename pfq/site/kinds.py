"""The kinds of value a model holds. Each reads a TOML value, reports what is wrong with it, and describes itself as JSON Schema."""

import re
from collections.abc import Callable, Collection, Iterable
from ipaddress import ip_address, ip_network
from itertools import islice
from typing import Any

from pfq.diagnostics import Diagnostic
from pfq.site.positions import Path, Source
from pfq.site.units import UnitError

JsonSchema = dict[str, Any]

# What a kind returns for a value it has reported: never a valid value.
BAD: Any = type("Bad", (), {"__repr__": lambda self: "BAD", "__bool__": lambda self: False})()


# A file with more faults than these is not read to its last hint: a search for similar words takes time.
MOST_HINTS = 200
# A name is compared with this many others at most.
MOST_COMPARED = 1000


class Faults:
    """Collects diagnostics for one source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def meant(self, word: str, known: Collection[str]) -> str:
        """As `meant`, for the first faults of a source only."""
        return meant(word, known) if len(self.found) < MOST_HINTS else ""

    def at(self, path: Path, code: str, message: str, hint: str = "") -> None:
        """A fault of the value at `path`."""
        self.found.append(Diagnostic(code, message, self.source.place(path), hint))

    def at_key(self, path: Path, code: str, message: str, hint: str = "") -> None:
        """A fault of the key at `path`."""
        self.found.append(Diagnostic(code, message, self.source.key_place(path), hint))


def similar(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like `word`, if one is like it."""
    from difflib import get_close_matches

    close = get_close_matches(word[:40], islice(known, MOST_COMPARED), 1)
    return close[0] if close else None


def meant(word: str, known: Collection[str]) -> str:
    """A hint for a misspelled word: 'did you mean ...?', or the known words."""
    begun = [name for name in known if len(word) > 1 and name.startswith(word)]
    if len(begun) > 1:
        return f"one of {', '.join(begun[:20])}"
    close = begun[0] if begun else similar(word, known)
    if close:
        return f"did you mean {close!r}?"
    return f"known: {', '.join(islice(known, 20))}{', ...' if len(known) > 20 else ''}" if known else ""


def shown(number: float) -> str:
    """A number of the model for a message; Python refuses to print an integer of thousands of digits."""
    return f"of {number.bit_length()} bits" if type(number) is int and number.bit_length() > 100 else str(number)


def _kind_of(value: object) -> str:
    names = {str: "text", bool: "true/false", int: "a whole number", float: "a decimal number", dict: "a table", list: "a list"}
    return names.get(type(value), "a date")


class Kind:
    """One kind of value."""

    wanted = "a value"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        raise NotImplementedError

    def json_schema(self) -> JsonSchema:
        raise NotImplementedError

    def wrong(self, value: Any, path: Path, faults: Faults) -> Any:
        faults.at(path, "wrong-type", f"{_kind_of(value)} stands where {self.wanted} belongs", self.hint())
        return BAD

    def hint(self) -> str:
        return ""


class Text(Kind):
    """Text of a given form; `allowed` says the form in words."""

    def __init__(self, wanted: str, pattern: str, most: int, allowed: str) -> None:
        self.wanted = wanted
        self.pattern = pattern
        self.matches = re.compile(rf"(?:{pattern})\Z", re.ASCII).match
        self.most = most
        self.allowed = allowed

    def hint(self) -> str:
        return f"{self.wanted}: {self.allowed}"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not str:
            return self.wrong(value, path, faults)
        if len(value) > self.most:
            faults.at(path, "too-long", f"{value[:20]!r}... has {len(value)} characters", f"{self.wanted} has at most {self.most}")
            return BAD
        if not self.matches(value):
            faults.at(path, "bad-name", f"{value!r} cannot be {self.wanted}", self.allowed)
            return BAD
        return value

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "maxLength": self.most}


class Quantity(Kind):
    """A number with a unit, as text."""

    def __init__(self, wanted: str, parse: Callable[[str], Any], example: str) -> None:
        self.wanted = wanted
        self.parse = parse
        self.example = example

    def hint(self) -> str:
        return f"write, for instance, {self.example!r}"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) in (int, float):
            faults.at(path, "no-unit", f"the bare number {shown(value)} could mean two things", self.hint())
            return BAD
        if type(value) is not str:
            return self.wrong(value, path, faults)
        try:
            return self.parse(value)
        except UnitError as error:
            faults.at(path, "bad-quantity", str(error), error.hint)
            return BAD

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*[A-Za-zµμ%][A-Za-z/]*\s*$", "examples": [self.example]}


class Choice(Kind):
    """One of a few words."""

    def __init__(self, wanted: str, words: list[str]) -> None:
        self.wanted = wanted
        self.words = words

    def hint(self) -> str:
        return f"one of {', '.join(self.words)}"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not str:
            return self.wrong(value, path, faults)
        if value not in self.words:
            faults.at(path, "unknown-word", f"{value[:40]!r} is not {self.wanted}", faults.meant(value, self.words))
            return BAD
        return value

    def json_schema(self) -> JsonSchema:
        return {"enum": list(self.words)}


class Flag(Kind):
    wanted = "true or false"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        return value if type(value) is bool else self.wrong(value, path, faults)

    def json_schema(self) -> JsonSchema:
        return {"type": "boolean"}


class Whole(Kind):
    def __init__(self, wanted: str, low: int, high: int) -> None:
        self.wanted = wanted
        self.low = low
        self.high = high

    def hint(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not int:
            return self.wrong(value, path, faults)
        if not self.low <= value <= self.high:
            faults.at(path, "out-of-range", f"the number {shown(value)} is out of range for {self.wanted}", f"{self.low} to {self.high}")
            return BAD
        return value

    def json_schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class IpAddress(Kind):
    wanted = "an IP address"

    def hint(self) -> str:
        return "such as '192.168.1.1' or '2001:db8::1'"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not str:
            return self.wrong(value, path, faults)
        try:
            if "%" in value:
                raise ValueError("a zone cannot stand here")
            return ip_address(value)
        except ValueError:
            faults.at(path, "bad-address", f"{value[:60]!r} is not an IP address", self.hint())
            return BAD

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}


class IpNetwork(Kind):
    wanted = "a network"
    pattern = r"[0-9A-Fa-f:.]+(/\d{1,3})?"
    matches = re.compile(rf"{pattern}\Z", re.ASCII).match

    def hint(self) -> str:
        return "such as '192.168.1.0/24' or '2001:db8:1::/48'"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not str:
            return self.wrong(value, path, faults)
        hint = self.hint()
        try:
            # Python also takes a zone ('fe80::%eth0', any text at all after the '%') and masks in place of a length.
            if not self.matches(value):
                raise ValueError
            network = ip_network(value, strict=False)
            if network.network_address == ip_address(value.partition("/")[0]):
                return network
            hint = f"the network is {network}"
        except ValueError:
            pass
        faults.at(path, "bad-network", f"{value[:60]!r} is not a network", hint)
        return BAD

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "pattern": f"^{self.pattern}$"}


class ArrayOf(Kind):
    """A list; a single value stands for a list of one where `single` is set."""

    def __init__(self, kind: Kind, single: bool = False, most: int = 10_000) -> None:
        self.kind = kind
        self.single = single
        self.most = most
        self.wanted = f"a list of {kind.wanted}"

    def hint(self) -> str:
        return self.kind.hint()

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not list:
            if not self.single:
                return self.wrong(value, path, faults)
            one = self.kind.read(value, path, faults)
            return BAD if one is BAD else (one,)
        if len(value) > self.most:
            faults.at(path, "too-many", f"the list has {len(value)} entries", f"at most {self.most}")
            return BAD
        items = tuple(self.kind.read(item, (*path, index), faults) for index, item in enumerate(value))
        return BAD if any(item is BAD for item in items) else items

    def json_schema(self) -> JsonSchema:
        one = self.kind.json_schema()
        many: JsonSchema = {"type": "array", "items": one, "maxItems": self.most}
        return {"anyOf": [one, many]} if self.single else many


class ByType(Kind):
    """One kind for each type that TOML has: text, table, number, true/false."""

    def __init__(self, wanted: str, **kinds: Kind) -> None:
        self.wanted = wanted
        self.kinds = kinds

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        kind = self.kinds.get(type(value).__name__)
        return self.wrong(value, path, faults) if kind is None else kind.read(value, path, faults)

    def hint(self) -> str:
        return next((kind.hint() for kind in self.kinds.values() if kind.hint()), "")

    def json_schema(self) -> JsonSchema:
        return {"anyOf": [kind.json_schema() for kind in self.kinds.values()]}


class Key:
    """A key of a table: its kind, what it means (one sentence), whether it must be there."""

    def __init__(self, kind: Kind, meaning: str, required: bool = False) -> None:
        self.kind = kind
        self.meaning = meaning
        self.required = required


class Table(Kind):
    """A table with fixed keys. Reads to `build(path, values)`, where absent keys are absent; with `partial`, so are bad ones."""

    def __init__(
        self, wanted: str, keys: dict[str, Key], build: Callable[[Path, dict[str, Any], Faults], Any], partial: bool = False
    ) -> None:
        self.wanted = wanted
        self.keys = keys
        self.build = build
        self.partial = partial
        self.required = tuple(name for name, key in keys.items() if key.required)

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not dict:
            return self.wrong(value, path, faults)
        values = {}
        good = True
        misspelt: set[str | None] = set()
        for name, item in value.items():
            key = self.keys.get(name)
            if key is None:
                hint = faults.meant(name, self.keys)
                misspelt.add(similar(name, self.keys) if hint else None)
                faults.at_key((*path, name), "unknown-key", f"{self.wanted} has no key {name[:40]!r}", hint)
                good = False
                continue
            read = key.kind.read(item, (*path, name), faults)
            if read is BAD:
                good = False
            else:
                values[name] = read
        for name in self.required:
            # A required key that is there, misspelt, is one fault and not two.
            if name not in value and name not in misspelt:
                meaning = self.keys[name].meaning.rstrip(".")
                faults.at(path, "missing-key", f"{self.wanted} needs the key {name!r}", f"{name}: {meaning[0].lower()}{meaning[1:]}")
                good = False
        return self.build(path, values, faults) if good or self.partial else BAD

    def json_schema(self) -> JsonSchema:
        properties = {name: key.kind.json_schema() | {"description": key.meaning} for name, key in self.keys.items()}
        schema: JsonSchema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": list(self.required)} if self.required else {})


class MapOf(Kind):
    """A table whose keys are names of the user's choice. What is wrong in one entry is reported, the others are read all the same."""

    def __init__(self, name: Text, kind: Kind) -> None:
        self.name = name
        self.kind = kind
        self.wanted = f"a table of {kind.wanted} by name"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not dict:
            return self.wrong(value, path, faults)
        read = {}
        for name, item in value.items():
            if len(name) > self.name.most or not self.name.matches(name):
                faults.at_key((*path, name), "bad-name", f"{name[:40]!r} cannot be {self.name.wanted}", self.name.allowed)
            one = self.kind.read(item, (*path, name), faults)
            if one is not BAD:
                read[name] = one
        return read

    def json_schema(self) -> JsonSchema:
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^(?:{self.name.pattern})$", "maxLength": self.name.most},
            "additionalProperties": self.kind.json_schema(),
        }
