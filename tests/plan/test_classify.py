"""The reference classifier, case by case as worked out by hand."""

from typing import Literal

import pytest
from hypothesis import given, settings

from pfq.plan.classify import EXCLUDED, ICMP, ICMP6, TCP, UDP, Packet, classify, flow_class, is_express, matches
from pfq.plan.model import Classifier, Express
from tests.plan.packets import firsts, packet
from tests.plan.planned import model, uplink_of

FIN, SYN, PSH, ACK = 0x01, 0x02, 0x08, 0x10
BOTH, IPV4 = Express("express", frozenset({"bulk", "voice"}), (4, 6)), Express("express", frozenset({"bulk"}), (4,))
SIX = ("2001:db8::1", "2001:db8::2")


def classifier(classes: str, attachment: str = '"eth0"', link: str = "", host: str = "") -> Classifier:
    return uplink_of(model(classes, link=link, attachment=attachment, host=host)).classifier


@pytest.mark.parametrize(
    ("what", "sent", "upgraded"),
    [
        ("empty ACK", packet(flags=ACK), True),
        ("empty ACK, port 443 to a high one", packet(source_port=443, port=40_000, flags=ACK), True),
        ("SYN", packet(flags=SYN), False),
        ("SYN and ACK", packet(flags=SYN | ACK), True),
        ("FIN and ACK", packet(flags=FIN | ACK), True),
        ("data with ACK", packet(flags=ACK, payload=1), False),
        ("full segment", packet(flags=ACK | PSH, payload=1448), False),
        ("no flags", packet(), False),
        ("UDP, port numbers alike", packet(protocol=UDP, flags=ACK), False),
        ("low delay", packet(protocol=UDP, payload=100, tos=0x10), True),
        ("low delay with ECN bits", packet(protocol=UDP, payload=100, tos=0x13), True),
        ("ECN bits alone", packet(protocol=UDP, payload=100, tos=0x03), False),
        ("low delay and throughput", packet(protocol=UDP, payload=100, tos=0x18), True),
        ("throughput", packet(protocol=UDP, payload=100, tos=0x08), False),
        ("EF, which has the bit no more", packet(protocol=UDP, payload=100, tos=0xB8), True),
        ("AF41, which has it not", packet(protocol=UDP, payload=100, tos=0x88), False),
        ("CS1", packet(protocol=UDP, payload=100, tos=0x20), False),
        ("later fragment of TCP", packet(flags=ACK, fragment=True), False),
        ("later fragment with low delay", packet(protocol=UDP, tos=0x10, fragment=True), True),
        ("ICMP", packet(protocol=ICMP), False),
        ("IPv6 empty ACK", packet(*SIX, flags=ACK), True),
        ("IPv6 traffic class", packet(*SIX, protocol=UDP, tos=0x10), True),
        ("IPv6 data", packet(*SIX, flags=ACK, payload=100), False),
    ],
)  # fmt: skip
def test_express(what: str, sent: Packet, upgraded: bool) -> None:
    assert is_express(BOTH, sent) is upgraded, what


@pytest.mark.parametrize("sent", [packet(*SIX, flags=ACK), packet(*SIX, protocol=UDP, tos=0x10)])
def test_express_of_ipv4_only(sent: Packet) -> None:
    assert is_express(IPV4, sent) is False


CLASSES = """
  { name = "express", express = true },
  { name = "voice", match = ["udp/5060", "udp/10000-20000"], upgrade = false },
  { name = "web", match = [{ protocol = "tcp", port = [80, 443], opened = "inside" }] },
  { name = "server", match = [{ protocol = "tcp", port = 443, opened = "outside" }] },
  { name = "dns", match = ["icmp", "udp/53", "tcp/53"] },
  { name = "boss", match = { from = ["192.168.1.7/32", "2001:db8::/64"] } },
  { name = "marked", match = { dscp = ["ef", "cs1"] } },
  { name = "six", match = { family = "ipv6", protocol = "udp" } },
  { name = "backup", match = { to = "198.51.100.0/24", protocol = "tcp" } },
  { name = "bulk", default = true },
"""


