"""What single nft features do to packets: small texts with known answers, for one packet and for all."""

import pytest

from pfq.headers.algebra import Condition, Exactly
from pfq.headers.asking import BLOCK, PASS, Decision, Passage, Way, later_view, opening_view
from pfq.headers.bits import masked
from pfq.headers.diagrams import Diagrams
from pfq.headers.fields import ORDER
from pfq.linux import read
from pfq.linux.evaluate import Gateway, ruleset
from tests.e2e.packet import ACK, PSH, RST, SYN, TCP, UDP, Packet
from tests.linux.flows import values

_ALL = Diagrams()
_WAY = Way("eth1", "eth0")
_QUEUES = """qdisc add dev eth0 root handle 1: htb default 99
class add dev eth0 parent 1: classid 1:1 htb rate 1mbit
class add dev eth0 parent 1: classid 1:2 htb rate 1mbit
class add dev eth0 parent 1: classid 1:99 htb rate 1mbit
"""
_TO_TWO = "meta priority set 1:2"


def _packet(source: str = "192.168.1.5", destination: str = "198.51.100.7", protocol: int = TCP, **more: object) -> Packet:
    fields = {"source_port": 40_000, "port": 443, "flags": SYN if protocol == TCP else 0} | more
    return Packet(source, destination, protocol, **fields)  # type: ignore[arg-type]


def point(numbers: dict[str, int]) -> Condition:
    """The one packet of these values, among all."""
    where = _ALL.everything
    for name in reversed(list(ORDER)):
        where = masked(_ALL, _ALL.field(name), numbers.get(name, 0)) & where
    return where


def asked(rules: Gateway, way: Way, first: Packet, later: Packet | None = None, reply: bool = False, notes: list[Decision] | None = None) -> Passage:
    """The answer for one packet; the answer for all must say the same of it."""
    numbers = values(first, later=later)
    one = Exactly(numbers)
    here = point(numbers)
    cases, memory = rules.opening(way, opening_view(one, notes if later is None else None))
    everything, kept = rules.opening(way, opening_view(_ALL))
    if later is not None:
        back = way.back() if reply else way
        cases = rules.following(memory, back, later_view(one, reply, notes))
        everything = rules.following(kept, back, later_view(_ALL, reply))
    assert [passage for passage, where in everything.items() if (where & here).satisfiable()] == list(cases)
    return next(iter(cases))


def _gateway(rules: str, hook: str = "postrouting", priority: str = "mangle", more: str = "") -> Gateway:
    table = f"table inet t {{\n{more}\nchain c {{\ntype filter hook {hook} priority {priority}; policy accept;\n{rules}\n}}\n}}\n"
    return ruleset(read({"rules": table, "queues": _QUEUES}), {"eth0": ("203.0.113.2",)})


def _queue(rules: Gateway, first: Packet, later: Packet | None = None, reply: bool = False) -> str:
    return dict(asked(rules, _WAY, first, later, reply).queues).get("eth0", "none")


