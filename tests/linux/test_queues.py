"""What tc's disciplines, filters and actions do with packets: small texts with known answers, for one packet and for all."""

import pytest

from pfq.headers.asking import BLOCK, Passage, Way
from pfq.linux import read
from pfq.linux.evaluate import Gateway, ruleset
from tests.e2e.packet import ACK, TCP, UDP, Packet
from tests.linux.test_rules import asked

_OUT, _IN = Way("eth1", "eth0"), Way("eth0", "eth1")
_HTB = """qdisc add dev eth0 root handle 1: htb default 99
class add dev eth0 parent 1: classid 1:1 htb rate 9mbit
class add dev eth0 parent 1:1 classid 1:2 htb rate 1mbit
class add dev eth0 parent 1:1 classid 1:3 htb rate 1mbit
class add dev eth0 parent 1: classid 1:99 htb rate 1mbit
"""


def _packet(source: str = "192.168.1.5", destination: str = "198.51.100.7", protocol: int = TCP, **more: object) -> Packet:
    fields = {"source_port": 40_000, "port": 443, "flags": ACK if protocol == TCP else 0} | more
    return Packet(source, destination, protocol, **fields)  # type: ignore[arg-type]


def _gateway(queues: str, priority: str = "", mark: str = "") -> Gateway:
    lines = [f"meta {name} set {value}" for name, value in (("priority", priority), ("mark", mark)) if value]
    chain = "\n".join(["table inet t {", "chain c {", "type filter hook postrouting priority 0; policy accept;", *lines, "}", "}", ""])
    return ruleset(read({"rules": chain, "queues": queues}))


def _leaf(queues: str, packet: Packet | None = None, priority: str = "", mark: str = "") -> str:
    return dict(asked(_gateway(queues, priority, mark), _OUT, packet or _packet()).queues).get("eth0", "none")


@pytest.mark.parametrize(
    ("priority", "leaf"),
    [("1:2", "1:2"), ("1:1", "1:99"), ("1:77", "1:99"), ("1:0", ""), ("5", "1:99"), ("7:2", "1:99")],
)
def test_htb_by_priority(priority: str, leaf: str) -> None:
    assert _leaf(_HTB, priority=priority) == leaf


def test_htb_without_a_default_class_holds_nothing_back() -> None:
    assert _leaf(_HTB.replace(" default 99", "")) == ""
    assert _leaf(_HTB.replace("default 99", "default 1")) == ""


def test_filters_are_asked_in_the_order_of_their_preference_and_inner_classes_after() -> None:
    filters = """filter add dev eth0 parent 1: protocol all prio 20 matchall classid 1:99
filter add dev eth0 parent 1: protocol ip prio 10 u32 match ip dport 443 0xffff flowid 1:1
filter add dev eth0 parent 1:1 protocol ip prio 1 u32 match ip src 192.168.0.0/16 flowid 1:3
"""
    assert _leaf(_HTB + filters) == "1:3"
    assert _leaf(_HTB + filters, _packet("10.0.0.1")) == "1:99"
    assert _leaf(_HTB + filters, _packet(port=80)) == "1:99"
    assert _leaf(_HTB + filters, priority="1:1") == "1:3"
    # A valid class in the priority leaves the filters unasked.
    assert _leaf(_HTB + filters, priority="1:2") == "1:2"


