"""Runs on a test kernel: a gateway's script in the laboratory, its packets' classes against the reference."""

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import ip_address
from typing import Any, Literal

from pfq.plan.build import build
from pfq.plan.classify import EXCLUDED, classify, flow_class
from pfq.plan.classify import Packet as Seen
from pfq.plan.model import Gateway, Plan, Uplink
from pfq.site.load import load_text
from pfq.site.systems import parse_system
from pfq.targets import linux
from pfq.targets.linux_kernels import has
from pfq.targets.linux_queues import Root, addresses, beside_address, flat_ranks, roots
from tests.e2e.lab import CLIENT, GATEWAY, SERVER, UPLINK, Lab, Observation
from tests.e2e.packet import (
    ACK,
    CWR,
    DESTINATION_OPTIONS,
    ECE,
    FIN,
    FRAGMENT,
    HOP_BY_HOP,
    ICMP,
    ICMP6,
    PSH,
    ROUTING,
    RST,
    SYN,
    TCP,
    TIMESTAMPS,
    UDP,
    URG,
    Packet,
    fragments,
    sack,
)
from tests.e2e.ports import Port

Side = Literal["inside", "outside"]

PORTS = {
    "eth0": UPLINK,
    "eth0.2417": replace(UPLINK, device="eth0.2417", kind="vlan", parent="eth0", tag=2417),
    "ppp0": Port("ppp0", ("203.0.113.2/32",), routes=(("default", None), ("::/0", None)), kind="tun"),
}
CLIENT4, CLIENT6, SERVER4, SERVER6 = "192.168.1.10", "2001:db8:1::10", "198.51.100.7", "2001:db8:ffff::7"
OUTSIDE4, MAPPED4, PAIR4 = "203.0.113.2", "192.168.1.20", "203.0.113.20"


def plan_of(model: str, system: str = "") -> Plan:
    """The plan of a model; its gateways as if they ran `system`, if given, whatever the planner would then have chosen."""
    plan = build(load_text(model, "site.toml"))
    if system:
        plan = replace(plan, gateways=tuple(replace(gateway, system=parse_system(system)) for gateway in plan.gateways))
    return plan


def write_script(model: str, folder: str, name: str = "pfq.sh", system: str = "") -> str:
    plan = plan_of(model, system)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(linux.render(plan, plan.gateways[0], None)[0].text)
    return path


def shapes(first: Packet) -> Iterator[tuple[str, Packet]]:
    """Packets of an open TCP connection, of every shape that the express test looks at."""
    base = replace(first, flags=ACK, tcp_options=b"", payload=0, tos=0)
    options = {"none": b"", "timestamps": TIMESTAMPS, **{f"sack{n}": sack(n) for n in range(1, 5)}, "both": TIMESTAMPS + sack(3)}
    for (name, option), payload in itertools.product(options.items(), (0, 1, 6, 1000)):
        yield f"{name} {payload}", replace(base, tcp_options=option, payload=payload)
    for tos in (0x02, 0x03, 0x08, 0x10, 0x12, 0x18, 0xB8, 0x40, 0x50, 0xE0):
        yield f"tos {tos:#x} data", replace(base, tos=tos, payload=100)
        yield f"tos {tos:#x} empty", replace(base, tos=tos)
    for flags in (ACK | PSH, ACK | ECE, ACK | CWR, ACK | URG, ACK | PSH | ECE | CWR):
        yield f"flags {flags:#x}", replace(base, flags=flags)
        yield f"flags {flags:#x} data", replace(base, flags=flags, payload=3)
    if first.version == 4:
        for words in (1, 5, 10):
            for payload in (0, 4):
                yield f"options {words} {payload}", replace(base, ip_options=b"\x01" * (4 * words), payload=payload, tcp_options=TIMESTAMPS)
    else:
        for headers in ((HOP_BY_HOP,), (DESTINATION_OPTIONS,), (ROUTING,), (HOP_BY_HOP, DESTINATION_OPTIONS, ROUTING), (FRAGMENT,)):
            for payload in (0, 8):
                yield f"headers {headers} {payload}", replace(base, extensions=headers, payload=payload)
    yield "fin", replace(base, flags=FIN | ACK)


