"""The classifier as a classic BPF program for `tc filter ... bpf`: for packets that arrive from the link and wait on an IFB device.

The netdev egress hook of nftables is not run for packets that tc redirects (measured on 6.1 and 6.18), and conntrack knows no
packet there but through its mark, so mark, rules and express test stand in one program.

Sources: linux/filter.h, linux/bpf_common.h (opcodes, SKF_AD_*, SKF_NET_OFF), cls_bpf.c (0: no match, -1: the filter's classid, else a classid).
"""

from collections.abc import Iterable
from functools import lru_cache

from pfq.plan.classify import ICMP, ICMP6, TCP, UDP
from pfq.plan.model import Classifier, Uplink
from pfq.site.model import Match, Network, OneToOne
from pfq.targets.linux_marks import LinkMarks

# Opcodes.
LD_W_ABS, LD_H_ABS, LD_B_ABS = 0x20, 0x28, 0x30
LD_W_IND, LD_H_IND, LD_B_IND = 0x40, 0x48, 0x50
LD_IMM, LD_MEM, LDX_MEM, ST, STX, TAX, TXA, LDX_IMM = 0x00, 0x60, 0x61, 0x02, 0x03, 0x07, 0x87, 0x01
ADD_K, SUB_K, MUL_K, AND_K, LSH_K, RSH_K, ADD_X, SUB_X = 0x04, 0x14, 0x24, 0x54, 0x64, 0x74, 0x0C, 0x1C
JA, JEQ, JGT, JGE, JSET, RET_K, RET_A = 0x05, 0x15, 0x25, 0x35, 0x45, 0x06, 0x16

NET = 0x100000000 - 0x100000
_AD = 0x100000000 - 0x1000
AD_PROTOCOL, AD_MARK = _AD + 0, _AD + 20
MOST_INSTRUCTIONS = 4096

IPV4, IPV6 = 0x0800, 0x86DD
# IPv6 extension headers: hop-by-hop, routing, destination; fragment; authentication. RFC 8200, RFC 4302.
_PLAIN_HEADERS, _FRAGMENT, _AUTHENTICATION = (0, 43, 60), 44, 51
MOST_HEADERS = 6

# Scratch memory.
M_CLASS, M_PROTOCOL, M_TRANSPORT, M_FRAGMENT, M_END, M_TOS, M_VERSION, M_NEXT = range(8)
M_DESTINATION = 8
# Protocol << 16 | port, of the destination and of the source; 0 for a packet without ports.
M_PORT, M_SOURCE_PORT = 12, 13

# IPv4 header: load, offset, mask, where it is kept. RFC 791.
_IPV4_FIELDS = ((LD_B_ABS, 1, 0xFF, M_TOS), (LD_H_ABS, 2, 0xFFFF, M_END), (LD_H_ABS, 6, 0x1FFF, M_FRAGMENT), (LD_B_ABS, 9, 0xFF, M_PROTOCOL))

# What a program returns for a packet it leaves to the next filter, and for one that gets the filter's own class.
NO_MATCH, MATCH = 0, 0xFFFFFFFF


class TooLong(ValueError):
    """The program exceeds what the kernel loads."""