@pytest.mark.parametrize(
    ("rule", "hit", "missed"),
    [
        ("tcp dport 443", _packet(), _packet(port=444)),
        ("tcp dport { 80, 443 }", _packet(), _packet(protocol=UDP)),
        ("th dport 400-443", _packet(protocol=UDP), _packet(port=444)),
        ("tcp dport != 443", _packet(port=80), _packet()),
        ("tcp sport >= 40000", _packet(), _packet(source_port=39_999)),
        ("tcp dport https", _packet(), _packet(port=80)),
        ("ip saddr 192.168.1.0/24", _packet(), _packet("192.168.2.5")),
        ("ip saddr 192.168.1.5-192.168.1.9", _packet(), _packet("192.168.1.10")),
        ("ip6 daddr 2001:db8::/32", _packet("fd00::1", "2001:db8::5"), _packet()),
        ("ip daddr != 10.0.0.0/8", _packet(), _packet("fd00::1", "2001:db8::5")),
        ("ip protocol tcp", _packet(), _packet("fd00::1", "fd00::2")),
        ("meta l4proto { tcp, udp } th dport 443", _packet(protocol=UDP), _packet(port=1)),
        ("meta nfproto ipv6", _packet("fd00::1", "fd00::2"), _packet()),
        ("ip dscp ef", _packet(tos=0xB9), _packet(tos=0xB0)),
        ("ip6 dscp cs1", _packet("fd00::1", "fd00::2", tos=0x21), _packet(tos=0x21)),
        ("@nh,8,8 & 0x10 == 0x10", _packet(tos=0x12), _packet(tos=0x08)),
        ("tcp flags syn", _packet(), _packet(flags=ACK)),
        ("tcp flags & (syn | ack) == syn", _packet(flags=SYN | PSH), _packet(flags=SYN | ACK)),
        ("tcp flags syn / syn,ack", _packet(), _packet(flags=SYN | ACK)),
        ("tcp flags ! ack,rst", _packet(), _packet(flags=RST | ACK)),
        ("tcp doff 6", _packet(tcp_options=b"\x01" * 4), _packet()),
        ("ip hdrlength . tcp doff . ip length { 5 . 5 . 40, 6 . 5 . 44 }", _packet(ip_options=b"\x01" * 4), _packet(payload=1)),
        ("meta length < 100", _packet(payload=59), _packet(payload=60)),
        ("@ih,0,8 >= 0", _packet(payload=1), _packet()),
        ("icmp type echo-request", _packet(protocol=1), _packet(protocol=1, icmp=(13, 0))),
        ("ip saddr . tcp dport { 192.168.1.5 . 443, 10.0.0.0/8 . 1-99 }", _packet("10.1.1.1", port=50), _packet("10.1.1.1")),
        ("ip frag-off & 0x1fff == 0", _packet(), _packet("fd00::1", "fd00::2")),
        ("exthdr frag exists", _packet("fd00::1", "fd00::2", extensions=(44,)), _packet("fd00::1", "fd00::2", extensions=(60,))),
        ('iifname "eth1" oifname "eth*"', _packet(), None),
        ('iifname "eth0"', None, _packet()),
        ("ip saddr 192.168.1.5 counter packets 5 bytes 9 log prefix \"x\" level info comment \"y\"", _packet(), _packet("192.168.1.6")),
        ("fib daddr type unicast", _packet(), None),
        ("meta mark 0", _packet(), None),
    ],
)  # fmt: skip
def test_a_match(rule: str, hit: Packet | None, missed: Packet | None) -> None:
    rules = _gateway(f"{rule} {_TO_TWO}")
    if hit is not None:
        assert _queue(rules, hit) == "1:2"
    if missed is not None:
        assert _queue(rules, missed) == "1:99"


def test_verdicts_jumps_and_returns() -> None:
    chains = """
    chain inner { tcp dport 1 return
      tcp dport 2 goto last
      tcp dport 3 drop
      meta priority set 1:1 }
    chain last { tcp dport 2 meta priority set 1:2 }
    """
    rules = _gateway("jump inner\ntcp dport { 1, 2 } accept\ntcp dport 4 meta priority set 1:2", more=chains)
    # From a chain that was gone to, a packet comes back behind the jump.
    assert [_queue(rules, _packet(port=port)) for port in (1, 2, 4, 5)] == ["1:99", "1:2", "1:2", "1:1"]
    assert asked(rules, _WAY, _packet(port=3)) == Passage(BLOCK)


def test_rules_in_a_row_without_verdicts_the_last_decides() -> None:
    rules = _gateway("\n".join(f"tcp dport {low}-100 meta priority set 1:{number}" for low, number in ((1, 1), (10, 2), (20, 1), (30, 2))))
    assert [_queue(rules, _packet(port=port)) for port in (5, 15, 25, 35, 101)] == ["1:1", "1:2", "1:1", "1:2", "1:99"]


def test_rules_in_a_row_with_verdicts_the_first_decides() -> None:
    rules = _gateway("\n".join(f"tcp dport {low}-100 meta priority set 1:{number} accept" for low, number in ((30, 2), (20, 1), (10, 2), (1, 1))))
    assert [_queue(rules, _packet(port=port)) for port in (5, 15, 25, 35, 101)] == ["1:1", "1:2", "1:1", "1:2", "1:99"]


