"""Every valid model, compiled for every system, does what the plan says: nothing is found but what the model accepts."""

import pytest

from pfq.diagnostics import Refused
from pfq.headers.diagrams import Diagrams
from pfq.parity.gateways import ruleset_of
from pfq.parity.judging import judge
from pfq.targets.registry import compile_gateway
from tests.plan.planned import plan_of
from tests.strategies import ALTQ, LINUX, QUEUE, seeded

DIAGRAMS = Diagrams()
# The reader of pf.conf begins with OpenBSD 4.4.
PF = tuple(name for name in ALTQ + QUEUE if not name.startswith("openbsd-3"))


def judged(seed: int, systems: tuple[str, ...]) -> int:
    """How many links of the seed's model were judged, all without a finding."""
    plan = plan_of(seeded(seed, systems))
    count = 0
    for gateway in plan.gateways:
        try:
            file = compile_gateway(plan, gateway)[0]
        except Refused:
            continue
        ruleset = ruleset_of(gateway, {file.name: file.text})
        for uplink in gateway.uplinks:
            verdict = judge(plan, gateway, uplink, ruleset, DIAGRAMS)
            assert not verdict.findings, (seed, gateway.name, gateway.system.name, uplink.link, verdict.findings[0].witness)
            count += 1
    return count


def test_random_models_for_pf() -> None:
    assert sum(judged(seed, PF) for seed in range(500, 520)) > 20


def test_random_models_for_linux() -> None:
    assert sum(judged(seed, LINUX) for seed in range(500, 503)) >= 1


@pytest.mark.slow
def test_many_random_models_for_pf() -> None:
    assert sum(judged(seed, PF) for seed in range(600, 650)) > 50


@pytest.mark.slow
def test_more_random_models_for_linux() -> None:
    assert sum(judged(seed, LINUX) for seed in range(600, 606)) > 3
