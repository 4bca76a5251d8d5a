"""What pf does to a packet before it looks for a state: fragments put together, impossible packets dropped, ToS set by scrub.

Source: pf_norm.c (pf_normalize_ip, pf_normalize_ip6, pf_normalize_tcp) and pf_setup_pdesc, pf_test of pf.c.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import View
from pfq.headers.bits import at_least, choose, constant, masked
from pfq.headers.fields import DESTINATION_PORT, EXTENSION_WORDS, FLAGS, FRAGMENT, HEADER_WORDS, OFFSET_WORDS, PAYLOAD, PROTOCOL, TOS
from pfq.pf.evaluate.matching import Matcher, Spot, World
from pfq.pf.evaluate.packet import ACK, FIN, ICMP, ICMP6, PUSH, RST, SYN, TCP, UDP, URG, Packet, ipv6, of_family, of_protocol, whole
from pfq.pf.evaluate.steps import Step

_FIRST, _LATER, _ATOMIC = 1, 2, 3
_FRAGMENT_HEADER = 44


@dataclass(frozen=True)
class Normalizing:
    """How a ruleset normalizes: by its scrub rules, or (`everywhere`) every packet, as `set reassemble` has it."""

    world: World
    scrubs: Sequence[Step]
    everywhere: bool

    def __call__(self, packet: Packet, spot: Spot) -> tuple[Packet, Condition]:
        """The packet as the rules see it, and where its TCP connection is normalized, which takes a state whatever the rules say."""
        algebra = packet.algebra
        # Put together here, a fragment has its protocol again, whatever pf saw of it where it came in.
        packet = packet.seen(**{PROTOCOL: algebra.field(PROTOCOL)})
        checked = reassembled = algebra.nothing
        tracked = algebra.nothing
        if self.world.features.tcp_always_checked:
            checked = algebra.everything
        if self.everywhere:
            reassembled = algebra.everything
        matcher = Matcher(self.world, spot, packet.view)
        taken = taken_tcp = algebra.nothing
        view = packet.view
        for step in self.scrubs:
            rule = step.rule
            anywhere = rule.copy()
            anywhere.source_port = anywhere.destination_port = None
            asked = matcher.tagged(rule, packet.tag)
            where = matcher.matches(anywhere) & asked & ~taken
            tcp = matcher.matches(rule) & asked & ~taken_tcp
            taken, taken_tcp = taken | where, taken_tcp | tcp
            if rule.action == "no scrub":
                continue
            if rule.fragment_handling in ("", "reassemble"):
                reassembled = reassembled | where
            if rule.set_tos >= 0:
                view = self._with_tos(view, where, rule.set_tos)
            checked = checked | tcp
            if rule.reassemble_tcp:
                tracked = tracked | tcp & of_protocol(view, TCP)
        features = self.world.features
        if not features.reassembles_ipv6:
            reassembled = reassembled & of_family(view, 4)
        if features.atomic_is_whole:
            reassembled = reassembled | masked(algebra, view.bits[FRAGMENT], _ATOMIC)
        packet = _reassembled(replace(packet, view=view), reassembled, features.fragments_lose_queue)
        packet = _nameless(packet, features.fragments_name_protocol)
        packet, wrong = _checked(packet, checked)
        self.world.note(packet.view, packet.alive & wrong, "dropped: TCP flags that no TCP sends")
        impossible = _impossible(packet.view)
        self.world.note(packet.view, packet.alive & impossible, "dropped: ICMP of the other family, or UDP to port 0")
        return replace(packet, alive=packet.alive & ~wrong & ~impossible), tracked

    def _with_tos(self, view: View, where: Condition, value: int) -> View:
        tos = constant(view.algebra, value, 8)
        if self.world.features.ecn_masked:
            tos = (*tos[:6], *view.bits[TOS][6:])
        if not self.world.features.tos_of_ipv6:
            where = where & of_family(view, 4)
        return view.seen(**{TOS: choose(where, tos, view.bits[TOS])})


def _reassembled(packet: Packet, where: Condition, lose_queue: bool) -> Packet:
    """Whole datagrams for fragments. A datagram of several fragments has payload."""
    algebra, view = packet.algebra, packet.view
    fragment = view.bits[FRAGMENT]
    later = masked(algebra, fragment, _LATER)
    parts = (masked(algebra, fragment, _FIRST) | later) & where
    view = view.seen(**{
        FRAGMENT: choose(where, constant(algebra, 0, 2), fragment),
        PAYLOAD: choose(parts & masked(algebra, view.bits[PAYLOAD], 0), constant(algebra, 1, 16), view.bits[PAYLOAD]),
    })
    return replace(packet, view=view, later=packet.later | later & where if lose_queue else packet.later)


def _nameless(packet: Packet, first_named: bool) -> Packet:
    """Fragments of IPv6 with the protocol that pf sees: that of the fragment header, unless it looks behind the header of the first."""
    algebra, view = packet.algebra, packet.view
    parts = ~whole(view) & ipv6(view)
    if first_named:
        parts = parts & ~masked(algebra, view.bits[FRAGMENT], _FIRST)
    return packet.seen(**{PROTOCOL: choose(parts, constant(algebra, _FRAGMENT_HEADER, 8), view.bits[PROTOCOL])})


def _checked(packet: Packet, where: Condition) -> tuple[Packet, Condition]:
    """The packet without FIN beside SYN, and where it is a TCP segment with flags that no TCP sends."""
    algebra, view = packet.algebra, packet.view
    flags: Bits = view.bits[FLAGS]

    def has(mask: int) -> Condition:
        return ~masked(algebra, flags, 0, mask)

    tcp = of_protocol(view, TCP) & whole(view) & where
    syn = has(SYN)
    wrong = syn.ite(has(RST), ~has(ACK | RST))
    wrong = wrong | ~has(ACK) & (has(PUSH | URG) | has(FIN) & ~syn) | ~at_least(algebra, view.bits[OFFSET_WORDS], 5)
    cleared = (*flags[:-1], flags[-1] & ~(tcp & syn))
    return packet.seen(**{FLAGS: cleared}), tcp & wrong


def _impossible(view: View) -> Condition:
    """ICMP of the other family, and UDP to port 0: pf drops them without asking the rules."""
    algebra, six = view.algebra, ipv6(view)
    other = six.ite(of_protocol(view, ICMP), of_protocol(view, ICMP6))
    nowhere = of_protocol(view, UDP) & masked(algebra, view.bits[DESTINATION_PORT], 0)
    return (other | nowhere) & whole(view)


def options(view: View, world: World) -> Condition:
    """Where the packet has options that pf drops unless the rule, or the state, has `allow-opts`."""
    algebra = view.algebra
    found = at_least(algebra, view.bits[HEADER_WORDS], 6) & of_family(view, 4)
    if world.features.ipv6_options_dropped:
        found = found | at_least(algebra, view.bits[EXTENSION_WORDS], 1) & of_family(view, 6)
    return found
