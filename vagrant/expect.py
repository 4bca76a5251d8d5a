#!/usr/bin/env python3
"""Writes rulesets/NAME/expected: what each gateway's queues must be once its output is loaded, in lines that sh and awk can read.

`python3 vagrant/expect.py` rewrites what has changed. The numbers come from the plan, not from the outputs: vagrant/check compares
them with what a machine's own pfctl or tc says after loading.

    host NAME SYSTEM FILE           begins a gateway; FILE is below rulesets/NAME/out
    interface NAME KIND             an interface that the gateway has; a VLAN stands after its parent
    tree INTERFACE WHERE SCHEDULER FIGURE...
    queue NAME FIGURE...            of the tree above; NAME is a queue in pf, and only for people in tc

A FIGURE is KEY=RATE (bit/s) or several of them joined by `|`, one of which must be found. KEY is the word that pfctl or tc prints it
under. rank=N orders the queues of a scheduler that knows nothing but an order.
"""

import os
import sys
from collections.abc import Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from pfq.compiling import plan_of  # noqa: E402
from pfq.output import write_file  # noqa: E402
from pfq.plan.model import Gateway, Plan, Queue, Tree, Uplink  # noqa: E402
from pfq.site.systems import interface_kind, is_group  # noqa: E402

RULESETS = os.path.join(os.path.dirname(HERE), "rulesets")
FILES = {"altq": "pf.conf", "queue": "pf.conf", "linux": "pfq.sh"}

# Under which words a tree's rate is printed: pfctl -gvsq (`interface` is the ifbandwidth of -g), tc class show, tc qdisc show.
# A link that shares its interface has a queue of its own for all of it, which is held by other means than a link's alone.
TREE_KEYS: dict[tuple[str, str], tuple[str, ...]] = {
    ("altq", "priq"): ("interface",),
    ("altq", "hfsc"): ("interface", "upperlimit"),
    ("altq", "cbq"): ("interface", "bandwidth"),
    ("queue", "hfsc"): ("max",),
    ("linux", "htb"): ("ceil",),
    ("linux", "hfsc"): ("ul",),
    ("linux", "prio"): ("rate",),
    ("linux", "cbq"): ("rate",),
    ("linux", "cake"): ("bandwidth",),
}

# Words for a class's share, its guarantee, its ceiling; '' where the scheduler has none.
QUEUE_KEYS: dict[tuple[str, str], tuple[str, str, str]] = {
    ("altq", "hfsc"): ("bandwidth", "realtime", "upperlimit"),
    ("altq", "cbq"): ("bandwidth", "", ""),
    ("queue", "hfsc"): ("bandwidth", "min", "max"),
    ("linux", "htb"): ("rate", "", "ceil"),
    ("linux", "hfsc"): ("ls", "rt", "ul"),
    ("linux", "cbq"): ("rate", "", ""),
}


def expected(plan: Plan) -> str:
    """The text of the file. Ends with a newline."""
    lines = ["# What the queues must be once loaded, from the plan. Made by vagrant/expect.py; read by vagrant/check."]
    for gateway in plan.gateways:
        lines += ["", f"host {gateway.name} {gateway.system.name} {gateway.name}/{FILES[gateway.system.family]}", *_interfaces(gateway)]
        for uplink in gateway.uplinks:
            for tree in (uplink.up, uplink.down):
                if tree:
                    lines += _tree(gateway, uplink, tree)
    return "\n".join(lines) + "\n"


def _interfaces(gateway: Gateway) -> Iterator[str]:
    seen: set[str] = set()
    names = [name for uplink in gateway.uplinks for name in (uplink.queue_on, uplink.interface)] + [inside.interface for inside in gateway.inside]
    for name in names:
        parent = name.partition(".")[0] if gateway.system.family == "linux" else name
        for interface in (parent, name):
            if interface not in seen and not is_group(gateway.system, interface):
                seen.add(interface)
                yield f"interface {interface} {interface_kind(gateway.system, interface)}"


def _tree(gateway: Gateway, uplink: Uplink, tree: Tree) -> Iterator[str]:
    family, scheduler = gateway.system.family, _scheduler(gateway, uplink, tree)
    if tree.where == "police":
        yield f"tree {tree.interface} police police police={tree.rate.value}"
        return
    keys = TREE_KEYS[family, scheduler]
    figure = "|".join(f"{key}={tree.rate.value}" for key in keys)
    yield f"tree {tree.interface} {tree.where} {scheduler} {figure}"
    # CAKE's tins are its own; tc shows none that is idle.
    if scheduler != "cake":
        yield from _queues(gateway, uplink, scheduler, tree.queues)


def _scheduler(gateway: Gateway, uplink: Uplink, tree: Tree) -> str:
    """The uplink's own; on an inside interface, which it shares, ALTQ needs one that can divide it."""
    if gateway.system.family != "altq" or tree.where != "inside":
        return uplink.scheduler
    beside = {other.scheduler for other in gateway.uplinks if other.down and other.down.interface == tree.interface}
    return "cbq" if beside == {"cbq"} else "hfsc"


def _queues(gateway: Gateway, uplink: Uplink, scheduler: str, queues: tuple[Queue, ...]) -> Iterator[str]:
    several = len(gateway.uplinks) > 1 and gateway.system.family != "linux"
    for queue in queues:
        name = f"{uplink.link}_{queue.name}" if several else queue.name
        yield " ".join(["queue", name, *_figures(gateway.system.family, scheduler, queue)])
        yield from _queues(gateway, uplink, scheduler, queue.children)


def _figures(family: str, scheduler: str, queue: Queue) -> Iterator[str]:
    if (family, scheduler) == ("altq", "priq"):
        yield f"rank={queue.rank}"
    keys = QUEUE_KEYS.get((family, scheduler))
    if keys is None:
        return
    share, guarantee, ceiling = keys
    curves = [(curve, key) for curve, key in ((queue.guarantee, guarantee), (queue.ceiling, ceiling)) if curve]
    # What has no word of its own may stand in the place of the share.
    rates = dict.fromkeys([queue.share.value, *(curve.rate.value for curve, key in curves if not key)])
    yield "|".join(f"{share}={rate}" for rate in rates)
    for curve, key in curves:
        # On OpenBSD `min` would make a plain queue of one that is shared by flow.
        if key and not (key == "min" and queue.fair != "none"):
            yield f"{key}={curve.rate.value}"


def main() -> None:
    for name in sorted(os.listdir(RULESETS)):
        site, path = os.path.join(RULESETS, name, "site.toml"), os.path.join(RULESETS, name, "expected")
        if not os.path.isfile(site):
            continue
        text = expected(plan_of(site, None))
        found = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = file.read()
        if text != found:
            write_file(path, text)
            print(f"written rulesets/{name}/expected")


if __name__ == "__main__":
    main()
