"""The ways to find empty ACKs and low-delay packets that were measured on a kernel: over all packets, each is wrong where it was measured to be wrong."""

from pfq.headers.algebra import Condition
from pfq.headers.asking import Passage, Way, opening_view
from pfq.headers.bits import any_of, at_least, between, masked
from pfq.headers.diagrams import Diagrams
from pfq.headers.fields import EXTENSION_WORDS, FAMILY, FLAGS, FRAGMENT, HEADER_WORDS, OFFSET_WORDS, PAYLOAD, PROTOCOL, TOS
from pfq.linux import read
from pfq.linux.evaluate import ruleset

_ALL = Diagrams()
_PRIO = "qdisc add dev eth0 root handle 1: prio bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2\n"
_WORDS = range(5, 16)
_LOW_DELAY = "meta nfproto ipv4 @nh,8,8 & 0x10 == 0x10 meta priority set 1:1\nmeta nfproto ipv6 @nh,0,16 & 0x0100 == 0x0100 meta priority set 1:1\n"
_INNER = """table inet t {
  chain empty {
    @ih,0,8 >= 0 return
    meta priority set 1:1
  }
  chain c {
    type filter hook postrouting priority 0
    LOW_DELAY
    ip frag-off & 0x1fff != 0 return
    frag frag-off != 0 return
    tcp flags & ack == ack jump empty
  }
}
"""
_TRIPLES = ", ".join(f"{ihl} . {doff} . {4 * (ihl + doff)}" for ihl in _WORDS for doff in _WORDS)
_PAIRS = ", ".join(f"{doff} . {4 * doff}" for doff in _WORDS)
_SETS = f"""table inet t {{
  set four {{ typeof ip hdrlength . tcp doff . ip length; elements = {{ {_TRIPLES} }} }}
  set six {{ typeof tcp doff . ip6 length; elements = {{ {_PAIRS} }} }}
  chain c {{
    type filter hook postrouting priority 0
    LOW_DELAY
    tcp flags & ack == ack ip hdrlength . tcp doff . ip length @four meta priority set 1:1
    tcp flags & ack == ack tcp doff . ip6 length @six meta priority set 1:1
  }}
}}
"""
_FILTER = "filter add dev eth0 parent 1: protocol"
_OFFSETS = "".join(
    f"{_FILTER} ip prio 1 u32 match ip protocol 6 0xff match u8 0x45 0xff at 0 match u16 {20 + 4 * doff} 0xffff at 2 match u8 {doff << 4} 0xf0 at 32"
    f" match u8 0x10 0x10 at 33 flowid 1:1\n"
    f"{_FILTER} ipv6 prio 2 u32 match ip6 protocol 6 0xff match u16 {4 * doff} 0xffff at 4 match u8 {doff << 4} 0xf0 at 52"
    f" match u8 0x10 0x10 at 53 flowid 1:1\n"
    for doff in _WORDS
) + f"{_FILTER} ip prio 3 u32 match ip tos 0x10 0x10 flowid 1:1\n{_FILTER} ipv6 prio 4 u32 match u32 0x01000000 0x01000000 at 0 flowid 1:1\n"
_COOKBOOK = (
    f"{_FILTER} ip prio 1 u32 match ip tos 0x10 0xff flowid 1:1\n"
    f"{_FILTER} ip prio 2 u32 match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33 flowid 1:1\n"
)


class _Packets:
    """Conditions on packets, and the reference (pf's test)."""

    def __init__(self) -> None:
        def field(name: str, value: int, mask: int = -1) -> Condition:
            return masked(_ALL, _ALL.field(name), value, mask)

        self.six = _ALL.field(FAMILY)[0]
        self.tcp = field(PROTOCOL, 6)
        self.fragment_header = self.six & ~field(FRAGMENT, 0)
        self.later = field(FRAGMENT, 2)
        self.whole = field(FRAGMENT, 0) | (self.six & field(FRAGMENT, 3))
        self.ack = field(FLAGS, 0x10, 0x10)
        self.only_ack = field(FLAGS, 0x10)
        self.no_payload = field(PAYLOAD, 0)
        self.low_delay = field(TOS, 0x10, 0x10)
        self.options = ~field(HEADER_WORDS, 5) & ~self.six
        self.extensions = self.six & ~field(EXTENSION_WORDS, 0)
        self.empty = self.tcp & ~self.later & self.ack & self.no_payload
        self.wanted = self.empty | self.low_delay
        self.exactly_low_delay = field(TOS, 0x10)
        sizes = at_least(_ALL, _ALL.field(HEADER_WORDS), 5) & at_least(_ALL, _ALL.field(OFFSET_WORDS), 5) & ~at_least(_ALL, _ALL.field(PAYLOAD), 1400)
        extension_numbers = any_of(_ALL, (field(PROTOCOL, number) for number in (0, 43, 44, 51, 60)))
        self.valid = sizes & ~(~self.six & field(FRAGMENT, 3)) & ~(self.six & extension_numbers)