def _seen(packet: Packet, inward: dict[str, str]) -> Seen:
    return Seen(
        ip_address(packet.source), ip_address(inward.get(packet.destination, packet.destination)), packet.protocol, packet.source_port,
        packet.port, packet.flags if packet.protocol == TCP else 0, len(packet.body()), packet.tos,
    )


class Bench:
    """A gateway in the laboratory with its configuration in force."""

    def __init__(self, model: str, folder: str, uplink: str = "eth0", system: str = "", step: int = 1) -> None:
        self.plan = plan_of(model, system)
        self.gateway: Gateway = self.plan.gateways[0]
        self.uplink: Uplink = self.gateway.uplinks[0]
        self.script = write_script(model, folder, system=system)
        self.lab = Lab(links=(PORTS[uplink],))
        self.wrong: list[str] = []
        self.ports = itertools.count(20_000)
        self.inward = {str(pair.outside): str(pair.inside) for pair in self.uplink.one_to_one}
        self.sent = 0
        self.step = step

    def __enter__(self) -> "Bench":
        self.lab.__enter__()
        self.run("start")
        self.lab.set_gateway("net/netfilter/nf_conntrack_tcp_be_liberal", 1)
        return self

    def __exit__(self, *error: object) -> None:
        self.lab.__exit__(None, None, None)

    def run(self, word: str, check: bool = True) -> str:
        done = self.lab.run_gateway(["sh", self.script, word], check=check)
        return done.stdout + done.stderr

    def places(self, tree: Any) -> tuple[str, dict[str | None, str]]:
        """The device of a tree, and each class's name there in tc's words."""
        root: Root = next(r for r in roots(self.gateway) if any(p.tree is tree for p in r.planted))
        planted = next(p for p in root.planted if p.tree is tree)
        names: dict[str | None, str] = {EXCLUDED: beside_address(root)} if root.beside is not None else {}
        names.update(addresses(root, planted))
        return root.interface, names

    def expect(self, what: str, origin: str, packet: Packet, flow: str | None) -> None:
        """Send the packet of a flow of class `flow`; report where it was counted elsewhere than the reference says."""
        classifier = self.uplink.classifier
        name = classify(classifier, _seen(packet, self.inward), flow)
        if packet.extensions and classifier.express and name == classifier.express.queue and not has(self.gateway.system, "inner-header"):
            return  # the accepted difference `ipv6-extension-express`
        tree = self.uplink.up if origin != SERVER else self.uplink.down
        seen = self.lab.send(origin, packet)
        self.sent += 1
        if tree is None or tree.where == "police":
            return
        device, names = self.places(tree)
        found = seen.packets(device)
        wanted = {names[name]: 1} if name in names else {}
        if found != wanted:
            self.wrong.append(f"{what} from {origin}: {packet}: wanted {name} {wanted}, counted {found}")

    def flow(self, first: Packet, side: Side) -> str | None:
        return flow_class(self.uplink.classifier, _seen(first, self.inward), side)

    def handshake(self, source: str, destination: str, port: int, origin: str = CLIENT) -> tuple[Packet, Packet, str | None]:
        """Opens a TCP connection from `origin`: its first packet, the answer, and its class."""
        other = SERVER if origin != SERVER else CLIENT
        side: Side = "outside" if origin == SERVER else "inside"
        first = Packet(source, destination, TCP, next(self.ports), port, SYN, tcp_options=b"\x02\x04\x05\xb4")
        flow = self.flow(first, side)
        self.expect("syn", origin, first, flow)
        back = first.back(flags=SYN | ACK)
        if side == "inside" and self.uplink.nat is not False and first.version == 4 and source not in self.inward.values():
            back = replace(back, destination=OUTSIDE4)
        if side == "outside":
            back = replace(back, source=self.inward.get(destination, destination))
        elif source in self.inward.values():
            back = replace(back, destination=next(o for o, i in self.inward.items() if i == source))
        self.expect("syn/ack", other, back, flow)
        return first, back, flow

    def connection(self, source: str, destination: str, port: int, origin: str = CLIENT) -> None:
        """A TCP connection opened from `origin`, with packets of all shapes in both directions."""
        other = SERVER if origin != SERVER else CLIENT
        first, back, flow = self.handshake(source, destination, port, origin)
        for what, packet in itertools.islice(shapes(first), 0, None, self.step):
            self.expect(what, origin, packet, flow)
        for what, packet in itertools.islice(shapes(back), 0, None, self.step):
            self.expect(what, other, packet, flow)

    def strays(self, source: str, destination: str) -> None:
        """Packets of no connection that was seen to open: the default class."""
        default = self.uplink.classifier.default
        for port, flags, payload in ((53, ACK, 10), (22, ACK, 0), (53, ACK | PSH, 400), (22, SYN | ACK, 0), (53, RST, 0), (53, FIN | ACK, 5)):
            packet = Packet(source, destination, TCP, next(self.ports), port, flags, payload)
            self.expect("stray", CLIENT, packet, default)

    def pieces(self, source: str, destination: str) -> None:
        """A datagram in fragments, and a super-packet of TCP segments: all of it in the flow's class."""
        whole = Packet(source, destination, UDP, next(self.ports), 53, payload=3000)
        device, names = self.places(self.uplink.up)
        self._whole("fragments", device, names[self.flow(whole, "inside")], self.lab.send(CLIENT, *fragments(whole, 1000)))
        first, _, flow = self.handshake(source, destination, 22)
        segments = replace(first, flags=ACK | PSH, payload=20 * 1000)
        self._whole("super-packet", device, names[flow], self.lab.send(CLIENT, segments, segment=1000))

    def _whole(self, what: str, device: str, wanted: str, seen: Observation) -> None:
        self.sent += 1
        if set(seen.packets(device)) != {wanted}:
            self.wrong.append(f"{what}: wanted {wanted}, counted {seen.packets(device)}")

    def datagrams(self, source: str, destination: str, protocol: int, port: int = 0, origin: str = CLIENT, tos: int = 0) -> None:
        side: Side = "outside" if origin == SERVER else "inside"
        first = Packet(source, destination, protocol, next(self.ports) if protocol == UDP else 0, port, payload=30, tos=tos,
                       icmp=(128, 0) if protocol == ICMP6 else (8, 0), identifier=next(self.ports) & 0xFFFF)
        flow = self.flow(first, side)
        self.expect("datagram", origin, first, flow)
        self.expect("low delay", origin, replace(first, tos=0x10), flow)
        self.expect("again", origin, replace(first, payload=900), flow)


