"""The evaluator against real kernels: what it says of each packet, having read the script only, is what the kernel's counters say.

And what the kernel lists of its rules and queues means the same as the text that was loaded.
"""

import random
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import pytest

from pfq.headers.asking import Decision, Way, later_view, opening_view
from pfq.headers.diagrams import Diagrams
from pfq.linux import read
from pfq.linux.classes import PAST
from pfq.linux.evaluate import Gateway as Rules
from pfq.linux.evaluate import ruleset
from pfq.plan.build import build
from pfq.plan.model import Gateway, Plan
from pfq.site.load import load_text
from pfq.targets import linux
from tests.e2e import packet as crafted
from tests.e2e.gateway_models import MODELS, Model
from tests.e2e.itinerary import everything, far
from tests.e2e.kernel.call import call
from tests.e2e.packet import ACK, CWR, ECE, PSH, TCP, UDP, URG, Packet, fragments
from tests.e2e.traffic import Expected, Flow, Step, Traffic
from tests.linux.flows import FIRST, LATER_ONE, asked, classes

pytestmark = pytest.mark.kernel

_NAMES = ("htb, NAT, 1:1, on arrival", "prio, NAT, inside", "cake, NAT, on arrival", "VLAN, excluded networks", "rulesets/adsl-pppoe server")
_NOP = b"\x01\x01\x01\x01"
_HEADERS = (
    (), (crafted.HOP_BY_HOP,), (crafted.DESTINATION_OPTIONS,), (crafted.FRAGMENT,), (crafted.HOP_BY_HOP, crafted.DESTINATION_OPTIONS),
    (crafted.ROUTING, crafted.FRAGMENT), (crafted.HOP_BY_HOP, crafted.ROUTING, crafted.DESTINATION_OPTIONS),
)  # fmt: skip


@dataclass(slots=True)
class _Asked(Traffic):
    """Traffic whose expectations come from the evaluator."""

    rules: Rules | None = None
    decisions: list[Decision] = field(default_factory=list)

    def expected(self, flow: Flow, packet: Packet, entering: str, leaving: str | None, stray: bool = False) -> Expected:
        return self._named(self._asked(flow, packet, entering))

    def _asked(self, flow: Flow, packet: Packet, entering: str, fragment: int = 0) -> Expected:
        assert self.rules is not None
        first = replace(flow.first, destination=self._translated(flow, flow.first.destination, flow.came_by))
        if packet == flow.first:
            return classes(asked(self.rules, flow, first, fragment=fragment))
        turned = packet.source != flow.first.source
        return classes(asked(self.rules, flow, first, (packet, turned), fragment=fragment))

    @staticmethod
    def _named(found: Expected) -> Expected:
        """A discipline that holds a packet in none of its classes counts it under its own name."""
        return {device: name if name != PAST else "1:" for device, name in found.items()}

    def pieces(self, source: str, destination: str, came_by: str, leaves_by: str, port: int) -> None:
        flow = self.flow(Packet(source, destination, UDP, 0, port, payload=2900), came_by, leaves_by)
        if not self._admitted(flow):
            return
        entry = replace(flow.first, destination=self._translated(flow, destination, came_by))
        parts = fragments(entry, 1400 if flow.first.version == 4 else 1208)
        for index, part in enumerate(parts):
            # They wait on the far device once the last has come, and are put together in between.
            wanted = self._named(self._asked(flow, flow.first, came_by, FIRST if index == 0 else LATER_ONE))
            if index < len(parts) - 1:
                wanted = {device: name for device, name in wanted.items() if device.startswith("ifb")}
            self.steps.append(Step(f"fragment {index} {came_by}>{leaves_by} {source}>{destination}", came_by, (part,), wanted))

    def address_resolution(self) -> None:
        """No IP packets."""

    def odd(self, chance: random.Random, flow: Flow, count: int) -> None:
        """Packets of an open connection of any shape: every length of both headers, options, extension headers, flags, ToS, payload."""
        self.connection(flow, False)
        for number in range(count):
            turned = chance.randrange(2) == 1
            base = flow.first.back() if turned else flow.first
            six = base.version == 6
            shape = replace(
                base, flags=ACK | chance.choice((0, 0, PSH, URG, ECE, CWR, PSH | ECE | CWR)),
                tos=chance.choice((0, 0, 0x10, 0x12, 0x03, 0xB8, chance.randrange(256))),
                payload=chance.choice((0, 0, 0, 1, 2, 7, 12, 600)), ip_options=b"" if six else _NOP * (number % 11),
                tcp_options=_NOP * chance.randrange(11), extensions=chance.choice(_HEADERS) if six else (),
            )  # fmt: skip
            self._send(f"odd {number}", flow, shape, turned)


