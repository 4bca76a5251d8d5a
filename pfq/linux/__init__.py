"""The tc and nft languages, read back and evaluated. Knows nothing of what wrote them."""

from collections.abc import Mapping
from dataclasses import dataclass

from pfq.diagnostics import Place, Refused
from pfq.linux.faults import Faults
from pfq.linux.nft import read_nft
from pfq.linux.queues import Devices
from pfq.linux.rules import Table
from pfq.linux.script import parts
from pfq.linux.tc import TcReader
from pfq.linux.tc_json import read_json
from pfq.linux.tc_listing import listed


@dataclass(frozen=True, slots=True)
class Tree:
    """What a gateway is told: nft's tables, and the queues of its devices."""

    tables: tuple[Table, ...]
    devices: Devices


def read(texts: Mapping[str, str]) -> Tree:
    """Read a gateway's files together: file name -> text.

    Each may be a shell script (its here-documents are read), a tc batch, an nft file, or a listing: of `nft list ruleset`, `tc -j ... show`, `tc ... show`.
    tc does not say in a listing of classes or filters of which device they are: its name then says it, as the command that printed it
    ("tc filter show dev eth0 ingress"), or a line `# tc filter show dev eth0 ingress` before it. Raises Refused with every fault.
    """
    faults = Faults()
    tables: list[Table] = []
    reader = TcReader(faults)
    for name, text in texts.items():
        for part in parts(name, text, faults):
            if part.language == "nft":
                tables += read_nft(name, part.text, part.line, faults)
            elif part.language == "json":
                read_json(name, part.text, reader, faults)
            else:
                device, hook = listed(name)
                for line, number in _lines(part.text, part.line):
                    if line.lstrip().startswith("#"):
                        device, hook = listed(line) if "show" in line else (device, hook)
                        continue
                    reader.line(line, Place(name, number, 1), device, hook)
    if faults.found:
        raise Refused(faults.found)
    return Tree(tuple(tables), reader.devices)


def _lines(text: str, first: int) -> list[tuple[str, int]]:
    """Lines with their numbers; one that ends with a backslash goes on, and so does an entry of a listing (its further lines are indented)."""
    found: list[tuple[str, int]] = []
    going_on = False
    for number, line in enumerate(text.splitlines(), first):
        if found and (going_on or (line[:1] in " \t" and line.strip() and not line.lstrip().startswith("#"))):
            found[-1] = found[-1][0] + " " + line.rstrip("\\").strip(), found[-1][1]
        elif line.strip():
            found.append((line.rstrip("\\"), number))
        going_on = line.endswith("\\")
    return found


__all__ = ["Tree", "read"]