def test_a_mark_set_by_one_rule_is_seen_by_the_next() -> None:
    lines = ("tcp dport 80 meta mark set 7", "meta mark 7 meta mark set 8", "meta mark 8 meta priority set 1:2", "meta mark & 0x4 == 0x4 meta priority set 1:1")
    rules = _gateway("\n".join(lines))
    assert [_queue(rules, _packet(port=port)) for port in (80, 81)] == ["1:2", "1:99"]


@pytest.mark.parametrize("mark", ["ct mark set (ct mark & 0xffff) | 0x20000", "ct mark set 0x20000", "ct mark set tcp dport map { 443 : 0x20000, 80 : 1 }"])
def test_a_connection_keeps_its_mark(mark: str) -> None:
    rules = _gateway(f"ct state new ip saddr 192.168.1.5 {mark}\nct mark & 0xf0000 0x20000 meta priority set 1:2")
    first = _packet()
    assert _queue(rules, first, _packet(flags=ACK)) == "1:2"
    assert _queue(rules, _packet("192.168.1.6"), _packet("192.168.1.6", flags=ACK)) == "1:99"
    back = asked(rules, Way("eth0", "eth1"), _packet("198.51.100.7", "192.168.1.5"), first, reply=True)
    assert back.queues == (("eth0", "1:99"),)


@pytest.mark.parametrize(
    ("flags", "state"), [(SYN, "new"), (ACK, "new"), (SYN | ACK, "invalid"), (RST, "invalid"), (0, "invalid"), (SYN | RST, "invalid"), (1 | ACK, "invalid")]
)
def test_the_state_of_a_packet_of_no_known_flow(flags: int, state: str) -> None:
    rules = _gateway("ct state vmap { new : goto one, invalid : goto two }", more="chain one { meta priority set 1:1 }\nchain two { meta priority set 1:2 }")
    assert _queue(rules, _packet(flags=flags)) == {"new": "1:1", "invalid": "1:2"}[state]


def test_the_state_of_packets_of_a_known_flow() -> None:
    rules = _gateway("ct state established,related meta priority set 1:2\nct direction reply meta priority set 1:1")
    assert _queue(rules, _packet(), _packet(flags=ACK)) == "1:2"
    assert _queue(rules, _packet(flags=RST), _packet(flags=ACK)) == "1:99"


def test_translation_is_seen_after_it_and_undone_for_replies() -> None:
    nat = """
    table ip nat {
      chain pre { type nat hook prerouting priority dstnat; tcp dport 8080 dnat to 192.168.1.7:80 }
      chain post { type nat hook postrouting priority srcnat; oifname "eth0" masquerade }
    }
    """
    late = """table inet t { chain c { type filter hook postrouting priority 300; ip saddr 203.0.113.2 meta priority set 1:2
      ip daddr 192.168.1.7 tcp dport 80 meta priority set 1:1 } }"""
    rules = ruleset(read({"rules": nat + late, "queues": _QUEUES + _QUEUES.replace("eth0", "eth1")}), {"eth0": ("203.0.113.2",)})
    assert _queue(rules, _packet()) == "1:2"
    inward = Way("eth0", "eth1")
    first = _packet("198.51.100.7", "203.0.113.2", port=8080)
    assert asked(rules, inward, first).queues == (("eth1", "1:1"),)
    assert asked(rules, inward, first, _packet("198.51.100.7", "203.0.113.2", port=8080, flags=ACK)).queues == (("eth1", "1:1"),)
    # The answer leaves as from the address that was asked.
    assert asked(rules, inward, first, first.back(flags=SYN | ACK), reply=True).queues == (("eth0", "1:2"),)