@cache
def _plan(name: str) -> tuple[Plan, Gateway]:
    model = MODELS[name]
    plan = build(load_text(model.text, "site.toml"))
    return plan, next(gateway for gateway in plan.gateways if model.host in ("", gateway.name))


def _addresses(model: Model) -> dict[str, tuple[str, ...]]:
    return {port.device: port.addresses for port in (model.inside, *model.links)}


@cache
def _script(name: str) -> str:
    return linux.render(*_plan(name), None)[0].text


def _rules(name: str, texts: dict[str, str]) -> Rules:
    return ruleset(read(texts), _addresses(MODELS[name]))


@cache
def _traffic(name: str) -> _Asked:
    model = MODELS[name]
    traffic = _Asked(_plan(name)[1], model.inside, model.links, rules=_rules(name, {"pfq.sh": _script(name)}))
    everything(traffic, False, model.arm)
    chance = random.Random(name)
    for uplink in traffic.gateway.uplinks:
        came_by = uplink.interface if model.arm else model.inside.device
        for version in (4, 6):
            hosts = [host for host in traffic.port(came_by).hosts if (":" in host) == (version == 6)]
            flow = traffic.flow(Packet(hosts[-1], far(0, version), TCP, 0, 8443), came_by, uplink.interface)
            traffic.odd(chance, flow, 60)
    return traffic


def _argument(name: str) -> dict[str, Any]:
    traffic = _traffic(name)
    inside, links = traffic.ports()
    steps = [
        {"origin": s.origin, "data": [d.hex() for d in s.data], "segment": s.segment, "padding": s.padding, "frame": s.frame, "out": "", "command": s.command}
        for s in traffic.steps
    ]
    return {"name": name, "script": _script(name), "inside": asdict(inside), "links": [asdict(port) for port in links], "steps": steps}


@cache
def _started() -> dict[str, Future[Any]]:
    """Two machines, each measuring its gateways."""
    pool = ThreadPoolExecutor(2)
    found: dict[str, Future[Any]] = {}
    for names in (_NAMES[::2], _NAMES[1::2]):
        future = pool.submit(call, "current", "tests.e2e.explained:measure", [_argument(name) for name in names], timeout=1800.0)
        found |= dict.fromkeys(names, future)
    pool.shutdown(wait=False)
    return found


def _result(name: str) -> dict[str, Any]:
    result = _started()[name].result()[name]
    if "error" in result:
        pytest.fail(result["error"])
    return result  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", _NAMES)
def test_the_kernel_counts_each_packet_where_the_evaluator_says(name: str) -> None:
    steps = _traffic(name).steps
    seen = _result(name)["seen"]
    devices = {qdisc.device for qdisc in read({"pfq.sh": _script(name)}).devices.qdiscs}
    assert len(seen) == len(steps) > 100
    wrong = []
    for step, each in zip(steps, seen, strict=True):
        counted = {device: {own for own in names if not own.startswith("ffff:")} for device, names in each["counted"].items() if device in devices}
        counted = {device: names for device, names in counted.items() if names}
        if step.expected is not None and counted != {device: {own} for device, own in step.expected.items()}:
            wrong.append(f"{step.what}: the evaluator says {step.expected}, counted {counted}")
    assert not wrong, f"{len(wrong)} of {len(steps)}:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("kind", ["plain", "JSON"])
@pytest.mark.parametrize("name", _NAMES)
def test_a_listing_means_what_was_loaded(name: str, kind: str) -> None:
    algebra = Diagrams()
    listings = _result(name)["listings"][kind]
    loaded, listed = _rules(name, {"pfq.sh": _script(name)}), _rules(name, {key: text for key, text in listings.items() if text.strip()})
    model = MODELS[name]
    inside = model.links[0].device if model.arm else model.inside.device
    for port in model.links:
        for way in (Way(inside, port.device), Way(port.device, inside), Way(None, port.device), Way(port.device, None)):
            (one, mine), (other, theirs) = (each.opening(way, opening_view(algebra)) for each in (loaded, listed))
            assert one == other, (way, set(one) ^ set(other))
            assert loaded.following(mine, way, later_view(algebra, False)) == listed.following(theirs, way, later_view(algebra, False))
            assert loaded.following(mine, way.back(), later_view(algebra, True)) == listed.following(theirs, way.back(), later_view(algebra, True))


