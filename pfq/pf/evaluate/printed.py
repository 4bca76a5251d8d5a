"""A running pf as a tree: what `pfctl -sr`, `-sn` and `-sq` print is pf.conf again, but for the queues of ALTQ, which lack their `altq` lines.

Source: pfctl_show_rules and pfctl_show_nat of pfctl.c, pfctl_print_altq_node of pfctl_qstats.c, print_queue and print_altq of pfctl_altq.c.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from pfq.diagnostics import Place, refuse
from pfq.pf.dialects import dialect
from pfq.pf.system import System
from pfq.pf.verdict import Tree, read

RULES, TRANSLATION, QUEUES, TABLES = "pfctl -sr", "pfctl -sn", "pfctl -sq", "pfctl -T show"
_ALTQ = f"{QUEUES}: altq"

_QUEUE = re.compile(r"queue\s+(?P<name>\S+)\s+on\s+(?P<interface>\S+)(?P<options>[^{]*)(?:\{(?P<children>[^}]*)\})?\s*$")
_SCHEDULER = re.compile(r"\b(priq|cbq|hfsc|fairq|codel)\(")
_PRIORITY = re.compile(r"\bpriority (\d+)")
_NO_TABLES: Mapping[str, str] = MappingProxyType({})


def printed(
    dialect_name: str, rules: str, translation: str = "", queues: str = "", *, tables: Mapping[str, str] = _NO_TABLES, system: System | None = None
) -> Tree:
    """The tree of a running pf.

    rules, translation, queues: the output of `pfctl -sr`, `-sn` (older releases) and `-sq`, with or without `-v`; what `pfctl -vnf` prints
    of each does as well. tables: by name, what `pfctl -t NAME -T show` prints. Of ALTQ's queues only names, order, parents and defaults are
    read: the rates in the tree mean nothing. Places say which of the commands printed a line. Raises UnknownDialect, and Refused for a
    line of `-sq` that is no queue.
    """
    chosen = dialect(dialect_name)
    files = {RULES: _bare(rules), TRANSLATION: _bare(translation), QUEUES: _bare(queues), TABLES: _table_lines(tables)}
    head = "set require-order no\n" if chosen.require_order else ""
    order = [TABLES, QUEUES, TRANSLATION, RULES]
    if not chosen.queue_trees and not re.search(r"^altq ", files[QUEUES], re.MULTILINE):
        files[_ALTQ], files[QUEUES] = _altq(files[QUEUES])
        order.insert(1, _ALTQ)
    text = head + "".join(f'include "{name}"\n' for name in order if files[name].strip())
    return read(text, dialect_name, system=system, file_name="pfctl", open_file=files.__getitem__)


def _bare(text: str) -> str:
    """Without the counters of `-v`, line by line; each line keeps its number."""
    return "".join("\n" if re.match(r"\s*\[ ", line) else re.sub(r"^@\d+ ", "", line) + "\n" for line in text.splitlines())


def _table_lines(tables: Mapping[str, str]) -> str:
    return "".join(f"table <{name}> {{ {', '.join(shown.split())} }}\n" for name, shown in tables.items())


def _altq(text: str) -> tuple[str, str]:
    """The `altq` lines that belong to printed queues, and the queues as they are written, each on the line where it was printed."""
    found: list[re.Match[str] | None] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _QUEUE.match(line)
        if line.strip() and match is None:
            raise refuse("not-printed-by-pfctl", f"no queue: {line.strip()}", Place(QUEUES, number, 1), "give what pfctl -sq prints, all of it")
        found.append(match)
    queues = [match for match in found if match is not None]
    interfaces = dict.fromkeys(match["interface"] for match in queues)
    kinds = {name: _scheduler([match for match in queues if match["interface"] == name]) for name in interfaces}
    below = {(match["interface"], child) for match in queues if not _is_root(match) for child in _children(match)}
    tops = {name: [one["name"] for one in queues if one["interface"] == name and not _is_root(one) and (name, one["name"]) not in below] for name in interfaces}
    heads = "".join(f"altq on {name} {kinds[name]} bandwidth 4Gb queue {{ {', '.join(tops[name])} }}\n" for name in interfaces)
    return heads, "".join("\n" if match is None or _is_root(match) else _written(match, kinds[match["interface"]]) for match in found)


def _scheduler(queues: list[re.Match[str]]) -> str:
    """The default queue says which it is; `root_IF` alone does not."""
    for match in queues:
        kind = _SCHEDULER.search(match["options"])
        if kind is not None:
            return kind[1]
    return "priq"


def _is_root(match: re.Match[str]) -> bool:
    return match["name"] == f"root_{match['interface']}"


def _children(match: re.Match[str]) -> list[str]:
    return re.findall(r"[^\s,]+", match["children"] or "")


def _written(match: re.Match[str], kind: str) -> str:
    words = [f"queue {match['name']} on {match['interface']}"]
    priority = _PRIORITY.search(match["options"])
    if kind == "priq":
        words.append(f"priority {priority[1] if priority else 1}")
    else:
        words.append("bandwidth 1%")
    if re.search(r"\bdefault\b", match["options"]):
        words.append(f"{kind}(default)")
    children = _children(match)
    if children:
        words.append(f"{{ {', '.join(children)} }}")
    return " ".join(words) + "\n"
