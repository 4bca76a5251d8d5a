"""The gateways whose packets are counted: those of rulesets/, and models that bring every scheduler, place and kind of match."""

from dataclasses import dataclass, replace
from pathlib import Path

from tests.e2e.lab import INSIDE, UPLINK
from tests.e2e.ports import Port

RULESETS = Path(__file__).parents[2] / "rulesets"


@dataclass(frozen=True, slots=True)
class Model:
    """text: the model. host: which gateway of it. inside, links: the laboratory's ports, the links in the order of the gateway's.

    kernel: the test kernel. transit: (device, device, an address behind each) for flows from link to link.
    arm: whether the inside hosts are on the link's own interface. clients: whether there are inside hosts.
    moving: whether connections move from the first link to the second.
    full: whether every shape of packet is sent, or a few for each flow.
    """

    name: str
    text: str
    inside: Port = INSIDE
    links: tuple[Port, ...] = (UPLINK,)
    host: str = ""
    kernel: str = "current"
    transit: tuple[tuple[str, str, str, str], ...] = ()
    full: bool = True
    clients: bool = True
    arm: bool = False
    moving: bool = False


_VLAN = replace(UPLINK, device="eth0.2417", kind="vlan", parent="eth0", tag=2417)
_TUN = Port("ppp0", ("203.0.113.2/32", "2001:db8:2::2/128"), routes=(("default", None), ("::/0", None)), kind="tun")
_PPPOE = replace(_TUN, kind="pppoe", parent="eth2")
_SECOND = Port(
    "eth3", ("203.0.114.2/24", "2001:db8:3::2/64"), ("203.0.114.1", "2001:db8:3::1"),
    (("198.51.101.0/24", "203.0.114.1"), ("2001:db8:f1::/48", "2001:db8:3::1")),
)
# The link's box and the inside hosts are on one wire.
_ARM = Port(
    "eth0", ("192.168.1.100/24", "2001:db8:1::100/64"), ("192.168.1.1", "192.168.1.10", "2001:db8:1::1", "2001:db8:1::10"),
    (("default", "192.168.1.1"), ("::/0", "2001:db8:1::1")),
)
_APART = Port("eth9", ("10.9.9.1/24", "2001:db8:9::1/64"), ("10.9.9.10", "2001:db8:9::10"))

# Rules of every kind: ports and ranges, source ports, networks of both families, code points, who opens, other protocols.
RULES = """
[policies.p]
classes = [
 { name = "ack", express = true },
 { name = "ssh", match = ["tcp/22", { protocol = "udp", dscp = "ef" }] },
 { name = "web", match = [{ protocol = "tcp", port = [80, "8000-8100"], from = "192.168.1.0/24" }], upgrade = false },
 { name = "in", match = [{ protocol = "tcp", port = 23, to = "192.168.1.20", opened = "outside" }, "gre",
   { protocol = "udp", source_port = 4000, opened = "outside" }] },
 { name = "v6", match = [{ family = "ipv6", to = "2001:db8:ffff::/48" }, { family = "ipv6", protocol = "tcp", port = 81, opened = "outside" }] },
 { name = "marked", match = [{ dscp = ["cs1", "le"] }, { to = ["10.7.0.0/16", "2001:db8:77::/64"] }] },
 { name = "asked", match = ["icmp", "udp/53", "tcp/53"], upgrade = false },
 { name = "rest", fair = "source" },
]
"""
_FEW = """
[policies.p]
unclassified = "names"
classes = [
 { name = "ack", express = true },
 { name = "names", match = ["udp/53", "tcp/53", "icmp"] },
 { name = "web", match = [{ protocol = "tcp", port = "80-443" }], upgrade = false },
 { name = "rest", default = true },
]
"""
_NESTED = """
[policies.p]
classes = [
 { name = "office", share = 3 },
 { name = "ack", express = true, guarantee = "15%" },
 { name = "shells", parent = "office", match = "tcp/22", share = 1 },
 { name = "pages", parent = "office", match = { protocol = "tcp", port = [80, 443], opened = "inside" }, share = 2, ceiling = "80%" },
 { name = "lab", parent = "office", share = 1 },
 { name = "sync", parent = "lab", match = "udp/53", upgrade = false },
 { name = "mail", parent = "lab", match = "tcp/25" },
 { name = "rest", share = 1, default = true },
]
"""
_ACCEPT = "accept = ['soft-order', 'ipv6-extension-express', 'fair-by-flow', 'fifo', 'starved-control', 'ipv6-express']\n"


