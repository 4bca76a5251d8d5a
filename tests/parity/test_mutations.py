"""`verify` finds what is broken on purpose, and what it calls harmless is: single packets, evaluated one by one, never show otherwise.

`python -m pytest -s tests/parity/test_mutations.py -m slow` prints the counts of some 700 mutants.
"""

from collections import Counter
from dataclasses import replace
from ipaddress import ip_address
from random import Random

import pytest

from pfq.diagnostics import Refused
from pfq.headers.asking import Ruleset
from pfq.headers.diagrams import Diagrams
from pfq.parity.cases import Case, cases
from pfq.parity.gateways import ruleset_of
from pfq.parity.judging import Verdict, gateway_party, judge
from pfq.parity.outcomes import Outcome, trees_of
from pfq.parity.packet import ACK, FIN, PUSH, SYN, Packet, flow_values, packet_of, values
from pfq.parity.proof import MOMENTS, Moment, Witness, tell
from pfq.plan.classify import ICMP, TCP, UDP, classify, flow_class
from pfq.plan.classify import Packet as Seen
from pfq.plan.model import Gateway, Plan, Uplink
from pfq.targets.registry import compile_gateway
from tests.parity.mutants import Mutant, mutants
from tests.plan.planned import plan_of

MODEL = """
accept = ["ipv6-express"]
[links.line]
up = "2 Mbit"
down = "16 Mbit"
policy = "office"
[policies.office]
classes = [
  { name = "express", express = true },
  { name = "voice", match = ["udp/5060", { protocol = "udp", port = "10000-20000" }] },
  { name = "dns", match = ["icmp", "udp/53", "tcp/53"] },
  { name = "web", match = ["tcp/80", { protocol = "tcp", port = 443, from = "192.168.1.0/24" }], upgrade = false },
  { name = "rest", default = true },
]
[hosts.gw]
system = "SYSTEM"
inside = { interface = "IN", networks = "192.168.1.0/24" }
links.line = { interface = "OUT", nat = true, shape_down = "inside", inbound = { services = ["tcp/443"] }, scheduler = "SCHEDULER" }
"""
SYSTEMS = {
    "openbsd-7.6": ("em1", "em0", "hfsc"), "openbsd-4.4": ("em1", "em0", "hfsc"), "freebsd-14.0": ("em1", "em0", "hfsc"), "linux-6.1": ("eth1", "eth0", "htb"),
}
DIAGRAMS = Diagrams()


class Subject:
    """A gateway with its correct text."""

    def __init__(self, system: str) -> None:
        inside, outside, scheduler = SYSTEMS[system]
        text = MODEL.replace("SYSTEM", system).replace('"IN"', f'"{inside}"').replace('"OUT"', f'"{outside}"').replace("SCHEDULER", scheduler)
        self.plan: Plan = plan_of(text)
        (self.gateway,) = self.plan.gateways
        (self.uplink,) = self.gateway.uplinks
        self.name = compile_gateway(self.plan, self.gateway)[0].name
        self.text = compile_gateway(self.plan, self.gateway)[0].text
        self.linux = system.startswith("linux")

    def ruleset(self, text: str) -> Ruleset:
        return ruleset_of(self.gateway, {self.name: text})

    def judged(self, ruleset: Ruleset) -> Verdict:
        return judge(self.plan, self.gateway, self.uplink, ruleset, DIAGRAMS)

    def mutants(self) -> list[Mutant]:
        return list(mutants(self.text, self.linux))


def reference(uplink: Uplink, case: Case, first: Packet, packet: Packet, lost6: bool) -> str | None:
    """The class of a packet by the reference function, which knows nothing of conditions."""

    def seen(one: Packet) -> Seen:
        return Seen(one.source, one.destination, one.protocol, one.source_port, one.destination_port, one.flags, one.payload, one.tos, one.fragment == 2)

    classifier = uplink.classifier
    flow = flow_class(classifier, seen(first), "inside" if case.opened_inside else "outside") if first.opens() else classifier.default
    return flow if lost6 and packet.source.version == 6 else classify(classifier, seen(packet), flow)


