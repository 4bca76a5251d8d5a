"""What `tc -j` prints. Sources: iproute2 6.1."""

import json

from pfq.diagnostics import Place
from pfq.linux.faults import Faults, Skip
from pfq.linux.tc import TcReader


def read_json(name: str, text: str, reader: TcReader, faults: Faults) -> None:
    """Read an array of disciplines, classes or filters. `name` says the device of classes and filters, as in pfq.linux.read."""
    try:
        json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        column = getattr(error, "colno", 1)
        try:
            raise faults.syntax("this is no JSON (iproute2 prints some filters wrong: list them without -j)", Place(name, line, column))
        except Skip:
            return
    try:
        raise faults.not_modelled("JSON of tc", Place(name, 1, 1), "list it without -j")
    except Skip:
        return
