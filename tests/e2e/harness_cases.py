"""What the harness must get right on hand-written queues: setups, packets, and the classes that the kernel counts them in."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.e2e.counters import name_of
from tests.e2e.lab import CLIENT, GATEWAY, INSIDE, SERVER, UPLINK, Lab
from tests.e2e.namespaces import LabError
from tests.e2e.packet import (
    ACK,
    DESTINATION_OPTIONS,
    FIN,
    FRAGMENT,
    HOP_BY_HOP,
    ICMP,
    ICMP6,
    PSH,
    ROUTING,
    RST,
    SYN,
    TCP,
    TIMESTAMPS,
    UDP,
    Packet,
    fragments,
    sack,
)
from tests.e2e.ports import Port

_TREE = """qdisc add dev {0} root handle 1: htb default 12
class add dev {0} parent 1: classid 1:1 htb rate 1gbit
class add dev {0} parent 1:1 classid 1:10 htb rate 300mbit ceil 1gbit prio 0
class add dev {0} parent 1:1 classid 1:11 htb rate 300mbit ceil 1gbit prio 1
class add dev {0} parent 1:1 classid 1:12 htb rate 400mbit ceil 1gbit prio 2
"""

# Flows are marked by their first packet; 1:11 for ICMP and DNS, 1:12 for the rest, 1:10 for empty ACKs and ToS bit 0x10.
_CLASSIFY = """table inet harness {
  chain no_payload {
    @ih,0,8 >= 0 return
    meta priority set 1:10
  }
  chain classify {
    type filter hook postrouting priority 300
    oifname != { WAN, "eth1" } return
    ct mark 0 meta l4proto { icmp, ipv6-icmp } ct mark set 11
    ct mark 0 meta l4proto { tcp, udp } th dport 53 ct mark set 11
    ct mark 0 ct mark set 12
    ct mark 11 meta priority set 1:11
    ct mark 12 meta priority set 1:12
    meta l4proto tcp tcp flags & ack == ack jump no_payload
    meta nfproto ipv4 @nh,8,8 & 0x10 == 0x10 meta priority set 1:10
    meta nfproto ipv6 @nh,0,16 & 0x0100 == 0x0100 meta priority set 1:10
  }
  chain outbound {
    type nat hook postrouting priority 100
    oifname WAN ip saddr 192.168.1.20 snat to 203.0.113.20
    oifname WAN ip saddr 192.168.1.0/24 snat to 203.0.113.2
  }
  chain inbound {
    type nat hook prerouting priority -100
    iifname WAN ip daddr 203.0.113.20 dnat to 192.168.1.20
    iifname WAN ip daddr 203.0.113.2 tcp dport 8080 dnat to 192.168.1.10:80
  }
}
"""


@dataclass(frozen=True, slots=True)
class Setup:
    """Queues and rules of a gateway. kernels: which test kernels (or "host") can do it."""

    name: str
    queues: str
    rules: str = ""
    uplink: Port = UPLINK
    kernels: tuple[str, ...] = ("current",)


_VLAN_UPLINK = replace(UPLINK, device="eth0.2417", kind="vlan", parent="eth0", tag=2417)
_TUNNEL_UPLINK = Port("ppp0", ("203.0.113.2/32",), routes=(("default", None), ("::/0", None)), kind="tun")

_PPPOE_UPLINK = replace(_TUNNEL_UPLINK, kind="pppoe", parent="eth0")

_PRIORITIES = """table inet harness {
  chain classify {
    type filter hook postrouting priority 300
    oifname "eth0" udp dport 1 meta priority set 1:0
    oifname "eth0" udp dport 2 meta priority set 1:1
    oifname "eth0" udp dport 3 meta priority set 1:2
    oifname "eth0" udp dport 4 meta priority set 1:3
  }
}
"""
_BANDS = "qdisc add dev eth0 parent 1:12 handle 20: prio bands 3\n"

SETUPS = {
    setup.name: setup
    for setup in (
        Setup("htb", _TREE.format("eth0") + _TREE.format("eth1"), _CLASSIFY.replace("WAN", '"eth0"'), kernels=("current",)),
        Setup("vlan", _TREE.format("eth0.2417"), _CLASSIFY.replace("WAN", '"eth0.2417"'), _VLAN_UPLINK),
        Setup("tunnel", _TREE.format("ppp0"), _CLASSIFY.replace("WAN", '"ppp0"'), _TUNNEL_UPLINK),
        Setup("pppoe", _TREE.format("ppp0") + _TREE.format("eth1"), _CLASSIFY.replace("WAN", '"ppp0"'), _PPPOE_UPLINK),
        Setup("direct", _TREE.format("eth0"), _PRIORITIES, kernels=("current", "old", "host")),
        Setup("bands", _TREE.format("eth0") + _BANDS, kernels=("current", "old", "cbq")),
        Setup("prio", "qdisc add dev eth0 root handle 1: prio bands 3\n", _PRIORITIES, kernels=("current", "old")),
        Setup("cake", "qdisc add dev eth0 root handle 1: cake bandwidth 1gbit diffserv4\n", _PRIORITIES, kernels=("current", "old")),
        Setup(
            "hfsc",
            "qdisc add dev eth0 root handle 1: hfsc default 2\n"
            "class add dev eth0 parent 1: classid 1:1 hfsc ls rate 100mbit\n"
            "class add dev eth0 parent 1: classid 1:2 hfsc ls rate 100mbit\n",
            _PRIORITIES,
            kernels=("current", "old"),
        ),
        Setup("plain", "qdisc add dev eth0 root handle 5: fq_codel\n", kernels=("current", "old", "cbq")),
        Setup(
            "police",
            "qdisc add dev eth0 handle ffff: ingress\n"
            "filter add dev eth0 parent ffff: protocol ip u32 match ip protocol 17 0xff police rate 8kbit burst 200 drop flowid :1\n",
            kernels=("current", "old", "cbq"),
        ),
        Setup(
            "cbq",
            "qdisc add dev eth0 root handle 1: cbq bandwidth 1gbit avpkt 1000\n"
            "class add dev eth0 parent 1: classid 1:1 cbq bandwidth 1gbit rate 100mbit allot 1500 prio 5 avpkt 1000\n"
            "class add dev eth0 parent 1:1 classid 1:10 cbq bandwidth 1gbit rate 50mbit allot 1600 prio 1 avpkt 1000\n"
            "class add dev eth0 parent 1:1 classid 1:20 cbq bandwidth 1gbit rate 50mbit allot 1600 prio 2 avpkt 1000\n"
            "filter add dev eth0 parent 1: protocol ip prio 10 u32 match ip tos 0x10 0x10 flowid 1:10\n"
            "filter add dev eth0 parent 1: protocol all prio 18 u32 match u32 0 0 flowid 1:20\n",
            kernels=("cbq",),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Case:
    """Packets sent at once from `origin` after those of `earlier`; how many are then counted in each class of `device`.

    came_out: source and destination address and ports of the first packet at the far end, where NAT matters.
    """

    name: str
    setup: str
    packets: tuple[Packet | bytes, ...]
    expected: dict[str, int]
    origin: str = CLIENT
    device: str = "eth0"
    earlier: tuple[tuple[str, Packet], ...] = ()
    segment: int = 0
    padding: int = 0
    frame: bytes = b""
    came_out: tuple[str, int, str, int] | None = None
    dropped: dict[str, int] = field(default_factory=dict)


_port = itertools.count(20_000)


def _tcp(flags: int = ACK, payload: int = 0, version: int = 4, **more: object) -> Packet:
    ends = ("192.168.1.10", "198.51.100.7") if version == 4 else ("2001:db8:1::10", "2001:db8:9::7")
    return replace(Packet(*ends, TCP, next(_port), 80, flags, payload), **more)  # type: ignore[arg-type]


def _udp(port: int, payload: int = 100, **more: object) -> Packet:
    return replace(Packet("192.168.1.10", "198.51.100.7", UDP, next(_port), port, payload=payload), **more)  # type: ignore[arg-type]


EXPRESS, SMALL, REST = {"1:10": 1}, {"1:11": 1}, {"1:12": 1}


def _one(name: str, packet: Packet, expected: dict[str, int], **more: object) -> Case:
    return replace(Case(f"htb: {name}", "htb", (packet,), expected), **more)  # type: ignore[arg-type]


def _tcp_cases() -> list[Case]:
    """Every shape of TCP segment through the htb tree."""
    cases = []
    for version in (4, 6):
        options = {"no options": b"", "timestamps": TIMESTAMPS, "timestamps and 3 SACK blocks": TIMESTAMPS + sack(3)}
        options |= {f"{blocks} SACK blocks": sack(blocks) for blocks in (1, 2, 3, 4)}
        for title, value in options.items():
            cases.append(_one(f"v{version} empty ACK, {title}", _tcp(version=version, tcp_options=value), EXPRESS))
            cases.append(_one(f"v{version} 1 byte, {title}", _tcp(payload=1, version=version, tcp_options=value), REST))
        for title, flags, expected in (
            ("SYN", SYN, REST),
            ("SYN ACK", SYN | ACK, EXPRESS),
            ("FIN ACK", FIN | ACK, EXPRESS),
            ("RST ACK", RST | ACK, EXPRESS),
            ("RST", RST, REST),
            ("PSH ACK", PSH | ACK, EXPRESS),
        ):
            cases.append(_one(f"v{version} {title}", _tcp(flags, version=version), expected))
        for size in (4, 12, 20, 536, 1400):
            cases.append(_one(f"v{version} {size} bytes", _tcp(payload=size, version=version), REST))
        for tos, expected in ((0x10, EXPRESS), (0xB8, EXPRESS), (0x13, EXPRESS), (0x40, REST), (0x08, REST), (0x02, REST), (0x03, REST)):
            cases.append(_one(f"v{version} ToS {tos:#04x}", _tcp(payload=99, version=version, tos=tos), expected))
    for words in range(6, 16):
        options_of = b"\x01" * ((words - 5) * 4)
        cases.append(_one(f"v4 empty ACK, IHL {words}", _tcp(ip_options=options_of), EXPRESS))
        cases.append(_one(f"v4 1 byte, IHL {words}", _tcp(payload=1, ip_options=options_of), REST))
    for headers in ((HOP_BY_HOP,), (DESTINATION_OPTIONS,), (ROUTING,), (FRAGMENT,), (HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS)):
        cases.append(_one(f"v6 empty ACK, extension headers {headers}", _tcp(version=6, extensions=headers), EXPRESS))
        cases.append(_one(f"v6 1 byte, extension headers {headers}", _tcp(payload=1, version=6, extensions=headers), REST))
    cases.append(_one("empty ACK padded to 60 bytes", _tcp(), EXPRESS, padding=6))
    cases.append(_one("v4 super-packet", _tcp(payload=14_000), {"1:12": 10}, segment=1_400))
    cases.append(_one("v6 super-packet", _tcp(payload=14_000, version=6), {"1:12": 10}, segment=1_400))
    return cases


def _other_cases() -> list[Case]:
    """What is not TCP from the inside, translated addresses, the other direction, the gateway's own packets."""
    inside_v6, outside_v6 = "2001:db8:1::10", "2001:db8:9::7"
    echo = Packet("192.168.1.10", "198.51.100.7", ICMP, identifier=77, payload=56)
    long_datagram = _udp(5_000, 2_900)
    web, answered = _tcp(), _tcp(SYN)
    one_to_one = _tcp(SYN, source="192.168.1.20")
    reply = replace(answered.back(), destination="203.0.113.2")
    opened = Packet("198.51.100.7", "203.0.113.2", TCP, 51_000, 8080, SYN)
    accepted = Packet("192.168.1.10", "198.51.100.7", TCP, 80, 51_000, ACK)
    ask = "ffffffffffff02000000010008060001080006040001020000000100cb007101000000000000cb007102"
    return [
        _one("DNS over UDP", _udp(53), SMALL),
        _one("DNS over TCP, data", _tcp(payload=40, port=53), SMALL),
        _one("DNS over TCP, empty ACK", _tcp(port=53), EXPRESS),
        _one("UDP, low delay", _udp(5_000, tos=0x10), EXPRESS),
        _one("UDP without payload", _udp(5_000, 0), REST),
        _one("ICMP echo", echo, SMALL),
        _one("ICMPv6 echo", Packet(inside_v6, outside_v6, ICMP6, icmp=(128, 0), payload=56), SMALL),
        _one("ESP", Packet("192.168.1.11", "198.51.100.7", 50, payload=80), REST),
        Case("htb: fragments", "htb", fragments(long_datagram, 1_480), {"1:12": 2}),
        Case("htb: v6 fragments", "htb", fragments(replace(long_datagram, source=inside_v6, destination=outside_v6), 1_448), {"1:12": 3}),
        _one("source NAT", web, EXPRESS, came_out=("203.0.113.2", web.source_port, "198.51.100.7", 80)),
        _one("1:1 NAT out", one_to_one, REST, came_out=("203.0.113.20", one_to_one.source_port, "198.51.100.7", 80)),
        _one("1:1 NAT in", Packet("198.51.100.7", "203.0.113.20", TCP, 50_000, 25, SYN), REST, origin=SERVER, device="eth1"),
        _one("reply, data", replace(reply, flags=ACK, payload=900), REST, origin=SERVER, device="eth1", earlier=((CLIENT, answered),)),
        _one("reply, empty ACK", replace(reply, flags=ACK), EXPRESS, origin=SERVER, device="eth1", earlier=((CLIENT, answered),)),
        _one("inbound connection", opened, REST, origin=SERVER, device="eth1", came_out=("198.51.100.7", 51_000, "192.168.1.10", 80)),
        _one("answer of an inbound connection, data", replace(accepted, payload=5), REST, earlier=((SERVER, opened),)),
        _one("answer of an inbound connection, empty ACK", accepted, EXPRESS, earlier=((SERVER, opened),)),
        _one("the gateway's own empty ACK", _tcp(source="203.0.113.2"), EXPRESS, origin=GATEWAY),
        _one("the gateway's own v6 data", _tcp(payload=3, version=6, source="2001:db8:2::2"), REST, origin=GATEWAY),
        _one("the gateway's own ping", replace(echo, source="203.0.113.2"), SMALL, origin=GATEWAY),
        Case("htb: answer to ARP", "htb", (), REST, SERVER, frame=bytes.fromhex(ask)),
    ]


