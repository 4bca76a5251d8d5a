"""The plan as a ruleset: `flow_class`, `is_express` and `classify` of `pfq.plan.classify` over conditions, for all packets at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pfq.headers import fields as space
from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import PASS, Passage, View, Way
from pfq.headers.bits import any_of, between, choose, constant, masked
from pfq.headers.decide import decide
from pfq.parity.packet import ACK, SYN
from pfq.plan.classify import EXCLUDED, ICMP, ICMP6, LOW_DELAY, TCP
from pfq.plan.model import Classifier, Express, Uplink
from pfq.site.model import Match, Network, OneToOne

Side = Literal["inside", "outside"]
UP, DOWN = "up", "down"


def in_networks(view: View, field: str, networks: Sequence[Network]) -> Condition:
    """Where an address is in one of the networks."""
    algebra, bits = view.algebra, view.bits[field]
    (six,) = view.bits[space.FAMILY]
    found = []
    for version, family in ((4, ~six), (6, six)):
        own = [n for n in networks if n.version == version]
        if own:
            found.append(family & any_of(algebra, [masked(algebra, bits, int(n.network_address), int(n.netmask)) for n in own]))
    return any_of(algebra, found)


def _in_ranges(view: View, field: str, ranges: Sequence[tuple[int, int]]) -> Condition:
    return any_of(view.algebra, [between(view.algebra, view.bits[field], low, high) for low, high in ranges])


def is_protocol(view: View, protocol: int | Literal["icmp"]) -> Condition:
    """Where a packet is of this protocol; 'icmp' is that of its family."""
    algebra, bits = view.algebra, view.bits[space.PROTOCOL]
    if protocol != "icmp":
        return masked(algebra, bits, protocol)
    (six,) = view.bits[space.FAMILY]
    return six.ite(masked(algebra, bits, ICMP6), masked(algebra, bits, ICMP))


def is_later_fragment(view: View) -> Condition:
    """Where a packet is a fragment without a transport header."""
    return masked(view.algebra, view.bits[space.FRAGMENT], 2)


def is_begun(view: View) -> Condition:
    """Where a packet begins a flow: TCP with SYN and without ACK, and everything else. Other TCP packets without a state belong to
    connections that were open before the rules were loaded; no first packet tells their class."""
    return ~masked(view.algebra, view.bits[space.PROTOCOL], TCP) | masked(view.algebra, view.bits[space.FLAGS], SYN, SYN | ACK)


def holds(match: Match, view: View, opened: Side, six_dscp: bool = True) -> Condition:
    """Where a flow whose first packet this is matches. six_dscp: whether conditions on DSCP can hold for IPv6."""
    algebra = view.algebra
    if match.opened not in ("both", opened):
        return algebra.nothing
    (six,) = view.bits[space.FAMILY]
    found = algebra.everything
    for field, ranges in ((space.SOURCE_PORT, match.source_ports), (space.DESTINATION_PORT, match.ports)):
        if ranges:
            found = found & _in_ranges(view, field, ranges) & ~is_later_fragment(view)
    for field, networks in ((space.SOURCE, match.sources), (space.DESTINATION, match.destinations)):
        if networks:
            found = found & in_networks(view, field, networks)
    if match.dscp:
        codes = any_of(algebra, [masked(algebra, view.bits[space.TOS], code << 2, 0xFC) for code in sorted(set(match.dscp))])
        found = found & codes & (algebra.everything if six_dscp else ~six)
    if match.protocol is not None:
        found = found & is_protocol(view, match.protocol)
    if match.family is not None:
        found = found & (six if match.family == 6 else ~six)
    return found


def flow_classes(classifier: Classifier, view: View, opened: Side, six_dscp: bool = True) -> dict[str | None, Condition]:
    """The class of the flows that begin with each packet, as `pfq.plan.classify.flow_class`."""
    algebra = view.algebra
    far = in_networks(view, space.DESTINATION if opened == "inside" else space.SOURCE, classifier.exclude)
    steps: list[tuple[Condition, str | None, bool]] = [(far, EXCLUDED, True)]
    begun = is_begun(view)
    steps += [(begun & holds(rule.match, view, opened, six_dscp), rule.queue, True) for rule in classifier.rules]
    return decide(algebra, steps, classifier.default)


def is_express(express: Express, view: View, lost: frozenset[str] = frozenset()) -> Condition:
    """Where a packet is upgraded, as `pfq.plan.classify.is_express`. lost: names of differences that take a part of it away."""
    algebra, bits = view.algebra, view.bits
    (six,) = bits[space.FAMILY]
    empty = (
        masked(algebra, bits[space.PROTOCOL], TCP) & ~is_later_fragment(view)
        & masked(algebra, bits[space.FLAGS], ACK, ACK) & masked(algebra, bits[space.PAYLOAD], 0)
    )  # fmt: skip
    low_delay = masked(algebra, bits[space.TOS], LOW_DELAY, 0xFF if "exact-low-delay" in lost else LOW_DELAY)
    if "ipv6-extension-express" in lost:
        empty = empty & masked(algebra, bits[space.EXTENSION_WORDS], 0) & masked(algebra, bits[space.FRAGMENT], 0)
    if "ipv6-empty-ack" in lost:
        empty = empty & ~six
    families = [version for version in express.families if version == 4 or "ipv6-express" not in lost]
    family = any_of(algebra, [six if version == 6 else ~six for version in families])
    return family & (empty | low_delay)


def classes(classifier: Classifier, view: View, flows: Mapping[str | None, Condition], lost: frozenset[str] = frozenset()) -> dict[str | None, Condition]:
    """The class of each packet whose flow has a class, as `pfq.plan.classify.classify`."""
    express = classifier.express
    if express is None:
        return dict(flows)
    upgraded = is_express(express, view, lost)
    found: dict[str | None, Condition] = {}
    for name, where in flows.items():
        moved = where & upgraded if name is not EXCLUDED and name in express.upgraded else view.algebra.nothing
        for target, part in ((express.queue, moved), (name, where & ~moved)):
            if part.satisfiable():
                found[target] = found[target] | part if target in found else part
    return found


def as_inside_sees_it(view: View, pairs: Sequence[OneToOne]) -> View:
    """The packet with its destination as the inside sees it, after 1:1 NAT."""
    algebra = view.algebra
    (six,) = view.bits[space.FAMILY]
    destination: Bits = view.bits[space.DESTINATION]
    for pair in pairs:
        width = pair.outside.max_prefixlen
        mine = (six if pair.outside.version == 6 else ~six) & masked(algebra, view.bits[space.DESTINATION], int(pair.outside), (1 << width) - 1)
        destination = choose(mine, constant(algebra, int(pair.inside), 128), destination)
    return view.seen(**{space.DESTINATION: destination})


# The plan names no interfaces: a packet goes from the inside to the link, or the other way; None is the gateway itself.
INSIDE, LINK = "inside", "link"


@dataclass(frozen=True)
class Reference:
    """What the plan wants of one link's packets, as a `pfq.headers.asking.Ruleset`. The ways are between INSIDE (or None) and LINK; queues
    are classes, devices UP and DOWN; what is not shaped waits nowhere.

    lost: names of differences that this gateway's system cannot avoid, taken from the plan.
    """

    uplink: Uplink
    lost: frozenset[str] = frozenset()

    def opening(self, way: Way, view: View) -> tuple[Mapping[Passage, Condition], Any]:
        """The class of each first packet."""
        classifier = self.uplink.classifier
        opened: Side = "inside" if way.leaves == LINK else "outside"
        if opened == "outside":
            view = as_inside_sees_it(view, self.uplink.one_to_one)
        flows = flow_classes(classifier, view, opened, "ipv6-dscp" not in self.lost)
        return _passages(way, classes(classifier, view, flows, self.lost)), flows

    def following(self, memory: Any, way: Way, view: View) -> Mapping[Passage, Condition]:
        """The class of each later packet."""
        return _passages(way, classes(self.uplink.classifier, view, memory, self.lost))


def _passages(way: Way, found: Mapping[str | None, Condition]) -> dict[Passage, Condition]:
    device = UP if way.leaves == LINK else DOWN
    return {Passage(PASS, () if name is EXCLUDED else ((device, name),)): where for name, where in found.items()}
