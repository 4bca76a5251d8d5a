"""Queue trees as tc statements: HTB, HFSC, HTB with priority bands, CBQ, CAKE.

Sources: tc-htb(8), tc-hfsc(8), tc-prio(8), tc-cbq(8), tc-cake(8), tc-stab(8); sch_htb.c, sch_hfsc.c, sch_prio.c, sch_cbq.c, sch_cake.c.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pfq.plan.model import Gateway, Queue, ServiceCurve, Tree, Uplink
from pfq.site.systems import schedulers
from pfq.targets.linux_leaves import leaf_lines, leaf_pieces
from pfq.targets.linux_names import BESIDE, ifb_name, number_queues, word

# sch_htb.c: a quantum above 200000 or below 1000 bytes is warned about; TC_HTB_NUMPRIO; sch_prio.c TCQ_PRIO_BANDS; sch_cbq.c TC_CBQ_MAXPRIO.
MOST_QUANTUM = 200_000
HTB_PRIORITIES, PRIO_BANDS, CBQ_PRIORITIES = 8, 16, 8
# sch_cake.c cake_config_diffserv4: the tins by number are bulk, best effort, video, voice.
CAKE_TINS = 4
INNER_PRIO = 2


@dataclass(frozen=True, slots=True)
class Planted:
    """A tree on a root: `numbers` are the minor numbers of its queues, `top` that of the class that bounds it.

    thinning: the kernel has cake, which can drop ACKs that are out of date.
    """

    uplink: Uplink
    tree: Tree
    numbers: dict[str, int]
    top: int
    thinning: bool

    def parent_of(self, inner: Queue | None) -> str:
        return f"1:{self.top:x}" if inner is None else f"1:{self.numbers[inner.name]:x}"


@dataclass(frozen=True, slots=True)
class Root:
    """An interface and the trees that share its root queueing discipline."""

    interface: str
    scheduler: str
    planted: tuple[Planted, ...]

    @property
    def beside(self) -> int | None:
        return max((p.tree.beside for p in self.planted if p.tree.beside is not None), default=None)

    @property
    def kind(self) -> str:
        """The root's queueing discipline in tc's words."""
        return "htb" if self.scheduler == "prio" else self.scheduler


def device_of(tree: Tree) -> str:
    """The interface whose root holds the tree."""
    return ifb_name(tree.link) if tree.where == "ingress" else word(tree.interface)


def roots(gateway: Gateway) -> tuple[Root, ...]:
    """Every interface with queues; trees that meet on one interface share its root."""
    found: dict[str, list[tuple[Uplink, Tree]]] = {}
    for uplink in gateway.uplinks:
        for tree in (uplink.up, uplink.down):
            if tree is not None and tree.where != "police":
                found.setdefault(device_of(tree), []).append((uplink, tree))
    made = []
    for interface, pairs in found.items():
        numbers = number_queues([tree for _, tree in pairs])
        planted = tuple(Planted(uplink, tree, numbers[i], i + 1, "cake" in schedulers(gateway.system)) for i, (uplink, tree) in enumerate(pairs))
        made.append(Root(interface, pairs[0][0].scheduler, planted))
    return tuple(made)


def flat_ranks(queues: tuple[Queue, ...]) -> dict[str, int]:
    """Each leaf's place in the order of the whole tree: 0 first; leaves that are served together have the same."""
    paths: dict[str, tuple[int, ...]] = {}

    def walk(level: tuple[Queue, ...], above: tuple[int, ...]) -> None:
        for queue in level:
            if queue.children:
                walk(queue.children, (*above, queue.rank))
            else:
                paths[queue.name] = (*above, queue.rank)

    walk(queues, ())
    order = {path: index for index, path in enumerate(sorted(set(paths.values())))}
    return {name: order[path] for name, path in paths.items()}


def addresses(root: Root, planted: Planted) -> dict[str, str]:
    """What `meta priority` must be for each leaf: LINUX class ids in tc's hexadecimal form."""
    leaves = planted.tree.leaves()
    if root.scheduler == "cake":
        return {leaf.name: f"1:{tin}" for leaf, tin in zip(leaves, cake_tins(len(leaves)), strict=True)}
    if root.scheduler == "prio":
        ranks = flat_ranks(planted.tree.queues)
        return {leaf.name: f"{INNER_PRIO}:{ranks[leaf.name] + 1:x}" for leaf in leaves}
    return {leaf.name: f"1:{planted.numbers[leaf.name]:x}" for leaf in leaves}