def _setup_cases() -> list[Case]:
    """What the other disciplines make of a priority, a ToS, or nothing."""
    high, low = _udp(9, tos=0x10), _udp(9)
    cases = [Case(f"vlan: {title}", "vlan", (packet,), expected, device="eth0.2417") for title, packet, expected in _ways()]
    cases += [Case(f"tunnel: {title}", "tunnel", (packet,), expected, device="ppp0") for title, packet, expected in _ways()]
    cases += [Case(f"pppoe: {title}", "pppoe", (packet,), expected, device="ppp0") for title, packet, expected in _ways()]
    answer = replace(low.back(), destination="203.0.113.2")
    cases.append(Case("pppoe: answer from the server", "pppoe", (answer,), REST, SERVER, "eth1", earlier=((CLIENT, low),)))
    for setup, names in (("direct", ("1:", "1:12", "1:12", "1:12")), ("prio", ("1:2", "1:1", "1:2", "1:3"))):
        cases += [Case(f"{setup}: priority 1:{n}", setup, (_udp(n + 1),), {name: 1}) for n, name in enumerate(names)]
    cases += [Case(f"cake: tin {n}", "cake", (_udp(n + 1),), {f"1:{n}": 1}) for n in (1, 2, 3)]
    cases += [Case(f"hfsc: priority 1:{n}", "hfsc", (_udp(n + 1),), {f"1:{n}": 1}) for n in (1, 2)]
    cases += [
        Case("bands: low delay", "bands", (high,), {"20:1": 1}),
        Case("bands: best effort", "bands", (low,), {"20:2": 1}),
        Case("plain: a discipline without classes", "plain", (low,), {"5:": 1}),
        Case("cbq: low delay", "cbq", (high,), {"1:10": 1}),
        Case("cbq: the rest, twice", "cbq", (low, low), {"1:20": 2}),
        Case(
            "police: the second packet is too much",
            "police",
            (low.back(), low.back()),
            {"ffff:": 2},
            SERVER,
            dropped={"eth0": 1},
        ),
    ]
    return cases


