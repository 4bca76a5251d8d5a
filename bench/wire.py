"""Packets a second through a gateway: pfq's classification against the same queues without any, and against a chain of u32 filters.

For 1, 10, 100 and 1,000 flow rules, on this machine's kernel, or on the test kernel where that lacks something. pfq looks at a flow's first
packet only, so a thousand rules must cost its packets at most a quarter more than one does.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from pfq.plan.build import build
from pfq.plan.model import Gateway, Plan
from pfq.site.load import load_text
from pfq.status.script import Script, read_script
from pfq.targets import linux
from pfq.targets.linux_marks import flow_marks
from pfq.targets.linux_queues import addresses, roots
from tests.e2e.kernel.call import HOST, call

RULES = (1, 10, 100, 1000)
MOST = 1.25
ROUNDS, SECONDS = 3, 0.25

# Two classes in turn, so that no two neighbours are one range.
_MODEL = """
accept = ["fifo"]
[links.wan]
up = "40 Gbit"
down = "40 Gbit"
policy = "p"
[policies.p]
classes = [
 {{ name = "express", express = true }},
{classes}
 {{ name = "rest", default = true }},
]
[hosts.gw]
system = "linux-6.1"
inside = {{ interface = "eth1", networks = ["192.168.1.0/24"], speed = "100 Gbit" }}
links.wan = {{ interface = "eth0", scheduler = "htb", leaf = "pfifo", {more} }}
"""


def _ports(count: int) -> list[int]:
    return [10_000 + 2 * number for number in range(count)]


def _plan(count: int, more: str) -> tuple[Plan, Gateway, Script]:
    texts = [f'"udp/{port}"' for port in _ports(count)]
    shares = (("even", texts[::2]), ("odd", texts[1::2]))
    classes = "".join(f' {{ name = "{name}", match = [{", ".join(share)}] }},\n' for name, share in shares if share)
    plan = build(load_text(_MODEL.format(classes=classes, more=more), "wire.toml"))
    gateway = plan.gateways[0]
    return plan, gateway, read_script(linux.render(plan, gateway, None)[0].text)


def _lines(script: Script, device: str) -> list[str]:
    """The statements for one device, as lines for tc."""
    return [
        " ".join(f"'{word}'" if " " in word else word for word in words) for words in script.statements if words[words.index("dev") + 1] == device
    ]


def _u32(count: int, where: dict[str, str]) -> list[str]:
    """The cookbook's way: empty ACKs by the packet's length, ports one after another. What it gets wrong is not counted here."""
    add = "filter add dev eth0 parent 1: protocol ip prio"
    lines = [f"{add} 1 u32 match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33 flowid {where['express']}"]
    lines.append(f"{add} 1 u32 match ip tos 0x10 0xff flowid {where['express']}")
    for index, port in enumerate(_ports(count)):
        lines.append(f"{add} 2 u32 match ip protocol 17 0xff match ip dport {port} 0xffff flowid {where[('even', 'odd')[index % 2]]}")
    return lines


def _settings(count: int) -> dict[str, Any]:
    """Each setting by its name. The programs for arriving packets stand at eth0 here, where the same packets meet them."""
    _, gateway, script = _plan(count, 'shape_down = "inside"')
    (root, *_) = roots(gateway)
    where = addresses(root, root.planted[0])
    tree = _lines(script, "eth0")
    ports = [*_ports(count)[-16:], *_ports(count)[:16], 9]
    marks = flow_marks(gateway)["wan"]
    _, arriving, arriving_script = _plan(count, 'shape_down = "ingress"')
    device = next(each.interface for each in roots(arriving) if each.interface != "eth0")
    # The action takes the mark away again, which this kernel may not have.
    programs = [line.replace(device, "eth0").partition(" action ")[0] for line in _lines(arriving_script, device)]
    marked = f"table inet wire {{ chain marks {{ type filter hook postrouting priority 0; meta mark set {marks.classes['even']:#x}\n }}\n}}\n"
    return {
        f"{count} unclassified": {"queues": tree, "rules": "", "ports": ports},
        f"{count} pfq": {"queues": tree, "rules": script.rules, "ports": ports},
        f"{count} pfq, arriving": {"queues": programs, "rules": marked, "ports": ports},
        f"{count} u32": {"queues": [*tree, *_u32(count, where)], "rules": "", "ports": ports},
    }


def main() -> int:
    lacking = call(HOST, "tests.e2e.wire:usable")
    kernel = "current" if lacking else HOST
    print("this machine's kernel" if not lacking else f"the test kernel, since this machine's refused: {lacking.strip().splitlines()[-1]}")
    settings = {name: setting for count in RULES for name, setting in _settings(count).items()}
    found = call(kernel, "tests.e2e.wire:measure", {"settings": settings, "rounds": ROUNDS if not lacking else 1, "seconds": SECONDS})
    names = ("unclassified", "pfq", "pfq, arriving", "u32")
    print("packets a second (share of unclassified)")
    print(f"{'rules':>8}" + "".join(f"{name:>22}" for name in names))
    for count in RULES:
        times = [found[f"{count} {name}"] for name in names]
        print(f"{count:>8}" + "".join(f"{1 / taken:>14,.0f} ({times[0] / taken:5.0%})" for taken in times))
    flat = {name: found[f"{RULES[-1]} {name}"] / found[f"{RULES[0]} {name}"] for name in names}
    for name in names:
        bound = f" (at most {MOST})" if name.startswith("pfq") else ""
        print(f"{name}: a packet with {RULES[-1]:,} rules takes {flat[name]:.2f} times as long as with one{bound}")
    return int(max(flat["pfq"], flat["pfq, arriving"]) > MOST)


if __name__ == "__main__":
    sys.exit(main())
