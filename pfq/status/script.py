"""The compiled script of a Linux gateway, read back: what it is to put in force."""

import re
import shlex
from dataclasses import dataclass

_VALUE = re.compile(r"^(\w+)='?([^'\n]*)'?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """statements: those for tc, in words. rules: the nftables file. roots: interface and kind of each root of queues.

    lengths: interface and txqueuelen. settings: path below /proc/sys and value. families: of the tables named pfq.
    """

    config: str
    interfaces: tuple[str, ...]
    ifbs: tuple[str, ...]
    roots: tuple[tuple[str, str], ...]
    statements: tuple[tuple[str, ...], ...]
    rules: str
    lengths: tuple[tuple[str, int], ...]
    settings: tuple[tuple[str, str], ...]
    families: tuple[str, ...]


def _document(text: str, name: str) -> str:
    found = re.search(rf"<<'{name}'\n(.*?)^{name}$", text, re.MULTILINE | re.DOTALL)
    assert found, f"the script holds {name}"
    return found[1]


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (word.partition("=") for word in text.split())]


def read_script(text: str) -> Script:
    """What a script of pfq's own says; `text` is what pfq compiled."""
    values = dict(_VALUE.findall(text.split("\npieces()", 1)[0]))
    queues = _document(text, "PFQ_QUEUES").splitlines()
    return Script(
        config=values["config"],
        interfaces=tuple(values["interfaces"].split()),
        ifbs=tuple(values["ifbs"].split()),
        roots=tuple(_pairs(values["roots"])),
        statements=tuple(tuple(shlex.split(line)) for line in queues if line and not line.startswith("#")),
        rules=_document(text, "PFQ_RULES"),
        lengths=tuple((name, int(value)) for name, value in _pairs(values["queue_lengths"])),
        settings=tuple(_pairs(values["settings"])),
        families=tuple(values["tables"].split()),
    )