class Assembler:
    """Instructions with labels. Conditional jumps reach 255 instructions only, so each takes a far jump along where it needs one."""

    def __init__(self) -> None:
        self.code: list[tuple[int, int, str | None, str | None]] = []
        self.labels: dict[str, int] = {}
        self.fresh = 0

    def put(self, opcode: int, k: int = 0) -> None:
        self.code.append((opcode, k & 0xFFFFFFFF, None, None))

    def jump(self, target: str) -> None:
        self.code.append((JA, 0, target, None))

    def branch(self, opcode: int, k: int, then: str | None = None, otherwise: str | None = None) -> None:
        """Goes to `then` if the condition holds, else to `otherwise`; None is the next instruction."""
        self.code.append((opcode, k & 0xFFFFFFFF, then, otherwise))

    def label(self, name: str) -> None:
        self.labels[name] = len(self.code)

    def new(self) -> str:
        self.fresh += 1
        return f".{self.fresh}"

    def bytecode(self) -> str:
        """tc's form: 'COUNT,opcode jt jf k,...'. Raises TooLong."""
        # A conditional instruction takes three places: itself, a far jump for each outcome; JA is one. Positions first.
        places = [0]
        for opcode, _, then, otherwise in self.code:
            size = 1 if opcode == JA or (then is None and otherwise is None) else 1 + (then is not None) + (otherwise is not None)
            places.append(places[-1] + size)
        if places[-1] > MOST_INSTRUCTIONS:
            raise TooLong(places[-1])
        out = []
        for index, (opcode, k, then, otherwise) in enumerate(self.code):
            here = places[index]

            def far(name: str, at: int) -> str:
                return f"{JA} 0 0 {places[self.labels[name]] - at - 1}"

            if opcode == JA and then is not None:
                out.append(far(then, here))
            elif then is not None and otherwise is not None:
                out += [f"{opcode} 0 1 {k}", far(then, here + 1), far(otherwise, here + 2)]
            elif then is not None:
                out += [f"{opcode} 0 1 {k}", far(then, here + 1)]
            elif otherwise is not None:
                out += [f"{opcode} 1 0 {k}", far(otherwise, here + 1)]
            else:
                out.append(f"{opcode} 0 0 {k}")
        return f"{len(out)},{','.join(out)}"


class _Same:
    """A classifier as a cache's key: by identity, since gateways of one policy share it and its rules may be many."""

    __slots__ = ("classifier",)

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.classifier is self.classifier

    def __hash__(self) -> int:
        return id(self.classifier)


def program(uplink: Uplink, marks: LinkMarks, values: dict[str, int], unshaped: int) -> str:
    """The bytecode that returns `values[class]` for a packet of a class, `unshaped` for one of a flow that is not shaped.

    Packets of a flow without a mark go by the rules for flows opened from outside. Raises TooLong.
    """
    classes = tuple((leaf.name, marks.classes[leaf.name], values[leaf.name]) for leaf in uplink.up.leaves())
    return _program(_Same(uplink.classifier), classes, (marks.mask, marks.unshaped), unshaped, uplink.one_to_one)


@lru_cache(maxsize=256)
def _program(same: _Same, classes: tuple[tuple[str, int, int], ...], field: tuple[int, int], unshaped: int, pairs: tuple[OneToOne, ...]) -> str:
    """classes: name, mark, value. field: the mask of the link's marks, the mark of unshaped flows."""
    a = Assembler()
    classifier = same.classifier
    _parse(a, classifier, pairs)
    # What comes from a network beside the link did not come from the link, whatever its flow.
    for network in classifier.exclude:
        other = a.new()
        _version(a, network.version, other)
        _network(a, network, "unshaped", _source_word(network.version))
        a.label(other)
    if classifier.unclassified is not None:
        a.put(LD_MEM, M_VERSION)
        a.branch(JEQ, 0, f"class {classifier.unclassified}")
    a.put(LD_W_ABS, AD_MARK)
    a.put(AND_K, field[0])
    for name, mark, _ in classes:
        a.branch(JEQ, mark, f"class {name}")
    if classifier.exclude:
        a.branch(JEQ, field[1], "unshaped")
    _rules(a, classifier)
    a.label("default")
    a.jump(f"class {classifier.default}")
    express = classifier.express
    for name, _, value in classes:
        a.label(f"class {name}")
        if express and name in express.upgraded:
            a.put(LD_IMM, value)
            a.put(ST, M_CLASS)
            a.jump("express?")
        else:
            a.put(RET_K, value)
    a.label("unshaped")
    a.put(RET_K, unshaped)
    if express:
        _express(a, express.families, next(value for name, _, value in classes if name == express.queue))
    return a.bytecode()


