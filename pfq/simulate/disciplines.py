"""From a tree of the plan to the discipline that the gateway's kernel would have.

The numbers are those that the targets write: tbrsize and qlimit for ALTQ, bandwidth, min and max for OpenBSD's queues, rate, ceil, prio,
quantum and burst for htb, and so on. What is not simulated is refused by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pfq.diagnostics import refuse
from pfq.plan.model import Queue as PlannedQueue
from pfq.plan.model import ServiceCurve, Tree, Uplink
from pfq.simulate.gate import Discipline, Lengths
from pfq.simulate.packet import SECOND
from pfq.simulate.queues import Counted, Queue
from pfq.simulate.schedulers.cake import TIN_ORDER, Cake, CakeKind, CakeLeaf, Fairness, Tins
from pfq.simulate.schedulers.cbq import Cbq, CbqClass
from pfq.simulate.schedulers.codel import Codel
from pfq.simulate.schedulers.curves import ServiceLine, straight
from pfq.simulate.schedulers.fifo import Fifo, HeadDrop
from pfq.simulate.schedulers.fq_codel import OPENBSD_LIMIT, FqCodel
from pfq.simulate.schedulers.hfsc import Hfsc, HfscClass
from pfq.simulate.schedulers.htb import Htb, HtbClass
from pfq.simulate.schedulers.linux_cbq import LinuxCbq, LinuxCbqClass
from pfq.simulate.schedulers.red import Red
from pfq.simulate.schedulers.sfq import Sfq
from pfq.simulate.schedulers.strict import Bands, Strict
from pfq.simulate.schedulers.tokens import TokenBucket
from pfq.site.model import Fair
from pfq.site.systems import System, schedulers

# param.h HZ of OpenBSD; kern.hz of FreeBSD (subr_param.c).
TICKS = {"openbsd": 100, "freebsd": 1000}
MILLISECOND = SECOND // 1000
CODEL_TARGET, CODEL_INTERVAL = 5 * MILLISECOND, 100 * MILLISECOND
# sch_htb.c: quantum of a class that may send in its turn, at most.
MOST_QUANTUM = 200_000
# altq_red.c, pf.conf(5): a tenth and three tenths of the limit, at most one packet in ten, the newest length counts 1/512.
ALTQ_RED = (10, 30, 0.1, 512)
# Memory that the target gives a class's CAKE: for each packet, and at least.
CAKE_PACKET, CAKE_LEAST = 1024, 1 << 17
# As the target writes them: CAKE's word for each way of sharing, and the class 1:N of the first, second, ... class of a policy.
_CAKE_FAIR: dict[Fair, Fairness] = {"none": "flowblind", "flow": "flows", "source": "dual-srchost", "destination": "dual-dsthost"}
_CAKE_TINS = {1: (1,), 2: (4, 2), 3: (4, 3, 2), 4: (4, 3, 2, 1)}


@dataclass(frozen=True, slots=True)
class Made:
    """The discipline, the queue of each class, the name of each class (of one index), and what it counts."""

    discipline: Discipline
    queues: Sequence[Counted]
    names: list[str]
    lengths: Lengths
    words: str


def counted_lengths(tree: Tree) -> Lengths:
    """What the tree's rate counts for a packet."""
    accounting = tree.accounting
    if not accounting.exact:
        return Lengths(accounting.counted)
    return Lengths(accounting.counted + accounting.overhead, accounting.cells == "atm", accounting.minimum)


def make(system: System, uplink: Uplink, tree: Tree, random: Random) -> Made:
    """The discipline of `tree` on this system. Raises Refused for one that is not simulated."""
    return _Maker(system, uplink, tree, random).made()


def _line(curve: ServiceCurve) -> ServiceLine:
    rate = curve.rate.value
    return straight(rate) if curve.burst is None else ServiceLine(curve.burst, curve.microseconds * 1000, rate)


