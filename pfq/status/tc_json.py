"""JSON as tc prints it, which is not always JSON: the options of some disciplines and filters are plain words between the braces.

Seen with iproute2 6.1: `"options":{default f }` (hfsc), and a line break with words after the last member (the filter `basic`).
Source: q_hfsc.c hfsc_print_opt, f_basic.c, em_meta.c of iproute2 6.1, which print to the file without the JSON writer.
"""

import json
from typing import Any

from pfq.diagnostics import refuse

# What stands in an object without a key is kept under this one.
WORDS = ""

_decode = json.JSONDecoder().raw_decode


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> str:
        """The next character that is no blank; '' at the end."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        first = self.skip()
        if first == "{":
            return self.members()
        if first == "[":
            return self.items()
        found, self.at = _decode(self.text, self.at)
        return found

    def items(self) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while self.skip() != "]":
            found.append(self.value())
            if self.skip() == ",":
                self.at += 1
        self.at += 1
        return found

    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while (first := self.skip()) != "}":
            if first == ",":
                self.at += 1
            elif first == '"':
                key = self.value()
                if self.skip() != ":":
                    raise ValueError(f"no value for {key!r}")
                self.at += 1
                found[key] = self.value()
            else:
                end = self.text.index("}", self.at)
                found[WORDS] = self.text[self.at : end].strip()
                self.at = end
        self.at += 1
        return found


def read_json(text: str, name: str) -> list[dict[str, Any]]:
    """A list of objects. Nothing at all is an empty list: tc prints that when there is nothing to say. Raises Refused, naming the output."""
    reader = _Reader(text)
    try:
        found = reader.value() if reader.skip() else []
        if reader.skip():
            raise ValueError("something follows the end")
    except (ValueError, RecursionError) as error:
        raise refuse("unreadable", f"{name}: character {reader.at + 1} of the output cannot be read: {error}", hint="is it what the command printed?") from None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise refuse("unreadable", f"{name}: a list of objects is wanted")
    return found
