"""Packets for rulesets: one at a time, written down or drawn at random, and what a ruleset answers."""

from collections.abc import Mapping
from ipaddress import ip_address
from random import Random

from pfq.headers.algebra import Algebra, Condition, Exactly
from pfq.headers.asking import Decision, Passage, Ruleset, Way, later_view, opening_view
from pfq.headers.bits import masked
from pfq.headers.diagrams import Diagrams
from pfq.headers.fields import LATER, OF_PACKET, ORDER
from pfq.pf.evaluate import ruleset
from pfq.pf.verdict import read

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
INSIDE, LINK = "em1", "em0"
OUTWARD = Way(INSIDE, LINK)
INWARD = OUTWARD.back()

Values = dict[str, int]
DIAGRAMS = Diagrams()


def packet(
    source: str = "192.168.1.5", destination: str = "198.51.100.7", protocol: int = TCP, source_port: int = 40000, port: int = 80, flags: int = SYN, **more: int
) -> Values:
    """A first packet; the later one of its flow is an empty ACK unless `more` says otherwise."""
    origin, target = ip_address(source), ip_address(destination)
    six = origin.version == 6
    values = {
        "family": int(six), "protocol": protocol, "source": int(origin), "destination": int(target), "header_words": 5, "offset_words": 5,
        "later_header_words": 5, "later_offset_words": 5, "translated_port": 60000,
    }
    if protocol in (TCP, UDP):
        values |= {"source_port": source_port, "destination_port": port}
    if protocol == TCP:
        values |= {"flags": flags, "later_flags": ACK}
    return values | more


def rules(text: str, dialect: str = "openbsd-7.6", carriers: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None) -> Ruleset:
    """A ruleset from its text and the files that it names. On em0 (the link) are 203.0.113.1/24 and 2001:db8:1::1/64, on em1 192.168.1.1/24."""
    tree = read(text, dialect, file_name="pf.conf", open_file=(files or {}).__getitem__)
    assert not tree.verdict.status, tree.verdict.stderr
    return ruleset(tree, carriers=carriers or {}, addresses={LINK: ("203.0.113.1/24", "2001:db8:1::1/64"), INSIDE: ("192.168.1.1/24",)})


def _only(found: Mapping[Passage, Condition], one: Condition) -> Passage:
    (passage,) = (passage for passage, where in found.items() if (where & one).satisfiable())
    return passage


def opens(asked: Ruleset, values: Values, way: Way = OUTWARD) -> str:
    """The queue of a first packet: found for it alone, and among all there are."""
    answers = [_only(asked.opening(way, opening_view(algebra))[0], exactly(algebra, values)) for algebra in (Exactly(values), DIAGRAMS)]
    return _queue(answers)


def follows(asked: Ruleset, values: Values, way: Way = OUTWARD, reply: bool = False) -> str:
    """The queue of the later packet of a flow, or of a reply: found for it alone, and among all there are."""
    answers = []
    for algebra in (Exactly(values), DIAGRAMS):
        memory = asked.opening(way, opening_view(algebra))[1]
        found = asked.following(memory, way.back() if reply else way, later_view(algebra, reply))
        answers.append(_only(found, exactly(algebra, values)))
    return _queue(answers)


def answers(asked: Ruleset, values: Values, way: Way = OUTWARD) -> str:
    """The queue of a reply."""
    return follows(asked, values, way, reply=True)


def _queue(passages: list[Passage]) -> str:
    alone, among = passages
    assert alone == among
    if alone.action == "block":
        return "block"
    return " ".join(f"{device}:{name}" for device, name in alone.queues) or "-"


def reasons(asked: Ruleset, values: Values, way: Way = OUTWARD) -> list[Decision]:
    """Why a first packet is where it is."""
    notes: list[Decision] = []
    asked.opening(way, opening_view(Exactly(values), notes))
    return notes


def exactly(algebra: Algebra, values: Values) -> Condition:
    """The set that has one packet in it, with the later one of its flow."""
    found = algebra.everything
    for name in reversed(list(ORDER)):
        found = masked(algebra, algebra.field(name), values.get(name, 0)) & found
    return found


def drawn(random: Random, addresses: tuple[list[int], list[int]], ports: list[int]) -> Values:
    """A packet that rules with these addresses (of either family) and ports may have something to say about."""
    six = random.randrange(3) == 0
    known = addresses[six]
    wide = 128 if six else 32

    def address() -> int:
        return (random.choice(known) ^ random.choice((0, 0, 1, 2, 256))) & (1 << wide) - 1 if known and random.randrange(8) else random.getrandbits(wide)

    values = {
        "family": int(six), "protocol": random.choice((TCP, TCP, TCP, UDP, UDP, ICMP6 if six else ICMP, 47)), "source": address(), "destination": address(),
        "source_port": random.choice((*ports, 40000)), "destination_port": (random.choice(ports or [80]) + random.choice((-1, 0, 0, 0, 1))) & 0xFFFF,
        "translated_port": random.choice((50001, 60000, 65535)),
    }
    for name, choices in _OF_PACKET.items():
        values[name], values[LATER[name]] = random.choice(choices), random.choice(choices)
    return values


_OF_PACKET = {
    "flags": (SYN, SYN, ACK, ACK | PUSH, SYN | ACK, FIN | ACK, RST | ACK, RST, 0, SYN | FIN),
    "tos": (0, 0, 0x10, 0x11, 0xB8, 0x08, 0x0C), "payload": (0, 0, 1, 1400),
    "fragment": (0, 0, 0, 0, 0, 1, 2), "header_words": (5, 5, 5, 6), "extension_words": (0, 0, 0, 1), "offset_words": (5, 8, 15),
    "icmp_type": (8, 0, 3, 11, 13, 128, 129, 1, 135), "icmp_code": (0, 0, 1, 4),
}
assert _OF_PACKET.keys() == OF_PACKET.keys()
