"""What a plan asks for that this system's tc and nft cannot express: reported whole, before anything is written."""

from collections.abc import Iterator

from pfq.diagnostics import Diagnostic
from pfq.plan.model import Gateway, Plan, Queue, Uplink
from pfq.site.differences import DIFFERENCES
from pfq.site.positions import Path
from pfq.targets.linux_kernels import has
from pfq.targets.linux_leaves import fair_key
from pfq.targets.linux_names import MOST_TREES, UnsafeName, word
from pfq.targets.linux_queues import CAKE_TINS, CBQ_PRIORITIES, HTB_PRIORITIES, PRIO_BANDS, Planted, Root, cake_fairness, flat_ranks

Fault = tuple[Path, str, str, str]

_PRIORITIES = {"htb": HTB_PRIORITIES, "prio": PRIO_BANDS, "cbq": CBQ_PRIORITIES}
_SHARING_ROOTS = ("htb", "hfsc")


def faults(plan: Plan, gateway: Gateway, roots: tuple[Root, ...]) -> list[Diagnostic]:
    """Everything that stands in the way of this gateway's output."""
    found: list[Fault] = []
    for uplink in gateway.uplinks:
        found += _uplink(plan, gateway, uplink)
    for root in roots:
        found += _root(root)
        for planted in root.planted:
            found += _tree(plan, root, planted)
    return [Diagnostic(code, message, plan.source.place(path), hint) for path, code, message, hint in dict.fromkeys(found)]


def differences(plan: Plan, gateway: Gateway, roots: tuple[Root, ...]) -> list[str]:
    """Names of the differences that this output makes use of, in the order of the table. All of them are accepted."""
    used = {fault[2] for uplink in gateway.uplinks for fault in _extension_headers(gateway, uplink)}
    for root in roots:
        if root.scheduler == "cake" and any(len(p.tree.leaves()) > 1 for p in root.planted):
            used.add("soft-order")
        for planted in root.planted:
            used |= {name for name, _ in _leaf_differences(planted)}
    return [name for name in DIFFERENCES if name in used]


def unsafe_names(plan: Plan, gateway: Gateway) -> list[Diagnostic]:
    """Names that must not reach a script; the model's own patterns keep them out, a plan from elsewhere may not."""
    found: list[Fault] = []
    named: list[tuple[Path, str]] = [(gateway.path, gateway.name)]
    for arm in gateway.inside:
        named.append((arm.path, arm.interface))
    for uplink in gateway.uplinks:
        named += [(uplink.path, text) for text in (uplink.link, uplink.interface, uplink.queue_on, uplink.up.interface)]
        stack: list[Queue] = list(uplink.up.queues)
        while stack:
            queue = stack.pop()
            named.append((queue.path, queue.name))
            stack += queue.children
    for path, text in named:
        try:
            word(text)
        except UnsafeName:
            found.append((path, "bad-name", f"{text!r} cannot stand in a script", "letters, digits, '_', '.' and '-'"))
    return [Diagnostic(code, message, plan.source.place(path), hint) for path, code, message, hint in found]


def _difference(path: Path, name: str, message: str, hint: str) -> Fault:
    return path, "difference", message, f"{hint}, or add accept = ['{name}'] to the model"


def _extension_headers(gateway: Gateway, uplink: Uplink) -> Iterator[tuple[Path, str, str]]:
    express = uplink.classifier.express
    if express and 6 in express.families and not has(gateway.system, "inner-header"):
        yield uplink.path, f"{gateway.system.name} sees no empty ACK behind IPv6 extension headers (inner-header match, Linux 5.16)", "ipv6-extension-express"


def _uplink(plan: Plan, gateway: Gateway, uplink: Uplink) -> Iterator[Fault]:
    for path, message, name in _extension_headers(gateway, uplink):
        if name not in plan.accept:
            yield _difference(path, name, message, "say ipv6 = false of a link that carries none")
    if uplink.mss and not has(gateway.system, "maxseg-write"):
        message = f"{gateway.system.name} cannot clamp the segment size with nftables (Linux 4.14)"
        yield (*uplink.path, "mss"), "unsupported", message, "mss = false"


