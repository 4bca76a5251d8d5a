"""Classification as nftables chains: a flow's class once, into the conntrack mark; then each packet's class from mark and express test.

Sources: nft(8); LINUX-FACTS measurements of the empty-ACK match; ip_forward.c (a priority set before forwarding is lost).
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from ipaddress import collapse_addresses

from pfq.plan.classify import ICMP, ICMP6, TCP, UDP
from pfq.plan.model import Classifier, Uplink
from pfq.site.model import Match, Network
from pfq.site.systems import System
from pfq.targets.linux_kernels import has
from pfq.targets.linux_marks import LinkMarks
from pfq.targets.linux_names import chain

_IP = {4: "ip", 6: "ip6"}
_NFPROTO = {4: "meta nfproto ipv4", 6: "meta nfproto ipv6"}

Chain = tuple[str, list[str]]


@lru_cache(maxsize=8192)
def networks_text(networks: tuple[Network, ...], version: int) -> str:
    """The networks of a family as an nft set without overlaps, or the one network; '' if there is none."""
    own = [n for n in networks if n.version == version]
    if len(own) > 1:
        own = list(collapse_addresses(own))  # type: ignore[type-var]
    texts = [str(n.network_address) if n.prefixlen == n.max_prefixlen else str(n) for n in own]
    return "" if not texts else texts[0] if len(texts) == 1 else f"{{ {', '.join(texts)} }}"


def ports_text(ranges: tuple[tuple[int, int], ...]) -> str:
    """Ports as an nft set without overlaps, or the one port."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    texts = [str(low) if low == high else f"{low}-{high}" for low, high in merged]
    return texts[0] if len(texts) == 1 else f"{{ {', '.join(texts)} }}"


def _versions(match: Match) -> tuple[int, ...]:
    """Families that a match can hold for, or () where it does not look at anything of a family."""
    found = {4, 6} if match.family is None else {match.family}
    for side in (match.sources, match.destinations):
        if side:
            found &= {n.version for n in side}
    if len(found) == 2 and not (match.sources or match.destinations or match.dscp):
        return ()
    return tuple(sorted(found))


def _transport(match: Match) -> list[str]:
    words = []
    name = {TCP: "tcp", UDP: "udp"}.get(match.protocol) if isinstance(match.protocol, int) else None
    if isinstance(match.protocol, int) and (name is None or not (match.ports or match.source_ports)):
        words.append(f"meta l4proto {name or match.protocol}")
    for field, ranges in (("sport", match.source_ports), ("dport", match.ports)):
        if ranges:
            words.append(f"{name or 'th'} {field} {ports_text(ranges)}")
    return words


@lru_cache(maxsize=8192)
def conditions(match: Match) -> tuple[str, ...]:
    """The match as nft rules without a verdict; more than one where the families differ."""
    versions = _versions(match)
    if not versions:
        if match.protocol == "icmp":
            return ("meta nfproto . meta l4proto { ipv4 . icmp, ipv6 . ipv6-icmp }",)
        return (" ".join(_transport(match)),)
    rules = []
    for version in versions:
        ip = _IP[version]
        words = [_NFPROTO[version]]
        if match.protocol == "icmp":
            words.append(f"meta l4proto {ICMP if version == 4 else ICMP6}")
        words += _transport(match)
        for field, networks in (("saddr", match.sources), ("daddr", match.destinations)):
            if networks:
                words.append(f"{ip} {field} {networks_text(networks, version)}")
        if match.dscp:
            codes = ", ".join(f"{code:#04x}" for code in sorted(set(match.dscp)))
            words.append(f"{ip} dscp {codes if len(set(match.dscp)) == 1 else f'{{ {codes} }}'}")
        rules.append(" ".join(words))
    return tuple(rules)


def _goto(conditions_: str, target: str) -> str:
    return f"{conditions_} goto {target}" if conditions_ else f"goto {target}"


# Rows of an IPv4 header's length, a TCP header's length (in words) and the packet's: no payload. Without inner-header loads (5.16).
_EMPTY4 = tuple((ihl, doff, 4 * (ihl + doff)) for ihl in range(5, 16) for doff in range(5, 16))
_EMPTY6 = tuple((doff, 4 * doff) for doff in range(5, 16))


def express_sets(system: System, uplinks: Sequence[Uplink]) -> list[str]:
    """The sets that the express test of older kernels looks into, in nft's words."""
    if has(system, "inner-header") or not any(u.classifier.express for u in uplinks):
        return []
    triples = ", ".join(f"{a} . {b} . {c}" for a, b, c in _EMPTY4)
    pairs = ", ".join(f"{a} . {b}" for a, b in _EMPTY6)
    return [
        "# Lengths of a packet that is headers only. Do not reload a listing of this set: nft 1.0.6 prints it wrong.",
        "set empty4 {",
        "\ttypeof ip hdrlength . tcp doff . ip length",
        f"\telements = {{ {triples} }}",
        "}",
        "set empty6 {",
        "\ttypeof tcp doff . ip6 length",
        f"\telements = {{ {pairs} }}",
        "}",
    ]