@pytest.mark.parametrize(
    ("test", "hit", "missed"),
    [
        ("protocol ip prio 1 u32 match ip tos 0x10 0xff", _packet(tos=0x10), _packet(tos=0x12)),
        ("protocol ip prio 1 u32 match ip protocol 17 0xff", _packet(protocol=UDP), _packet()),
        ("protocol ip prio 1 u32 match u8 0x10 0xff at 33", _packet(), _packet(flags=0x18)),
        ("protocol ip prio 1 u32 match u8 0x10 0xff at 33", _packet(), _packet(ip_options=b"\x01" * 4)),
        ("protocol ip prio 1 u32 match u16 0x0000 0xffc0 at 2", _packet(), _packet(payload=24)),
        ("protocol ipv6 prio 1 u32 match ip6 dst 2001:db8::/32", _packet("fd00::1", "2001:db8::9"), _packet("fd00::1", "2001:db9::9")),
        ("protocol ip prio 1 handle 7 fw", None, _packet()),
        ("protocol all prio 1 matchall", _packet("fd00::1", "fd00::2"), None),
        ("protocol ip prio 1 matchall", _packet(), _packet("fd00::1", "fd00::2")),
        ("protocol ip prio 1 flower ip_proto tcp dst_port 443", _packet(), _packet(protocol=UDP)),
        ("protocol ip prio 1 flower src_ip 192.168.1.0/24 ip_tos 0x10/0x10", _packet(tos=0x18), _packet(tos=0x18, source="10.0.0.1")),
        ("protocol ip prio 1 flower tcp_flags 0x10/0x12", _packet(), _packet(flags=2)),
        ("protocol all prio 1 basic match meta( priority gt 65535 )", None, _packet()),
        ("protocol all prio 1 bpf bytecode '4,48 0 0 4293918729,21 0 1 17,6 0 0 4294967295,6 0 0 0'", _packet(protocol=UDP), _packet()),
        ("protocol all prio 1 bpf bytecode '1,6 0 0 65538'", _packet(), None),
        # Beyond the packet's end, a program returns 0.
        ("protocol all prio 1 bpf bytecode '2,48 0 0 4293918760,6 0 0 4294967295'", _packet(payload=1), _packet()),
    ],
)  # fmt: skip
def test_a_filter(test: str, hit: Packet | None, missed: Packet | None) -> None:
    line = f"filter add dev eth0 parent 1: {test}" + ("" if "65538" in test else " classid 1:2")
    if hit is not None:
        assert _leaf(_HTB + line, hit) == "1:2"
    if missed is not None:
        assert _leaf(_HTB + line, missed) == "1:99"


def test_marks_and_priorities_choose() -> None:
    assert _leaf(_HTB + "filter add dev eth0 parent 1: protocol ip prio 1 handle 7 fw flowid 1:2", mark="7") == "1:2"
    assert _leaf(_HTB + "filter add dev eth0 parent 1: protocol ip prio 1 handle 0x10/0xf0 fw flowid 1:2", mark="0x1f") == "1:2"
    assert _leaf(_HTB + "filter add dev eth0 parent 1: protocol all prio 1 basic match meta( priority gt 131071 ) classid 1:2", priority="2:1") == "1:2"
    edited = "filter add dev eth0 parent 1: protocol all prio 1 matchall action skbedit mark 9 continue\n"
    assert _leaf(_HTB + edited + "filter add dev eth0 parent 1: protocol ip prio 2 handle 9 fw flowid 1:3") == "1:3"


def test_a_filter_may_drop() -> None:
    rules = _gateway(_HTB + "filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 443 0xffff action drop")
    assert asked(rules, _OUT, _packet()) == Passage(BLOCK)


def test_a_key_beyond_the_packet_ends_the_search_in_its_preference() -> None:
    lines = "".join(
        f"filter add dev eth0 parent 1: protocol ip prio {prio} u32 match {what} flowid 1:{leaf}\n"
        for prio, what, leaf in ((1, "u8 0x74 0xff at 44", 2), (1, "u32 0 0", 3), (2, "u32 0 0", 2))
    )
    assert _leaf(_HTB + lines, _packet(payload=20)) == "1:3"
    assert _leaf(_HTB + lines) == "1:2"


def test_bands() -> None:
    prio = "qdisc add dev eth0 root handle 2: prio bands 4 priomap 3 3 3 3 1 3 0 3 3 3 3 3 3 3 3 3\nqdisc add dev eth0 parent 2:2 handle 20: pfifo limit 9\n"
    assert [_leaf(prio, priority=number) for number in ("2:3", "2:9", "6", "4", "1", "5:1")] == ["2:3", "2:4", "2:1", "2:2", "2:4", "2:4"]
    assert _leaf(prio + "filter add dev eth0 parent 2: protocol all prio 1 matchall flowid 2:3", priority="6") == "2:3"
    # Forwarding makes the priority out of IPv4's ToS.
    assert [_leaf(prio, _packet(tos=tos)) for tos in (0x10, 0x18, 0x08, 0x02)] == ["2:1", "2:2", "2:4", "2:4"]


def test_bands_inside_a_class() -> None:
    inner = _HTB + "qdisc add dev eth0 parent 1:99 handle 2: prio bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2\n"
    assert [_leaf(inner, priority=number) for number in ("2:1", "1:2", "3")] == ["2:1", "1:2", "2:3"]


def test_hfsc_without_a_default_class_drops() -> None:
    hfsc = _HTB.replace("htb", "hfsc").replace("rate 9mbit", "ls m2 9mbit").replace("rate 1mbit", "ls m2 1mbit")
    assert [_leaf(hfsc, priority=number) for number in ("1:2", "1:1", "1:0")] == ["1:2", "1:99", "1:99"]
    assert asked(_gateway(hfsc.replace(" default 99", "")), _OUT, _packet()) == Passage(BLOCK)


