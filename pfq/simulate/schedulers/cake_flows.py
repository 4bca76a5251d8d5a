"""How CAKE keeps flows and hosts apart: a table of 1024 queues in sets of eight ways, and as many hosts (sch_cake.c cake_hash)."""

from collections import deque

from pfq.simulate.packet import Packet
from pfq.simulate.schedulers.cobalt import Cobalt
from pfq.simulate.schedulers.fq_codel import bucket

QUEUES, WAYS = 1024, 8
# A packet's key: the flow's number, and above these bits that of the inside's host.
HOST_SHIFT = 20
_HASHES = 1 << 32


# Which rotation a flow is in. WAITING: empty, in the bulk rotation, but counted as sparse.
NONE, SPARSE, WAITING, BULK, DECAYING = range(5)


class CakeFlow:
    """A queue. hosts: the indices of the hosts that its turn is divided by. acks: pure ACKs in it."""

    __slots__ = ("acks", "backlog", "cobalt", "deficit", "hosts", "queue", "stand", "tag")

    def __init__(self) -> None:
        self.queue: deque[Packet] = deque()
        self.cobalt = Cobalt()
        self.backlog = 0
        self.deficit = 0
        self.stand = NONE
        self.tag = -1
        self.acks = 0
        self.hosts: tuple[int, ...] = ()


class FlowTable:
    """sides: by how many addresses' hosts turns are divided: 0 (flows), 1 (dual-srchost, dual-dsthost), 2 (triple-isolate). blind: one queue for all.

    A host of the inside and the server it talks to have one number here, so that both sides count alike.
    """

    __slots__ = ("blind", "bulk", "flows", "places", "salt", "sides", "tags")

    def __init__(self, sides: int, blind: bool, salt: int) -> None:
        self.sides = sides
        self.blind = blind
        self.salt = salt
        self.flows: list[CakeFlow | None] = [None] * QUEUES
        # By side: the tag of each host, and how many bulk flows it has.
        self.tags = [[-1] * QUEUES for _ in range(sides)]
        self.bulk = [[0] * QUEUES for _ in range(sides)]
        # Where a key was found last.
        self.places: dict[int, CakeFlow] = {}

    def find(self, key: int) -> CakeFlow:
        """The queue for a packet of this key."""
        if self.blind:
            key = 0
        flow = self.places.get(key)
        if flow is None or flow.tag != key or not flow.stand:
            flow = self.places[key] = self._allot(key)
            flow.tag = key
        return flow

    def _way(self, index: int) -> CakeFlow:
        flow = self.flows[index]
        if flow is None:
            flow = self.flows[index] = CakeFlow()
        return flow

    def _allot(self, key: int) -> CakeFlow:
        first = bucket(key, self.salt, _HASHES) % QUEUES
        base = first - first % WAYS
        ways = [self._way(base + (first + step) % WAYS) for step in range(WAYS)]
        flow = next((way for way in ways if way.tag == key), None) or next((way for way in ways if not way.stand), None)
        if flow is None:
            # Eight flows of the set are busy: two share a queue, which counts for the newer one's host from now on.
            flow = ways[0]
            if flow.stand == BULK:
                self.count_bulk(flow, -1)
        elif flow.tag == key and flow.stand:
            return flow
        flow.hosts = tuple(self._host(side, key >> HOST_SHIFT) for side in range(self.sides))
        if flow.stand == BULK:
            self.count_bulk(flow, 1)
        return flow

    def _host(self, side: int, host: int) -> int:
        first = bucket(host + side * QUEUES * QUEUES, self.salt, _HASHES) % QUEUES
        base = first - first % WAYS
        places = [base + (first + step) % WAYS for step in range(WAYS)]
        tags, bulk = self.tags[side], self.bulk[side]
        place = next((place for place in places if tags[place] == host), None)
        if place is None:
            place = next((place for place in places if not bulk[place]), places[0])
            tags[place] = host
        return place

    def count_bulk(self, flow: CakeFlow, more: int) -> None:
        """The flow has become a bulk flow (1) or is none any more (-1)."""
        for side, place in enumerate(flow.hosts):
            self.bulk[side][place] += more

    def load(self, flow: CakeFlow) -> int:
        """By how many the flow's turn is divided: the bulk flows of the busier of its hosts."""
        most = 1
        for side, place in enumerate(flow.hosts):
            count = self.bulk[side][place]
            most = count if count > most else most
        return most