def everything(argument: dict[str, Any]) -> dict[str, Any]:
    """All flows and shapes through one gateway. argument: model, uplink (interface), system (to write for), step (every Nth shape only),
    ipv6, excluded (addresses)."""
    uplink, system, step = argument.get("uplink", "eth0"), argument.get("system", ""), argument.get("step", 1)
    with tempfile.TemporaryDirectory() as folder, Bench(argument["model"], folder, uplink, system, step) as bench:
        pairs = [(CLIENT4, SERVER4)] + ([(CLIENT6, SERVER6)] if argument.get("ipv6", True) else [])
        for source, destination in pairs:
            for port in (80, 53, 22):
                bench.connection(source, destination, port)
            bench.datagrams(source, destination, UDP, 53)
            bench.datagrams(source, destination, UDP, 5000, tos=0xB8)
            bench.datagrams(source, destination, ICMP if ":" not in source else ICMP6)
            bench.datagrams(source, destination, 47)
            bench.strays(source, destination)
            bench.pieces(source, destination)
        if bench.inward:
            bench.connection(MAPPED4, SERVER4, 80)
            bench.connection(SERVER4, PAIR4, 22, origin=SERVER)
        if argument.get("ipv6", True):
            bench.connection(SERVER6, CLIENT6, 80, origin=SERVER)
        elif not bench.inward and bench.uplink.nat is False:
            bench.connection(SERVER4, CLIENT4, 80, origin=SERVER)
        own = OUTSIDE4
        bench.datagrams(own, SERVER4, UDP, 53, origin=GATEWAY)
        bench.datagrams(own, SERVER4, ICMP, origin=GATEWAY)
        for far in argument.get("excluded", []):
            bench.connection(CLIENT4, far, 80)
        again = bench.run("start")
        stopped = bench.run("stop")
        return {"wrong": bench.wrong, "sent": bench.sent, "again": again, "stopped": stopped}


ARM = Port(
    "eth0", ("192.168.1.100/24",), ("192.168.1.1", "192.168.1.10", "192.168.1.11"), (("default", "192.168.1.1"), ("::/0", None)),
)
_INNER = Port("eth1", ("10.9.9.1/24",), ("10.9.9.10",))

