"""A Linux gateway's queues, filters and packet rules, from what ip, tc and nft say."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pfq.diagnostics import Diagnostic
from pfq.plan.model import Gateway, Queue, Tree
from pfq.status import linux_commands as commands
from pfq.status.filter_faults import filter_faults
from pfq.status.nft_faults import read_listing, rule_faults
from pfq.status.outputs import Command, Outputs, must
from pfq.status.script import Script
from pfq.status.state import Class, Counters, Group, Look, added
from pfq.status.tc_faults import class_faults, discipline_faults, parent_of
from pfq.status.tc_json import read_json
from pfq.status.tc_text import HeldClass, HeldFilter, read_classes, read_filters
from pfq.status.tc_wanted import wanted_classes, wanted_disciplines, wanted_filters
from pfq.targets.linux_names import BESIDE, word
from pfq.targets.linux_queues import Planted, Root, addresses, roots

# Disciplines whose classes are classes; those of the others are the queues of flows.
_CLASSFUL = ("htb", "hfsc", "cbq")
# A class of no name in the model.
OTHER, ALL = "(not the link's)", "(all)"
_AGAIN = "pfq.sh stop and pfq.sh start make it as it was compiled"
_SENT = re.compile(r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+),")


@dataclass(frozen=True, slots=True)
class Held:
    """What the tools say. disciplines: by interface and place; classes: by interface and name; filters: by interface and parent.

    links: by name; unseen: interfaces of which tc says nothing."""

    links: dict[str, dict[str, Any]]
    disciplines: dict[tuple[str, str], dict[str, Any]]
    classes: dict[tuple[str, str], HeldClass]
    filters: dict[tuple[str, str], list[HeldFilter]]


def read(script: Script, outputs: Outputs) -> Held:
    """The outputs, read. Raises Refused for one that cannot be."""
    links = read_json(must(outputs[commands.LINKS.name], commands.LINKS.typed()), commands.LINKS.name)
    disciplines = read_json(must(outputs[commands.QDISCS.name], commands.QDISCS.typed()), commands.QDISCS.name)
    classes: dict[tuple[str, str], HeldClass] = {}
    for interface, _ in script.roots:
        name = commands.classes(interface).name
        # tc fails for an interface that is not there, which `ip link` has told.
        for each in read_classes(outputs[name].text, name):
            classes[interface, each.name] = each
    filters = {}
    for interface, parent in commands.filtered(script):
        name = commands.filters(interface, parent).name
        filters[interface, parent] = read_filters(outputs[name].text, name)
    return Held(
        {str(link.get("ifname")): link for link in links},
        {(str(held.get("dev")), parent_of(held)): held for held in disciplines},
        classes,
        filters,
    )


def look(gateway: Gateway, script: Script, outputs: Outputs, at: float) -> Look:
    """What the gateway's queues did, and where the running state is not the script's. Raises Refused for outputs that cannot be read.

    Without the outputs about packet rules, a finding says that those were not compared."""
    held = read(script, outputs)
    groups: list[Group] = []
    for root in roots(gateway):
        groups += (_group(root, planted, held) for planted in root.planted)
        if root.beside is not None:
            groups.append(_beside(root, held))
    for uplink in gateway.uplinks:
        if uplink.down is not None and uplink.down.where == "police":
            groups.append(_policed(uplink.down, word(uplink.interface), held))
    found = [*_link_findings(script, held), *_queue_findings(script, held), *_filter_findings(script, held), *_setting_findings(script, outputs)]
    return Look(at, tuple(groups), (*found, *_rule_findings(script, outputs)))


# --- counters


def _discipline_counters(held: dict[str, Any]) -> Counters:
    size, packets, dropped, waiting, backlog = (int(held.get(key, 0)) for key in ("bytes", "packets", "drops", "qlen", "backlog"))
    # CAKE counts the ACKs that it filters among its drops (sch_cake.c cake_enqueue).
    filtered = sum(int(tin.get("ack_drops", 0)) for tin in held.get("tins", []))
    return Counters(packets, size, dropped - filtered, waiting, backlog, filtered)


def _leaf_counters(interface: str, address: str, held: Held) -> Counters | None:
    """Those of the discipline in a class, which knows more than the class: what it dropped itself, and bytes that wait."""
    below = held.disciplines.get((interface, address))
    if below is not None:
        return _discipline_counters(below)
    there = held.classes.get((interface, address))
    return Counters(there.packets, there.bytes, there.dropped, there.waiting, None) if there else None


def _tin_counters(interface: str, address: str, held: Held) -> Counters | None:
    root = held.disciplines.get((interface, "root"))
    tins = root.get("tins", []) if root else []
    index = int(address.partition(":")[2], 16) - 1
    if index >= len(tins):
        return None
    packets, size, dropped, filtered, backlog = (
        int(tins[index].get(key, 0)) for key in ("sent_packets", "sent_bytes", "drops", "ack_drops", "backlog_bytes")
    )
    # A tin tells the bytes that wait in it, and nobody tells the packets; none wait where no bytes do.
    return Counters(packets, size, dropped, None if backlog else 0, backlog, filtered)


def _group(root: Root, planted: Planted, held: Held) -> Group:
    names = addresses(root, planted)
    find = _tin_counters if root.scheduler == "cake" else _leaf_counters
    default = planted.uplink.classifier.default

    def walk(queues: tuple[Queue, ...], depth: int) -> Iterator[Class]:
        for queue in queues:
            below = list(walk(queue.children, depth + 1))
            address = names.get(queue.name) or f"1:{planted.numbers[queue.name]:x}"
            counters = added([each.counters for each in below if not each.inner]) if below else find(root.interface, address, held)
            yield _class(queue, address, depth, default, counters)
            yield from below

    tree = planted.tree
    return Group(tree.link, tree.direction, root.interface, root.scheduler, tree.rate.value, tuple(walk(tree.queues, 0)))


def _class(queue: Queue, address: str, depth: int, default: str, counters: Counters | None) -> Class:
    guarantee = queue.guarantee.rate.value if queue.guarantee else None
    ceiling = queue.ceiling.rate.value if queue.ceiling else None
    return Class(
        queue.name, address, depth, bool(queue.children), queue.express, queue.name == default, queue.share.value, guarantee, ceiling, counters
    )


def _beside(root: Root, held: Held) -> Group:
    address = f"1:{BESIDE:x}"
    only = Class(OTHER, address, 0, False, False, False, None, None, None, _leaf_counters(root.interface, address, held))
    return Group("", None, root.interface, root.scheduler, None, (only,))


def _policed(tree: Tree, interface: str, held: Held) -> Group:
    counters = None
    for each in held.filters.get((interface, "ffff:"), []):
        sent = _SENT.search(each.text)
        if " police " in each.text and sent:
            counters = Counters(int(sent[2]), int(sent[1]), int(sent[3]), 0, 0)
    only = Class(ALL, "ffff:", 0, False, False, False, None, None, None, counters)
    return Group(tree.link, tree.direction, interface, "police", tree.rate.value, (only,))


# --- findings


def _warning(code: str, message: str, hint: str = _AGAIN) -> Diagnostic:
    return Diagnostic(code, message, hint=hint, severity="warning")


def _link_findings(script: Script, held: Held) -> Iterator[Diagnostic]:
    for name in dict.fromkeys((*script.interfaces, *script.ifbs)):
        link = held.links.get(name)
        if link is None:
            real = next((each for each, other in held.links.items() if name in other.get("altnames", [])), None)
            hint = f"it is another name of {real}: write {real} in the model" if real else "was it renamed? `ip link` lists them"
            yield _warning("no-interface", f"there is no interface {name}", hint if name not in script.ifbs else _AGAIN)
        elif "UP" not in link.get("flags", []):
            yield _warning("interface-down", f"the interface {name} is down", f"ip link set dev {name} up")
    for name, length in script.lengths:
        held_length = held.links.get(name, {}).get("txqlen")
        if name in held.links and held_length != length:
            yield _warning("different-setting", f"{name}: txqueuelen {held_length} instead of {length}")


def _queue_findings(script: Script, held: Held) -> Iterator[Diagnostic]:
    wrong = {name for name, _ in script.roots if name not in held.links}
    for name, kind in script.roots:
        if name in wrong:
            continue
        root = held.disciplines.get((name, "root"))
        # A handle of 0: is the kernel's own discipline, which stands where nobody put one.
        if root is None or root.get("handle") == "0:":
            wrong.add(name)
            yield _warning("no-queues", f"{name}: no queues of pfq's, but {root.get('kind') if root else 'nothing'}", "pfq.sh start makes them")
        elif root.get("kind") != kind or root.get("handle") != "1:":
            wrong.add(name)
            yield _warning("foreign-root", f"{name}: at the root is {root.get('kind')} {root.get('handle')} instead of {kind} 1:")
    yield from _discipline_findings(script, held, wrong)
    yield from _class_findings(script, held, wrong)


def _discipline_findings(script: Script, held: Held, wrong: set[str]) -> Iterator[Diagnostic]:
    asked = {(each.interface, each.place): each for each in wanted_disciplines(script.statements)}
    for (interface, place), wanted in asked.items():
        if interface in wrong or interface not in held.links:
            continue
        there = held.disciplines.get((interface, place))
        if there is None or there.get("kind") != wanted.kind:
            instead = there.get("kind") if there else "nothing"
            yield _warning("different-queue", f"{interface}: at {place} is {instead} instead of {wanted.kind}")
            continue
        for fault in discipline_faults(wanted, there):
            yield _warning("different-queue", f"{interface}: {wanted.kind} at {place}: {fault}")
    ours = {(each.interface, each.name.split(":")[0]) for each in asked.values()}
    for (interface, place), there in held.disciplines.items():
        if (interface, place) not in asked and (interface, place.split(":")[0]) in ours and interface not in wrong:
            yield _warning("different-queue", f"{interface}: {there.get('kind')} at {place} is not the model's")


def _class_findings(script: Script, held: Held, wrong: set[str]) -> Iterator[Diagnostic]:
    asked = {(each.interface, each.name): each for each in wanted_classes(script.statements) if each.interface not in wrong}
    for (interface, name), wanted in asked.items():
        there = held.classes.get((interface, name))
        if there is None:
            yield _warning("missing-class", f"{interface}: class {name} is missing")
            continue
        for fault in class_faults(wanted, there):
            yield _warning("different-queue", f"{interface}: class {name}: {fault}")
    for (interface, name), there in held.classes.items():
        # hfsc and cbq show their root as a class, named 1:.
        if there.kind in _CLASSFUL and (interface, name) not in asked and interface not in wrong and not name.endswith(":"):
            yield _warning("spare-class", f"{interface}: class {name} is not the model's")


def _filter_findings(script: Script, held: Held) -> Iterator[Diagnostic]:
    asked = wanted_filters(script.statements)
    for (interface, parent), filters in held.filters.items():
        if interface not in held.links:
            continue
        for fault in filter_faults([each for each in asked if (each.interface, each.parent) == (interface, parent)], filters):
            yield _warning("different-filter", f"{interface}, filters of {parent} {fault}")


def _setting_findings(script: Script, outputs: Outputs) -> Iterator[Diagnostic]:
    for path, value in script.settings:
        text = outputs[commands.setting(path).name].text.strip()
        if text != value:
            yield _warning("different-setting", f"/proc/sys/{path} is {text or 'not there'} instead of {value}")


def _rule_findings(script: Script, outputs: Outputs) -> Iterator[Diagnostic]:
    listed, compiled = outputs.get(commands.RULES.name), outputs.get(commands.compiled_rules(script).name)
    if listed is None or compiled is None:
        yield _warning("not-compared", "the packet rules were not compared: only root may read them", "run it as root")
        return
    for output, command in ((listed, commands.RULES), (compiled, commands.compiled_rules(script))):
        if output.error:
            yield _warning("not-compared", f"the packet rules were not compared: {_first(command)}: {output.error.splitlines()[0]}", "")
            return
    for fault in rule_faults(read_listing(compiled.text, "nft-compiled"), read_listing(listed.text, "nft")):
        yield _warning("different-rules", fault)


def _first(command: Command) -> str:
    return " ".join(command.words[:3])
