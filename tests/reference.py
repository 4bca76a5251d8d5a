"""The tables of keys in docs/model.md: `python3 -m tests.reference` rewrites them from the schema's own definitions."""

from pathlib import Path

from pfq.output import write_file
from pfq.site.differences import DIFFERENCES
from pfq.site.encapsulation import ENCAPSULATIONS
from pfq.site.kinds import ArrayOf, ByType, Choice, Kind, MapOf, Quantity, Table
from pfq.site.schema import SITE

PAGE = Path(__file__).parent.parent / "docs/model.md"
BEGIN, END = "<!-- generated: keys -->\n", "<!-- generated: end -->\n"


def _tables(kind: Kind, name: str) -> list[tuple[str, Table]]:
    """Every table below a kind with the name it has in a model."""
    if isinstance(kind, Table):
        found = [(name, kind)]
        for key, entry in kind.keys.items():
            found += _tables(entry.kind, f"{name}.{key}" if name else key)
        return found
    if isinstance(kind, MapOf):
        return _tables(kind.kind, f"{name}.NAME")
    if isinstance(kind, ArrayOf):
        return _tables(kind.kind, f"{name}[]")
    if isinstance(kind, ByType):
        return [table for inner in kind.kinds.values() for table in _tables(inner, name)]
    return []


def _value(kind: Kind) -> str:
    if isinstance(kind, Choice):
        return ", ".join(f"`{word}`" for word in kind.words) if len(kind.words) <= 8 else kind.wanted
    if isinstance(kind, Quantity):
        return f'{kind.wanted}, `"{kind.example}"`'
    return kind.wanted


def keys() -> str:
    lines: list[str] = []
    seen: set[int] = set()
    for name, table in _tables(SITE, ""):
        if id(table.keys) in seen:
            continue
        seen.add(id(table.keys))
        lines += [f"### `{name or 'top level'}`", "", "| key | value | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{key}`{' (required)' if entry.required else ''} | {_value(entry.kind)} | {entry.meaning} |" for key, entry in table.keys.items()]
        lines.append("")
    lines += ["### Encapsulations", "", "Bytes are added to an IP packet; where there are cells, the sum is then cut into them.", ""]
    lines += ["| name | line | bytes | smallest | cells | best MTU |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [
        f"| `{e.name}` | {e.meaning} | {e.overhead} | {e.minimum or ''} | {'' if e.cells == 'none' else e.cells.upper()} | {e.best_mtu()} |"
        for e in ENCAPSULATIONS.values()
    ]
    lines += ["", "### Differences that can be accepted", "", "| name | what differs |", "| --- | --- |"]
    lines += [f"| `{name}` | {text} |" for name, text in DIFFERENCES.items()]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + keys() + END + rest.partition(END)[2]


if __name__ == "__main__":
    write_file(str(PAGE), page(PAGE.read_text()))
