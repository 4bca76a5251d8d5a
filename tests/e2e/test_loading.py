"""Outputs for random models on real kernels: they load, and the kernel holds the plan's numbers.

PFQ_RANDOM_MODELS=N tries N models on the current kernel instead of a few dozen.
"""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from pfq.diagnostics import Refused
from pfq.plan.build import build
from pfq.plan.model import Gateway, Plan
from pfq.site.load import load_text
from pfq.targets import linux
from pfq.targets.linux_queues import roots
from tests.e2e.gateway_models import RULESETS
from tests.e2e.kernel.call import call
from tests.e2e.readback import faults
from tests.strategies import seeded

pytestmark = pytest.mark.kernel

_COUNTS = {"current": int(os.environ.get("PFQ_RANDOM_MODELS", "60")), "old": 20, "cbq": 12}
_SYSTEMS = {
    "current": ("linux-4.4", "linux-4.19", "linux-5.10", "linux-5.16", "linux-6.1", "linux-6.12"),
    "old": ("linux-4.4", "linux-4.19", "linux-5.10"),
    "cbq": ("linux-4.4", "linux-5.10"),
}


def _has_cbq(gateway: Gateway) -> bool:
    return any(root.scheduler == "cbq" for root in roots(gateway))


def _embedded(script: str, name: str) -> str:
    """The text of the script's here-document `name`."""
    return script.partition(f"<<'{name}'\n")[2].partition(f"\n{name}\n")[0] + "\n"


def _of(plan: Plan, kernel: str) -> list[tuple[Gateway, str]]:
    """The gateways of a plan that a kernel can hold, with their scripts."""
    found = []
    for gateway in plan.gateways:
        if gateway.system.family == "linux" and _has_cbq(gateway) == (kernel == "cbq"):
            found.append((gateway, linux.render(plan, gateway, None)[0].text))
    return found


@cache
def _gateways(kernel: str) -> list[tuple[str, Gateway, str]]:
    """Title, gateway and script: those of rulesets/, then random ones."""
    found = []
    for path in sorted(RULESETS.glob("*/site.toml")):
        plan = build(load_text(path.read_text(), "site.toml"))
        for gateway, script in _of(plan, kernel):
            if kernel != "old" or gateway.system.version < (5, 11):
                found.append((f"rulesets/{path.parent.name} {gateway.name}", gateway, script))
    seed = 0
    while len(found) < _COUNTS[kernel]:
        seed += 1
        try:
            plan = build(load_text(seeded(seed, _SYSTEMS[kernel]), "site.toml"))
            found += [(f"seed {seed}, {gateway.name}", gateway, script) for gateway, script in _of(plan, kernel)]
        except Refused:
            continue
    return found


def _argument(gateway: Gateway, script: str, kernel: str) -> dict[str, Any]:
    arriving = {root.interface for root in roots(gateway) if any(planted.tree.where == "ingress" for planted in root.planted)}
    devices = [uplink.interface for uplink in gateway.uplinks] + [root.interface for root in roots(gateway)]
    return {
        "devices": [name for name in dict.fromkeys(devices) if name not in arriving],
        "ifbs": sorted(arriving),
        "queues": _embedded(script, "PFQ_QUEUES"),
        # The cbq kernel has no nftables.
        "rules": "" if kernel == "cbq" else _embedded(script, "PFQ_RULES"),
    }


@cache
def _started() -> dict[str, Future[Any]]:
    pool = ThreadPoolExecutor(2)
    found = {
        kernel: pool.submit(
            call, kernel, "tests.e2e.loading:load", [_argument(gateway, script, kernel) for _, gateway, script in _gateways(kernel)],
            timeout=600.0 + 10 * _COUNTS[kernel],
        )
        for kernel in _COUNTS
    }
    pool.shutdown(wait=False)
    return found


@pytest.mark.parametrize("kernel", _COUNTS)
def test_the_kernel_holds_what_the_plan_says(kernel: str) -> None:
    wrong = [
        f"{title}: {fault}"
        for (title, gateway, _), held in zip(_gateways(kernel), _started()[kernel].result(), strict=True)
        for fault in faults(gateway, held)
    ]
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:60])