def _parse(a: Assembler, classifier: Classifier, pairs: tuple[OneToOne, ...]) -> None:
    """Fills the scratch memory. M_VERSION stays 0 for a frame without an IP header."""
    # The kernel's checker wants every slot stored to before it is loaded, on every path (filter.c check_load_and_stores).
    a.put(LD_IMM, 0)
    for slot in (M_CLASS, M_PROTOCOL, M_FRAGMENT, M_TOS, M_VERSION, M_TRANSPORT, M_END, *range(M_DESTINATION, M_SOURCE_PORT + 1)):
        a.put(ST, slot)
    a.put(LD_W_ABS, AD_PROTOCOL)
    a.branch(JEQ, IPV4, "ipv4")
    a.branch(JEQ, IPV6, "ipv6", "parsed")
    a.label("ipv4")
    a.put(LD_IMM, 4)
    a.put(ST, M_VERSION)
    for load, offset, mask, slot in _IPV4_FIELDS:
        a.put(load, NET + offset)
        a.put(AND_K, mask)
        a.put(ST, slot)
    a.put(LD_B_ABS, NET)
    a.put(AND_K, 0x0F)
    a.put(LSH_K, 2)
    a.put(ST, M_TRANSPORT)
    _destination(a, classifier, pairs, 4)
    a.jump("parsed")
    a.label("ipv6")
    a.put(LD_IMM, 6)
    a.put(ST, M_VERSION)
    a.put(LD_H_ABS, NET)
    a.put(RSH_K, 4)
    a.put(AND_K, 0xFF)
    a.put(ST, M_TOS)
    # A length of 0 is a jumbogram's (RFC 2675): never empty, which an end of 0 says.
    a.put(LD_H_ABS, NET + 4)
    a.branch(JEQ, 0, "jumbo")
    a.put(ADD_K, 40)
    a.put(ST, M_END)
    a.label("jumbo")
    a.put(LD_B_ABS, NET + 6)
    a.put(ST, M_PROTOCOL)
    a.put(LDX_IMM, 40)
    for _ in range(MOST_HEADERS):
        _extension_header(a)
    a.label("headers done")
    a.put(STX, M_TRANSPORT)
    _destination(a, classifier, pairs, 6)
    a.label("parsed")


def _extension_header(a: Assembler) -> None:
    """X: offset of the header that M_PROTOCOL names. Steps over it, or goes to 'headers done'."""
    plain, fragment, authentication, step = (a.new() for _ in range(4))
    a.put(LD_MEM, M_PROTOCOL)
    for number in _PLAIN_HEADERS:
        a.branch(JEQ, number, plain)
    a.branch(JEQ, _FRAGMENT, fragment)
    a.branch(JEQ, _AUTHENTICATION, authentication, "headers done")
    a.label(fragment)
    a.put(LD_H_IND, NET + 2)
    a.put(AND_K, 0xFFF8)
    a.put(ST, M_FRAGMENT)
    a.put(LD_B_IND, NET)
    a.put(ST, M_PROTOCOL)
    a.put(TXA)
    a.put(ADD_K, 8)
    a.put(TAX)
    # Behind a later fragment's header is no header.
    a.put(LD_MEM, M_FRAGMENT)
    a.branch(JEQ, 0, step, "headers done")
    a.label(authentication)
    a.put(LD_B_IND, NET + 1)
    a.put(ADD_K, 2)
    a.put(LSH_K, 2)
    a.put(ST, M_NEXT)
    a.put(LD_B_IND, NET)
    a.put(ST, M_PROTOCOL)
    a.put(LD_MEM, M_NEXT)
    a.put(ADD_X)
    a.put(TAX)
    a.jump(step)
    a.label(plain)
    a.put(LD_B_IND, NET + 1)
    a.put(ADD_K, 1)
    a.put(LSH_K, 3)
    a.put(ST, M_NEXT)
    a.put(LD_B_IND, NET)
    a.put(ST, M_PROTOCOL)
    a.put(LD_MEM, M_NEXT)
    a.put(ADD_X)
    a.put(TAX)
    a.label(step)


def _words(network_bytes: bytes) -> list[int]:
    return [int.from_bytes(network_bytes[i : i + 4], "big") for i in range(0, len(network_bytes), 4)]