# Somebody else's use of the conntrack mark: the bits that are not pfq's.
_OTHERS = """table inet other {
  chain early { type filter hook prerouting priority -160
    ct state new ct mark set ct mark & 0xffff0000 | 0x0005
  }
  chain late { type filter hook postrouting priority 200
    ct mark & 0x0000ffff == 0x0005 counter comment "kept"
    ct mark & 0x0000ffff != 0x0005 counter comment "lost"
  }
}
"""


def one_arm(argument: dict[str, Any]) -> dict[str, Any]:
    """A gateway whose inside and link are on one interface. argument: model. Returns what each packet did."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, Lab(inside=(_INNER,), links=(ARM,)) as lab:
        lab.run_gateway(["nft", "-f", "-"], _OTHERS)
        lab.set_gateway("net/netfilter/nf_conntrack_tcp_be_liberal", 1)
        done = lab.run_gateway(["sh", write_script(argument["model"], folder), "start"])
        found["start"] = done.stderr
        first = Packet("192.168.1.10", SERVER4, TCP, 30_000, 80, SYN, tcp_options=b"\x02\x04\x05\xb4")
        packets = {
            "out": first,
            "back": Packet(SERVER4, "192.168.1.100", TCP, 80, 30_000, SYN | ACK, tcp_options=b"\x02\x04\x05\xb4"),
            "ack": replace(first, flags=ACK, tcp_options=b""),
            "data": replace(first, flags=ACK | PSH, payload=500, tcp_options=b""),
            "data back": Packet(SERVER4, "192.168.1.100", TCP, 80, 30_000, ACK, payload=500),
            "lan ping": Packet("192.168.1.11", "192.168.1.100", ICMP, payload=20),
            "link ping": Packet(SERVER4, "192.168.1.100", ICMP, payload=20),
            "link ssh": Packet(SERVER4, "192.168.1.100", TCP, 40_000, 22, SYN),
            "link other": Packet(SERVER4, "192.168.1.100", TCP, 40_001, 23, SYN),
            "lan other": Packet("192.168.1.11", "192.168.1.100", TCP, 40_001, 23, SYN),
        }
        for name, packet in packets.items():
            seen = lab.send(SERVER, packet)
            out = seen.came_out("eth0")
            if name in ("out", "back"):
                found[f"mss {name}"] = [int.from_bytes(data[42:44], "big") for device, data in seen.arrived if device == "eth0" and len(data) == 44]
            found[name] = [seen.packets("eth0"), seen.packets("ifb-wan"), [(each.source, each.destination) for each in out]]
        found["frame"] = lab.send_frame(SERVER, bytes.fromhex(
            "ffffffffffff" + "020000000100" + "0806" + "0001080006040001" + "020000000100" + "c0a8010a" + "000000000000" + "c0a80164"
        )).packets("eth0")
        listing = lab.run_gateway(["nft", "list", "table", "inet", "other"]).stdout
        found["marks"] = [line.split()[-5:] for line in listing.splitlines() if "comment" in line]
    return found


def _state(lab: Lab, device: str = "eth0") -> dict[str, str]:
    """What a gateway's tc, nft, interfaces and settings look like, without counters."""
    commands = {
        "qdisc": "tc qdisc show", "class": f"tc class show dev {device}", "filter": f"tc filter show dev {device}", "rules": "nft list ruleset",
        "links": "ip link show", "forward": "cat /proc/sys/net/ipv4/ip_forward",
    }
    return {name: lab.run_gateway(["sh", "-c", command]).stdout for name, command in commands.items()}


# Stand-ins on PATH for a tool that fails, or that kills the shell that runs it, at its Nth call with arguments that match.
_STAND_IN = """#!/bin/sh
case "$*" in
{pattern})
    echo x >>{folder}/calls
    if [ "$(wc -l <{folder}/calls)" -eq {nth} ]; then {action}; fi
    ;;
esac
exec {real} "$@"
"""


def _broken(folder: str, tool: str, pattern: str, nth: int, action: str) -> str:
    real = shutil.which(tool)
    place = os.path.join(folder, f"bin-{tool}-{nth}-{abs(hash((pattern, action)))}")
    os.makedirs(place)
    path = os.path.join(place, tool)
    with open(path, "w", encoding="utf-8") as file:
        file.write(_STAND_IN.format(pattern=pattern, folder=place, nth=nth, action=action, real=real))
    os.chmod(path, 0o755)
    return place