_P = _Packets()


def _found(rules: str, queues: str) -> Condition:
    """The packets that a method takes."""
    gateway = ruleset(read({"rules": rules.replace("LOW_DELAY", _LOW_DELAY), "queues": _PRIO + queues}))
    cases, _ = gateway.opening(Way("eth1", "eth0"), opening_view(_ALL))
    return cases.get(Passage("pass", (("eth0", "1:1"),)), _ALL.nothing)


def _wrong(rules: str, queues: str) -> Condition:
    return (_found(rules, queues) ^ _P.wanted) & _P.valid


def test_the_inner_header_load_is_right_of_every_packet() -> None:
    assert not _wrong(_INNER, "").satisfiable()


def test_without_the_test_for_fragments_a_later_one_is_not_read_either() -> None:
    assert not _wrong(_INNER.replace("ip frag-off & 0x1fff != 0 return", "").replace("frag frag-off != 0 return", ""), "").satisfiable()


def test_sets_of_lengths_are_wrong_behind_extension_headers_only() -> None:
    wrong = _wrong(_SETS, "") & _P.whole
    assert wrong == _P.valid & _P.whole & _P.empty & ~_P.low_delay & (_P.extensions | _P.fragment_header)


def test_a_filter_for_each_data_offset_is_wrong_behind_options_and_extension_headers_only() -> None:
    wrong = _wrong("", _OFFSETS) & _P.whole
    assert wrong == _P.valid & _P.whole & _P.empty & ~_P.low_delay & (_P.options | _P.extensions | _P.fragment_header)


def test_a_bound_on_the_length_takes_small_payloads_in_and_leaves_options_and_ipv6_out() -> None:
    rules = "table inet t { chain c { type filter hook postrouting priority 0; LOW_DELAY tcp flags & ack == ack meta length 0-59 meta priority set 1:1; } }"
    wrong = _wrong(rules, "") & _P.whole
    plain = between(_ALL, _ALL.field(PAYLOAD), 1, 12) & masked(_ALL, _ALL.field(HEADER_WORDS), 5) & masked(_ALL, _ALL.field(OFFSET_WORDS), 5) & ~_P.six
    small = _P.valid & _P.whole & _P.tcp & _P.ack & ~_P.low_delay & plain
    assert (small & ~wrong).satisfiable() is False
    assert (wrong & _P.no_payload & _P.six).satisfiable()
    assert (wrong & _P.no_payload & _P.options).satisfiable()


def test_the_cookbook_s_filters_miss_ipv6_and_take_short_data_in() -> None:
    wrong = _wrong("", _COOKBOOK) & _P.whole
    missed = _P.valid & _P.whole & _P.wanted
    assert not (missed & _P.six & ~wrong).satisfiable()
    # Another ToS bit beside the one that is asked for.
    assert not (missed & ~_P.six & _P.low_delay & ~_P.exactly_low_delay & ~_P.empty & ~wrong & ~_P.tcp).satisfiable()
    short = between(_ALL, _ALL.field(PAYLOAD), 1, 12) & masked(_ALL, _ALL.field(OFFSET_WORDS), 5) & masked(_ALL, _ALL.field(HEADER_WORDS), 5)
    taken = _P.valid & _P.whole & _P.tcp & _P.only_ack & ~_P.six & ~_P.low_delay & short
    assert taken.satisfiable()
    assert not (taken & ~wrong).satisfiable()
    # FIN and the like with the ACK.
    assert not (_P.valid & _P.whole & _P.empty & ~_P.six & ~_P.low_delay & ~_P.only_ack & ~wrong).satisfiable()


def test_a_later_fragment_that_conntrack_has_not_put_together_has_no_flags() -> None:
    rules = "table ip t { chain c { type filter hook postrouting priority 0; tcp flags & 0 == 0 meta priority set 1:1; } }"
    found = _found(rules, "")
    assert not (found & _P.later).satisfiable()
    assert (found & ~_P.later & _P.valid).satisfiable()
    tracked = rules.replace("tcp flags", "ct state new tcp flags")
    assert (_found(tracked, "") & _P.later).satisfiable()