def _ways() -> list[tuple[str, Packet, dict[str, int]]]:
    return [
        ("empty ACK", _tcp(), EXPRESS),
        ("v6 empty ACK", _tcp(version=6), EXPRESS),
        ("1 byte", _tcp(payload=1), REST),
        ("v6 1 byte", _tcp(payload=1, version=6), REST),
    ]


CASES = {case.name: case for case in (*_tcp_cases(), *_other_cases(), *_setup_cases())}


def cases_of(kernel: str) -> list[str]:
    """Names of the cases that `kernel` can do."""
    return [name for name, case in CASES.items() if kernel in SETUPS[case.setup].kernels]


def _tc_agrees(lab: Lab) -> list[str]:
    """Differences between the counters read by netlink and those that tc prints, for the classes of the uplink."""
    # iproute2 6.1 prints classes as text even when asked for JSON.
    shown = lab.run_gateway(["tc", "-s", "class", "show", "dev", "eth0"]).stdout
    found = re.findall(r"^class \w+ (\S+) .*\n Sent (\d+) bytes (\d+) pkt", shown, re.MULTILINE)
    printed = {handle: (int(packets), int(size)) for handle, size, packets in found}
    read = {name_of(each.handle): (each.packets, each.bytes) for each in lab.counters("eth0") if each.what == "class"}
    return [f"{name}: tc {printed.get(name)}, netlink {read.get(name)}" for name in printed | read if printed.get(name) != read.get(name)]


