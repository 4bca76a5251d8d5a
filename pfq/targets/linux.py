"""Linux: one POSIX shell script with tc statements and an nftables file in it."""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from pfq.diagnostics import Diagnostic, Refused
from pfq.plan.model import Gateway, Plan
from pfq.site.differences import DIFFERENCES
from pfq.site.systems import System, schedulers
from pfq.targets.files import Ability, File
from pfq.targets.linux_arrival import arrival_lines, arrival_pieces, police_lines
from pfq.targets.linux_assembler import MOST_INSTRUCTIONS, TooLong
from pfq.targets.linux_kernels import FEATURES, PIECES, has
from pfq.targets.linux_marks import LinkMarks, TooManyClasses, flow_marks
from pfq.targets.linux_names import ifb_name, remark, word
from pfq.targets.linux_queues import Root, addresses, queue_lines, root_pieces, roots
from pfq.targets.linux_refusals import differences, faults, unsafe_names
from pfq.targets.linux_rules import tables
from pfq.targets.rendering import render as write

PARTS = ("queues", "rules")


def render(plan: Plan, gateway: Gateway, part: str | None) -> list[File]:
    """The gateway's files: the script, and what goes with it; with `part`, the queues or the packet rules alone. Raises Refused."""
    unsafe = unsafe_names(plan, gateway)
    if unsafe:
        raise Refused(unsafe)
    planted = roots(gateway)
    found = faults(plan, gateway, planted)
    if found:
        raise Refused(found)
    try:
        marks = flow_marks(gateway)
    except TooManyClasses as error:
        raise Refused([Diagnostic("too-many-classes", str(error), plan.source.place(gateway.path), "fewer classes, or fewer links on this gateway")]) from None
    heading = _heading(plan, gateway, planted)
    queues = _queues(plan, gateway, planted, marks)
    nft = tables(gateway, planted, marks)
    if part == "queues":
        return [_queues_alone(gateway, planted, heading, queues)]
    queue_lengths = [(word(u.queue_on), u.txqueuelen.value) for u in gateway.uplinks if u.txqueuelen]
    forwards = any(u.nat is not False or u.one_to_one for u in gateway.uplinks)
    settings = ["net/ipv4/ip_forward=1"] if forwards else []
    body = write("linux/rules.nft.j2", tables=nft, digest="0")
    digest = sha256("\0".join((body, *queues, *settings, repr(queue_lengths))).encode()).hexdigest()[:16]
    rules = body.replace("chain config_0 {", f"chain config_{digest} {{", 1).rstrip("\n")
    if part == "rules":
        return [File("pfq.nft", write("linux/rules.j2", heading=heading, tables=nft, rules=rules))]
    arriving = [u for u in gateway.uplinks if u.down and u.down.where in ("ingress", "police")]
    interfaces = dict.fromkeys(
        [word(u.interface) for u in gateway.uplinks] + [root.interface for root in planted if not _is_ifb(root)]
    )
    script = write(
        "linux/pfq.sh.j2",
        heading=heading,
        digest=digest,
        interfaces=" ".join(interfaces),
        roots=" ".join(f"{root.interface}={root.kind}" for root in planted),
        arriving=" ".join(word(u.interface) for u in arriving),
        ifbs=" ".join(root.interface for root in planted if _is_ifb(root)),
        queue_lengths=" ".join(f"{name}={length}" for name, length in queue_lengths),
        settings=" ".join(settings),
        tables=" ".join(table.family for table in nft),
        pieces=_pieces(gateway, planted),
        queues="\n".join(queues),
        rules=rules,
        machinery=_machinery(),
    )
    return [File("pfq.sh", script, executable=True), *_companions(gateway, heading)]


@cache
def _machinery() -> str:
    """The part of the script that is the same for all gateways."""
    return write("linux/machinery.sh.j2")


def _is_ifb(root: Root) -> bool:
    return any(p.tree.where == "ingress" for p in root.planted)


