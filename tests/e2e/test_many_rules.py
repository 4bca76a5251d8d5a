"""Thousands of ports and hundreds of classes: the programs for arriving packets load, and a packet is where the rule says."""

from typing import Any

import pytest

from pfq.plan.build import build
from pfq.site.load import load_text
from pfq.targets import linux
from pfq.targets.linux_queues import addresses, roots
from tests.e2e.kernel.call import call

pytestmark = pytest.mark.kernel

_CLASSES, _PORTS = 400, 3000


def _model() -> str:
    """400 classes of a port each, then a class of 3,000 ports, no two of them neighbours."""
    own = "".join(f' {{ name = "c{n}", match = "tcp/{n}", share = 1 }},\n' for n in range(1, _CLASSES + 1))
    ports = ", ".join(f'"tcp/{1000 + 2 * n}"' for n in range(_PORTS))
    return (
        '[links.wan]\nup = "2 Gbit"\ndown = "2 Gbit"\npolicy = "p"\n[policies.p]\nclasses = [\n'
        f'{own} {{ name = "many", match = [{ports}], share = 1 }},\n {{ name = "rest", share = 1, default = true }},\n]\n'
        '[hosts.gw]\nsystem = "linux-6.1"\ninside = { interface = "eth1", networks = ["192.168.1.0/24"] }\n'
        'links.wan = { interface = "eth0", scheduler = "htb", nat = true }\n'
    )


def test_every_packet_is_where_its_rule_says() -> None:
    plan = build(load_text(_model(), "site.toml"))
    gateway = plan.gateways[0]
    (root,) = [root for root in roots(gateway) if root.interface != "eth0"]
    where = addresses(root, root.planted[0])
    expected = {
        **{port: f"c{port}" for port in (1, 2, 199, 200, 201, 399, 400)}, **dict.fromkeys((1000, 1002, 3998, 4000, 6996, 6998), "many"),
        **dict.fromkeys((401, 999, 1001, 3999, 6997, 6999, 7000), "rest"),
    }
    script = linux.render(plan, gateway, None)[0].text
    found: dict[str, Any] = call("current", "tests.e2e.many_rules:arriving", {"script": script, "device": root.interface, "ports": list(expected)})
    assert found["programs"] > 4
    wanted = {str(port): where[name] for port, name in expected.items()}
    assert found["opening"] == wanted
    assert found["answer"] == wanted