def some_packets(random: Random, case: Case) -> tuple[Packet, Packet]:
    """An ordinary flow's first packet and a later one, at the edges of what the model tells apart."""
    six = random.randrange(4) == 0
    near = ip_address("fd00::5") if six else ip_address(random.choice(("192.168.1.5", "192.168.1.200")))
    if None in (case.way.enters, case.way.leaves):
        near = ip_address("2001:db8:1::9") if six else ip_address("203.0.113.9")
    far = ip_address("2001:db8::7") if six else ip_address(random.choice(("198.51.100.7", "8.8.8.8")))
    source, destination = (near, far) if case.opened_inside else (far, near)
    protocol = random.choice((TCP, TCP, UDP, UDP, 58 if six else ICMP, 47))
    ports = (random.choice((40_000, 53, 443)), random.choice((53, 54, 80, 81, 443, 444, 5060, 5061, 9999, 10_000, 15_000, 20_000, 20_001, 22)))
    if protocol not in (TCP, UDP):
        ports = (0, 0)

    def packet(flags: int) -> Packet:
        tcp = protocol == TCP
        return Packet(
            source, destination, protocol, *ports, flags if tcp else 0, random.choice((0, 0, 0x10, 0x08, 0xB8, 0x12, 0x01)), random.choice((0, 1, 100, 1448)),
            0, 0 if six else 5, 0, random.choice((5, 8)) if tcp else 0, (128 if six else 8) if protocol in (ICMP, 58) else 0,
        )

    return packet(random.choice((SYN, SYN, SYN, ACK))), packet(random.choice((ACK, ACK | PUSH, SYN | ACK, FIN | ACK)))


def _answered(packet: Packet, moment: Moment) -> Packet:
    if moment != "reply":
        return packet
    kinds = {8: 0, 128: 129}
    return replace(packet, icmp_type=kinds.get(packet.icmp_type, 0))


def contradiction(subject: Subject, ruleset: Ruleset, random: Random, many: int) -> str:
    """A packet of a sample that is not where the reference function has it; '' if there is none."""
    gateway: Gateway = subject.gateway
    lost6 = gateway.system.family == "altq"
    trees = trees_of(gateway, subject.uplink, subject.plan.source)
    for case in cases(gateway, subject.uplink):
        party = gateway_party(case, trees, ruleset)
        for _ in range(many):
            first, later = some_packets(random, case)
            if not case.opened_inside and not (first.opens() and first.protocol == TCP and first.destination_port in (22, 443)):
                continue
            for moment in MOMENTS if first.opens() else MOMENTS[:1]:
                packet = _answered(first if moment == "first" else later, moment)
                said = tell(party, values(first) if moment == "first" else flow_values(first, packet), moment)
                wanted = reference(subject.uplink, case, first, packet, lost6 and (gateway.system.os != "freebsd"))
                up = case.opened_inside == (moment != "reply")
                down_seen = None not in (case.way.enters, case.way.leaves)
                if said.outcome != Outcome(False, wanted if up else None, wanted if not up and down_seen else None):
                    if lost6 and packet.source.version == 6:
                        continue
                    return f"{case.title} {moment}: {first} then {packet}: {said.outcome} instead of {wanted}"
    return ""


def real(subject: Subject, witness: Witness, case: Case) -> bool:
    """Whether a witness shows a real difference, by the reference function."""
    first = packet_of(witness.values)
    packet = first if witness.moment == "first" else packet_of(witness.values, True)
    wanted = reference(subject.uplink, case, first, packet, False)
    outcome = witness.other.outcome
    blocked = witness.one.outcome.blocked
    named = [getattr(outcome, "up", None), getattr(outcome, "down", None)]
    return bool(outcome.blocked) != blocked or blocked or wanted not in named


def run(system: str, chosen: list[Mutant], many: int) -> Counter[str]:
    subject = Subject(system)
    assert not subject.judged(subject.ruleset(subject.text)).findings
    assert contradiction(subject, subject.ruleset(subject.text), Random(1), many) == ""
    counts: Counter[str] = Counter()
    for number, mutant in enumerate(chosen):
        try:
            ruleset = subject.ruleset(mutant.text)
        except Refused:
            counts["refused"] += 1
            continue
        verdict = subject.judged(ruleset)
        if verdict.findings:
            counts["found"] += 1
            for finding in verdict.findings:
                assert real(subject, finding.witness, finding.case), f"{mutant.what}: {finding.witness}"
        else:
            counts["harmless"] += 1
            assert contradiction(subject, ruleset, Random(number), many) == "", mutant.what
    print(f"\n{system}: {len(chosen)} mutants: {counts['refused']} refused, {counts['found']} found, {counts['harmless']} proved harmless")
    return counts


@pytest.mark.parametrize("system", SYSTEMS)
def test_some_mutants(system: str) -> None:
    chosen = Random(7).sample(Subject(system).mutants(), 15)
    counts = run(system, chosen, 15)
    assert counts["found"] > counts["harmless"] > 0 or counts["found"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_many_mutants(system: str) -> None:
    chosen = Subject(system).mutants()
    assert len(chosen) > 150
    counts = run(system, Random(8).sample(chosen, min(len(chosen), 200)), 15)
    assert counts["found"] > 50
    assert counts["harmless"] > 0
