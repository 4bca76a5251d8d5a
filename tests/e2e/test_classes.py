"""Packet by packet: the class that a real kernel counts under pfq's own script, against the plan's reference."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from typing import Any

import pytest

from pfq.plan.build import build
from pfq.plan.model import Gateway, Plan
from pfq.site.load import load_text
from pfq.targets import linux
from pfq.targets.linux_queues import roots
from tests.e2e.gateway_models import MODELS, Model
from tests.e2e.itinerary import everything, failover, from_gateway, transit
from tests.e2e.kernel.call import call
from tests.e2e.traffic import Step, Traffic

pytestmark = pytest.mark.kernel

# Somebody else's things, which must still be there and unchanged at the end.
_FOREIGN = [
    ["nft", "add table inet other; add chain inet other early { type filter hook prerouting priority -160; }"
     "; add rule inet other early ct state new ct mark set ct mark and 0xffff0000 xor 0x5555"
     "; add chain inet other late { type filter hook forward priority 250; }; add rule inet other late ct mark and 0xffff != 0x5555 counter"],
    ["tc", "qdisc", "add", "dev", "lo", "root", "handle", "7:", "prio"],
]


@cache
def _plan(name: str) -> tuple[Plan, Gateway]:
    model = MODELS[name]
    plan = build(load_text(model.text, "site.toml"))
    return plan, next(gateway for gateway in plan.gateways if model.host in ("", gateway.name))


@cache
def _traffic(name: str) -> Traffic:
    model: Model = MODELS[name]
    traffic = Traffic(_plan(name)[1], model.inside, model.links)
    if model.clients:
        everything(traffic, model.full, model.arm)
    else:
        for uplink in traffic.gateway.uplinks:
            from_gateway(traffic, uplink)
    for one, other, inner, outer in model.transit:
        transit(traffic, one, other, inner, outer)
    if model.moving:
        failover(traffic, *(port.device for port in model.links))
    return traffic


def _argument(name: str) -> dict[str, Any]:
    plan, gateway = _plan(name)
    traffic = _traffic(name)
    inside, links = traffic.ports()
    steps = [
        {"origin": s.origin, "data": [d.hex() for d in s.data], "segment": s.segment, "padding": s.padding, "frame": s.frame,
         "out": s.out[0] if s.out else "", "command": s.command}
        for s in traffic.steps
    ]
    script = linux.render(plan, gateway, None)[0].text
    return {
        "name": name, "script": script, "inside": asdict(inside), "links": [asdict(port) for port in links], "before": _FOREIGN, "steps": steps,
    }


def _batches() -> list[tuple[str, list[str]]]:
    """Kernel and names for each machine: two at a time keep this machine busy, and no boot is for one gateway only."""
    current = [name for name, model in MODELS.items() if model.kernel == "current"]
    return [("current", current[::2]), ("current", current[1::2]), ("old", [name for name, model in MODELS.items() if model.kernel == "old"])]


@cache
def _started() -> dict[str, Future[Any]]:
    """The machines, each measuring its gateways; by the gateway's name."""
    pool = ThreadPoolExecutor(2)
    found: dict[str, Future[Any]] = {}
    for kernel, names in _batches():
        future = pool.submit(call, kernel, "tests.e2e.gateways:measure", [_argument(name) for name in names], timeout=1800.0)
        found |= dict.fromkeys(names, future)
    pool.shutdown(wait=False)
    return found


def _result(name: str) -> dict[str, Any]:
    result = _started()[name].result()[name]
    if "error" in result:
        pytest.fail(result["error"])
    return result  # type: ignore[no-any-return]


def _difference(step: Step, seen: dict[str, Any], devices: set[str], everything_out: bool) -> str | None:
    """How a step went otherwise than the reference says."""
    if step.expected is None:
        return None
    counted = {device: {name for name in classes if not name.startswith("ffff:")} for device, classes in seen["counted"].items()}
    found = {device: names for device, names in counted.items() if device in devices and names}
    wanted = {device: {name} for device, name in step.expected.items()}
    if found != wanted:
        return f"{step.what}: wanted {wanted}, counted {found}"
    if step.out and everything_out and seen["out"] != list(step.out[1:]):
        return f"{step.what}: came out as {seen['out']}, wanted {step.out[1:]}"
    return None


@pytest.mark.parametrize("name", MODELS)
def test_every_packet_is_in_the_class_of_the_reference(name: str) -> None:
    devices = {root.interface for root in roots(_plan(name)[1])}
    steps = _traffic(name).steps
    seen = _result(name)["seen"]
    assert len(seen) == len(steps) > 50
    wrong = [found for step, each in zip(steps, seen, strict=True) if (found := _difference(step, each, devices, True))]
    assert not wrong, f"{len(wrong)} of {len(steps)}:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("name", MODELS)
def test_started_twice_and_stopped(name: str) -> None:
    result = _result(name)
    assert "is in force" in result["started"]
    assert "nothing changed" in result["again"]
    assert result["changed"] == []
    assert "stopped" in result["stopped"]
    assert result["left"] == []
