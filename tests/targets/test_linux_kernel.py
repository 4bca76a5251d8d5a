"""The Linux target on real kernels: every packet's class against the reference, starting, changing, breaking and stopping."""

from typing import Any

import pytest

from pfq.diagnostics import Refused
from pfq.targets import linux
from tests.e2e.kernel.call import call
from tests.strategies import seeded
from tests.targets.linux_cases import plan_of

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

_LINK = """
[links.wan]
up = "2 Mbit"
down = "20 Mbit"
encapsulation = "{encapsulation}"
[hosts.gw]
system = "{system}"
inside = {{ interface = "eth1", networks = ["192.168.1.0/24", "2001:db8:1::/64"] }}
[hosts.gw.links.wan]
"""
_POLICY = """
[policies.p]
classes = [
 { name = "ack", express = true },
 { name = "ssh", match = ["tcp/22", { protocol = "udp", dscp = "ef" }] },
 { name = "web", match = [{ protocol = "tcp", port = [80, "8000-8100"], from = "192.168.1.0/24" }], upgrade = false },
 { name = "in", match = [{ protocol = "tcp", port = 23, to = "192.168.1.20", opened = "outside" }, "gre"] },
 { name = "v6", match = [{ family = "ipv6", to = "2001:db8:ffff::/48" }, { family = "ipv6", opened = "outside" }] },
 { name = "rest", fair = "source" },
]
"""


def _model(body: str, system: str = "linux-6.1", encapsulation: str = "ethernet", before: str = "", after: str = "") -> str:
    return before + _LINK.format(system=system, encapsulation=encapsulation) + body + after


_NAT = 'interface = "eth0"\nnat = true\none_to_one = [{ inside = "192.168.1.20", outside = "203.0.113.20" }]\n'
_ETH0 = 'interface = "eth0"\n'
_SOFT = "accept = ['soft-order', 'ipv6-extension-express']\n"
_MODELS: dict[str, dict[str, Any]] = {
    "default policy, htb": {"model": _model(_ETH0, encapsulation="pppoe-llc")},
    "rules, NAT, 1:1": {"model": _model(_NAT, encapsulation="pppoe-llc", after=_POLICY).replace('up = "2', 'policy = "p"\nup = "2')},
    "prio": {"model": _model(f'{_ETH0}scheduler = "prio"')},
    "prio, inside": {"model": _model(f'{_ETH0}scheduler = "prio"\nshape_down = "inside"')},
    "hfsc": {"model": _model(f'{_ETH0}scheduler = "hfsc"', before=_SOFT)},
    "cake": {"model": _model(f'{_ETH0}scheduler = "cake"', before=_SOFT)},
    "htb, inside": {"model": _model(f'{_ETH0}shape_down = "inside"')},
    "police and excluded": {
        "model": _model(f'{_ETH0}shape_down = "police"\nexclude = ["198.51.100.128/25"]'),
        "excluded": ["198.51.100.200"],
    },
    "arriving and excluded": {"model": _model(f'{_ETH0}exclude = ["198.51.100.128/25"]'), "excluded": ["198.51.100.200"]},
    "VLAN": {"model": _model('interface = "eth0.2417"\n'), "uplink": "eth0.2417"},
    "VLAN, queues on its parent": {"model": _model('interface = "eth0.2417"\nqueue_on = "eth0"\n'), "uplink": "eth0.2417"},
    "ppp": {"model": _model('interface = "ppp0"\n'), "uplink": "ppp0"},
    "before inner-header loads": {"model": _model(f'{_ETH0}shape_down = "inside"', system="linux-5.10", before=_SOFT), "kernel": "old"},
    # Arriving packets need nothing that older kernels lack: connmark before 5.3, u32 before 4.8, short names before 4.14.
    "arriving, as for 5.10": {"model": _model(_ETH0, before=_SOFT), "kernel": "old", "system": "linux-5.10"},
    "arriving, as for 4.4": {"model": _model(_ETH0, before=_SOFT), "kernel": "old", "system": "linux-4.4"},
}


_THOROUGH = ("rules, NAT, 1:1", "before inner-header loads", "arriving, as for 5.10")


@pytest.mark.parametrize("name", _MODELS)
def test_every_packet_has_the_class_of_the_reference(name: str) -> None:
    # Every shape where the express test or the rules are in question; where it is the tree or the interface, every seventh will do.
    step = 1 if name in _THOROUGH else 7
    found = call(_MODELS[name].get("kernel", "current"), "tests.targets.linux_cases:everything", _MODELS[name] | {"step": step})
    assert found["wrong"] == []
    assert found["sent"] > 900 // step
    assert "nothing changed" in found["again"]
    assert "stopped" in found["stopped"]