def _destination(a: Assembler, classifier: Classifier, pairs: tuple[OneToOne, ...], version: int) -> None:
    """The destination as the inside sees it, after 1:1 NAT, where a rule looks at it."""
    if not any(n.version == version for rule in classifier.rules for n in rule.match.destinations):
        return
    base, count = (16, 1) if version == 4 else (24, 4)
    for index in range(count):
        a.put(LD_W_ABS, NET + base + 4 * index)
        a.put(ST, M_DESTINATION + index)
    done = a.new()
    for pair in pairs:
        if pair.outside.version != version:
            continue
        other = a.new()
        for index, value in enumerate(_words(pair.outside.packed)):
            a.put(LD_MEM, M_DESTINATION + index)
            a.branch(JEQ, value, None, other)
        for index, value in enumerate(_words(pair.inside.packed)):
            a.put(LD_IMM, value)
            a.put(ST, M_DESTINATION + index)
        a.jump(done)
        a.label(other)
    a.label(done)


def _rules(a: Assembler, classifier: Classifier) -> None:
    rules = [rule for rule in classifier.rules if rule.match.opened != "inside"]
    if not rules:
        return
    # A connection picked up in the middle, and a fragment of one that is not known: the default class.
    opened = a.new()
    a.put(LD_MEM, M_FRAGMENT)
    a.branch(JEQ, 0, None, opened)
    a.put(LD_MEM, M_PROTOCOL)
    a.branch(JEQ, TCP, None, opened)
    a.put(LDX_MEM, M_TRANSPORT)
    a.put(LD_B_IND, NET + 13)
    a.put(AND_K, 0x12)
    a.branch(JEQ, 0x02, None, "default")
    a.label(opened)
    _port_keys(a)
    loaded = False
    for rule in rules:
        keys = _plain_ports(rule.match)
        if not keys:
            other = a.new()
            _match(a, rule.match, f"class {rule.queue}", other)
            a.label(other)
            loaded = False
            continue
        # The most common rules, and there may be hundreds: one comparison for each.
        if not loaded:
            a.put(LD_MEM, M_PORT)
        for key in keys:
            a.branch(JEQ, key, f"class {rule.queue}")
        loaded = True


def _plain_ports(match: Match) -> list[int]:
    """The keys (as in M_PORT) of a match that asks for a protocol and single ports and nothing else; else none."""
    if match.protocol not in (TCP, UDP) or not match.ports or any(low != high for low, high in match.ports):
        return []
    if match.source_ports or match.sources or match.destinations or match.dscp or match.family is not None:
        return []
    return [match.protocol << 16 | port for port, _ in match.ports]


def _port_keys(a: Assembler) -> None:
    ports, done = a.new(), a.new()
    a.put(LD_MEM, M_FRAGMENT)
    a.branch(JEQ, 0, None, done)
    a.put(LD_MEM, M_PROTOCOL)
    a.branch(JEQ, TCP, ports)
    a.branch(JEQ, UDP, ports, done)
    a.label(ports)
    a.put(LSH_K, 16)
    a.put(ST, M_NEXT)
    for offset, slot in ((0, M_SOURCE_PORT), (2, M_PORT)):
        a.put(LDX_MEM, M_TRANSPORT)
        a.put(LD_H_IND, NET + offset)
        a.put(LDX_MEM, M_NEXT)
        a.put(ADD_X)
        a.put(ST, slot)
    a.label(done)


def _source_word(version: int) -> tuple[tuple[int, int], ...]:
    return ((LD_W_ABS, NET + 12),) if version == 4 else tuple((LD_W_ABS, NET + 8 + 4 * i) for i in range(4))


def _destination_word(version: int) -> tuple[tuple[int, int], ...]:
    return tuple((LD_MEM, M_DESTINATION + i) for i in range(1 if version == 4 else 4))


def _version(a: Assembler, version: int, otherwise: str) -> None:
    a.put(LD_MEM, M_VERSION)
    a.branch(JEQ, version, None, otherwise)


def _network(a: Assembler, network: Network, then: str, loads: tuple[tuple[int, int], ...]) -> None:
    """Goes to `then` if the address is in the network; the version has been seen to."""
    other = a.new()
    for load, value, mask in zip(loads, _words(network.network_address.packed), _words(network.netmask.packed), strict=True):
        if mask == 0:
            continue
        a.put(*load)
        if mask != 0xFFFFFFFF:
            a.put(AND_K, mask)
        a.branch(JEQ, value, None, other)
    a.jump(then)
    a.label(other)