def _heading(plan: Plan, gateway: Gateway, planted: tuple[Root, ...]) -> list[str]:
    site = f", site {remark(plan.site)}" if plan.site else ""
    lines = [f"pfq: gateway {gateway.name} ({gateway.system.name}){site}"]
    lines += [f"accepted: {name}: {DIFFERENCES[name]}" for name in differences(plan, gateway, planted)]
    for uplink in gateway.uplinks:
        if uplink.inbound is None:
            lines.append(f"link {uplink.link}: no packet is filtered; the model asks for no inbound policy")
        if uplink.down and uplink.down.where == "police":
            lines.append(f"link {uplink.link}: downloads are policed, so their classes and the order of these do not apply to them")
    if any(root.scheduler != "cake" for root in planted):
        lines.append("A card's TSO, GSO and GRO make packets of up to 64 kB, which a slow line takes long to send. On the inside interface,")
        lines.append("`ethtool -K INTERFACE tso off gso off gro off` keeps that wait short; pfq does not change cards by itself.")
    return lines


def _queues(plan: Plan, gateway: Gateway, planted: tuple[Root, ...], marks: dict[str, LinkMarks]) -> list[str]:
    lines: list[str] = []
    for root in planted:
        lines += queue_lines(root)
        for tree in root.planted:
            if tree.tree.where == "ingress":
                try:
                    lines += arrival_lines(gateway.system, root, tree, marks[tree.tree.link])
                except TooLong as error:
                    message = f"link {tree.tree.link!r}: one rule for arriving packets takes {error} instructions, and tc takes {MOST_INSTRUCTIONS}"
                    place = plan.source.place(tree.uplink.path)
                    raise Refused([Diagnostic("too-many-rules", message, place, "shape_down = 'inside', or several rules instead of it")]) from None
    for uplink in gateway.uplinks:
        if uplink.down and uplink.down.where == "police":
            lines += police_lines(gateway.system, uplink, uplink.down)
    return lines


def _pieces(gateway: Gateway, planted: tuple[Root, ...]) -> list[object]:
    names: list[str] = []
    for root in planted:
        names += root_pieces(root)
    for uplink in gateway.uplinks:
        if uplink.down and uplink.down.where in ("ingress", "police"):
            names += arrival_pieces(gateway.system, uplink, uplink.down)
    return [PIECES[name] for name in dict.fromkeys(names)]


def _queues_alone(gateway: Gateway, planted: tuple[Root, ...], heading: list[str], queues: list[str]) -> File:
    classes = []
    for root in planted:
        for tree in root.planted:
            classes += [f"{root.interface}: {tree.tree.link} {name} {address}" for name, address in addresses(root, tree).items()]
    text = write(
        "linux/queues.sh.j2",
        heading=heading,
        classes=classes,
        queue_lengths=[(word(u.queue_on), u.txqueuelen.value) for u in gateway.uplinks if u.txqueuelen],
        ifbs=[ifb_name(u.link) for u in gateway.uplinks if u.down and u.down.where == "ingress"],
        queues="\n".join(queues),
    )
    return File("pfq-queues.sh", text, executable=True)


def _companions(gateway: Gateway, heading: list[str]) -> Iterable[File]:
    first = heading[:1]
    dialled = [word(u.interface) for u in gateway.uplinks if u.kind == "ppp"]
    if dialled:
        yield File("ip-up.d/pfq", write("linux/ip-up.j2", heading=first, interfaces=dialled), executable=True)
    yield File("pfq.service", write("linux/unit.j2", heading=first, gateway=gateway.name))


def abilities(system: System) -> list[Ability]:
    """What a Linux of this version can express, for `pfq targets`."""
    exact = has(system, "inner-header")
    rows = [Ability(f"scheduler {name}", name in schedulers(system), note) for name, note in _SCHEDULERS.items()]
    return [
        *rows,
        Ability("exact empty ACKs, IPv4", True, "inner-header match" if exact else "lengths of headers and packet, compared in a set"),
        Ability("exact empty ACKs, IPv6", exact, FEATURES["inner-header"].source if exact else "not behind extension headers: accept 'ipv6-extension-express'"),
        Ability("downloads shaped on arrival", True, "ifb, conntrack mark, classic BPF"),
        Ability("downloads policed", True, "act_police"),
        Ability("fair sharing by flow and by address", True, "fq_codel, sfq, cls_flow"),
        Ability("link layer counted exactly", True, "stab; cake's own overhead keywords"),
        Ability("MSS clamp", has(system, "maxseg-write"), FEATURES["maxseg-write"].source),
    ]


_SCHEDULERS = {
    "htb": "shares, guarantees, ceilings, 8 priorities",
    "hfsc": "curves of two pieces; the order of classes by guarantees and shares",
    "prio": "16 bands in strict order inside one HTB class",
    "cbq": "kernels before 6.3",
    "cake": "4 tins, their order within limits; since 4.19",
}
