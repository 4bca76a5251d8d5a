"""CAKE (sch_cake.c): a shaper without bursts, tins with soft priorities, in each tin flows by deficit round robin that is fair to hosts too, COBALT
on each flow, ACKs thinned out.

Sources by function: cake_enqueue, cake_dequeue, cake_advance_shaper, cake_drop, cake_ack_filter, cake_config_besteffort, cake_config_diffserv4,
cake_reconfigure. Packets come one by one here, so there is nothing for split-gso to split.
"""

from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Literal

from pfq.simulate.gate import Discipline
from pfq.simulate.packet import ECHO, NEVER, SECOND, Deliver, Packet
from pfq.simulate.schedulers.cake_flows import BULK, DECAYING, NONE, SPARSE, WAITING, CakeFlow, FlowTable
from pfq.simulate.schedulers.cobalt import cobalt_numbers

Tins = Literal["besteffort", "diffserv4"]
AckFilter = Literal["no-ack-filter", "ack-filter", "ack-filter-aggressive"]
Fairness = Literal["flowblind", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"]
# Which part of the rate each tin of diffserv4 has priority for, by number: best effort, bulk, video, voice (cake_config_diffserv4).
_PARTS: dict[Tins, tuple[int, ...]] = {"besteffort": (0,), "diffserv4": (0, 4, 1, 2)}
# cake_select_tin: the tin of the class 1:1, 1:2, ... (normal_order, bulk_order).
TIN_ORDER: dict[Tins, tuple[int, ...]] = {"besteffort": (0,), "diffserv4": (1, 0, 2, 3)}
_SIDES: dict[Fairness, int] = {"flowblind": 0, "flows": 0, "dual-srchost": 1, "dual-dsthost": 1, "triple-isolate": 2}
# What a packet takes in memory, descriptor and all, is the driver's affair: as small ones and full ones do that come in buffers of 2 kB.
_SMALL, _SMALL_MEMORY, _MEMORY = 256, 768, 2304
_LEAST_MEMORY, _MOST_PACKETS = 4 << 20, 10240


@dataclass(frozen=True, slots=True)
class CakeKind:
    """rate: bit/s, None: unlimited; mtu: bytes of a full frame of the device; ingress: drops are charged too, for they have crossed the line already.

    target: ns, a twentieth of the `rtt`; memory: bytes, None: as the rate asks.
    """

    rate: int | None
    mtu: int
    tins: Tins
    fairness: Fairness
    ack_filter: AckFilter = "no-ack-filter"
    ingress: bool = False
    target: int = SECOND // 200
    memory: int | None = None


class Tin:
    """One tin; as a queue: packets in it and dropped from it. time_next: its own schedule, which decides about priority only."""

    __slots__ = ("bulk", "costs", "count", "decaying", "drops", "new", "numbers", "old", "quantum", "sparse", "table", "time_next")

    def __init__(self, rate: int | None, mtu: int, target: int, table: FlowTable) -> None:
        self.table = table
        self.numbers = cobalt_numbers(rate, mtu, target, 20 * target)
        # rate >> 12 of bytes a second (cake_set_rate).
        self.quantum = 1514 if rate is None else max(min(rate // 8 >> 12, 1514), 300)
        self.costs = _Costs(rate)
        self.time_next = 0
        self.new: deque[CakeFlow] = deque()
        self.old: deque[CakeFlow] = deque()
        self.decaying: deque[CakeFlow] = deque()
        # How many flows are in use, sparse or bulk.
        self.sparse = self.bulk = 0
        self.count = 0
        self.drops = 0


class _Costs(dict[int, int]):
    """Nanoseconds of so many bytes, nothing without a rate; the kernel's least rate is 64 bytes a second."""

    def __init__(self, rate: int | None) -> None:
        super().__init__()
        self.rate = rate if rate is None else max(rate, 512)

    def __missing__(self, length: int) -> int:
        self[length] = cost = length * 8 * SECOND // self.rate if self.rate else 0
        return cost


class Cake(Discipline):
    """classes: the tin's number by class index."""

    __slots__ = ("classes", "costs", "count", "failsafe", "kind", "memory", "most_memory", "random", "thins", "time_next", "tins")

    def __init__(self, kind: CakeKind, classes: list[int], random: Random) -> None:
        self.kind = kind
        self.thins = kind.ack_filter != "no-ack-filter"
        self.random = random
        sides, blind = _SIDES[kind.fairness], kind.fairness == "flowblind"
        self.tins = [
            Tin(kind.rate and kind.rate >> part, kind.mtu, kind.target, FlowTable(sides, blind, random.getrandbits(32))) for part in _PARTS[kind.tins]
        ]
        self.classes = [self.tins[number] for number in classes]
        self.costs = _Costs(kind.rate)
        self.time_next = 0
        # Half again as late: the schedule that drops do not push on.
        self.failsafe = 0
        self.count = 0
        self.memory = 0
        # Four times what the rate carries in an rtt (cake_reconfigure).
        computed = min(max((kind.rate or 0) // 8 * 4 * 20 * kind.target // SECOND, _LEAST_MEMORY), _MOST_PACKETS * kind.mtu)
        self.most_memory = computed if kind.memory is None else kind.memory

    def waiting(self) -> int:
        return self.count

    def wake(self, now: int) -> int | None:
        return max(min(self.time_next, self.failsafe), now + 1) if self.count else None

    def drain(self, now: int, forward: Deliver | None) -> int:
        while self.count and (self.time_next <= now or self.failsafe <= now) and (packet := self.dequeue(now)) is not None:
            if forward is None:
                packet[3](now, packet)
            else:
                forward(now, packet)
        if not self.count:
            return NEVER
        ready = self.time_next if self.time_next < self.failsafe else self.failsafe
        return ready if ready > now else now + 1

    # --- packets in

    def enqueue(self, now: int, packet: Packet) -> bool:
        tin = self.classes[packet[1]]
        key, table = packet[2], tin.table
        flow = table.places.get(key)
        if flow is None or flow.tag != key or not flow.stand:
            flow = table.find(key)
        if not tin.count:
            tin.time_next = tin.time_next if tin.time_next > now else now
            if not self.count and self.time_next < now:
                self.time_next = self.failsafe = now
        packet[8] = now
        flow.queue.append(packet)
        flow.backlog += packet[7]
        tin.count += 1
        self.count += 1
        self.memory += _SMALL_MEMORY if packet[0] <= _SMALL else _MEMORY
        if packet[6] is not None:
            flow.acks += 1
            if flow.acks > 1 and self.thins:
                self._filter(now, tin, flow)
        stand = flow.stand
        if stand != BULK and stand != SPARSE:  # noqa: PLR1714 - a set would be made for every packet
            self._join(tin, flow)
        if self.memory > self.most_memory:
            self._overflow(now)
        return True

    @staticmethod
    def _join(tin: Tin, flow: CakeFlow) -> None:
        """A flow that was empty has a packet: it goes before those with a backlog, or takes up its place among them."""
        if flow.stand == WAITING:
            # Empty until now, counted as sparse, but in the bulk rotation.
            flow.stand = BULK
            tin.sparse -= 1
            tin.bulk += 1
            tin.table.count_bulk(flow, 1)
            return
        if flow.stand == DECAYING:
            tin.decaying.remove(flow)
        tin.new.append(flow)
        flow.stand = SPARSE
        tin.sparse += 1
        flow.deficit = tin.quantum * (65535 // tin.table.load(flow)) >> 16

    def _take(self, tin: Tin, flow: CakeFlow) -> Packet:
        # As _forget, but without a call.
        packet = flow.queue.popleft()
        flow.backlog -= packet[7]
        tin.count -= 1
        self.count -= 1
        self.memory -= _SMALL_MEMORY if packet[0] <= _SMALL else _MEMORY
        if packet[6] is not None:
            flow.acks -= 1
        return packet

    def _forget(self, tin: Tin, flow: CakeFlow, packet: Packet) -> None:
        flow.backlog -= packet[7]
        tin.count -= 1
        self.count -= 1
        self.memory -= _SMALL_MEMORY if packet[0] <= _SMALL else _MEMORY
        if packet[6] is not None:
            flow.acks -= 1

    def _overflow(self, now: int) -> None:
        """Memory is used up: the oldest packets of the flow with the most bytes go."""
        while self.memory > self.most_memory:
            tin, flow = max(
                ((tin, flow) for tin in self.tins for flow in (*tin.new, *tin.old) if flow.queue), key=lambda pair: pair[1].backlog,
            )
            packet = self._take(tin, flow)
            flow.cobalt.full(now, tin.numbers)
            tin.drops += 1
            if self.kind.ingress:
                self._charge(tin, packet, now, True)

    def _filter(self, now: int, tin: Tin, flow: CakeFlow) -> None:
        """The last packet of the flow makes an older pure ACK needless: the older of two such goes, or (aggressive) the one right before it."""
        queue, newest = flow.queue, flow.queue[-1]
        if newest[6] is None:
            return
        found: int | None = None
        flags = 0
        for index in range(len(queue) - 1):
            packet = queue[index]
            if packet[6] is None or packet[2] != newest[2] or packet[3] != newest[3]:
                continue
            if found is not None and packet[9] & ECHO != flags:
                # The ECN echo has changed: the one before carries news.
                found = None
            if packet[4] > newest[4] or packet[5] > newest[5] or not _tells_more(newest, packet):
                continue
            if found is not None:
                self._thin(now, tin, flow, found)
                return
            found, flags = index, packet[9] & ECHO
        if found == len(queue) - 2 and self.kind.ack_filter == "ack-filter-aggressive" and newest[9] & ECHO == flags:
            self._thin(now, tin, flow, found)

    def _thin(self, now: int, tin: Tin, flow: CakeFlow, index: int) -> None:
        old = flow.queue[index]
        del flow.queue[index]
        self._forget(tin, flow, old)
        tin.drops += 1
        if self.kind.ingress:
            self._charge(tin, old, now, True)

    # --- packets out

    def _charge(self, tin: Tin, packet: Packet, now: int, drop: bool) -> None:
        """Pushes the schedules on (cake_advance_shaper)."""
        length = packet[7]
        cost = tin.costs[length]
        if tin.time_next < now:
            tin.time_next += cost
        elif tin.time_next < now + cost:
            tin.time_next = now + cost
        cost = self.costs[length]
        self.time_next += cost
        if not drop:
            self.failsafe += cost + (cost >> 1)

    def _tin(self, now: int) -> Tin | None:
        """The last of the tins that are on schedule, or the one that will be first."""
        tins = self.tins
        if len(tins) == 1:
            return tins[0] if tins[0].sparse + tins[0].bulk else None
        best, least = None, NEVER
        for tin in tins:
            if tin.sparse or tin.bulk:
                time = tin.time_next - now
                if time <= 0 or time <= least:
                    best, least = tin, time
        return best

    def dequeue(self, now: int) -> Packet | None:
        if not self.count or (self.time_next > now and self.failsafe > now):
            return None
        return self._search(now, True)

    def _search(self, now: int, first: bool) -> Packet | None:
        while self.count:
            tin = self._tin(now)
            if tin is None:
                return None
            packet = self._serve(tin, now, first)
            if packet is not None:
                return packet
            if self.time_next > now and self.failsafe > now:
                # Drops of an ingress shaper have used the time up.
                return None
            first = False
        return None

    def _serve(self, tin: Tin, now: int, first: bool) -> Packet | None:
        """A packet of the tin's flow whose turn it is; None where a flow turned out to be empty, and the tin is to be chosen anew."""
        table, ingress = tin.table, self.kind.ingress
        while True:
            group = tin.decaying if first and tin.decaying else tin.new or tin.old or tin.decaying
            if not group:
                return None
            first = False
            flow = group[0]
            if flow.deficit <= 0:
                if flow.stand == SPARSE:
                    if flow.queue:
                        tin.sparse -= 1
                        tin.bulk += 1
                        table.count_bulk(flow, 1)
                        flow.stand = BULK
                    else:
                        flow.stand = WAITING
                # The random part keeps rounding from adding up.
                flow.deficit += tin.quantum * (65535 // table.load(flow)) + self.random.getrandbits(16) >> 16
                group.popleft()
                tin.old.append(flow)
                continue
            queue, cobalt = flow.queue, flow.cobalt
            if queue and not cobalt.count and not cobalt.chance and now - queue[0][8] <= tin.numbers.target:
                # What COBALT does to most packets, made short.
                cobalt.dropping = False
                cobalt.drop_next = now + tin.numbers.interval
                packet = self._take(tin, flow)
                self._charge(tin, packet, now, False)
                flow.deficit -= packet[7]
                return packet
            managed = self._managed(tin, flow, now)
            if managed is not None:
                return managed
            if queue and ingress:
                # Something was dropped, and its bytes were charged: who is next may have changed.
                continue
            self._rest(tin, flow, group, now)
            return None

    def _managed(self, tin: Tin, flow: CakeFlow, now: int) -> Packet | None:
        """The flow's next packet that COBALT lets pass; None if it has none (or, of an ingress shaper, if one was dropped)."""
        ingress = self.kind.ingress
        while flow.queue:
            packet = self._take(tin, flow)
            if not flow.cobalt.drops(now, packet, tin.bulk if ingress else 0, tin.numbers, self.random) or not flow.queue:
                self._charge(tin, packet, now, False)
                flow.deficit -= packet[7]
                return packet
            tin.drops += 1
            if ingress:
                self._charge(tin, packet, now, True)
                flow.deficit -= packet[7]
                return None
        return None

    @staticmethod
    def _rest(tin: Tin, flow: CakeFlow, group: deque[CakeFlow], now: int) -> None:
        """An empty flow leaves, or stays in the third rotation until its queue management has calmed down."""
        flow.cobalt.empty(now, tin.numbers)
        group.popleft()
        if flow.stand == BULK:
            tin.bulk -= 1
            tin.table.count_bulk(flow, -1)
        elif flow.stand != DECAYING:
            tin.sparse -= 1
        if flow.cobalt.at_rest(now):
            flow.stand = NONE
        else:
            flow.stand = DECAYING
            tin.decaying.append(flow)


class CakeLeaf(Cake):
    """CAKE without a rate as the queue of a class, whatever class it is."""

    __slots__ = ("head",)

    def __init__(self, kind: CakeKind, classes: int, random: Random) -> None:
        super().__init__(kind, [0] * classes, random)
        self.head: Packet | None = None

    @property
    def drops(self) -> int:
        return self.tins[0].drops

    def dequeue(self, now: int) -> Packet | None:
        if self.head is not None:
            head, self.head = self.head, None
            self.count -= 1
            return head
        if not self.count:
            return None
        tin = self.tins[0]
        first = True
        if tin.decaying and tin.decaying[0].deficit > 0:
            self._rest(tin, tin.decaying[0], tin.decaying, now)
            first = False
        if tin.new and not (first and tin.decaying):
            flow = tin.new[0]
            queue, cobalt = flow.queue, flow.cobalt
            if queue and flow.deficit > 0 and not cobalt.count and not cobalt.chance and now - queue[0][8] <= tin.numbers.target:
                # What happens to most packets, made short; see _serve.
                cobalt.dropping = False
                cobalt.drop_next = now + tin.numbers.interval
                packet = self._take(tin, flow)
                flow.deficit -= packet[7]
                return packet
        return self._search(now, first)

    def peek(self, now: int) -> Packet | None:
        """The next packet, which is then past COBALT (qdisc_peek_dequeued)."""
        if self.head is None:
            self.head = self.dequeue(now)
            if self.head is not None:
                self.count += 1
        return self.head


def _tells_more(newest: Packet, packet: Packet) -> bool:
    """Whether everything that `packet` says is said by `newest`, and more (cake_tcph_sack_compare)."""
    old, new = packet[6], newest[6]
    if not old and not new:
        return bool(packet[4] < newest[4])
    if not old:
        return True
    if not new or any(begin < packet[4] or not any(start <= begin and end <= stop for start, stop in new) for begin, end in old):
        return False
    more = sum(end - begin for begin, end in new) > sum(end - begin for begin, end in old)
    return more or bool(packet[4] < newest[4])