def test_one_to_one_and_prefix_maps() -> None:
    nat = """table ip nat {
      chain pre { type nat hook prerouting priority dstnat; iifname "eth0" dnat to ip daddr map { 203.0.113.5 : 192.168.1.5, 203.0.113.6 : 192.168.1.6 } }
      chain post { type nat hook postrouting priority srcnat; snat ip prefix to ip saddr map { 192.168.2.0/24 : 203.0.114.0/24 } }
    }
    table ip t { chain c { type filter hook postrouting priority 300
      ip daddr 192.168.1.6 meta priority set 1:2; ip saddr 203.0.114.9 meta priority set 1:1; } }"""
    rules = ruleset(read({"rules": nat, "queues": _QUEUES + _QUEUES.replace("eth0", "eth1")}))
    assert asked(rules, Way("eth0", "eth1"), _packet("198.51.100.7", "203.0.113.6")).queues == (("eth1", "1:2"),)
    assert asked(rules, Way("eth0", "eth1"), _packet("198.51.100.7", "203.0.113.5")).queues == (("eth1", "1:99"),)
    assert _queue(rules, _packet("192.168.2.9")) == "1:1"


def test_tables_stand_in_the_order_of_their_priorities() -> None:
    earlier = "chain d { type filter hook postrouting priority filter; meta mark set 1; }"
    rules = _gateway("meta mark 1 meta priority set 1:2", priority="filter + 10", more=earlier)
    assert _queue(rules, _packet()) == "1:2"
    assert _queue(_gateway("", more="chain d { type filter hook forward priority 0; policy drop; tcp dport 443 accept; }"), _packet()) == "1:99"
    assert asked(_gateway("", more="chain d { type filter hook forward priority 0; policy drop; tcp dport 80 accept; }"), _WAY, _packet()) == Passage(BLOCK)


def test_a_priority_set_before_forwarding_is_lost() -> None:
    rules = _gateway(_TO_TWO, hook="prerouting")
    assert _queue(rules, _packet()) == "1:99"
    assert _queue(rules, _packet("fd00::1", "fd00::2")) == "1:2"
    assert _queue(_gateway(_TO_TWO, hook="forward"), _packet()) == "1:2"


def test_what_is_not_tracked_has_no_mark() -> None:
    raw = "chain early { type filter hook prerouting priority raw; udp dport 53 notrack; }"
    rules = _gateway("ct mark set 1\nct mark 1 meta priority set 1:1\nct state untracked meta priority set 1:2", more=raw)
    assert [_queue(rules, _packet(protocol=UDP, port=port)) for port in (53, 54)] == ["1:2", "1:1"]


def test_sets_and_defines() -> None:
    text = """
define inside = { 192.168.1.0/24, 10.0.0.0/8 }
table inet t {
  set ports { type inet_service; flags interval; elements = { 1-99, 443 } }
  map classes { typeof ip saddr . tcp dport : meta priority; elements = { 192.168.1.5 . 443 : 1:2, * : 1:1 } }
  chain c { type filter hook postrouting priority mangle; ip saddr $inside tcp dport @ports meta priority set ip saddr . tcp dport map @classes; }
}"""
    rules = ruleset(read({"rules": text.replace(", * : 1:1", ""), "queues": _QUEUES}))
    assert _queue(rules, _packet()) == "1:2"
    assert [_queue(rules, packet) for packet in (_packet(port=444), _packet("172.16.0.1"), _packet("10.0.0.1"))] == ["1:99"] * 3


def test_each_line_that_has_a_say_is_noted_with_its_place() -> None:
    rules = _gateway("ip saddr 192.168.1.5 meta mark set 1\ntcp dport 80 meta priority set 1:1\ntcp dport 443 meta priority set 1:2")
    notes: list[Decision] = []
    assert asked(rules, _WAY, _packet(), notes=notes) == Passage(PASS, (("eth0", "1:2"),))
    assert [(note.place.file, note.place.line, note.text) for note in notes] == [
        ("rules", 5, "ip saddr 192.168.1.5 meta mark set 1"),
        ("rules", 7, "tcp dport 443 meta priority set 1:2"),
        ("queues", 3, "class add dev eth0 parent 1: classid 1:2 htb rate 1mbit"),
    ]
    assert notes[1].why == "its priority becomes 1:2"
