"""The laboratory on a real kernel: the line is as slow as it says, and a gateway's queues make a difference."""

from functools import cache
from typing import Any

import pytest

from bench.latency.configurations import configurations
from bench.latency.profiles import DELAY_MS, PROFILES
from bench.latency.report import summary
from tests.e2e.kernel.call import call

pytestmark = pytest.mark.kernel

_PROFILE = PROFILES["1020/8000"]


@cache
def _records() -> list[dict[str, Any]]:
    known = configurations(_PROFILE, None)
    task = {
        "profile": _PROFILE.name, "up": _PROFILE.netem(_PROFILE.up), "down": _PROFILE.netem(_PROFILE.down), "delay": DELAY_MS, "mtu": _PROFILE.mtu,
        "offloads": False, "settle": 5, "seconds": 4, "interval": 100, "show": False, "scenarios": ["both"],
        "configurations": [{"name": name, "script": known[name].script, "lenient": False} for name in ("none", "pfq")],
    }  # fmt: skip
    rows = call("current", "bench.latency.guest:measure", task, instruction_clock=True)
    return summary(_PROFILE.name, rows, 2 * DELAY_MS)


def test_the_idle_line_is_its_delay() -> None:
    idle = _records()[0]
    assert (idle["scenario"], idle["lost"], idle["download"], idle["upload"]) == ("idle", 0, 0, 0)
    assert idle["ping"]["mean"] > 2 * DELAY_MS


def test_nothing_is_faster_than_the_line() -> None:
    for record in _records()[1:]:
        assert 0 < record["download"] <= 8000
        assert 0 < record["upload"] <= 1020
        assert record["ping"]["mean"] > 2 * DELAY_MS


def test_queues_of_pfq_shorten_a_ping() -> None:
    _, none, pfq = _records()
    assert pfq["ping"]["max"] < none["ping"]["mean"]