def test_cbq_sends_the_rest_where_its_map_says() -> None:
    cbq = """qdisc add dev eth0 root handle 1: cbq bandwidth 10mbit avpkt 1000 cell 8
class add dev eth0 parent 1: classid 1:1 cbq bandwidth 10mbit rate 1mbit allot 1500 prio 8 avpkt 1000 bounded isolated
class add dev eth0 parent 1:1 classid 1:2 cbq bandwidth 10mbit rate 1mbit allot 1500 prio 1 avpkt 1000
class add dev eth0 parent 1:1 classid 1:3 cbq bandwidth 10mbit rate 1mbit allot 1500 prio 2 avpkt 1000 split 1:0 defmap ffff
"""
    assert [_leaf(cbq, priority=number) for number in ("1:2", "0", "6")] == ["1:2", "1:3", "1:3"]
    assert _leaf(cbq + "filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 443 0xffff flowid 1:2") == "1:2"


@pytest.mark.parametrize(("tos", "leaf"), [(0, "1:2"), (0x20, "1:1"), (0xB8, "1:4"), (0x88, "1:3"), (0x04, "1:1")])
def test_cake_by_code_point(tos: int, leaf: str) -> None:
    assert _leaf("qdisc add dev eth0 root handle 1: cake bandwidth 9mbit diffserv4 nat", _packet(tos=tos)) == leaf


def test_cake_by_priority_and_mark() -> None:
    cake = "qdisc add dev eth0 root handle 1: cake bandwidth 9mbit diffserv4 fwmark 0xf0"
    assert _leaf(cake, _packet(tos=0xB8), priority="1:1") == "1:1"
    assert _leaf(cake, priority="1:1", mark="0x30") == "1:3"
    assert _leaf("qdisc add dev eth0 root handle 1: cake besteffort", _packet(tos=0xB8)) == "1:1"


def test_devices_with_one_queue_and_with_none() -> None:
    assert _leaf("qdisc add dev eth0 root handle 5: fq_codel") == "5:"
    assert _leaf("qdisc add dev eth9 root handle 5: fq_codel") == "none"


_ARRIVING = """qdisc add dev ifb0 root handle 1: htb default 9
class add dev ifb0 parent 1: classid 1:9 htb rate 1mbit
class add dev ifb0 parent 1: classid 1:2 htb rate 1mbit
qdisc add dev eth0 handle ffff: ingress
filter add dev eth0 parent ffff: protocol all prio 1 matchall action ctinfo cpmark 0xff continue
filter add dev eth0 parent ffff: protocol all prio 2 matchall action mirred egress redirect dev ifb0
filter add dev ifb0 parent 1: protocol all prio 1 handle 5 fw classid 1:2
"""


def test_what_arrives_waits_on_another_device_by_its_flow_s_mark() -> None:
    table = 'table inet t { chain c { type filter hook postrouting priority 0; oifname "eth0" ct mark set 0x505; } }'
    rules = ruleset(read({"rules": table, "queues": _ARRIVING}))
    first = _packet()
    assert asked(rules, _OUT, first, first.back(), reply=True).queues == (("ifb0", "1:2"),)
    assert asked(rules, _IN, _packet("198.51.100.7", "192.168.1.5")).queues == (("ifb0", "1:9"),)
    # What is dropped later has waited all the same.
    blocked = ruleset(read({"rules": "table inet t { chain c { type filter hook forward priority 0; drop; } }", "queues": _ARRIVING}))
    assert asked(blocked, _IN, _packet("198.51.100.7", "192.168.1.5")) == Passage(BLOCK, (("ifb0", "1:9"),))


def test_a_policer_holds_no_queue() -> None:
    police = """qdisc add dev eth0 handle ffff: ingress
filter add dev eth0 parent ffff: protocol all prio 50 matchall action police rate 800000bit burst 11500b mtu 65536 conform-exceed drop
"""
    assert asked(_gateway(police), _IN, _packet("198.51.100.7", "192.168.1.5")).queues == ()


def test_a_vlan_s_packets_pass_the_queues_below_it() -> None:
    rules = _gateway(_HTB)
    assert asked(rules, Way("eth1", "eth0.7"), _packet()).queues == (("eth0", "1:99"),)
    carried = ruleset(read({"queues": _HTB}), carriers={"ppp0": "eth0"})
    assert asked(carried, Way("eth1", "ppp0"), _packet()).queues == (("eth0", "1:99"),)
