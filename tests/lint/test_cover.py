"""What `covers` and `apart` say, held against packets: a rule that covers another matches all that it matches."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pfq.lint.cover import Index, apart, covers
from pfq.pf.nodes import ANY, Host, Port, Rule

HOSTS = st.sampled_from([(0, 0, False), (8, 0, False), (30, 0, False), (31, 2, False), (32, 1, False), (32, 3, False), (32, 1, True), (31, 0, True)])
PORTS = st.sampled_from([None, ("=", 1, 0), ("!=", 1, 0), ("<", 2, 0), (">=", 2, 0), (":", 1, 2), ("><", 0, 3), ("<>", 1, 2)])


def host(spec: tuple[int, int, bool]) -> Host:
    bits, value, negated = spec
    if not bits:
        return ANY
    found = Host("address", 4, value, bits)
    found.negated = negated
    return found


def port(spec: tuple[str, int, int] | None) -> Port | None:
    return None if spec is None else Port(*spec)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    rule = Rule()
    rule.direction = draw(st.sampled_from(["", "in", "out"]))
    rule.interface = draw(st.sampled_from(["", "em0", "em1"]))
    rule.interface_negated = bool(rule.interface) and draw(st.booleans())
    rule.proto = draw(st.sampled_from([0, 6, 17]))
    rule.af = draw(st.sampled_from([0, 4]))
    rule.source, rule.destination = host(draw(HOSTS)), host(draw(HOSTS))
    if rule.proto:
        rule.source_port, rule.destination_port = port(draw(PORTS)), port(draw(PORTS))
    if rule.proto in (0, 6):
        rule.flags, rule.flagset = draw(st.sampled_from([(0, 0), (0x02, 0x12), (0x02, 0x02)]))
    rule.tagged = draw(st.sampled_from(["", "a"]))
    rule.tagged_negated = bool(rule.tagged) and draw(st.booleans())
    return rule


PACKETS = [
    (direction, interface, proto, source, destination, sport, dport, flags, tag)
    for direction in ("in", "out")
    for interface in ("em0", "em1")
    for proto, flags in ((6, 0x02), (6, 0x12), (6, 0x10), (17, 0))
    for source, destination in ((0, 1), (1, 1), (2, 3), (3, 0), (1 << 20, 2))
    for sport, dport in ((0, 1), (1, 2), (3, 3))
    for tag in ("", "a")
]
Packet = tuple[str, str, int, int, int, int, int, int, str]


def host_matches(one: Host, value: int) -> bool:
    inside = one is ANY or value >> (32 - one.bits) == one.value >> (32 - one.bits)
    return inside != one.negated


def port_matches(one: Port | None, value: int) -> bool:
    if one is None:
        return True
    low, high = one.low, one.high
    return {
        "=": value == low, "!=": value != low, "<": value < low, ">=": value >= low, ":": low <= value <= high,
        "><": low < value < high, "<>": value < low or value > high,
    }[one.op]


def matches(rule: Rule, packet: Packet) -> bool:
    direction, interface, proto, source, destination, sport, dport, flags, tag = packet
    if rule.direction not in ("", direction) or rule.proto not in (0, proto):
        return False
    if rule.interface and (rule.interface == interface) == rule.interface_negated:
        return False
    if not (host_matches(rule.source, source) and host_matches(rule.destination, destination)):
        return False
    if not (port_matches(rule.source_port, sport) and port_matches(rule.destination_port, dport)):
        return False
    if proto == 6 and rule.flagset and flags & rule.flagset != rule.flags:
        return False
    return not rule.tagged or (rule.tagged == tag) != rule.tagged_negated


@settings(max_examples=400, deadline=None)
@given(rules(), rules())
def test_covers_and_apart_are_never_wrong(wide: Rule, narrow: Rule) -> None:
    if covers(wide, narrow):
        assert all(matches(wide, packet) for packet in PACKETS if matches(narrow, packet))
    if apart(wide, narrow):
        assert not any(matches(wide, packet) and matches(narrow, packet) for packet in PACKETS)
        assert apart(narrow, wide)


@settings(max_examples=200, deadline=None)
@given(st.lists(rules(), max_size=12), rules())
def test_the_index_finds_what_comparing_with_all_finds(others: list[Rule], rule: Rule) -> None:
    index = Index()
    for other in others:
        index.add(other)
    assert (index.covering(rule) is not None) == any(covers(other, rule) for other in others)


@given(rules())
def test_a_rule_covers_itself_and_everything_covers_it(rule: Rule) -> None:
    assert covers(rule, rule)
    assert covers(Rule(), rule)