def beside_address(root: Root) -> str:
    return f"1:{BESIDE:x}"


def cake_tins(classes: int) -> list[int]:
    """Tins for classes in their order. The last of up to three is best effort: the bulk tin's AQM is set for a sixteenth of the rate."""
    return {1: [1], 2: [4, 2], 3: [4, 3, 2]}.get(classes, [4, 3, 2, 1])


def default_minor(root: Root) -> int:
    """Minor number of the class of what bears no mark of ours: frames without an IP header, and traffic that is not the link's."""
    first = root.planted[0]
    tree, uplink = first.tree, first.uplink
    if tree.where == "inside" or (uplink.queue_on != uplink.interface and tree.where == "egress"):
        return BESIDE
    return first.numbers[control_class(uplink, tree)]


def control_class(uplink: Uplink, tree: Tree) -> str:
    """The class of frames without an IP header: as the model says; first in a strict order, where nothing else saves them; else the default."""
    if uplink.classifier.unclassified is not None:
        return uplink.classifier.unclassified
    if uplink.scheduler == "prio" and uplink.control_frames and tree.where == "egress":
        return tree.leaves()[0].name
    return uplink.classifier.default


def counted_packet(tree: Tree, uplink: Uplink) -> int:
    """Bytes that the root counts for a full packet."""
    if not tree.accounting.exact:
        return tree.mtu + tree.accounting.counted
    if tree.accounting.cells == "atm":
        return uplink.encapsulation.line_bytes(tree.mtu)
    return max(tree.mtu + uplink.encapsulation.overhead, uplink.encapsulation.minimum)


def _stab(tree: Tree) -> str:
    """The link layer for the root. tc rounds sizes up to the step of its table: a table of 2048 entries has steps of one byte."""
    accounting = tree.accounting
    if not accounting.exact:
        return ""
    if accounting.cells == "atm":
        table = f"mpu {accounting.minimum} " if accounting.minimum else ""
        return f"stab linklayer atm {table}overhead {accounting.overhead} "
    table = f"mtu 2048 tsize 2048 mpu {accounting.minimum} " if accounting.minimum else ""
    if not table and not accounting.overhead:
        return ""
    return f"stab linklayer ethernet {table}overhead {accounting.overhead} "


def _curve(curve: ServiceCurve) -> str:
    if curve.burst is None:
        return f"m2 {curve.rate.value}bit"
    return f"m1 {curve.burst}bit d {curve.microseconds}us m2 {curve.rate.value}bit"