def _one(
    body: str, policy: str = RULES, system: str = "linux-6.1", inside: bool = True, networks: str = '["192.168.1.0/24"]', more: str = ""
) -> str:
    """A model of one gateway with one link."""
    arm = f'inside = {{ interface = "eth1", networks = {networks} }}\n' if inside else ""
    return (
        f'{_ACCEPT}[links.wan]\nup = "20 Mbit"\ndown = "50 Mbit"\nencapsulation = "pppoe-llc"\npolicy = "p"\n{more}{policy}'
        f'[hosts.gw]\nsystem = "{system}"\n{arm}[hosts.gw.links.wan]\n{body}'
    )


def _two(first: str, second: str, policies: str = "", inside: str = 'inside = { interface = "eth1", networks = ["192.168.1.0/24"] }') -> str:
    """A model of one gateway with two links of different policies."""
    return (
        f'{_ACCEPT}[links.one]\nup = "20 Mbit"\ndown = "50 Mbit"\npolicy = "p"\n'
        f'[links.two]\nup = "30 Mbit"\ndown = "60 Mbit"\npolicy = "q"\n{RULES}{policies or _FEW.replace("policies.p", "policies.q")}'
        f'[hosts.gw]\nsystem = "linux-6.1"\n{inside}\n[hosts.gw.links.one]\n{first}\n[hosts.gw.links.two]\n{second}\n'
    )


_ETH0 = 'interface = "eth0"\n'
_NAT = 'nat = true\none_to_one = [{ inside = "192.168.1.20", outside = "203.0.113.20" }]\n'
_TRANSIT = (("eth0", "eth3", "198.51.100.9", "198.51.101.9"), ("eth0", "eth3", "2001:db8:f0::9", "2001:db8:f1::9"))


def _ruleset(name: str, host: str, **more: object) -> Model:
    return replace(Model(f"rulesets/{name} {host}", (RULESETS / name / "site.toml").read_text(), host=host), **more)  # type: ignore[arg-type]


_RULESETS = (
    _ruleset("adsl-pppoe", "server", inside=_APART, links=(_ARM,), arm=True, full=False),
    _ruleset("lartc-htb", "router", links=(_TUN,), full=False),
    _ruleset(
        "mixed-site", "tux",
        inside=replace(
            INSIDE, addresses=("192.168.6.1/24", "2001:db8:1::1/64"),
            hosts=("192.168.6.10", *(host for host in INSIDE.hosts if ":" in host)),
        ),
        links=(_PPPOE, replace(UPLINK, routes=(("198.51.101.0/24", "203.0.113.1"), ("2001:db8:f1::/48", "2001:db8:2::1")))), full=False,
    ),
    _ruleset("shared-line", "router", full=False, inside=replace(
        INSIDE, addresses=("10.0.0.1/24", "2001:db8:1::1/64"), hosts=("10.0.0.10", *(host for host in INSIDE.hosts if ":" in host)),
    )),
    _ruleset(
        "vlan-backhaul", "h7", inside=_APART, clients=False,
        links=(
            Port(
                "eth0.2417", ("10.24.17.1/24", "2001:db8:1::1/64"), ("10.24.17.2", "10.24.17.9", "2001:db8:1::10"), (), "vlan", "eth0", 2417,
            ),
            replace(UPLINK, device="eth1"),
        ),
        transit=(
            ("eth0.2417", "eth1", "10.24.17.2", "198.51.101.7"),
            ("eth0.2417", "eth1", "10.24.17.9", "198.51.101.7"),
            ("eth0.2417", "eth1", "2001:db8:1::10", "2001:db8:f1::7"),
        ),
    ),
)