def _either(a: Assembler, networks: tuple[Network, ...], otherwise: str, destination: bool) -> None:
    """Falls through if the address is in one of the networks, else goes to `otherwise`."""
    yes = a.new()
    for version in (4, 6):
        own = [n for n in networks if n.version == version]
        if own:
            other = a.new()
            _version(a, version, other)
            loads = _destination_word(version) if destination else _source_word(version)
            for network in own:
                _network(a, network, yes, loads)
            a.label(other)
    a.jump(otherwise)
    a.label(yes)


def _ports(a: Assembler, protocol: int, ranges: Iterable[tuple[int, int]], slot: int, otherwise: str) -> None:
    yes = a.new()
    a.put(LD_MEM, slot)
    for low, high in ranges:
        first, last = protocol << 16 | low, protocol << 16 | high
        if first == last:
            a.branch(JEQ, first, yes)
            continue
        below = a.new()
        a.branch(JGE, first, None, below)
        a.branch(JGT, last, None, yes)
        a.label(below)
    a.jump(otherwise)
    a.label(yes)


def _match(a: Assembler, match: Match, then: str, otherwise: str) -> None:
    """Goes to `then` if the packet matches, else to `otherwise`. Frames without an IP header match nothing."""
    a.put(LD_MEM, M_VERSION)
    if match.family is not None:
        a.branch(JEQ, match.family, None, otherwise)
    else:
        a.branch(JEQ, 0, otherwise)
    if match.protocol == "icmp":
        four, yes = a.new(), a.new()
        a.branch(JEQ, 4, four)
        a.put(LD_MEM, M_PROTOCOL)
        a.branch(JEQ, ICMP6, yes, otherwise)
        a.label(four)
        a.put(LD_MEM, M_PROTOCOL)
        a.branch(JEQ, ICMP, yes, otherwise)
        a.label(yes)
    elif match.protocol is not None:
        a.put(LD_MEM, M_PROTOCOL)
        a.branch(JEQ, match.protocol, None, otherwise)
    if match.dscp:
        yes = a.new()
        a.put(LD_MEM, M_TOS)
        a.put(RSH_K, 2)
        for code in sorted(set(match.dscp)):
            a.branch(JEQ, code, yes)
        a.jump(otherwise)
        a.label(yes)
    for ranges, slot in ((match.source_ports, M_SOURCE_PORT), (match.ports, M_PORT)):
        if ranges and isinstance(match.protocol, int):
            _ports(a, match.protocol, ranges, slot, otherwise)
    if match.sources:
        _either(a, match.sources, otherwise, destination=False)
    if match.destinations:
        _either(a, match.destinations, otherwise, destination=True)
    a.jump(then)


def _express(a: Assembler, families: tuple[int, ...], value: int) -> None:
    """pf's test: low delay, or a TCP segment with ACK whose headers end where the packet ends."""
    a.label("express?")
    a.put(LD_MEM, M_VERSION)
    a.branch(JEQ, 0, "as it is")
    for version in (4, 6):
        if version not in families:
            a.branch(JEQ, version, "as it is")
    a.put(LD_MEM, M_TOS)
    a.branch(JSET, 0x10, "express")
    a.put(LD_MEM, M_PROTOCOL)
    a.branch(JEQ, TCP, None, "as it is")
    a.put(LD_MEM, M_FRAGMENT)
    a.branch(JEQ, 0, None, "as it is")
    a.put(LDX_MEM, M_TRANSPORT)
    a.put(LD_B_IND, NET + 13)
    a.branch(JSET, 0x10, None, "as it is")
    a.put(LD_B_IND, NET + 12)
    a.put(AND_K, 0xF0)
    a.put(RSH_K, 2)
    a.put(ADD_X)
    a.put(TAX)
    a.put(LD_MEM, M_END)
    a.put(SUB_X)
    a.branch(JEQ, 0, "express")
    a.label("as it is")
    a.put(LD_MEM, M_CLASS)
    a.put(RET_A)
    a.label("express")
    a.put(RET_K, value)
