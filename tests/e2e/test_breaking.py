"""A start that breaks, anywhere: what was in force stays in force, the message says so, and other people's things are untouched.

On this machine's own kernel, since every start takes dozens of processes.
"""

from functools import cache
from typing import Any

import pytest

from pfq.plan.build import build
from pfq.site.load import load_text
from pfq.targets import linux
from tests.e2e.kernel.call import call

pytestmark = pytest.mark.kernel

_MODEL = """
accept = ["fifo"]
[links.wan]
up = "2 Mbit"
encapsulation = "pppoe-llc"
[hosts.gw]
system = "linux-6.1"
inside = { interface = "eth1", networks = ["192.168.1.0/24"] }
links.wan = { interface = "eth0", MORE }
"""
_FIRST = _MODEL.replace("MORE", 'scheduler = "htb", leaf = "pfifo", nat = true, txqueuelen = 500')
_SECOND = _MODEL.replace("MORE", 'scheduler = "htb", leaf = "pfifo", txqueuelen = 700').replace("2 Mbit", "3 Mbit")
# What the host's kernel lacks.
_LACKING = _MODEL.replace("MORE", 'scheduler = "hfsc", leaf = "sfq"')

_FOREIGN = [
    ["nft", "add table inet other; add chain inet other x { type filter hook forward priority 0; }; add rule inet other x ct mark set 5 counter"],
    ["tc", "qdisc", "add", "dev", "eth1", "root", "handle", "7:", "tbf", "rate", "1gbit", "burst", "100k", "latency", "10ms"],
    ["ip", "link", "set", "dev", "eth1", "txqueuelen", "77"],
]


def _script(model: str) -> str:
    plan = build(load_text(model, "site.toml"))
    return linux.render(plan, plan.gateways[0], None)[0].text


@cache
def _breaks() -> dict[str, Any]:
    argument = {"first": _script(_FIRST), "second": _script(_SECOND), "hows": {"fail": 1, "late": 2, "shell": 2, "script": 1}, "before": _FOREIGN}
    return call("host", "tests.e2e.breaking:every_break", argument, timeout=900.0)  # type: ignore[no-any-return]


def _of(how: str) -> list[dict[str, Any]]:
    found = [each for each in _breaks()["breaks"] if each["how"] == how]
    assert len(found) > 15
    return found


@pytest.mark.parametrize("how", ["fail", "late", "shell"])
def test_a_tool_that_fails_and_a_part_that_is_killed_leave_the_old_state_in_force(how: str) -> None:
    for each in _of(how):
        assert each["state"] == ("new" if each["status"] == 0 else "old"), each
        # Unless it was killed itself, it says what happened.
        assert "pfq: " in each["said"] or each["status"] < 0, each
    assert any(each["status"] for each in _of(how))


def test_a_script_that_is_killed_is_put_right_by_the_next() -> None:
    for each in _of("script"):
        assert each["after"] == [], each
    assert any(each["state"] == "neither" for each in _of("script"))


def test_a_change_back_and_forth_is_the_same() -> None:
    assert _breaks()["again differs"] == []


def test_without_permission_nothing_is_touched() -> None:
    status, said, changed = _breaks()["unprivileged"]
    assert (status, changed) == (1, [])
    assert "only root can do this" in said


def test_without_room_for_its_state_nothing_is_left() -> None:
    status, said, changed = _breaks()["full"]
    assert (status, changed) == (1, [])
    assert "pfq: " in said


def test_a_missing_module_is_named_before_anything_is_touched() -> None:
    found = call("host", "tests.e2e.breaking:lacking", _script(_LACKING))
    assert (found["status"], found["changed"]) == (1, [])
    assert "this kernel lacks the module sch_hfsc (CONFIG_NET_SCH_HFSC)" in found["said"]
    assert "this kernel lacks the module sch_sfq (CONFIG_NET_SCH_SFQ)" in found["said"]
    assert "nothing was touched" in found["said"]