def _run(lab: Lab, case: Case) -> dict[str, object]:
    for origin, packet in case.earlier:
        lab.send(origin, packet)
    frame = case.frame
    packets = case.packets
    seen = lab.send_frame(case.origin, frame) if frame else lab.send(case.origin, *packets, segment=case.segment, padding=case.padding)
    out = [(packet.source, packet.source_port, packet.destination, packet.port) for packet in seen.came_out(case.device)]
    return {"counted": seen.packets(case.device), "dropped": dict(seen.dropped), "came_out": out}


def measure(kernel: str) -> dict[str, dict[str, object]]:
    """Run the cases of `kernel`, here and now: for each, what was counted, what was dropped and what came out."""
    results: dict[str, dict[str, object]] = {}
    names = cases_of(kernel)
    for setup in SETUPS.values():
        own = [CASES[name] for name in names if CASES[name].setup == setup.name]
        if own:
            with Lab((INSIDE,), (setup.uplink,)) as lab:
                lab.run_gateway(["tc", "-batch", "-"], setup.queues)
                if setup.rules:
                    lab.run_gateway(["nft", "-f", "-"], setup.rules)
                results |= {case.name: _run(lab, case) for case in own}
                if setup.name == "direct":
                    results["tc"] = {"differences": _tc_agrees(lab)}
    return results


def fail(message: str) -> None:
    """Raise, to see how that arrives at the caller."""
    raise LabError(message)


def echo(values: Sequence[str]) -> Sequence[str]:
    """The argument."""
    return values