def _express_chains(system: System, uplink: Uplink, way: str) -> Iterator[Chain]:
    """`test`: goes to `express` for an empty ACK or a low-delay packet, returns for any other."""
    express = uplink.classifier.express
    if express is None:
        return
    own = chain(system, uplink.link, way, express.queue)
    lines = []
    if 4 in express.families:
        lines.append(f"meta nfproto ipv4 @nh,8,8 & 0x10 == 0x10 goto {own}")
    if 6 in express.families:
        lines.append(f"meta nfproto ipv6 @nh,0,16 & 0x0100 == 0x0100 goto {own}")
    else:
        lines.append("meta nfproto ipv6 return")
    # A fragment after the first has no TCP header; what stands in its place must not be read.
    if 4 in express.families:
        lines.append("meta nfproto ipv4 ip frag-off & 0x1fff != 0 return")
    if 6 in express.families:
        lines.append("meta nfproto ipv6 frag frag-off != 0 return")
    test = chain(system, uplink.link, "test", way)
    if has(system, "inner-header"):
        empty = chain(system, uplink.link, "empty", way)
        lines.append(f"tcp flags & ack == ack jump {empty}")
        # A load behind the TCP header fails when there is nothing: the first rule then does not match.
        yield empty, ["@ih,0,8 >= 0 return", f"goto {own}"]
    else:
        if 4 in express.families:
            lines.append(f"meta nfproto ipv4 tcp flags & ack == ack ip hdrlength . tcp doff . ip length @empty4 goto {own}")
        if 6 in express.families:
            lines.append(f"meta nfproto ipv6 tcp flags & ack == ack tcp doff . ip6 length @empty6 goto {own}")
    yield test, lines


def class_chains(system: System, uplink: Uplink, way: str, where: dict[str, str], beside: str | None, marks: LinkMarks) -> Iterator[Chain]:
    """The chains that give a packet its class in one direction (`way`: up, down), and `LINK/WAY` that finds them by the flow's mark.

    where: a class's address for `meta priority`. Each chain ends with accept, which ends this table's evaluation at the hook only.
    """
    classifier = uplink.classifier
    express = classifier.express
    names = [leaf.name for leaf in uplink.up.leaves()]
    yield from reversed(list(_express_chains(system, uplink, way)))
    elements = []
    for name in names:
        own = chain(system, uplink.link, way, name)
        elements.append(f"{marks.classes[name]:#010x} : goto {own}")
        lines = [f"meta priority set {where[name]} accept"]
        if express and name in express.upgraded:
            lines.insert(0, f"jump {chain(system, uplink.link, 'test', way)}")
        yield own, lines
    unshaped = chain(system, uplink.link, "unshaped", way)
    if classifier.exclude:
        elements.append(f"{marks.unshaped:#010x} : goto {unshaped}")
        yield unshaped, [f"meta priority set {beside} accept" if beside else "accept"]
    by_mark = f"ct mark & {marks.mask:#010x} vmap {{ {', '.join(elements)} }}"
    # What goes to (or comes from) a network beside the link is not on its way over the link, whatever its flow: on a gateway with one arm,
    # what a flow of the link's brings in leaves by the same interface.
    field = "daddr" if way == "up" else "saddr"
    lines = [f"{_IP[v]} {field} {text} goto {unshaped}" for v in (4, 6) if (text := networks_text(classifier.exclude, v))]
    lines += [by_mark, f"ct direction original jump {chain(system, uplink.link, 'opened', 'inside' if way == 'up' else 'outside')}", by_mark]
    # Packets of no flow: untracked, invalid.
    lines.append(f"goto {chain(system, uplink.link, way, classifier.default)}")
    yield chain(system, uplink.link, way), lines


def flow_chains(system: System, uplink: Uplink, marks: LinkMarks) -> Iterator[Chain]:
    """`LINK/opened/SIDE`: the first rule that matches a flow's first packet marks the flow."""
    classifier = uplink.classifier
    link = uplink.link
    targets = {name: chain(system, link, "is", name) for name in dict.fromkeys([*(rule.queue for rule in classifier.rules), classifier.default])}
    for name, target in targets.items():
        yield target, [_set_mark(marks, marks.classes[name])]
    unshaped = chain(system, link, "unshaped", "is")
    if classifier.exclude:
        yield unshaped, [_set_mark(marks, marks.unshaped)]
    for side, field in (("inside", "daddr"), ("outside", "saddr")):
        lines = [f"{_IP[v]} {field} {text} goto {unshaped}" for v in (4, 6) if (text := networks_text(classifier.exclude, v))]
        if classifier.rules:
            # A connection picked up in the middle is of no known origin.
            lines.append(f"ct state new tcp flags & (syn | ack) != syn goto {targets[classifier.default]}")
        lines += _rules(classifier, side, targets)
        lines.append(f"goto {targets[classifier.default]}")
        yield chain(system, link, "opened", side), lines


def _rules(classifier: Classifier, side: str, targets: dict[str, str]) -> Iterator[str]:
    for rule in classifier.rules:
        if rule.match.opened in ("both", side):
            for text in conditions(rule.match):
                yield _goto(text, targets[rule.queue])


def _set_mark(marks: LinkMarks, mark: int) -> str:
    return f"ct mark set (ct mark & {marks.rest:#010x}) | {mark:#010x}"


def inbound_marks(system: System, uplink: Uplink, marks: LinkMarks) -> Chain:
    """`LINK/in`: marks flows that come in from the link and have no class of the link's yet."""
    known = [f"{marks.classes[leaf.name]:#010x}" for leaf in uplink.up.leaves()]
    if uplink.classifier.exclude:
        known.append(f"{marks.unshaped:#010x}")
    # From a network beside the link through the gateway to the link: opened from inside, whatever interface it came in on.
    outward = [
        f"{_IP[v]} saddr {text} {_IP[v]} daddr != {text} return" for v in (4, 6) if (text := networks_text(uplink.classifier.exclude, v))
    ]
    return chain(system, uplink.link, "in"), [
        f"ct mark & {marks.mask:#010x} {{ {', '.join(known)} }} return",
        *outward,
        f"ct direction original jump {chain(system, uplink.link, 'opened', 'outside')}",
    ]