class _Maker:
    def __init__(self, system: System, uplink: Uplink, tree: Tree, random: Random) -> None:
        self.system, self.uplink, self.tree, self.random = system, uplink, tree, random
        self.lengths = counted_lengths(tree)
        self.packet = self.lengths[tree.mtu]
        self.leaves = tree.leaves()
        self.index = {leaf.name: index for index, leaf in enumerate(self.leaves)}
        self.queues = [self._queue(leaf) for leaf in self.leaves]
        self.rate = tree.rate.value
        # What stands for the classes where they are no queues of their own.
        self.counted: Sequence[Counted] = ()

    def made(self) -> Made:
        family, scheduler = self.system.family, self.uplink.scheduler
        if family == "altq" and self.tree.where == "inside" and scheduler == "priq":
            # priq cannot leave other traffic unshaped on an inside interface: the target takes hfsc there.
            scheduler = "hfsc"
        maker = getattr(self, f"_{family}_{scheduler}", None)
        if maker is None:
            hint = "choose another `scheduler` for the simulation"
            raise refuse("not-simulated", f"{scheduler} of {self.system.name} is not simulated", hint=hint)
        discipline, words = maker()
        return Made(discipline, self.counted or self.queues, [leaf.name for leaf in self.leaves], self.lengths, words)

    # --- queues of classes

    def _queue(self, leaf: PlannedQueue) -> Queue:
        if self.system.family == "altq":
            return self._altq_queue(leaf)
        if self.system.family == "queue":
            return self._openbsd_queue(leaf)
        return self._linux_queue(leaf)

    def _altq_queue(self, leaf: PlannedQueue) -> Queue:
        limit = leaf.limit.value
        if leaf.drop == "codel":
            return Codel(limit, CODEL_TARGET, CODEL_INTERVAL, self.packet)
        if leaf.drop in ("red", "ecn"):
            low, high, probability, weight = ALTQ_RED
            idle = self.packet * 8 * SECOND // self.tree.rate.value
            return Red("packets", limit * low // 100, limit * high // 100, limit, probability, weight, idle, self.random, leaf.drop == "ecn")
        return HeadDrop(limit) if self.uplink.scheduler == "cbq" else Fifo(limit)

    def _flows(self, leaf: PlannedQueue) -> bool:
        """Whether OpenBSD has queues of its own for the class's flows: with a given guarantee it would be one queue all the same."""
        wanted = leaf.fair != "none" or leaf.drop == "codel"
        asked = (leaf.fair != "none" and leaf.fair_given) or leaf.drop == "codel"
        given = (leaf.guarantee is not None and leaf.guarantee.rate.given) or leaf.limit.given
        return wanted and self.system.version >= (6, 2) and (asked or not given)

    def _openbsd_queue(self, leaf: PlannedQueue) -> Queue:
        if not self._flows(leaf):
            return Fifo(leaf.limit.value)
        salt = self.random.getrandbits(32)
        return FqCodel(OPENBSD_LIMIT, self.packet, CODEL_TARGET, CODEL_INTERVAL, self.packet, salt, batch=1)

    def _thins(self, leaf: PlannedQueue) -> bool:
        """Whether the class has a queue that drops ACKs which a later one has overtaken: where the kernel has CAKE and the model asks for nothing else."""
        plain = leaf.fair == "none" and leaf.drop == "tail" and not leaf.limit.given
        return "cake" in schedulers(self.system) and leaf.express and self.tree.direction == "up" and self.uplink.leaf is None and plain

    def _linux_queue(self, leaf: PlannedQueue) -> Queue:
        if self._thins(leaf):
            memory = max(leaf.limit.value * CAKE_PACKET, CAKE_LEAST)
            full = self.tree.mtu + self.tree.accounting.counted
            kind = CakeKind(None, full, "besteffort", "flows", "ack-filter-aggressive", target=leaf.target * 1000, memory=memory)
            return CakeLeaf(kind, len(self.leaves), self.random)
        fair = leaf.fair != "none" and self.uplink.leaf != "pfifo"
        device = self.tree.mtu + self.tree.accounting.counted
        if fair and not (leaf.drop == "red" and not leaf.fair_given):
            # The target writes `ecn` there: what arrives has crossed the bottleneck already.
            ecn = leaf.drop == "ecn" or self.tree.direction == "down"
            salt = self.random.getrandbits(32)
            if self.uplink.leaf == "sfq":
                return Sfq(max(leaf.fair_limit.value, 2), device, salt)
            return FqCodel(leaf.fair_limit.value, device, leaf.target * 1000, leaf.interval * 1000, device, salt, ecn=ecn)
        if leaf.drop in ("red", "ecn"):
            low = max(leaf.limit.value * self.tree.mtu // 6, 2 * self.tree.mtu)
            return Red("bytes", low, 3 * low, 6 * low, 0.02, 64, 1000 * 8 * SECOND // self.tree.rate.value, self.random, leaf.drop == "ecn")
        if leaf.drop == "codel":
            return Codel(leaf.limit.value, leaf.target * 1000, leaf.interval * 1000, device)
        return Fifo(leaf.limit.value)

    # --- the order of leaves in the whole tree

    def _ranks(self) -> list[int]:
        """Each leaf's place in the order of the whole tree; leaves that are served together have the same."""
        paths: dict[str, tuple[int, ...]] = {}

        def walk(level: tuple[PlannedQueue, ...], above: tuple[int, ...]) -> None:
            for queue in level:
                if queue.children:
                    walk(queue.children, (*above, queue.rank))
                else:
                    paths[queue.name] = (*above, queue.rank)

        walk(self.tree.queues, ())
        order = {path: index for index, path in enumerate(sorted(set(paths.values())))}
        return [order[paths[leaf.name]] for leaf in self.leaves]

    def _strict_order(self) -> list[int]:
        ranks = self._ranks()
        return sorted(range(len(ranks)), key=lambda index: ranks[index])

    # --- ALTQ

    def _tick(self) -> int:
        return SECOND // TICKS[self.system.os]

    def _bucket(self, discipline: Discipline) -> tuple[Discipline, str]:
        """Behind a token bucket, whose depth must last from one tick of a 100 Hz clock to the next."""
        depth = self.tree.burst.value if self.tree.burst.given else max(self.tree.burst.value, self.rate // 800)
        return TokenBucket(discipline, self.rate, depth, TICKS[self.system.os]), f"token bucket of {depth} bytes"

    def _altq_priq(self) -> tuple[Discipline, str]:
        discipline, words = self._bucket(Strict(self.queues, self._strict_order()))
        return discipline, f"ALTQ priq, {words}"

    def _altq_cbq(self) -> tuple[Discipline, str]:
        mtu = self.tree.mtu
        root = CbqClass(None, self.rate, self.rate, mtu, 0, False, None)
        classes, leaves = [root], {}
        ranks = sorted({queue.rank for queue in self.leaves})

        def level(queues: tuple[PlannedQueue, ...], parent: CbqClass) -> None:
            for queue in queues:
                priority = max(7 - ranks.index(queue.rank), 1) if queue.rank in ranks else 1
                item = CbqClass(
                    parent, queue.share.value, self.rate, mtu, priority, queue.ceiling is None, None if queue.children else self.queues[self.index[queue.name]]
                )
                classes.append(item)
                if queue.children:
                    level(queue.children, item)
                else:
                    leaves[queue.name] = item

        level(self.tree.queues, root)
        cbq = Cbq(classes, [leaves[leaf.name] for leaf in self.leaves], self.rate, mtu, self._tick() // 1000)
        discipline, words = self._bucket(cbq)
        return discipline, f"ALTQ cbq, {words}"

    def _altq_hfsc(self) -> tuple[Discipline, str]:
        if self.tree.where == "inside":
            # The bucket there is the interface's, wide open for a link: an upper limit bounds the subtree.
            return self._hfsc(self._tick(), True, 80), "ALTQ hfsc, bounded by an upper limit"
        discipline, words = self._bucket(self._hfsc(self._tick(), False, 80))
        return discipline, f"ALTQ hfsc, {words}"

    # --- hfsc of all three

    def _hfsc(self, tick: int | None, bounded: bool, most_realtime: int = 100) -> Hfsc:
        root = HfscClass(None, None, None, None, None)
        top = HfscClass(root, None, straight(self.rate), straight(self.rate) if bounded else None, None)
        leaves: dict[str, HfscClass] = {}
        computed = [leaf.guarantee.rate.value for leaf in self.leaves if leaf.guarantee and not leaf.guarantee.rate.given]
        given = sum(leaf.guarantee.rate.value for leaf in self.leaves if leaf.guarantee and leaf.guarantee.rate.given)
        room = max(self.rate * most_realtime // 100 - given, 0)

        def realtime(queue: PlannedQueue) -> ServiceLine | None:
            if queue.guarantee is None or queue.children:
                return None
            if self.system.family == "queue" and self._flows(queue):
                return None
            line = _line(queue.guarantee)
            if queue.guarantee.rate.given or sum(computed) <= room:
                return line
            cut = queue.guarantee.rate.value * room // sum(computed)
            return straight(cut) if cut else None

        def level(queues: tuple[PlannedQueue, ...], parent: HfscClass) -> None:
            for queue in queues:
                upper = _line(queue.ceiling) if queue.ceiling else None
                item = HfscClass(
                    parent, realtime(queue), straight(queue.share.value), upper, None if queue.children else self.queues[self.index[queue.name]]
                )
                if queue.children:
                    level(queue.children, item)
                else:
                    leaves[queue.name] = item

        level(self.tree.queues, top)
        return Hfsc(root, [leaves[leaf.name] for leaf in self.leaves], tick)

    def _queue_hfsc(self) -> tuple[Discipline, str]:
        return self._hfsc(self._tick(), True), "OpenBSD hfsc, max on the root"

    def _linux_hfsc(self) -> tuple[Discipline, str]:
        return self._hfsc(None, True), "Linux hfsc, ul on the top class"

    # --- Linux

    def _linux_htb(self) -> tuple[Discipline, str]:
        burst = self.tree.burst.value
        top = HtbClass(1, None, self.rate, self.rate, burst, burst, 0, self.packet, None)
        classes, leaves = [top], {}
        ranks = self._ranks()
        smallest: dict[int, int] = {}
        for leaf, rank in zip(self.leaves, ranks, strict=True):
            smallest[rank] = min(smallest.get(rank, leaf.share.value), leaf.share.value)

        def level(queues: tuple[PlannedQueue, ...], parent: HtbClass, most: int) -> None:
            for queue in queues:
                figure = queue.guarantee.rate if queue.guarantee else queue.share
                ceil = min(queue.ceiling.rate.value, most) if queue.ceiling else most
                own = max(self.packet, 1600)
                rank, quantum, waits = 0, self.packet, None
                if not queue.children:
                    rank = min(ranks[self.index[queue.name]], 7)
                    quantum = min(self.packet * queue.share.value // smallest[ranks[self.index[queue.name]]], MOST_QUANTUM)
                    waits = self.queues[self.index[queue.name]]
                item = HtbClass(len(classes) + 1, parent, min(figure.value, ceil), ceil, own, burst, rank, quantum, waits)
                classes.append(item)
                if queue.children:
                    level(queue.children, item, ceil)
                else:
                    leaves[queue.name] = item

        level(self.tree.queues, top, self.rate)
        return Htb(classes, [leaves[leaf.name] for leaf in self.leaves]), f"Linux htb, burst {burst} bytes"

    def _linux_cbq(self) -> tuple[Discipline, str]:
        speed = self.tree.beside or max(10_000_000, 10 * self.rate)
        mtu = self.tree.mtu
        device = LinuxCbqClass(None, speed, 7, mtu, speed // 8, True, True, None)
        top = LinuxCbqClass(device, self.rate, 7, self.packet, max(self.rate // 80, 1), True, True, None)
        classes, leaves = [top], {}
        ranks = self._ranks()

        def level(queues: tuple[PlannedQueue, ...], parent: LinuxCbqClass) -> None:
            for queue in queues:
                figure = (queue.ceiling.rate if queue.ceiling else queue.guarantee.rate if queue.guarantee else queue.share).value
                waits = None if queue.children else self.queues[self.index[queue.name]]
                # Without a priority tc takes the last one.
                priority = 7 if queue.children else ranks[self.index[queue.name]]
                item = LinuxCbqClass(parent, figure, priority, self.packet, max(figure // 80, 1), queue.ceiling is not None, False, waits)
                classes.append(item)
                if queue.children:
                    level(queue.children, item)
                else:
                    leaves[queue.name] = item

        level(self.tree.queues, top)
        return LinuxCbq(device, classes, [leaves[leaf.name] for leaf in self.leaves], speed, mtu), "Linux cbq, bounded and isolated"

    def _linux_cake(self) -> tuple[Discipline, str]:
        tins: Tins = "besteffort" if len(self.leaves) == 1 else "diffserv4"
        asked = {_CAKE_FAIR[leaf.fair] for leaf in self.leaves if leaf.fair_given}
        fairness: Fairness = min(asked, default="triple-isolate")
        up, ingress = self.tree.direction == "up", self.tree.where == "ingress"
        kind = CakeKind(self.rate, self.tree.mtu + self.tree.accounting.counted, tins, fairness, "ack-filter" if up else "no-ack-filter", ingress)
        cake = Cake(kind, [TIN_ORDER[tins][number - 1] for number in _CAKE_TINS[len(self.leaves)]], self.random)
        self.counted = cake.classes
        words = [f"Linux cake {tins} {fairness}", *(["ack-filter"] if up else []), *(["ingress"] if ingress else [])]
        return cake, " ".join(words)

    def _linux_prio(self) -> tuple[Discipline, str]:
        burst = self.tree.burst.value
        bands = Bands(self.queues, self._strict_order())
        top = HtbClass(1, None, self.rate, self.rate, burst, burst, 0, self.packet, bands)
        return Htb([top], [top] * len(self.leaves)), f"Linux htb, burst {burst} bytes, with prio inside"
