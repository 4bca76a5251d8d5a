"""The plan as a ruleset: `flow_class`, `is_express` and `classify` of `pfq.plan.classify` over conditions, for all packets at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pfq.headers import fields as space
from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import BLOCK, PASS, Passage, View, Way
from pfq.headers.bits import any_of, choose, constant, masked
from pfq.headers.decide import decide
from pfq.parity.admitted import admitted
from pfq.parity.packet import ACK, SYN
from pfq.parity.places import in_networks, in_ranges
from pfq.plan.classify import EXCLUDED, ICMP, ICMP6, LOW_DELAY, TCP
from pfq.plan.model import Classifier, Express, Gateway, Plan, Uplink
from pfq.site.model import Match, OneToOne
from pfq.site.positions import Path

Side = Literal["inside", "outside"]
UP, DOWN = "up", "down"

# What a system may be unable to do: names of `pfq.site.differences`, and one that is a part of the first.
EXPRESS_6, DSCP_6, EXACT, EXTENSIONS = "ipv6-express", "ipv6-dscp", "exact-low-delay", "ipv6-extension-express"
ACKS_6 = "ipv6-express: empty ACKs"


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
            found = found & in_ranges(view, field, ranges) & ~is_later_fragment(view)
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


# What decided, where it is no rule.
_EXCLUDED, _DEFAULT = -1, -2


def flow_rules(classifier: Classifier, view: View, opened: Side, six_dscp: bool = True) -> dict[int, Condition]:
    """The flows that each rule decides about, by its number; those to or from excluded networks, and those that no rule names."""
    far = in_networks(view, space.DESTINATION if opened == "inside" else space.SOURCE, classifier.exclude)
    begun = is_begun(view)
    steps = [(begun & holds(rule.match, view, opened, six_dscp), number, True) for number, rule in enumerate(classifier.rules)]
    return decide(view.algebra, [(far, _EXCLUDED, True), *steps], _DEFAULT)


def flow_classes(classifier: Classifier, rules: Mapping[int, Condition]) -> dict[str | None, Condition]:
    """The class of the flows that begin with each packet, as `pfq.plan.classify.flow_class`."""
    found: dict[str | None, Condition] = {}
    for number, where in rules.items():
        name = EXCLUDED if number == _EXCLUDED else classifier.default if number == _DEFAULT else classifier.rules[number].queue
        found[name] = found[name] | where if name in found else where
    return found


def express_reasons(express: Express, view: View, lost: frozenset[str] = frozenset()) -> list[tuple[str, Condition]]:
    """Why packets are upgraded, as `pfq.plan.classify.is_express`, and which. lost: names of differences that take a part of it away."""
    algebra, bits = view.algebra, view.bits
    (six,) = bits[space.FAMILY]
    empty = (
        masked(algebra, bits[space.PROTOCOL], TCP) & ~is_later_fragment(view)
        & masked(algebra, bits[space.FLAGS], ACK, ACK) & masked(algebra, bits[space.PAYLOAD], 0)
    )  # fmt: skip
    low_delay = masked(algebra, bits[space.TOS], LOW_DELAY, 0xFF if EXACT in lost else LOW_DELAY)
    if EXTENSIONS in lost:
        empty = empty & masked(algebra, bits[space.EXTENSION_WORDS], 0) & masked(algebra, bits[space.FRAGMENT], 0)
    if ACKS_6 in lost:
        empty = empty & ~six
    families = [version for version in express.families if version == 4 or EXPRESS_6 not in lost]
    family = any_of(algebra, [six if version == 6 else ~six for version in families])
    return [("an empty ACK", empty & family), ("ToS bit 0x10", low_delay & family)]


def is_express(express: Express, view: View, lost: frozenset[str] = frozenset()) -> Condition:
    """Where a packet is upgraded, as `pfq.plan.classify.is_express`."""
    return any_of(view.algebra, [where for _, where in express_reasons(express, view, lost)])


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

    plan: Plan
    gateway: Gateway
    uplink: Uplink
    lost: frozenset[str] = frozenset()

    def opening(self, way: Way, view: View) -> tuple[Mapping[Passage, Condition], Any]:
        """The class of each first packet; BLOCK for what the inbound policy does not let in."""
        uplink = self.uplink
        opened: Side = "inside" if way.leaves == LINK else "outside"
        refused = view.algebra.nothing
        if opened == "outside":
            if uplink.inbound is not None:
                refused = ~admitted(self.gateway, uplink, uplink.inbound, view)
                self._note(view, refused, uplink.inbound.path, "inbound", "not among the services that may come in")
            view = as_inside_sees_it(view, uplink.one_to_one)
        rules = flow_rules(uplink.classifier, view, opened, DSCP_6 not in self.lost)
        found = _passages(way, self._classes(view, rules, refused))
        if refused.satisfiable():
            found[Passage(BLOCK)] = refused
        return found, (rules, refused)

    def following(self, memory: Any, way: Way, view: View) -> Mapping[Passage, Condition]:
        """The class of each later packet."""
        rules, refused = memory
        return _passages(way, self._classes(view, rules, refused))

    def _classes(self, view: View, rules: Mapping[int, Condition], refused: Condition) -> dict[str | None, Condition]:
        classifier = self.uplink.classifier
        flows = {name: part for name, where in flow_classes(classifier, rules).items() if (part := where & ~refused).satisfiable()}
        found = classes(classifier, view, flows, self.lost)
        if view.wants_notes:
            self._explain(view, rules)
        return found

    def _note(self, view: View, where: Condition, path: Path, text: str, why: str) -> None:
        view.note(where, self.plan.source.place(path), text, why)

    def _explain(self, view: View, rules: Mapping[int, Condition]) -> None:
        classifier, own = self.uplink.classifier, self.uplink.path
        paths = {leaf.name: leaf.path for leaf in self.uplink.up.leaves()}
        for number, where in rules.items():
            if number == _EXCLUDED:
                self._note(view, where, own, "exclude", "the far end is not behind the link")
            elif number == _DEFAULT:
                self._note(view, where, paths[classifier.default], f"class {classifier.default}", "what no class names")
            else:
                rule = classifier.rules[number]
                self._note(view, where, rule.match.path, f"class {rule.queue}", "the first match of the flow's first packet")
        express = classifier.express
        if express:
            flows = flow_classes(classifier, rules)
            upgraded = any_of(view.algebra, [where for name, where in flows.items() if name in express.upgraded])
            for why, where in express_reasons(express, view, self.lost):
                self._note(view, where & upgraded, paths[express.queue], f"class {express.queue}", why)


def _passages(way: Way, found: Mapping[str | None, Condition]) -> dict[Passage, Condition]:
    device = UP if way.leaves == LINK else DOWN
    return {Passage(PASS, () if name is EXCLUDED else ((device, name),)): where for name, where in found.items()}
