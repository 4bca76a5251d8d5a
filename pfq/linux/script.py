"""Which parts of a text are tc's and which are nft's, told from what is in it. No shell is run.

A shell script's here-documents are found statically: `<<WORD`, `<<'WORD'`, `<<-WORD`, up to a line that is WORD. One whose text the shell would
expand cannot be known.
"""

import re
from typing import NamedTuple

from pfq.diagnostics import Place
from pfq.linux.faults import Faults, Skip

_HERE = re.compile(r"<<(-?)\s*(?:'(\w+)'|\"(\w+)\"|\\?(\w+))")
_TC = re.compile(r"\s*(?:tc\s+(?:-\S+\s+)*)?(?:qdisc|class|filter)\s+\S")
_NFT = re.compile(r"\s*(?:(?:add|create|delete|flush|destroy)\s+)?(?:table|ruleset|chain|rule)\b|\s*define\s")
_SHEBANG = re.compile(r"#!\s*/\S*/(?:env\s+)?(\w+)")
_TC_LINE = re.compile(r"\s*(?:/\S*/)?tc\s+(?:-\S+\s+)*(?:qdisc|class|filter)\s+(?:add|replace|change|del|delete)\s")
_PROBES = ("pfq-probe",)


class Part(NamedTuple):
    """Text of one language: tc, nft, json; `line` is its first line in the file."""

    language: str
    text: str
    line: int


def parts(name: str, text: str, faults: Faults) -> list[Part]:
    """The parts of a file, in order. What is neither tc's nor nft's is left out; a file without any such part is a fault."""
    found = _json(text) or (_of_script(name, text, faults) if _is_script(text) else _plain(text))
    if not found and text.strip():
        try:
            raise faults.syntax("neither tc statements nor nft rules are in this file", Place(name, 1, 1), "what pfq compiles, or what tc and nft list")
        except Skip:
            return []
    return found


def _json(text: str) -> list[Part]:
    return [Part("json", text, 1)] if text.lstrip()[:1] == "[" else []


def _is_script(text: str) -> bool:
    shebang = _SHEBANG.match(text)
    if shebang:
        return shebang.group(1) != "nft"
    return _HERE.search(text) is not None


def _language(text: str) -> str:
    """By the first line that says something."""
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if _TC.match(line):
            return "tc"
        return "nft" if _NFT.match(line) else ""
    return ""


def _plain(text: str) -> list[Part]:
    language = _language(text)
    return [Part(language, text, 1)] if language else []


def _of_script(name: str, text: str, faults: Faults) -> list[Part]:
    lines = text.splitlines(keepends=True)
    found: list[Part] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        here = None if line.lstrip().startswith("#") else _HERE.search(line)
        if here is None:
            if _TC_LINE.match(line):
                found.append(_command(name, lines, at, faults))
            at += 1
            continue
        quoted = here.group(2) or here.group(3)
        word = quoted or here.group(4)
        indent = "\t" if here.group(1) else ""
        end = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip("\n").lstrip(indent) == word), len(lines))
        body = "".join(lines[at + 1 : end])
        language = _language(body)
        if language and not quoted and re.search(r"[$`]", body):
            try:
                raise faults.not_modelled(f"the here-document {word}, whose text the shell would change", Place(name, at + 1, here.start() + 1), f"<<'{word}'")
            except Skip:
                language = ""
        if language:
            found.append(Part(language, body, at + 2))
        at = end + 1
    return [part for part in found if part.language and not any(probe in part.text for probe in _PROBES)]


def _command(name: str, lines: list[str], at: int, faults: Faults) -> Part:
    """A tc command line of the script itself, which must stand there as it is."""
    line = lines[at].strip()
    if re.search(r"[$`;|&]", line):
        try:
            raise faults.not_modelled("a tc command that the shell would change", Place(name, at + 1, 1), "write it into a batch")
        except Skip:
            return Part("", "", at + 1)
    return Part("tc", line, at + 1)