_FAIL = "echo broken on purpose >&2; exit 1"
_KILL = "kill -KILL $PPID; exit 9"
# Tool, its arguments, which call of them (the rehearsal's come first), what happens.
BREAKS = (
    ("tc", "-batch\\ */queues", 2, _FAIL),
    ("tc", "-batch\\ */queues", 2, _KILL),
    ("nft", "-f\\ */rules", 1, _FAIL),
    ("nft", "-f\\ */rules", 1, _KILL),
    ("ip", "link\\ set*txqueuelen*", 1, _FAIL),
    ("cat", "*second.sh", 1, _FAIL),
    ("mv", "*making*", 1, _FAIL),
    ("mv", "*making*", 1, _KILL),
)
BREAKS_OF_CHANGES = (*BREAKS, ("tc", "qdisc\\ del*", 1, _FAIL), ("tc", "qdisc\\ del*", 1, _KILL))


def life(argument: dict[str, Any]) -> dict[str, Any]:
    """Start, start again, change, break, stop. argument: first and second, two models of one gateway."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        lab.set_gateway("net/ipv4/ip_forward", 0)
        lab.run_gateway(["nft", "-f", "-"], "table inet other { chain x { type filter hook forward priority 0; ct mark set 0x5 counter; }\n }\n")
        first, second = (write_script(argument[name], folder, f"{name}.sh") for name in ("first", "second"))
        environment = {"PFQ_STATE": os.path.join(folder, "state")}

        def run(script: str, word: str, path: str = "") -> tuple[int, str]:
            variables = [f"{name}={value}" for name, value in environment.items()] + ([f"PATH={path}:{os.environ['PATH']}"] if path else [])
            done = lab.run_gateway(["env", *variables, "sh", script, word], check=False)
            return done.returncode, done.stdout + done.stderr

        before = _state(lab)
        found["start"] = run(first, "start")
        running = _state(lab)
        found["again"] = run(first, "start")
        found["again changed"] = _state(lab) != running
        found["status"] = run(first, "status")[0], run(second, "status")[0]
        found["breaks"] = []
        for tool, pattern, nth, action in BREAKS_OF_CHANGES:
            outcome = run(second, "start", _broken(folder, tool, pattern, nth, action))
            found["breaks"].append([f"{tool} {pattern} {action[:4]}", outcome[0], outcome[1], _differences(running, _state(lab))])
        found["change"] = run(second, "start")
        found["changed"] = _state(lab) != running
        found["back"] = run(first, "start")
        found["back differs"] = _differences(running, _state(lab))
        found["stop"] = run(second, "stop")
        found["left"] = _differences(before, _state(lab))
        found["stop again"] = run(second, "stop")
        found["fresh breaks"] = []
        for tool, pattern, nth, action in BREAKS:
            outcome = run(second, "start", _broken(folder, tool, pattern, nth, f"{action} "))
            found["fresh breaks"].append([f"{tool} {pattern} {action[:4]}", outcome[0], outcome[1], _differences(before, _state(lab))])
            if outcome[0] == 0:
                run(second, "stop")
        found["foreign"] = _foreign(lab, run, first)
    return found


def _foreign(lab: Lab, run: Callable[[str, str], tuple[int, str]], script: str) -> list[Any]:
    """Other people's things in the way: refused, and still there."""
    found = []
    for make, undo in (
        ("tc qdisc add dev eth0 root handle 5: tbf rate 1mbit burst 10k latency 10ms", "tc qdisc del dev eth0 root"),
        ("nft add table inet pfq", "nft delete table inet pfq"),
        ("ip link set dev eth0 down", "ip link set dev eth0 up"),
        ("ip link set dev eth0 name other", "ip link set dev other name eth0"),
    ):
        lab.run_gateway(["sh", "-c", make])
        before = _state(lab, "lo")
        outcome = run(script, "start")
        found.append([make, outcome[0], outcome[1], _differences(before, _state(lab, "lo"))])
        lab.run_gateway(["sh", "-c", undo])
    return found


def _embedded(script: str, name: str) -> str:
    """The text between the marks of the script's here-document `name`."""
    return script.partition(f"<<'{name}'\n")[2].partition(f"\n{name}\n")[0] + "\n"


