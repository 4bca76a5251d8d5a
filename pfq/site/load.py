"""From a TOML file to a Site, or to everything that is wrong with it."""

import re
import sys
import tomllib
from typing import Any

from pfq.diagnostics import Diagnostic, Place, Refused, refuse
from pfq.site.check import check_host, check_policy, check_references
from pfq.site.default_policy import POLICY
from pfq.site.differences import DIFFERENCES
from pfq.site.kinds import Faults
from pfq.site.model import Site
from pfq.site.positions import Source
from pfq.site.schema import SITE

# A thousand gateways take 0.3 MB. More than this is not a model but a mistake.
MOST_BYTES = 8 * 2**20

# tomllib's time and memory grow with the square of a key's parts: 'a.a.a. ...' of 250 kB takes all there is. A model's keys have five.
_PART = r"""(?>[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*+"""
_ENDLESS_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+(?:{_PART}\.[ \t]*+){{50}}", re.MULTILINE)
# Python reads no decimal number with more digits than these (sys.int_info.default_max_str_digits).
_ENDLESS_NUMBER = re.compile(r"[0-9_]{4300,}")

_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)\Z")


def read_bytes(path: str) -> bytes:
    """The content of a file, or of standard input for '-'. Raises Refused where it cannot be read or is larger than MOST_BYTES."""
    try:
        if path == "-":
            if sys.stdin is None:
                raise refuse("unreadable", "standard input is closed")
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MOST_BYTES + 1)
    except IsADirectoryError:
        raise refuse("unreadable", f"{path} is a directory", hint="name the model's file, such as site.toml") from None
    except FileNotFoundError:
        raise refuse("unreadable", f"there is no file {path}", hint="`pfq init` writes a model to begin with") from None
    except (OSError, ValueError) as error:
        raise refuse("unreadable", f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MOST_BYTES:
        raise refuse("too-large", f"{path} has more than {MOST_BYTES >> 20} MiB", hint="a model of a thousand gateways has 0.3 MB")
    return data


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise refuse("not-text", f"byte {data[error.start]:#04x} is not UTF-8", Place(file, line, column), "save the model as UTF-8 text") from None


def _place(text: str, offset: int, file: str) -> Place:
    return Place(file, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _parse(text: str, file: str) -> dict[str, Any]:
    endless = _ENDLESS_KEY.search(text)
    if endless:
        raise refuse("not-toml", "a key has too many parts", _place(text, endless.start(), file), "a model's keys have at most five")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = _TOML_PLACE.search(message)
        place = Place(file, int(found[1]), int(found[2])) if found and found[1] else _place(text, len(text), file)
        raise refuse("not-toml", _TOML_PLACE.sub("", message)[:200], place, "the model is TOML: https://toml.io/en/v1.0.0") from None
    except ValueError:
        number = _ENDLESS_NUMBER.search(text)
        place = _place(text, number.start() if number else 0, file)
        raise refuse("not-toml", "a number has thousands of digits", place, "no number of a model has more than ten") from None
    except RecursionError:
        raise refuse("not-toml", "tables or lists are nested too deeply", Place(file, 1, 1), "a model nests five deep") from None


def read_text(text: str, file: str) -> tuple[Site, list[Diagnostic]]:
    """The parts of the model that could be read, and every fault found. Raises Refused where the text is no TOML at all.

    The site is whole only if there is no fault. Where `accept` cannot be read, nothing is complained of that it might have accepted.
    """
    source = Source(file, text)
    raw = _parse(text.replace("\r\n", "\n"), file)
    if not raw:
        raise refuse("empty", "the model is empty", Place(file, 1, 1), "`pfq init` writes a model to begin with")
    return read_tables(raw, source)


def read_tables(raw: dict[str, Any], source: Source) -> tuple[Site, list[Diagnostic]]:
    """As `read_text`, of a text that has been parsed (and changed, perhaps, since then)."""
    faults = Faults(source)
    values = SITE.read(raw, (), faults)
    check_references(raw, faults)
    policies = {POLICY.name: POLICY} | values.get("policies", {})
    site = Site(
        source,
        values.get("name", ""),
        values.get("accept", () if raw.keys() <= SITE.keys.keys() - {"accept"} else tuple(DIFFERENCES)),
        values.get("links", {}),
        {name: policy for name, policy in policies.items() if check_policy(policy, faults)},
        values.get("hosts", {}),
    )
    for host in site.hosts.values():
        check_host(host, site, faults)
    return site, faults.found


def load_text(text: str, file: str) -> Site:
    """The model of a text; `file` names it in diagnostics. Raises Refused with every fault."""
    site, faults = read_text(text, file)
    if faults:
        raise Refused(faults)
    return site


def read_file(path: str) -> tuple[Site, list[Diagnostic]]:
    """As `read_text`, from a file or, for '-', from standard input."""
    file = "<stdin>" if path == "-" else path
    return read_text(_decode(read_bytes(path), file), file)


def load_file(path: str) -> Site:
    """As `load_text`, from a file or, for '-', from standard input."""
    site, faults = read_file(path)
    if faults:
        raise Refused(faults)
    return site


def read_toml(path: str) -> tuple[dict[str, Any], Source]:
    """The tables of any TOML file ('-': standard input) and the places of its parts. Raises Refused where it is none."""
    file = "<stdin>" if path == "-" else path
    text = _decode(read_bytes(path), file)
    return _parse(text.replace("\r\n", "\n"), file), Source(file, text)
