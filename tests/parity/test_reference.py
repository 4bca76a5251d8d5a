"""The plan as conditions says what the reference classifier says, packet by packet; and diagrams say it of all."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pfq.headers.algebra import Exactly
from pfq.headers.asking import Way, later_view, opening_view
from pfq.headers.diagrams import Diagrams
from pfq.parity.packet import Packet as Whole
from pfq.parity.packet import flow_values, values
from pfq.parity.reference import INSIDE, LINK, Reference
from pfq.plan.classify import EXCLUDED, Packet, classify, flow_class
from pfq.plan.model import Gateway, Plan, Uplink
from tests.plan.packets import firsts
from tests.plan.planned import model, plan_of
from tests.strategies import models

CLASSES = """
  { name = "express", express = true },
  { name = "voice", match = ["udp/53", "udp/1000-2000"], upgrade = false },
  { name = "web", match = [{ protocol = "tcp", port = [80, 443], opened = "inside" }] },
  { name = "server", match = [{ protocol = "tcp", port = 443, opened = "outside" }] },
  { name = "dns", match = ["icmp", "tcp/53"] },
  { name = "boss", match = { from = ["192.168.1.7/32", "2001:db8::/64"] } },
  { name = "marked", match = { dscp = ["ef", "cs1"] } },
  { name = "six", match = { family = "ipv6", protocol = "udp" } },
  { name = "backup", match = { to = "10.0.0.0/8", source_port = 22, protocol = "tcp" } },
  { name = "bulk", default = true },
"""
PLAN = plan_of(model(CLASSES, attachment='{ interface = "eth0", exclude = ["10.200.0.0/16", "fd00::/64"] }'))


def whole(packet: Packet) -> Whole:
    """The same packet, with what the reference does not look at."""
    return Whole(
        packet.source, packet.destination, packet.protocol, packet.source_port, packet.port, packet.flags, packet.tos, packet.payload,
        2 if packet.fragment else 0,
    )


def asked(plan: Plan, gateway: Gateway, uplink: Uplink, first: Packet, later: Packet, way: Way) -> tuple[str | None, str | None, str | None]:
    """The classes of a flow's first packet, of a later one, and of that one as a reply."""
    algebra = Exactly(flow_values(whole(first), whole(later)))
    reference = Reference(plan, gateway, uplink)
    passages, memory = reference.opening(way, opening_view(algebra))
    found = [passages, reference.following(memory, way, later_view(algebra, False)), reference.following(memory, way.back(), later_view(algebra, True))]
    queues = [queue for cases in found for passage, where in cases.items() if where.satisfiable() for queue in [dict(passage.queues)]]
    one, two, three = (next(iter(queue.values()), EXCLUDED) for queue in queues)
    return one, two, three


@given(firsts(), firsts(), st.sampled_from(["inside", "outside"]))
@settings(max_examples=300, deadline=None)
def test_one_packet_is_classified_as_the_reference_does(first: Packet, later: Packet, opened: str) -> None:
    (gateway,) = PLAN.gateways
    (uplink,) = gateway.uplinks
    classifier = uplink.classifier
    if not whole(first).opens():
        # A connection that was there before has no first packet: it is in the default class, unless it is excluded.
        far = first.destination if opened == "inside" else first.source
        excluded = any(far.version == n.version and far in n for n in classifier.exclude)
        flow = EXCLUDED if excluded else classifier.default
    else:
        flow = flow_class(classifier, first, "inside" if opened == "inside" else "outside")
    way = Way(INSIDE, LINK) if opened == "inside" else Way(LINK, INSIDE)
    wanted = classify(classifier, first, flow), *[classify(classifier, later_like(first, later), flow)] * 2
    assert asked(PLAN, gateway, uplink, first, later, way) == wanted


def later_like(first: Packet, later: Packet) -> Packet:
    """The later packet with the addresses and the protocol of the flow."""
    return Packet(first.source, first.destination, first.protocol, first.source_port, first.port, later.flags, later.payload, later.tos, later.fragment)


DIAGRAMS = Diagrams()


@given(models(), st.lists(firsts(), min_size=5, max_size=5))
@settings(max_examples=20, deadline=None)
def test_diagrams_say_of_all_packets_what_is_said_of_each(text: str, packets: list[Packet]) -> None:
    plan = plan_of(text)
    gateway = plan.gateways[0]
    reference = Reference(plan, gateway, gateway.uplinks[0])
    every, _ = reference.opening(Way(INSIDE, LINK), opening_view(DIAGRAMS))
    for packet in packets:
        found = values(whole(packet))
        passages, _ = reference.opening(Way(INSIDE, LINK), opening_view(Exactly(found)))
        (one,) = (passage for passage, where in passages.items() if where.satisfiable())
        here = DIAGRAMS.everything
        for name, value in found.items():
            for bit, wanted in zip(DIAGRAMS.field(name), f"{value:0{len(DIAGRAMS.field(name))}b}", strict=True):
                here = here & (bit if wanted == "1" else ~bit)
        assert [passage for passage, where in every.items() if (where & here).satisfiable()] == [one]