def _variable(script: str, name: str) -> list[str]:
    return script.partition(f"\n{name}='")[2].partition("'\n")[0].split()


# tc counts rates in bytes a second, hfsc's curves in units of its clock: the kernel gives back a little less.
_ROUNDING = 2e-3


def _close(found: int, wanted: int) -> bool:
    return wanted - 8 - wanted * _ROUNDING <= found <= wanted + 8 + wanted * _ROUNDING


def _rate(text: str) -> int:
    """tc's '1007Kbit' in bit/s."""
    for suffix, factor in (("Gbit", 10**9), ("Mbit", 10**6), ("Kbit", 1000), ("bit", 1)):
        if text.endswith(suffix):
            return int(float(text.removesuffix(suffix)) * factor)
    raise ValueError(text)


def _read_back(root: Root, shown: str) -> list[str]:
    """What `tc class show` says otherwise than the plan: missing classes, rates, priorities, parents."""
    lines = {line.split()[2]: line.split() for line in shown.splitlines() if line.startswith(f"class {root.kind} ")}
    wrong = []
    if root.scheduler not in ("htb", "hfsc", "cbq"):
        return []
    for planted in root.planted:
        ranks = flat_ranks(planted.tree.queues)

        def walk(queues: tuple[Any, ...], parent: str, planted: Any = planted, ranks: Any = ranks) -> None:
            for queue in queues:
                name = f"1:{planted.numbers[queue.name]:x}"
                words = lines.get(name)
                if words is None:
                    wrong.append(f"{root.interface}: no class {name}")
                    continue
                pairs = dict(itertools.pairwise(words))
                if pairs.get("parent") != parent:
                    wrong.append(f"{root.interface} {name}: parent {pairs.get('parent')}, wanted {parent}")
                if root.scheduler == "htb":
                    figure = queue.guarantee.rate if queue.guarantee else queue.share
                    if not _close(_rate(pairs["rate"]), figure.value):
                        wrong.append(f"{root.interface} {name}: rate {pairs['rate']}, wanted {figure.value}")
                    if not queue.children and pairs["prio"] != str(ranks[queue.name]):
                        wrong.append(f"{root.interface} {name}: prio {pairs['prio']}, wanted {ranks[queue.name]}")
                walk(queue.children, name)

        walk(planted.tree.queues, f"1:{planted.top:x}")
    return wrong


def load(argument: dict[str, Any]) -> dict[str, Any]:
    """Queues and rules of many models, each loaded into a namespace of its own. argument: models."""
    wrong: list[str] = []
    loaded = 0
    for number, model in enumerate(argument["models"]):
        plan = plan_of(model)
        for gateway in plan.gateways:
            script = linux.render(plan, gateway, None)[0].text
            interfaces = _variable(script, "interfaces")
            ifbs = _variable(script, "ifbs")
            made = "".join(f"link add {name} type dummy\nlink set {name} up\n" for name in interfaces)
            made += "".join(f"link add {name} type ifb\nlink set {name} up\n" for name in ifbs)
            space = f"load{number}-{loaded}"
            subprocess.run(["ip", "netns", "add", space], check=True)
            try:
                queues, rules = _embedded(script, "PFQ_QUEUES"), _embedded(script, "PFQ_RULES")
                for command, text in (("ip -batch -", made), ("tc -batch -", queues), ("nft -f -", rules), ("nft -f -", rules)):
                    done = subprocess.run(["ip", "netns", "exec", space, *command.split()], input=text, capture_output=True, text=True, check=False)
                    if done.returncode or done.stderr:
                        wrong.append(f"model {number}, {gateway.name}: {command}: {done.stderr[:600]}")
                for root in roots(gateway):
                    shown = subprocess.run(["tc", "-n", space, "class", "show", "dev", root.interface], capture_output=True, text=True, check=True)
                    wrong += [f"model {number}: {each}" for each in _read_back(root, shown.stdout)]
            finally:
                subprocess.run(["ip", "netns", "del", space], check=True)
            loaded += 1
    return {"wrong": wrong, "loaded": loaded}


def _differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [
        f"{name}: {' | '.join(sorted(set(before[name].splitlines()) ^ set(after[name].splitlines())))}"
        for name in before
        if before[name] != after[name]
    ]

