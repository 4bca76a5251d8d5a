"""Words of nft text, with their places. Sources: nft(8), nftables' scanner.l (1.0.6)."""

import re
from dataclasses import dataclass

from pfq.diagnostics import Place
from pfq.linux.faults import Faults, Skip

_RULES = (
    ("blank", r"[ \t\r]+|\\\r?\n|#[^\n]*"),
    ("end", r"\n|;"),
    ("text", r'"[^"\n]*"'),
    ("raw", r"@(?:ll|nh|th|ih),\s*\d+,\s*\d+"),
    ("set", r"@[A-Za-z_][A-Za-z0-9_/\-.]*"),
    ("variable", r"\$[A-Za-z_][A-Za-z0-9_/\-.]*"),
    ("hardware", r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?![0-9a-fA-F:])"),
    ("ipv6", r"(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*)?::(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*)?"
             r"(?:(?<=:)\d+\.\d+\.\d+\.\d+|:\d+\.\d+\.\d+\.\d+)?"),
    ("ipv4", r"\d+\.\d+\.\d+\.\d+"),
    ("class", r"[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}(?![0-9a-zA-Z])"),
    ("number", r"0[xX][0-9a-fA-F]+|\d+(?![A-Za-z_])"),
    ("word", r"\d*[A-Za-z_][A-Za-z0-9_/\-.\\]*\*?|\d+[A-Za-z0-9]+"),
    ("sign", r"==|!=|<=|>=|<<|>>|[<>&|^!{}(),:./\-=*+\[\]]"),
)  # fmt: skip
_SCAN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _RULES)).match


@dataclass(frozen=True, slots=True)
class Token:
    """A word. kind: end (of a statement), text (quoted, without its quotes), raw, set, variable, hardware, ipv6, ipv4, class, number, word, sign; "" at
    the end of the text."""

    kind: str
    text: str
    place: Place
    start: int
    stop: int


def tokens(name: str, text: str, first_line: int, faults: Faults) -> list[Token]:
    """The words of a text whose first line is `first_line` of the file `name`; what is no word is noted as a fault and left out."""
    found: list[Token] = []
    line, line_start, at = first_line, 0, 0
    while at < len(text):
        match = _SCAN(text, at)
        place = Place(name, line, at - line_start + 1)
        if match is None:
            try:
                raise faults.syntax(f"{text[at]!r} cannot stand here", place)
            except Skip:
                at += 1
                continue
        kind, word = match.lastgroup or "", match.group()
        if kind != "blank":
            found.append(Token(kind, word[1:-1] if kind == "text" else word, place, at, match.end()))
        at = match.end()
        newlines = word.count("\n")
        if newlines:
            line += newlines
            line_start = at - (len(word) - word.rindex("\n") - 1)
    found.append(Token("", "", Place(name, line, at - line_start + 1), at, at))
    return found
