"""Parts of a classic BPF program: the packet's headers read into scratch memory, a rule's match, the express test.

Sources: linux/filter.h (SKF_AD_*, SKF_NET_OFF), filter.c check_load_and_stores; RFC 791, RFC 8200, RFC 4302.
"""

from collections.abc import Iterable

from pfq.plan.classify import ICMP, ICMP6, TCP, UDP
from pfq.site.model import Match, Network, OneToOne
from pfq.targets.linux_assembler import (
    ADD_K,
    ADD_X,
    AND_K,
    JEQ,
    JGE,
    JGT,
    JSET,
    LD_B_ABS,
    LD_B_IND,
    LD_H_ABS,
    LD_H_IND,
    LD_IMM,
    LD_MEM,
    LD_W_ABS,
    LDX_IMM,
    LDX_MEM,
    LSH_K,
    RET_A,
    RET_K,
    RSH_K,
    ST,
    STX,
    SUB_X,
    TAX,
    TXA,
    Assembler,
)

NET = 0x100000000 - 0x100000
_AD = 0x100000000 - 0x1000
AD_PROTOCOL, AD_MARK = _AD + 0, _AD + 20

IPV4, IPV6 = 0x0800, 0x86DD
# IPv6 extension headers: hop-by-hop, routing, destination; fragment; authentication. RFC 8200, RFC 4302.
_PLAIN_HEADERS, _FRAGMENT, _AUTHENTICATION = (0, 43, 60), 44, 51
MOST_HEADERS = 6

# Where the express test begins.
EXPRESS = "express?"

# Scratch memory.
M_CLASS, M_PROTOCOL, M_TRANSPORT, M_FRAGMENT, M_END, M_TOS, M_VERSION, M_NEXT = range(8)
M_DESTINATION = 8
# Protocol << 16 | port, of the destination and of the source; 0 for a packet without ports.
M_PORT, M_SOURCE_PORT = 12, 13

# IPv4 header: load, offset, mask, where it is kept. RFC 791.
_IPV4_FIELDS = ((LD_B_ABS, 1, 0xFF, M_TOS), (LD_H_ABS, 2, 0xFFFF, M_END), (LD_H_ABS, 6, 0x1FFF, M_FRAGMENT), (LD_B_ABS, 9, 0xFF, M_PROTOCOL))


def parse(a: Assembler) -> None:
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


def destination(a: Assembler, pairs: tuple[OneToOne, ...]) -> None:
    """Keeps the destination as the inside sees it, after 1:1 NAT."""
    for version in (4, 6):
        other = a.new()
        _version(a, version, other)
        _destination_of(a, pairs, version)
        a.label(other)


def _destination_of(a: Assembler, pairs: tuple[OneToOne, ...], version: int) -> None:
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


def unknown(a: Assembler, then: str) -> None:
    """Goes to `then` with what is no first packet of a flow: a connection picked up in the middle, a fragment of one that is not known."""
    opened = a.new()
    a.put(LD_MEM, M_FRAGMENT)
    a.branch(JEQ, 0, None, opened)
    a.put(LD_MEM, M_PROTOCOL)
    a.branch(JEQ, TCP, None, opened)
    a.put(LDX_MEM, M_TRANSPORT)
    a.put(LD_B_IND, NET + 13)
    a.put(AND_K, 0x12)
    a.branch(JEQ, 0x02, None, then)
    a.label(opened)


def port_keys(a: Assembler) -> None:
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


def source_word(version: int) -> tuple[tuple[int, int], ...]:
    return ((LD_W_ABS, NET + 12),) if version == 4 else tuple((LD_W_ABS, NET + 8 + 4 * i) for i in range(4))


def _destination_word(version: int) -> tuple[tuple[int, int], ...]:
    return tuple((LD_MEM, M_DESTINATION + i) for i in range(1 if version == 4 else 4))


def _version(a: Assembler, version: int, otherwise: str) -> None:
    a.put(LD_MEM, M_VERSION)
    a.branch(JEQ, version, None, otherwise)


def in_network(a: Assembler, network: Network, then: str, loads: tuple[tuple[int, int], ...]) -> None:
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
            loads = _destination_word(version) if destination else source_word(version)
            for network in own:
                in_network(a, network, yes, loads)
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


def matches(a: Assembler, match: Match, then: str, otherwise: str) -> None:
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


def express_test(a: Assembler, families: tuple[int, ...], value: int) -> None:
    """pf's test, at the label EXPRESS with the class's value in the accumulator: low delay, or a TCP segment with ACK whose headers end where the
    packet ends."""
    a.label(EXPRESS)
    a.put(ST, M_CLASS)
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