@pytest.mark.parametrize(
    ("queue", "first", "opened"),
    [
        ("voice", packet(protocol=UDP, port=5060), "inside"),
        ("voice", packet(protocol=UDP, port=10_000), "outside"),
        ("voice", packet(protocol=UDP, port=20_000), "inside"),
        ("boss", packet(protocol=UDP, port=20_001), "inside"),
        ("boss", packet(protocol=UDP, source_port=5060, port=9), "inside"),
        ("web", packet(port=80, flags=SYN), "inside"),
        ("bulk", packet("203.0.113.9", "192.168.1.7", port=80, flags=SYN), "outside"),
        ("server", packet("203.0.113.9", "192.168.1.7", port=443, flags=SYN), "outside"),
        ("dns", packet(protocol=ICMP, port=0), "inside"),
        ("bulk", packet("10.0.0.1", "203.0.113.9", protocol=ICMP6), "inside"),
        ("dns", packet(*SIX, protocol=ICMP6), "inside"),
        ("boss", packet(*SIX, protocol=ICMP), "inside"),
        ("dns", packet(protocol=TCP, port=53), "inside"),
        ("boss", packet(protocol=TCP, port=22), "inside"),
        ("boss", packet(protocol=UDP, port=5060, fragment=True), "inside"),
        ("bulk", packet("192.168.1.8", protocol=UDP, port=9), "inside"),
        ("marked", packet("192.168.1.8", protocol=UDP, port=9, tos=0xB8), "inside"),
        ("marked", packet("192.168.1.8", protocol=UDP, port=9, tos=0xBB), "inside"),
        ("marked", packet("192.168.1.8", protocol=UDP, port=9, tos=0x20), "inside"),
        ("bulk", packet("192.168.1.8", protocol=UDP, port=9, tos=0xB0), "inside"),
        ("six", packet("2001:db8:1::1", "2001:db8:1::2", protocol=UDP, port=9), "inside"),
        ("bulk", packet("2001:db8:1::1", "2001:db8:1::2", protocol=TCP, port=9), "inside"),
        ("backup", packet("192.168.1.8", "198.51.100.9", port=9), "inside"),
        ("bulk", packet("192.168.1.8", "198.51.101.9", port=9), "inside"),
        ("bulk", packet("192.168.1.8", "198.51.100.9", protocol=UDP, port=9), "inside"),
    ],
)
def test_the_first_match_decides(queue: str, first: Packet, opened: Literal["inside", "outside"]) -> None:
    assert flow_class(classifier(CLASSES), first, opened) == queue


def test_the_default_policy() -> None:
    found = uplink_of(model()).classifier
    assert flow_class(found, packet(protocol=UDP, port=53), "inside") == "interactive"
    assert flow_class(found, packet(protocol=ICMP), "outside") == "interactive"
    assert flow_class(found, packet(port=80), "inside") == "bulk"
    assert classify(found, packet(flags=ACK), "bulk") == "express"
    assert classify(found, packet(protocol=UDP, tos=0x10), "interactive") == "interactive"
    assert classify(found, packet(flags=ACK, payload=9), "bulk") == "bulk"


def test_a_class_without_upgrade_keeps_its_packets() -> None:
    found = classifier(CLASSES)
    assert classify(found, packet(protocol=UDP, tos=0x10), "voice") == "voice"
    assert classify(found, packet(protocol=UDP, tos=0x10), "dns") == "express"


def test_nothing_leaves_the_express_class() -> None:
    assert classify(classifier(CLASSES), packet(payload=1000), "express") == "express"


def test_without_an_express_class_nothing_is_upgraded() -> None:
    found = classifier('{ name = "b" }')
    assert found.express is None
    assert classify(found, packet(flags=ACK), "b") == "b"


def test_a_link_without_ipv6_upgrades_ipv4_only() -> None:
    found = classifier(CLASSES, link="ipv6 = false\n")
    assert found.express
    assert found.express.families == (4,)


EXCLUDED_CASES = [
    ("bulk", packet("192.168.1.8", "203.0.113.9", port=9), "inside"),
    (EXCLUDED, packet("192.168.1.8", "10.9.1.1", port=9), "inside"),
    (EXCLUDED, packet("10.9.1.1", "192.168.1.8", port=9), "outside"),
    # What counts is the far end, not the near one.
    ("bulk", packet("10.9.1.1", "203.0.113.9", port=9), "inside"),
    ("bulk", packet("203.0.113.9", "10.9.1.1", port=9), "outside"),
    (EXCLUDED, packet("192.168.1.8", "10.9.1.1", protocol=UDP, port=5060), "inside"),
    (EXCLUDED, packet("2001:db8::1", "2001:db8:9::1"), "inside"),
]


@pytest.mark.parametrize(("queue", "first", "opened"), EXCLUDED_CASES)
def test_excluded_networks_are_not_shaped(queue: str | None, first: Packet, opened: Literal["inside", "outside"]) -> None:
    found = classifier(CLASSES, '{ interface = "eth0", exclude = ["10.9.0.0/16", "2001:db8:9::/48"] }')
    assert flow_class(found, first, opened) == queue


def test_an_excluded_flow_s_empty_acks_are_not_shaped_either() -> None:
    assert classify(classifier(CLASSES), packet(flags=ACK), EXCLUDED) is EXCLUDED


def test_on_one_arm_the_inside_networks_are_excluded() -> None:
    found = classifier(CLASSES, host='inside = { interface = "eth0", networks = "192.168.1.0/24" }\n')
    assert flow_class(found, packet("192.168.1.8", "192.168.1.9", port=9), "inside") is EXCLUDED
    assert flow_class(found, packet("192.168.1.8", "203.0.113.9", port=9), "inside") == "bulk"


@given(firsts())
@settings(max_examples=200, deadline=None)
def test_the_flow_s_class_is_the_first_rule_s_that_matches(first: Packet) -> None:
    found = classifier(CLASSES)
    holding = [rule.queue for rule in found.rules if matches(rule.match, first, "inside")]
    assert flow_class(found, first, "inside") == (holding[0] if holding else found.default)


@given(firsts())
@settings(max_examples=200, deadline=None)
def test_a_packet_is_in_its_flow_s_class_or_the_express_one(sent: Packet) -> None:
    found = classifier(CLASSES)
    for rule in found.rules:
        assert classify(found, sent, rule.queue) in (rule.queue, "express")
