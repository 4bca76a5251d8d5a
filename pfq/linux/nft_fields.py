"""Header fields and keys by their nft names: where they are, and of what kind. Sources: nft(8), RFC 791, 8200, 9293, 768, 792, 4443."""

from collections.abc import Mapping

from pfq.linux.expressions import Base, Ct, Expression, Extension, Load, Meta, Unknown
from pfq.linux.nft_names import WIDTHS

Typed = tuple[Expression, str]

_FAMILY4, _FAMILY6 = ("family", 4), ("family", 6)

# Offset and width in bits, kind.
_IP: Mapping[str, tuple[int, int, str]] = {
    "version": (0, 4, "integer"), "hdrlength": (4, 4, "integer"), "dscp": (8, 6, "dscp"), "ecn": (14, 2, "ecn"), "length": (16, 16, "integer"),
    "frag-off": (48, 16, "integer"), "protocol": (72, 8, "inet_proto"), "saddr": (96, 32, "ipv4_addr"), "daddr": (128, 32, "ipv4_addr"),
}  # fmt: skip
_IP6: Mapping[str, tuple[int, int, str]] = {
    "version": (0, 4, "integer"), "dscp": (4, 6, "dscp"), "ecn": (10, 2, "ecn"), "length": (32, 16, "integer"), "nexthdr": (48, 8, "inet_proto"),
    "saddr": (64, 128, "ipv6_addr"), "daddr": (192, 128, "ipv6_addr"),
}  # fmt: skip
_PORTS: Mapping[str, tuple[int, int, str]] = {"sport": (0, 16, "inet_service"), "dport": (16, 16, "inet_service")}
_TCP: Mapping[str, tuple[int, int, str]] = {**_PORTS, "doff": (96, 4, "integer"), "flags": (104, 8, "tcp_flag")}
_UDP: Mapping[str, tuple[int, int, str]] = {**_PORTS, "length": (32, 16, "integer")}
_ICMP: Mapping[str, tuple[int, int, str]] = {"type": (0, 8, "icmp_type"), "code": (8, 8, "icmp_code")}
_ICMP6: Mapping[str, tuple[int, int, str]] = {"type": (0, 8, "icmpv6_type"), "code": (8, 8, "icmpv6_code")}

HEADERS: Mapping[str, tuple[Base, tuple[tuple[str, int], ...], Mapping[str, tuple[int, int, str]]]] = {
    "ip": ("network", (_FAMILY4,), _IP),
    "ip6": ("network", (_FAMILY6,), _IP6),
    "tcp": ("transport", (("protocol", 6),), _TCP),
    "udp": ("transport", (("protocol", 17),), _UDP),
    "th": ("transport", (), _PORTS),
    "icmp": ("transport", (_FAMILY4, ("protocol", 1)), _ICMP),
    "icmpv6": ("transport", (_FAMILY6, ("protocol", 58)), _ICMP6),
}
# What a packet has, but its model has not: nothing that these say can be known.
UNKNOWN_FIELDS: Mapping[str, frozenset[str]] = {
    "ip": frozenset({"id", "ttl", "checksum"}),
    "ip6": frozenset({"flowlabel", "hoplimit"}),
    "tcp": frozenset({"sequence", "ackseq", "reserved", "window", "checksum", "urgptr"}),
    "udp": frozenset({"checksum"}),
    "th": frozenset(),
    "icmp": frozenset({"checksum", "id", "sequence", "gateway", "mtu"}),
    "icmpv6": frozenset({"checksum", "id", "sequence", "mtu", "parameter-problem", "max-delay"}),
}
OTHER_HEADERS = frozenset({"ether", "vlan", "arp", "ah", "esp", "comp", "udplite", "sctp", "dccp", "igmp", "hbh", "rt", "rt0", "rt2", "srh", "dst", "mh"})

_FRAGMENT: Mapping[str, tuple[Extension, str]] = {
    "nexthdr": (Extension("nexthdr", 8), "inet_proto"),
    "frag-off": (Extension("frag-off", 13), "integer"),
    "more-fragments": (Extension("more-fragments", 1), "integer"),
}

_META: Mapping[str, tuple[str, str]] = {
    "mark": ("mark", "mark"), "priority": ("priority", "classid"), "l4proto": ("l4proto", "inet_proto"), "nfproto": ("nfproto", "nf_proto"),
    "protocol": ("protocol", "ether_type"), "iifname": ("iifname", "ifname"), "oifname": ("oifname", "ifname"), "iif": ("iifname", "iface_index"),
    "oif": ("oifname", "iface_index"),
}  # fmt: skip
# Keys that may stand without `meta` before them.
BARE_META = frozenset({"mark", "iif", "iifname", "oif", "oifname", "iiftype", "oiftype", "skuid", "skgid", "nftrace", "rtclassid", "pkttype", "cpu", "iifgroup",
                       "oifgroup", "cgroup", "random", "ibrname", "obrname", "sdif", "sdifname"})  # fmt: skip
_CT: Mapping[str, str] = {"state": "ct_state", "mark": "mark", "status": "ct_status", "direction": "ct_dir", "l3proto": "nf_proto", "protocol": "inet_proto"}
_UNKNOWN_CT = frozenset({"expiration", "helper", "label", "l3proto", "bytes", "packets", "avgpkt", "zone", "id", "count", "secmark", "event", "timeout"})


def header(protocol: str, name: str) -> Typed | None:
    """A field of a header of HEADERS; None if there is none of that name."""
    base, needs, fields = HEADERS[protocol]
    if name in fields:
        offset, width, kind = fields[name]
        return Load(base, offset, width, needs), kind
    return (Unknown(f"{protocol} {name}", 32), "integer") if name in UNKNOWN_FIELDS[protocol] else None


def fragment(name: str) -> Typed | None:
    """A field of IPv6's fragment header."""
    return _FRAGMENT.get(name)


def meta(key: str) -> Typed:
    """A key of `meta`."""
    if key == "length":
        return Meta("length", 32), "integer"
    if key not in _META:
        return Unknown(f"meta {key}", 32), "integer"
    own, kind = _META[key]
    return Meta(own, WIDTHS[kind]), kind


def conntrack(key: str) -> Typed:
    """A key of `ct` without a direction."""
    if key in _CT and key not in ("l3proto", "protocol"):
        return Ct(key, WIDTHS[_CT[key]]), _CT[key]
    return Unknown(f"ct {key}", 32), "integer"


_CT_SIDES = {"saddr": "saddr", "daddr": "daddr", "proto-src": "sport", "proto-dst": "dport"}


def conntrack_side(direction: str, key: str, family: str) -> Typed | None:
    """A key of `ct original` or `ct reply`; `family` is ip or ip6 where it is written (or the table's)."""
    way = "original" if direction == "original" else "reply"
    if key in ("proto-src", "proto-dst"):
        return Ct(_CT_SIDES[key], 16, "original" if way == "original" else "reply"), "inet_service"
    if key == "protocol":
        return Ct("protocol", 8, "original" if way == "original" else "reply"), "inet_proto"
    if key in ("saddr", "daddr") and family in ("ip", "ip6"):
        kind = "ipv4_addr" if family == "ip" else "ipv6_addr"
        needs = (_FAMILY4,) if family == "ip" else (_FAMILY6,)
        return Ct(key, WIDTHS[kind], "original" if way == "original" else "reply", needs), kind
    return None
