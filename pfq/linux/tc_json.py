"""What `tc -j` prints, put into the words of a command line. Sources: iproute2 6.1 (tc/*.c, print_opt functions).

iproute2 6.1 prints `tc -j class show` as plain text, u32's keys under one name, and bpf programs without their bytecode.
"""

import json
from typing import Any

from pfq.diagnostics import Place
from pfq.linux.faults import Faults, Skip
from pfq.linux.tc import TcReader
from pfq.linux.tc_listing import listed

# Names that are not words of a command.
_TOLD_APART = frozenset({"kind", "handle", "dev", "parent", "root", "options", "refcnt", "protocol", "pref", "chain", "class", "leaf"})


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; what is said several times under one name becomes a list."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name == "match":
            found.setdefault("match", []).append(value)
        else:
            found[name] = value
    return found


def read_json(name: str, text: str, reader: TcReader, faults: Faults) -> None:
    """Read an array of disciplines, classes or filters. `name` says the device of classes and filters, as in pfq.linux.read."""
    try:
        rows = json.loads(text, object_pairs_hook=_pairs)
    except ValueError as error:
        place = Place(name, getattr(error, "lineno", 1), getattr(error, "colno", 1))
        try:
            raise faults.syntax("this is no JSON", place, "iproute2 prints some filters wrong: list them without -j")
        except Skip:
            return
    device, hook = listed(name)
    for row in rows if isinstance(rows, list) else [rows]:
        if isinstance(row, dict):
            try:
                line = _line(row, Place(name, 1, 1), faults)
            except Skip:
                continue
            if line:
                reader.line(line, Place(name, 1, 1), device, hook)


def _line(row: dict[str, Any], place: Place, faults: Faults) -> str:
    options = row.get("options", {})
    options = options if isinstance(options, dict) else {}
    start = [f"dev {row['dev']}"] if row.get("dev") else []
    if "protocol" in row or "pref" in row:
        return _filter(row, options, place, faults)
    if row.get("root"):
        start.append("root")
    if row.get("parent"):
        start.append(f"parent {row['parent']}")
    if "class" in row:
        own = {key: value for key, value in row.items() if key not in _TOLD_APART and key not in ("stats",)}
        return f"class {row['class']} {row['handle']} {' '.join(start)} {_words(own)}"
    return f"qdisc {row.get('kind', '')} {row.get('handle', '')} {' '.join(start)} {_words(options)}"


def _words(options: dict[str, Any]) -> str:
    """Names and values, one after another."""
    found: list[str] = []
    for key, value in options.items():
        if isinstance(value, bool):
            found += [key] if value else []
        elif isinstance(value, list):
            found += [key, *map(str, value)]
        elif isinstance(value, dict):
            continue
        elif key in ("diffserv", "flowmode"):
            found.append(str(value))
        else:
            found += [key, str(value)]
    return " ".join(found)


def _filter(row: dict[str, Any], options: dict[str, Any], place: Place, faults: Faults) -> str:
    kind = row.get("kind", "")
    number = options.get("fh") or options.get("handle")
    if not options or "ht_divisor" in options:
        return ""
    parent = f"parent {row['parent']} " if row.get("parent") else ""
    head = f"filter {parent}protocol {row.get('protocol', 'all')} pref {row.get('pref', 0)} {kind} chain {row.get('chain', 0)}"
    own: list[str] = [f"handle {number:#x}" if isinstance(number, int) else f"handle {number}"] if number is not None else []
    if kind == "bpf":
        raise faults.not_modelled("a bpf program in JSON, which has not its bytecode", place, "list the filters without -j")
    if kind == "u32":
        own += [f"match {int(each['value'], 16):08x}/{int(each['mask'], 16):08x} at {each['offmask']}{each['off']}" for each in options.get("match", ())]
    elif kind == "flower":
        own += [f"{'eth_type' if key == 'eth_type' else key} {value}" for key, value in options.get("keys", {}).items()]
    elif kind not in ("fw", "matchall", "flow"):
        raise faults.not_modelled(f"a {kind} filter in JSON", place, "list the filters without -j")
    for word in ("classid", "flowid"):
        if options.get(word):
            own.append(f"flowid {options[word]}")
            break
    return " ".join([head, *own, *(_action(each, place, faults) for each in options.get("actions", ()))])


def _action(action: dict[str, Any], place: Place, faults: Faults) -> str:
    """As `tc filter show` prints it."""
    kind = action.get("kind", "")
    control = action.get("control_action", {})
    said = control.get("type", "") if isinstance(control, dict) else ""
    order = f"action order {action.get('order', 1)}:"
    if kind == "mirred":
        what = f"{str(action.get('direction', 'egress')).capitalize()} {str(action.get('mirred_action', '')).capitalize()}"
        return f"{order} mirred ({what} to device {action.get('to_dev', '')}) {said}"
    if kind == "skbedit":
        words = [f"{key} {action[key]}" for key in ("priority", "mark") if key in action]
        if "mask" in action and "mark" in action:
            words[-1] += f"/{action['mask']}"
        return f"{order} skbedit {' '.join(words)} {said}"
    if kind == "gact":
        return f"{order} gact action {said}"
    if kind in ("ctinfo", "connmark"):
        mask = f"cpmark {action['cpmark']}" if "cpmark" in action else ""
        return f"{order} {kind} {mask} {said}"
    raise faults.not_modelled(f"the action {kind} in JSON", place, "list the filters without -j")
