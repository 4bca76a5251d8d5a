"""What stands in the way of a start is named before anything is touched. On this machine's own kernel."""

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
links.wan = { interface = "eth0", scheduler = "htb", leaf = "pfifo", nat = true }
"""
_RENAMED = "ip link set dev eth0 down; ip link set dev eth0 name wan0; ip link set dev wan0 up"
_BACK = "ip link set dev wan0 down; ip link set dev wan0 name eth0; ip link set dev eth0 up"
_TBF = "tc qdisc add dev eth0 root handle 5: tbf rate 1mbit burst 10k latency 10ms"
# How it comes about, how it goes, and what must be said.
_OBSTACLES: dict[str, tuple[str, str, list[str]]] = {
    "renamed": (_RENAMED, _BACK, ["there is no interface eth0"]),
    "known by another name": (
        f"{_RENAMED}; ip link property add dev wan0 altname eth0", f"ip link property del dev wan0 altname eth0; {_BACK}",
        ["eth0 is another name of the interface wan0", "write wan0 in the model"],
    ),
    "down": ("ip link set dev eth0 down", "ip link set dev eth0 up", ["the interface eth0 is down: ip link set dev eth0 up"]),
    "other queues": (
        _TBF, "tc qdisc del dev eth0 root", ["eth0 has queues of somebody else's: qdisc tbf 5: root", "tc qdisc del dev eth0 root takes them away"],
    ),
    "queues like ours": (
        "tc qdisc add dev eth0 root handle 1: htb", "tc qdisc del dev eth0 root", ["eth0 has queues of somebody else's: qdisc htb 1: root"],
    ),
    "an older version's table": (
        "nft add table inet pfq; nft add chain inet pfq old", "nft delete table inet pfq",
        ["there is a table inet pfq already, and no state of it in", "nft delete table inet pfq takes it away"],
    ),
    "an older version's table of a family that is not used": (
        "nft add table ip6 pfq", "nft delete table ip6 pfq", ["there is a table ip6 pfq already", "nft delete table ip6 pfq takes it away"],
    ),
    "all at once": (
        f"nft add table inet pfq; {_TBF}; ip link set dev eth0 down", "nft delete table inet pfq; tc qdisc del dev eth0 root; ip link set dev eth0 up",
        ["the interface eth0 is down", "eth0 has queues of somebody else's", "there is a table inet pfq already"],
    ),
}


@cache
def _found() -> dict[str, Any]:
    plan = build(load_text(_MODEL, "site.toml"))
    script = linux.render(plan, plan.gateways[0], None)[0].text
    obstacles = {name: (make, unmake) for name, (make, unmake, _) in _OBSTACLES.items()}
    return call("host", "tests.e2e.bad_input:every_obstacle", {"script": script, "obstacles": obstacles})  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", _OBSTACLES)
def test_an_obstacle_is_named_and_nothing_is_touched(name: str) -> None:
    found = _found()[name]
    assert (found["status"], found["changed"]) == ([1, 1], [])
    for said in found["said"]:
        for wanted in _OBSTACLES[name][2]:
            assert wanted in said
    assert "nothing was touched" in found["said"][0]


def test_without_them_it_starts() -> None:
    assert _found()["nothing"]["status"] == [0]
