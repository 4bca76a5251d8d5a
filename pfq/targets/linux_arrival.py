"""What becomes of packets as they arrive from the link: onto an IFB device with queues, or through a policer.

Sources: tc-mirred(8), tc-ctinfo(8), tc-connmark(8), tc-bpf(8), tc-police(8); LINUX measurements named in linux_bpf.
"""

from pfq.plan.model import Tree, Uplink
from pfq.site.systems import System
from pfq.targets.linux_assembler import MOST_INSTRUCTIONS
from pfq.targets.linux_bpf import MATCH, NO_MATCH, programs, unshaped_program
from pfq.targets.linux_kernels import has
from pfq.targets.linux_marks import LinkMarks
from pfq.targets.linux_names import word
from pfq.targets.linux_queues import INNER_PRIO, Planted, Root, addresses

# The largest packet that GRO puts together (GSO_LEGACY_MAX_SIZE).
LARGEST = 65536


def _everything(system: System) -> str:
    return "matchall" if has(system, "matchall") else "u32 match u32 0 0"


def _restore(system: System, marks: LinkMarks) -> str:
    """Copies the flow's mark into the packet's; what follows takes it away again."""
    return f"ctinfo cpmark {marks.mask:#010x}" if has(system, "ctinfo") else "connmark"


def _number(address: str) -> int:
    major, _, minor = address.partition(":")
    return int(major, 16) << 16 | int(minor, 16)


def arrival_lines(system: System, root: Root, planted: Planted, marks: LinkMarks) -> list[str]:
    """The statements that bring a link's arriving packets to the queues of `root` and into their classes. Raises TooLong."""
    uplink, tree = planted.uplink, planted.tree
    interface, device = word(uplink.interface), root.interface
    where = addresses(root, planted)
    add = f"filter add dev {interface} parent ffff: protocol all"
    lines = [
        f"# arriving from link {tree.link}: the flow's class from conntrack, then to {device}",
        f"qdisc add dev {interface} handle ffff: ingress",
        f"{add} prio 1 {_everything(system)} action {_restore(system, marks)} continue",
    ]
    if uplink.classifier.exclude:
        code = unshaped_program(uplink.classifier.exclude, marks.mask, marks.unshaped)
        lines.append("# not shaped: goes its way")
        lines.append(f"{add} prio 2 handle 1 bpf bytecode '{code}' action skbedit mark 0 pipe action pass")
    redirect = f"action mirred egress redirect dev {device}"
    if root.scheduler == "cake":
        return [*lines, *_tin_lines(uplink, marks, where, add, redirect)]
    lines.append(f"{add} prio 3 {_everything(system)} {redirect}")
    parent = f"{INNER_PRIO}:" if root.scheduler == "prio" else "1:"
    codes = programs(uplink, marks, {name: _number(address) for name, address in where.items()})
    several = "" if len(codes) == 1 else f"; {len(codes)} of them, since tc takes {MOST_INSTRUCTIONS} instructions at most"
    lines.append(f"# mark, rules and express test in one program{several}; the mark goes, as it came")
    for number, code in enumerate(codes, 1):
        lines.append(f"filter add dev {device} parent {parent} protocol all prio {number} handle 1 bpf bytecode '{code}' action skbedit mark 0")
    return lines


def _tin_lines(uplink: Uplink, marks: LinkMarks, where: dict[str, str], add: str, redirect: str) -> list[str]:
    """CAKE takes the tin from the packet's priority, which must be there before it is queued: a program for each class tells whether a packet
    is of that class."""
    by_class = {name: programs(uplink, marks, {other: MATCH if other == name else NO_MATCH for other in where}) for name in where}
    lines = []
    preference = 3
    # What an earlier part of the rules decides, for whatever class, must not come to a later part.
    for part in range(max(map(len, by_class.values()))):
        for name, codes in by_class.items():
            lines.append(f"# {name}")
            lines.append(
                f"{add} prio {preference} handle 1 bpf bytecode '{codes[part]}' action skbedit priority {where[name]} mark 0 pipe {redirect}"
            )
            preference += 1
    return lines


def police_lines(system: System, uplink: Uplink, tree: Tree) -> list[str]:
    """The statements that drop what arrives faster than the rate."""
    interface = word(uplink.interface)
    add = f"filter add dev {interface} parent ffff: protocol all"
    lines = [
        f"# arriving from link {tree.link}: {tree.rate.value} bit/s, {tree.rate.why}",
        f"# burst {tree.burst.value} bytes: {tree.burst.why}",
        f"qdisc add dev {interface} handle ffff: ingress",
    ]
    for network in uplink.classifier.exclude:
        protocol, address = ("protocol ip prio 1", "ip src") if network.version == 4 else ("protocol ipv6 prio 2", "ip6 src")
        lines.append(f"filter add dev {interface} parent ffff: {protocol} u32 match {address} {network} action pass")
    # act_police.c: a packet larger than `mtu` is dropped whatever the rate, and GRO makes large ones. It counts from the IP packet on.
    accounting = tree.accounting
    cells = "linklayer atm " if accounting.cells == "atm" else ""
    layer = f"{cells}overhead {accounting.overhead + accounting.counted} mpu {accounting.minimum} " if accounting.exact else ""
    lines.append(
        f"{add} prio 50 {_everything(system)} action police rate {tree.rate.value}bit burst {tree.burst.value}b mtu {LARGEST} {layer}conform-exceed drop"
    )
    return lines


def arrival_pieces(system: System, uplink: Uplink, tree: Tree) -> list[str]:
    """Names of the kernel's pieces that arriving packets need."""
    everything = "matchall" if has(system, "matchall") else "u32"
    if tree.where == "police":
        return ["ingress", everything, "police", *(["u32", "gact"] if uplink.classifier.exclude else [])]
    needed = ["ifb", "ingress", everything, "ctinfo" if has(system, "ctinfo") else "connmark", "bpf", "mirred", "skbedit"]
    return [*needed, "gact"] if uplink.classifier.exclude else needed
