"""Rates as they are written in a ruleset, before any dialect cuts them to the bits it has."""

import re

_FACTORS = {"": 1, "b": 1, "k": 1000, "m": 1000_000, "g": 1000_000_000}
# At most 30 digits: nobody needs more, and no arithmetic overflows.
_RATE = re.compile(r"(?<![\w.$])(\d{1,30}(?:\.\d{1,9})?)(b|[KMG](?:b|B|bit|Bit)?)?(?![\w.%])")


def written(text: str) -> list[tuple[int, int, int]]:
    """The absolute rates in a text, in bit/s, each with its span. Times (`20ms`) and percentages are left out."""
    found = []
    for match in _RATE.finditer(text):
        factor = _FACTORS[(match[2] or "")[:1].lower()]
        whole, _, fraction = match[1].partition(".")
        rate = int(whole) * factor + (int(fraction) * factor // 10 ** len(fraction) if fraction else 0)
        found.append((rate, match.start(), match.end()))
    return found


def shown(rate: int) -> str:
    """A rate for people: `1.41 Gb`."""
    value = float(min(rate, 10**30))
    for unit in ("b", "Kb", "Mb"):
        if value < 1000:
            return f"{value:.4g} {unit}"
        value /= 1000
    return f"{value:.4g} Gb"