def _root(root: Root) -> Iterator[Fault]:
    if len(root.planted) == 1:
        return
    first, others = root.planted[0], root.planted[1:]
    links = ", ".join(p.tree.link for p in root.planted)
    path = others[0].uplink.path
    if any(p.uplink.scheduler != first.uplink.scheduler for p in others):
        yield path, "shared-root", f"the links {links} meet on {root.interface} with different schedulers", "name one scheduler for all"
    elif root.scheduler not in _SHARING_ROOTS:
        message = f"the links {links} meet on {root.interface}, and {root.scheduler} holds one link"
        yield path, "shared-root", message, "scheduler = 'htb' or 'hfsc' for them"
    if any(p.tree.accounting != first.tree.accounting for p in others):
        message = f"the links {links} meet on {root.interface}, and its root can count for one encapsulation only"
        yield path, "shared-root", message, "queue on the links' own interfaces, or shape downloads on arrival"
    if len(root.planted) > MOST_TREES:
        yield path, "shared-root", f"{len(root.planted)} links meet on {root.interface}", f"at most {MOST_TREES}"


def _tree(plan: Plan, root: Root, planted: Planted) -> Iterator[Fault]:
    tree, uplink = planted.tree, planted.uplink
    ranks = flat_ranks(tree.queues)
    most = _PRIORITIES.get(root.scheduler)
    count = len(set(ranks.values()))
    if most is not None and count > most:
        way_out = f"scheduler = 'prio' has {PRIO_BANDS}" if root.scheduler != "prio" and count <= PRIO_BANDS else "classes with a `share` stand together"
        message = f"link {tree.link!r}: {count} classes in order, and {root.scheduler} has {most} priorities"
        yield uplink.path, "too-many-classes", message, way_out
    if root.scheduler == "prio" and len(ranks) > count:
        yield uplink.path, "unsupported", f"link {tree.link!r}: a band of prio holds one class", "scheduler = 'htb'"
    if root.scheduler == "cake":
        yield from _cake(planted)
    for leaf in tree.leaves():
        given = leaf.guarantee.rate if leaf.guarantee and leaf.guarantee.rate.given else None
        if root.scheduler == "cbq" and leaf.ceiling and given and leaf.ceiling.rate.value != given.value:
            yield leaf.path, "unsupported", f"class {leaf.name!r}: cbq has one rate for guarantee and ceiling", "scheduler = 'htb' or 'hfsc'"
    if root.scheduler == "cake":
        return
    for leaf in tree.leaves():
        if leaf.drop == "red" and leaf.fair != "none" and leaf.fair_given:
            yield leaf.path, "unsupported", f"class {leaf.name!r}: a fair queue drops by CoDel, not by RED", "drop = 'codel' or 'ecn', or fair = 'none'"
        if leaf.drop == "ecn" and leaf.fair_given and leaf.fair != "none" and uplink.leaf == "sfq":
            yield leaf.path, "unsupported", f"class {leaf.name!r}: sfq does not mark", "leaf = 'fq_codel'"
    for name, (leaf_path, message) in _leaf_differences(planted):
        if name not in plan.accept:
            hint = "scheduler = 'cake', shape_down = 'inside'" if name == "fair-by-flow" else "leave `leaf` out"
            yield _difference(leaf_path, name, message, hint)


def _leaf_differences(planted: Planted) -> Iterator[tuple[str, tuple[Path, str]]]:
    tree, uplink = planted.tree, planted.uplink
    if uplink.scheduler == "cake":
        return
    for leaf in tree.leaves():
        if leaf.fair == "none" or not leaf.fair_given:
            continue
        if uplink.leaf == "pfifo":
            yield "fifo", (leaf.path, f"class {leaf.name!r} asks for fair sharing, and its leaf is pfifo")
        elif leaf.fair == "destination" and fair_key(uplink, tree, leaf.fair) is None:
            message = f"class {leaf.name!r}: packets of link {tree.link!r} arrive with the gateway's address, so hosts cannot be told apart there"
            yield "fair-by-flow", (leaf.path, message)


def _cake(planted: Planted) -> Iterator[Fault]:
    tree, uplink = planted.tree, planted.uplink
    leaves = tree.leaves()
    if len(leaves) > CAKE_TINS:
        message = f"link {tree.link!r}: {len(leaves)} classes, and cake has {CAKE_TINS} tins"
        yield uplink.path, "too-many-classes", message, "scheduler = 'htb'"
    if len(cake_fairness(tree)) > 1:
        yield uplink.path, "unsupported", f"link {tree.link!r}: cake shares all classes in one way", "scheduler = 'htb', or one `fair` for all"
    if uplink.leaf is not None:
        yield (*uplink.path, "leaf"), "unsupported", "cake has its own queues", "leave `leaf` out"
    for leaf in leaves:
        if leaf.limit.given:
            yield (*leaf.path, "limit"), "unsupported", f"class {leaf.name!r}: cake sets its own limits", "leave `limit` out"
        if leaf.drop == "red":
            yield (*leaf.path, "drop"), "unsupported", f"class {leaf.name!r}: cake drops by CoDel, not by RED", "drop = 'codel' or 'ecn'"
