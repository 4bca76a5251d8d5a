"""Recordings of what a running pf prints, told apart by their files' names: those of the commands that printed them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from pfq.diagnostics import Place, refuse

_SHOWN = {"r": "rules", "rules": "rules", "n": "translation", "nat": "translation", "q": "queues", "queue": "queues"}


@dataclass(slots=True)
class Listings:
    """What pfctl printed of each; tables by name."""

    rules: str = ""
    translation: str = ""
    queues: str = ""
    tables: dict[str, str] = field(default_factory=dict)


def recorded(texts: Mapping[str, str]) -> Listings | None:
    """Files named `pfctl -a '*' -sr`, `pfctl -sn`, `pfctl -sq`, `pfctl -t NAME -T show` (with `-v`, or quotes, or neither); None if no file is
    named after pfctl. Raises Refused for files beside them of another name."""
    if not any(os.path.basename(path).startswith("pfctl ") for path in texts):
        return None
    found = Listings()
    for path, text in texts.items():
        words = os.path.basename(path).split()
        if words[0] == "pfctl" and "-t" in words[:-1] and words[-2:] == ["-T", "show"]:
            found.tables[words[words.index("-t") + 1]] = text
            continue
        shown = _SHOWN.get(words[-1].rpartition("s")[2] if words[-1].startswith("-") else words[-1], "")
        if words[0] != "pfctl" or not shown:
            known = "pfctl -a * -sr, pfctl -sn, pfctl -sq, pfctl -t NAME -T show"
            raise refuse("unknown-recording", f"no recording has the name {os.path.basename(path)!r}", Place(path, 1, 1), f"known: {known}")
        setattr(found, shown, text)
    return found