_OTHERS = (
    Model("htb, NAT, 1:1, on arrival", _one(_ETH0 + _NAT)),
    Model("htb, routed, inside", _one(_ETH0 + 'shape_down = "inside"\n'), full=False),
    Model("hfsc, nested, on arrival", _one(_ETH0 + 'scheduler = "hfsc"\n', _NESTED), full=False),
    Model("hfsc, nested, NAT, inside", _one(_ETH0 + 'scheduler = "hfsc"\nshape_down = "inside"\n' + _NAT, _NESTED), full=False),
    Model("htb, nested, NAT, policed", _one(_ETH0 + 'shape_down = "police"\n' + _NAT, _NESTED), full=False),
    Model("prio, on arrival", _one(_ETH0 + 'scheduler = "prio"\n'), full=False),
    Model("prio, NAT, inside", _one(_ETH0 + 'scheduler = "prio"\nshape_down = "inside"\n' + _NAT), full=False),
    Model("cake, NAT, on arrival", _one(_ETH0 + 'scheduler = "cake"\n' + _NAT, _FEW), full=False),
    Model("cake, routed, inside", _one(_ETH0 + 'scheduler = "cake"\nshape_down = "inside"\n', _FEW.replace('unclassified = "names"\n', "")), full=False),
    Model("IPv4 only, PPPoE, inbound policy", _one(
        'interface = "ppp0"\nnat = true\ninbound = { services = ["tcp/80", "icmp/echo", "udp/5060"] }\n', _FEW, more="ipv6 = false\n",
    ), links=(_PPPOE,), full=False),
    Model("VLAN, excluded networks", _one('interface = "eth0.2417"\nexclude = ["198.51.100.128/25", "2001:db8:99::/48"]\n', _FEW),
          links=(_VLAN,), full=False),
    Model("VLAN, queues on its parent, prio", _one('interface = "eth0.2417"\nqueue_on = "eth0"\nscheduler = "prio"\n', _FEW), links=(_VLAN,),
          full=False),
    Model("one arm", _one(_ETH0 + "nat = true\n", _FEW, inside=False).replace(
        'system = "linux-6.1"\n', 'system = "linux-6.1"\ninside = { interface = "eth0", networks = ["192.168.1.0/24", "2001:db8:1::/64"] }\n'
    ), inside=_APART, links=(_ARM,), arm=True, full=False),
    Model("two links, NAT, on arrival", _two('interface = "eth0"\nnat = true', 'interface = "eth3"\nnat = true'),
          links=(UPLINK, _SECOND), transit=_TRANSIT, full=False),
    Model("two links, routed, inside", _two('interface = "eth0"\nshape_down = "inside"', 'interface = "eth3"\nshape_down = "inside"'),
          links=(UPLINK, _SECOND), transit=_TRANSIT, full=False, moving=True),
    Model("5.10, htb, NAT, inside", _one(_ETH0 + 'shape_down = "inside"\n' + _NAT, system="linux-5.10"), kernel="old"),
    Model("5.10, htb, NAT, on arrival", _one(_ETH0 + 'shape_down = "ingress"\n' + _NAT, system="linux-5.10"), kernel="old", full=False),
    Model("5.10, hfsc, nested, policed", _one(_ETH0 + 'scheduler = "hfsc"\nshape_down = "police"\n', _NESTED, system="linux-5.10"),
          kernel="old", full=False),
    Model("5.10, prio, IPv4 only, inside", _one(
        _ETH0 + 'scheduler = "prio"\nshape_down = "inside"\n', _FEW, system="linux-5.10", more="ipv6 = false\n"
    ), kernel="old", full=False),
)

MODELS = {model.name: model for model in (*_RULESETS, *_OTHERS)}