_FIRST = """[links.wan]
up = "2 Mbit"
[hosts.gw]
system = "linux-6.1"
inside = { interface = "eth1", networks = ["192.168.1.0/24"] }
links.wan = { interface = "eth0", scheduler = "htb", leaf = "pfifo", nat = true, txqueuelen = 500 }
"""
_SECOND = _FIRST.replace("2 Mbit", "3 Mbit").replace("nat = true, txqueuelen = 500", "txqueuelen = 700")


def test_life_on_the_hosts_own_kernel() -> None:
    found = call("host", "tests.targets.linux_cases:life", {"first": _FIRST, "second": _SECOND})
    assert found["start"][0] == 0
    assert found["again"][0] == 0
    assert "nothing changed" in found["again"][1]
    assert not found["again changed"]
    assert found["status"] == [0, 1]
    assert len(found["breaks"]) > len(found["fresh breaks"]) > 0
    for what, status, said, differences in found["breaks"]:
        assert (what, status, differences) == (what, 1, [])
        assert "the former configuration is in force again" in said
    assert found["change"][0] == 0
    assert found["changed"]
    assert found["back differs"] == []
    assert found["stop"][0] == 0
    assert found["left"] == []
    assert found["stop again"][0] == 0
    for what, status, said, differences in found["fresh breaks"]:
        assert (what, status, differences) == (what, 1, [])
        assert "everything is as it was before" in said
    words = ("somebody else's", "a table inet pfq already", "is down", "no interface eth0")
    for word, (what, status, said, differences) in zip(words, found["foreign"], strict=True):
        assert (what, status, differences) == (what, 1, [])
        assert word in said
        assert "nothing was touched" in said


_ONE_ARM = """[links.wan]
up = "1020 kbit"
down = "8 Mbit"
encapsulation = "pppoe-llc"
[hosts.gw]
system = "linux-6.1"
inside = { interface = "eth0", networks = ["192.168.1.0/24"] }
links.wan = { interface = "eth0", scheduler = "htb", nat = true, inbound = { services = ["icmp/echo"] } }
"""


def test_one_arm() -> None:
    found = call("current", "tests.targets.linux_cases:one_arm", {"model": _ONE_ARM})
    assert (found.pop("mss out"), found.pop("mss back")) == ([1408], [1408])
    seen = {name: ({**found[name][0], "ffff:": 1}, found[name][1]) for name in found if isinstance(found[name], list) and name != "marks"}
    past = {"ffff:": 1}
    assert seen["out"] == ({"1:30": 1} | past, {})
    assert found["out"][2] == [["192.168.1.100", "198.51.100.7"]]
    # On its way to the inside it is on the link's interface again, and no traffic of the link's.
    assert seen["back"] == ({"1:f": 1} | past, {"1:20": 1})
    assert seen["data back"] == ({"1:f": 1} | past, {"1:30": 1})
    assert seen["ack"] == ({"1:20": 1} | past, {})
    assert seen["data"] == ({"1:30": 1} | past, {})
    assert seen["lan ping"] == ({"1:f": 1} | past, {})
    assert seen["link ping"] == ({"1:10": 1} | past, {"1:10": 1})
    assert seen["link other"] == (past, {"1:30": 1})
    assert seen["lan other"] == ({"1:f": 1} | past, {})
    assert seen["link ssh"][0] != past
    assert found["marks"][0][-1] == '"kept"'
    assert int(found["marks"][0][0]) > 5
    assert found["marks"][1][0] == "0"


def _loadable(seeds: range, systems: tuple[str, ...]) -> list[str]:
    models = []
    for seed in seeds:
        try:
            model = seeded(seed, systems)
            plan = plan_of(model)
            for gateway in plan.gateways:
                linux.render(plan, gateway, None)
        except Refused:
            continue
        if not any(uplink.scheduler == "cbq" for gateway in plan.gateways for uplink in gateway.uplinks):
            models.append(model)
    return models


def test_random_models_load_and_read_back() -> None:
    models = _loadable(range(40), ("linux-4.19", "linux-5.10", "linux-5.16", "linux-6.1", "linux-6.12"))
    found = call("current", "tests.targets.linux_cases:load", {"models": models}, timeout=900.0)
    assert found["wrong"] == []
    assert found["loaded"] >= len(models) > 20