def _quanta(root: Root) -> dict[tuple[int, str], int]:
    """Bytes that a leaf may send in its turn among leaves of one rank: at least a full packet, in proportion to the shares."""
    quanta: dict[tuple[int, str], int] = {}
    for planted in root.planted:
        packet = counted_packet(planted.tree, planted.uplink)
        ranks = flat_ranks(planted.tree.queues)
        smallest: dict[int, int] = {}
        for leaf in planted.tree.leaves():
            rank = ranks[leaf.name]
            smallest[rank] = min(smallest.get(rank, leaf.share.value), leaf.share.value)
        for leaf in planted.tree.leaves():
            quanta[planted.top, leaf.name] = min(packet * leaf.share.value // smallest[ranks[leaf.name]], MOST_QUANTUM)
    return quanta


def _heading(planted: Planted) -> list[str]:
    tree = planted.tree
    way = {"egress": "out to", "inside": "in from", "ingress": "arriving from", "police": "arriving from"}[tree.where]
    given = "the model's" if tree.rate.given else "computed"
    return [
        f"# {way} link {tree.link}: {given} rate {tree.rate.value} bit/s: {tree.rate.why}",
        f"# burst {tree.burst.value} bytes: {tree.burst.why}",
        *(f"# {note}" for note in tree.notes),
    ]


def _htb(root: Root) -> Iterator[str]:
    interface = root.interface
    yield f"qdisc add dev {interface} root handle 1: {_stab(root.planted[0].tree)}htb default {default_minor(root):x}"
    yield from _htb_beside(root)
    quanta = _quanta(root)
    for planted in root.planted:
        tree = planted.tree
        rate, burst = tree.rate.value, tree.burst.value
        packet = counted_packet(tree, planted.uplink)
        yield from _heading(planted)
        yield (
            f"class add dev {interface} parent 1: classid 1:{planted.top:x} htb rate {rate}bit ceil {rate}bit burst {burst}b cburst {burst}b"
            f" quantum {packet}"
        )
        ranks = flat_ranks(tree.queues)
        yield from _htb_level(root, planted, tree.queues, None, rate, ranks, quanta)


def _htb_beside(root: Root) -> Iterator[str]:
    """A class for what is not the link's, never in the way: its rate is twice the interface's, since a link layer may count packets larger."""
    speed = root.beside
    if speed is None:
        return
    interface, rate = root.interface, 2 * speed
    yield f"# what is not the link's: at the interface's own speed ({speed} bit/s; doubled, so that this class is never the limit)"
    burst = max(rate // 8 // 1000, 3200)
    yield (
        f"class add dev {interface} parent 1: classid 1:{BESIDE:x} htb rate {rate}bit ceil {rate}bit burst {burst}b cburst {burst}b"
        f" prio 7 quantum 60000"
    )
    yield f"qdisc add dev {interface} parent 1:{BESIDE:x} handle {BESIDE:x}: fq_codel"


def _htb_level(
    root: Root, planted: Planted, queues: tuple[Queue, ...], inner: Queue | None, most: int, ranks: dict[str, int],
    quanta: dict[tuple[int, str], int],
) -> Iterator[str]:
    tree, parent = planted.tree, planted.parent_of(inner)
    packet = counted_packet(tree, planted.uplink)
    for queue in queues:
        figure = queue.guarantee.rate if queue.guarantee else queue.share
        ceil = min(queue.ceiling.rate.value, most) if queue.ceiling else most
        minor = planted.numbers[queue.name]
        burst = max(packet, 1600)
        yield f"# {queue.name}: {figure.value} bit/s, {figure.why}{f'; at most {ceil}' if queue.ceiling else ''}"
        text = (
            f"class add dev {root.interface} parent {parent} classid 1:{minor:x} htb rate {min(figure.value, ceil)}bit ceil {ceil}bit"
            f" burst {burst}b cburst {tree.burst.value}b"
        )
        if queue.children:
            yield f"{text} quantum {packet}"
            yield from _htb_level(root, planted, queue.children, queue, ceil, ranks, quanta)
            continue
        yield f"{text} prio {ranks[queue.name]} quantum {quanta[planted.top, queue.name]}"
        yield from leaf_lines(queue, planted.uplink, tree, planted.thinning, root.interface, f"1:{minor:x}", minor)


def _hfsc(root: Root) -> Iterator[str]:
    interface = root.interface
    yield f"qdisc add dev {interface} root handle 1: {_stab(root.planted[0].tree)}hfsc default {default_minor(root):x}"
    if root.beside is not None:
        yield f"# what is not the link's: at the interface's own speed ({root.beside} bit/s; doubled, so that this class is never the limit)"
        yield f"class add dev {interface} parent 1: classid 1:{BESIDE:x} hfsc ls m2 {2 * root.beside}bit"
        yield f"qdisc add dev {interface} parent 1:{BESIDE:x} handle {BESIDE:x}: fq_codel"
    for planted in root.planted:
        rate = planted.tree.rate.value
        yield from _heading(planted)
        yield f"class add dev {interface} parent 1: classid 1:{planted.top:x} hfsc ls m2 {rate}bit ul m2 {rate}bit"
        yield from _hfsc_level(root, planted, planted.tree.queues, None)


def _hfsc_level(root: Root, planted: Planted, queues: tuple[Queue, ...], inner: Queue | None) -> Iterator[str]:
    for queue in queues:
        minor = planted.numbers[queue.name]
        realtime = f"rt {_curve(queue.guarantee)} " if queue.guarantee and not queue.children else ""
        upper = f" ul {_curve(queue.ceiling)}" if queue.ceiling else ""
        yield f"# {queue.name}: {queue.share.value} bit/s, {queue.share.why}"
        yield (
            f"class add dev {root.interface} parent {planted.parent_of(inner)} classid 1:{minor:x} hfsc {realtime}ls m2 {queue.share.value}bit{upper}"
        )
        if queue.children:
            yield from _hfsc_level(root, planted, queue.children, queue)
        else:
            yield from leaf_lines(queue, planted.uplink, planted.tree, planted.thinning, root.interface, f"1:{minor:x}", minor)


def _prio(root: Root) -> Iterator[str]:
    """HTB bounds the rate, bands inside it make the order. A priority with the inner discipline's number passes HTB by its default class,
    or, where that is for other traffic, by a filter."""
    interface, planted = root.interface, root.planted[0]
    rate, burst = planted.tree.rate.value, planted.tree.burst.value
    bands = planted.tree.leaves()
    outside = default_minor(root) == BESIDE
    yield f"qdisc add dev {interface} root handle 1: {_stab(planted.tree)}htb default {BESIDE if outside else 1:x}"
    yield from _htb_beside(root)
    yield from _heading(planted)
    packet = counted_packet(planted.tree, planted.uplink)
    yield f"class add dev {interface} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst}b cburst {burst}b quantum {packet}"
    ranks = flat_ranks(planted.tree.queues)
    unmarked = ranks[control_class(planted.uplink, planted.tree)]
    yield "# a band for each class, in their order"
    yield f"qdisc add dev {interface} parent 1:1 handle {INNER_PRIO}: prio bands {max(len(bands), 2)} priomap{f' {unmarked}' * 16}"
    for queue in bands:
        minor = planted.numbers[queue.name]
        band = f"{INNER_PRIO}:{ranks[queue.name] + 1:x}"
        yield from leaf_lines(queue, planted.uplink, planted.tree, planted.thinning, interface, band, minor)
    if outside:
        yield "# packets of the link's classes bear the number of a band"
        yield f"filter add dev {interface} parent 1: protocol all prio 1 basic match meta( priority gt {(INNER_PRIO << 16) - 1} ) classid 1:1"


def _cbq(root: Root) -> Iterator[str]:
    """As the cookbook's, with its classes' rates within the line and what bears no class sent to the default one. A weight is in bytes."""
    interface, planted = root.interface, root.planted[0]
    tree = planted.tree
    rate, packet = tree.rate.value, counted_packet(tree, planted.uplink)
    speed = root.beside or max(10_000_000, 10 * rate)
    device = f"bandwidth {speed}bit avpkt 1000 cell 8"
    default = default_minor(root)
    yield f"qdisc add dev {interface} root handle 1: {_stab(tree)}cbq {device}"

    def split(minor: int) -> str:
        return " split 1:0 defmap ffff" if minor == default else ""

    if root.beside is not None:
        yield f"# what is not the link's: at the interface's own speed ({root.beside} bit/s)"
        yield (
            f"class add dev {interface} parent 1: classid 1:{BESIDE:x} cbq {device} rate {root.beside}bit weight {root.beside // 80}"
            f" allot 1514 prio 8{split(BESIDE)}"
        )
        yield f"qdisc add dev {interface} parent 1:{BESIDE:x} handle {BESIDE:x}: fq_codel"
    yield from _heading(planted)
    yield (
        f"class add dev {interface} parent 1: classid 1:1 cbq {device} rate {rate}bit weight {max(rate // 80, 1)} allot {packet} prio 8"
        f" bounded isolated"
    )
    ranks = flat_ranks(tree.queues)

    def level(queues: tuple[Queue, ...], inner: Queue | None) -> Iterator[str]:
        for queue in queues:
            minor = planted.numbers[queue.name]
            figure = queue.ceiling.rate if queue.ceiling else queue.guarantee.rate if queue.guarantee else queue.share
            bounded = " bounded" if queue.ceiling else ""
            priority = "" if queue.children else f" prio {ranks[queue.name] + 1}"
            yield f"# {queue.name}: {figure.value} bit/s, {figure.why}"
            yield (
                f"class add dev {interface} parent {planted.parent_of(inner)} classid 1:{minor:x} cbq {device} rate {figure.value}bit"
                f" weight {max(figure.value // 80, 1)} allot {packet}{priority}{bounded}{split(minor)}"
            )
            if queue.children:
                yield from level(queue.children, queue)
            else:
                yield from leaf_lines(queue, planted.uplink, tree, planted.thinning, interface, f"1:{minor:x}", minor)

    yield from level(tree.queues, None)


# How CAKE keeps hosts and flows apart (tc-cake(8)), by what the classes ask for and whether they ask at all.
_CAKE_FAIR = {"none": "flowblind", "flow": "flows", "source": "dual-srchost", "destination": "dual-dsthost"}


def cake_fairness(tree: Tree) -> set[str]:
    """CAKE's keyword for each way of sharing that a class of the tree asks for; there can be one."""
    return {_CAKE_FAIR[leaf.fair] for leaf in tree.leaves() if leaf.fair_given}


def _cake(root: Root) -> Iterator[str]:
    planted = root.planted[0]
    tree, uplink, accounting = planted.tree, planted.uplink, planted.tree.accounting
    classes = len(tree.leaves())
    tins = "besteffort" if classes == 1 else "diffserv4"
    fairness = min(cake_fairness(tree), default="triple-isolate")
    words = [tins, fairness, "nat" if uplink.nat is not False or uplink.one_to_one else "nonat", "nowash"]
    words.append("ack-filter" if tree.direction == "up" else "no-ack-filter")
    if tree.where == "ingress":
        words.append("ingress")
    # CAKE counts from the IP packet on: the encapsulation's own numbers, not those less what Linux counts by itself.
    cells = "atm" if accounting.cells == "atm" else "noatm"
    words += [cells, "overhead", str(accounting.overhead + accounting.counted), "mpu", str(accounting.minimum)] if accounting.exact else ["raw"]
    yield from _heading(planted)
    names = {1: "bulk", 2: "best effort", 3: "video", 4: "voice"} if classes > 1 else {1: "the only one"}
    for leaf, tin in zip(tree.leaves(), cake_tins(classes), strict=True):
        yield f"# {leaf.name} is tin {tin} ({names[tin]})"
    yield f"qdisc add dev {root.interface} root handle 1: cake bandwidth {tree.rate.value}bit {' '.join(words)}"
    if _cake_control(root):
        # Left alone, CAKE puts frames without an IP header into its first tin (sch_cake.c cake_handle_diffserv). Its filters run before that.
        add = f"filter add dev {root.interface} parent 1: protocol"
        yield f"# frames without an IP header: {uplink.classifier.unclassified}"
        yield f"{add} ip prio 1 matchall action pass"
        yield f"{add} ipv6 prio 2 matchall action pass"
        yield f"{add} all prio 3 matchall action skbedit priority {addresses(root, planted)[control_class(uplink, tree)]}"


def _cake_control(root: Root) -> bool:
    """Whether CAKE must be told where frames without an IP header go."""
    planted = root.planted[0]
    given = planted.uplink.classifier.unclassified is not None and len(planted.tree.leaves()) > 1
    return given and planted.uplink.control_frames and planted.tree.where == "egress"


_WRITERS = {"htb": _htb, "hfsc": _hfsc, "prio": _prio, "cbq": _cbq, "cake": _cake}


def queue_lines(root: Root) -> list[str]:
    """The tc statements (without the word `tc`) that build the root, comments among them."""
    return list(_WRITERS[root.scheduler](root))


def root_pieces(root: Root) -> list[str]:
    """Names of the kernel's pieces that the root needs."""
    if root.scheduler == "cake":
        return ["cake", "matchall", "gact", "skbedit"] if _cake_control(root) else ["cake"]
    pieces = [root.kind]
    if root.scheduler == "prio":
        pieces.append("prio")
        if default_minor(root) == BESIDE:
            pieces += ["basic", "meta"]
    if root.beside is not None:
        pieces.append("fq_codel")
    for planted in root.planted:
        for leaf in planted.tree.leaves():
            pieces += leaf_pieces(leaf, planted.uplink, planted.tree, planted.thinning)
    return pieces
