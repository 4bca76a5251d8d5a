"""The evaluator, which has seen the compiled text only, against the plan's reference: random models, random packets, every way through the gateway."""

import random
from dataclasses import replace
from ipaddress import ip_address

import pytest

from pfq.diagnostics import Refused
from pfq.linux import read
from pfq.linux.evaluate import ruleset
from pfq.plan.build import build
from pfq.plan.model import Gateway, Plan
from pfq.site.load import load_text
from pfq.targets import linux
from tests.e2e.packet import ACK, SYN, TCP
from tests.e2e.traffic import GATEWAY, Flow, Traffic
from tests.linux.flows import addresses, admitted, asked, carriers, classes, first_packet, later_packets, ports
from tests.strategies import LINUX, seeded


def _gateways(seed: int) -> list[tuple[Plan, Gateway]]:
    try:
        plan = build(load_text(seeded(seed, LINUX), "site.toml"))
    except Refused:
        return []
    return [(plan, gateway) for gateway in plan.gateways]


def _ways(traffic: Traffic, chance: random.Random, device: str) -> tuple[str, str]:
    """Where a flow comes from and goes to, over a link."""
    inner = chance.choice((traffic.inside.device, traffic.inside.device, GATEWAY, *(port.device for port in traffic.links)))
    return (inner, device) if chance.randrange(2) else (device, inner)


def _beside(traffic: Traffic, flow: Flow) -> bool:
    """Whether a flow comes from inside hosts on the link's own interface, whom the inbound policy lets in whatever they ask for."""
    uplink = traffic.uplink(flow.came_by)
    source = ip_address(flow.first.source)
    arms = [arm for arm in traffic.gateway.inside if uplink and arm.interface in (uplink.interface, uplink.queue_on)]
    return any(source.version == network.version and source in network for arm in arms for network in arm.networks)


def _check(traffic: Traffic, rules: object, flow: Flow, chance: random.Random) -> int:
    first = replace(flow.first, destination=traffic._translated(flow, flow.first.destination, flow.came_by)) if flow.came_by != GATEWAY else flow.first
    stray = flow.first.protocol == TCP and flow.first.flags & (SYN | ACK) != SYN
    lets_in = traffic._admitted(flow) or _beside(traffic, flow)
    found = asked(rules, flow, first)  # type: ignore[arg-type]
    leaves = None if flow.leaves_by == GATEWAY else flow.leaves_by
    wanted = traffic.expected(flow, flow.first, flow.came_by, leaves if lets_in else None, stray=stray)
    assert (classes(found), admitted(found)) == (wanted, lets_in), (flow, "first")
    if not lets_in:
        return 1
    count = 1
    for packet, turned in later_packets(chance, flow, 4):
        entering, leaving = (flow.leaves_by, flow.came_by) if turned else (flow.came_by, flow.leaves_by)
        found = asked(rules, flow, first, (packet, turned))  # type: ignore[arg-type]
        wanted = traffic.expected(flow, packet, entering, None if leaving == GATEWAY else leaving, stray=stray)
        assert (classes(found), admitted(found)) == (wanted, True), (flow, packet, turned)
        count += 1
    return count


@pytest.mark.parametrize("seed", range(40))
def test_the_class_of_every_packet_is_that_of_the_reference(seed: int) -> None:
    chance = random.Random(seed)
    for plan, gateway in _gateways(seed):
        try:
            script = linux.render(plan, gateway, None)[0].text
        except Refused:
            continue
        traffic = Traffic(gateway, *ports(gateway))
        rules = ruleset(read({"pfq.sh": script}), addresses(traffic), carriers(gateway))
        for uplink in gateway.uplinks:
            for _ in range(12):
                came_by, leaves_by = _ways(traffic, chance, uplink.interface)
                if came_by == leaves_by:
                    continue
                first = first_packet(chance, gateway, uplink, leaves_by == uplink.interface)
                _check(traffic, rules, Flow(first, came_by, leaves_by), chance)
