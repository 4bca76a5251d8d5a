"""The nftables file: classification, MSS clamp, inbound policy, NAT; one transaction on tables of its own."""

from dataclasses import dataclass, field

from pfq.plan.model import Gateway, Uplink
from pfq.site.model import Inbound, Inside, Network, OneToOne
from pfq.targets.linux_flows import Chain, class_chains, express_sets, flow_chains, inbound_marks, networks_text, ports_text
from pfq.targets.linux_marks import LinkMarks
from pfq.targets.linux_names import TABLE, chain, word
from pfq.targets.linux_queues import Root, addresses, beside_address

# Netfilter's own places (linux/netfilter_ipv4.h NF_IP_PRI_*), as numbers, which every nft reads.
MANGLE, DSTNAT, FILTER, SRCNAT = -150, -100, 0, 100

# What path MTU discovery needs (RFC 1191, RFC 8201), and IPv6's neighbours and routers (RFC 4861); the same as in pf.
_ICMP4 = "icmp type destination-unreachable icmp code frag-needed"
_ICMP6 = "icmpv6 type { packet-too-big, nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert }"
_IP = {4: "ip", 6: "ip6"}


@dataclass(frozen=True, slots=True)
class Base:
    """A base chain: its hook, and its statements."""

    name: str
    hook: str
    lines: list[str]


@dataclass(slots=True)
class Table:
    """A table of ours in one family."""

    family: str
    sets: list[str] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    bases: list[Base] = field(default_factory=list)
    name: str = TABLE

    def written(self) -> list[tuple[str, str]]:
        """Each chain's name and its statements, a line each, base chains last."""
        chains = [(name, "\n\t\t".join(lines)) for name, lines in self.chains]
        return chains + [(base.name, "\n\t\t".join((f"type {base.hook}; policy accept;", *base.lines))) for base in self.bases]


def tables(gateway: Gateway, roots: tuple[Root, ...], marks: dict[str, LinkMarks]) -> list[Table]:
    """Everything that nftables is to hold, in order."""
    system = gateway.system
    inet = Table("inet")
    inet.sets = express_sets(system, gateway.uplinks)
    postrouting, forward, received, arriving = [], [], [], []
    by_tree = {id(p.tree): (root, p) for root in roots for p in root.planted}
    for uplink in gateway.uplinks:
        interface, own = word(uplink.interface), marks[uplink.link]
        inet.chains += flow_chains(system, uplink, own)
        root, planted = by_tree[id(uplink.up)]
        beside = beside_address(root) if root.beside is not None else None
        inet.chains += class_chains(system, uplink, "up", addresses(root, planted), beside, own)
        if uplink.mss:
            inet.chains.append(_mss(gateway, uplink))
            name = chain(system, uplink.link, "mss", "clamp")
            postrouting.append(f'oifname "{interface}" tcp flags & (syn | rst) == syn jump {name}')
            arriving.append(f'iifname "{interface}" tcp flags & (syn | rst) == syn jump {name}')
        postrouting.append(f'oifname "{interface}" jump {chain(system, uplink.link, "up")}')
        inet.chains.append(inbound_marks(system, uplink, own))
        into = f'iifname "{interface}"'
        if uplink.down is not None and uplink.down.where == "inside":
            root, planted = by_tree[id(uplink.down)]
            beside = beside_address(root) if root.beside is not None else None
            inet.chains += class_chains(system, uplink, "down", addresses(root, planted), beside, own)
            forward.append(f'{into} oifname "{word(uplink.down.interface)}" jump {chain(system, uplink.link, "down")}')
        forward.append(f"{into} jump {chain(system, uplink.link, 'in')}")
        received.append(f"{into} jump {chain(system, uplink.link, 'in')}")
    inet.bases.append(Base("postrouting", f"filter hook postrouting priority {MANGLE}", postrouting))
    inet.bases.append(Base("forward", f"filter hook forward priority {MANGLE}", forward))
    inet.bases.append(Base("input", f"filter hook input priority {MANGLE}", received))
    if arriving:
        inet.bases.append(Base("prerouting", f"filter hook prerouting priority {MANGLE}", arriving))
    _inbound(gateway, inet)
    return [inet, *_nat(gateway)]


def _mss(gateway: Gateway, uplink: Uplink) -> Chain:
    assert uplink.mss is not None, "asked for only where there is one"
    four, six = uplink.mss.value, uplink.mss.value - 20
    return chain(gateway.system, uplink.link, "mss", "clamp"), [
        f"# {uplink.mss.why}; never raised, only lowered",
        f"meta nfproto ipv4 tcp option maxseg size > {four} tcp option maxseg size set {four}",
        f"meta nfproto ipv6 tcp option maxseg size > {six} tcp option maxseg size set {six}",
    ]


def _inbound(gateway: Gateway, inet: Table) -> None:
    lines = []
    for uplink in gateway.uplinks:
        if uplink.inbound is None:
            continue
        name = chain(gateway.system, uplink.link, "filter", "in")
        inet.chains.append((name, _inbound_lines(uplink, uplink.inbound, gateway.inside)))
        lines.append(f'iifname "{word(uplink.interface)}" jump {name}')
    if lines:
        inet.bases.append(Base("filter_forward", f"filter hook forward priority {FILTER}", lines))
        inet.bases.append(Base("filter_input", f"filter hook input priority {FILTER}", list(lines)))


def _inbound_lines(uplink: Uplink, inbound: Inbound, inside: tuple[Inside, ...]) -> list[str]:
    lines = ["ct state established,related accept"]
    for arm in inside:
        if arm.interface in (uplink.interface, uplink.queue_on):
            lines += ["# the inside is on this interface too"] + [
                f"{_IP[v]} saddr {text} accept" for v in (4, 6) if (text := networks_text(arm.networks, v))
            ]
    lines += [
        "# what path MTU discovery and neighbours need",
        f"meta nfproto ipv4 {_ICMP4} accept",
        f"meta nfproto ipv6 {_ICMP6} accept",
        "# the operator's way in",
    ]
    operator = f"tcp dport {inbound.operator_port} accept"
    if inbound.operator_from:
        lines += [f"{_IP[v]} saddr {text} {operator}" for v in (4, 6) if (text := networks_text(inbound.operator_from, v))]
    else:
        lines.append(operator)
    for protocol in ("tcp", "udp"):
        ranges = tuple(service.ports for service in inbound.services if service.protocol == protocol and service.ports)
        if ranges:
            lines.append(f"{protocol} dport {ports_text(ranges)} accept")
    if any(service.protocol == "icmp" for service in inbound.services):
        lines += ["meta nfproto ipv4 icmp type echo-request accept", "meta nfproto ipv6 icmpv6 type echo-request accept"]
    lines.append("drop")
    return lines


def _nat(gateway: Gateway) -> list[Table]:
    """NAT stands in tables of its families: an inet table has had nat chains since 5.2 only (nf_tables, Linux 5.2)."""
    found = []
    for version in (4, 6):
        before: list[str] = []
        after: list[str] = []
        inside = tuple(n for arm in gateway.inside for n in arm.networks if n.version == version)
        for uplink in gateway.uplinks:
            interface = word(uplink.interface)
            pairs = [pair for pair in uplink.one_to_one if pair.inside.version == version]
            if pairs:
                before.append(f'iifname "{interface}" dnat to {_IP[version]} daddr map {{ {_pairs(pairs, inward=True)} }}')
                after.append(f'oifname "{interface}" snat to {_IP[version]} saddr map {{ {_pairs(pairs, inward=False)} }}')
            if uplink.nat is True and version == 4 and inside:
                after.append(f'oifname "{interface}" {_inside_out(inside, version)} masquerade')
            elif not isinstance(uplink.nat, bool) and uplink.nat.version == version and inside:
                after.append(f'oifname "{interface}" {_inside_out(inside, version)} snat to {uplink.nat}')
        if before or after:
            # Before 4.18 a connection is translated back only where both chains are registered.
            table = Table(_IP[version])
            table.bases = [
                Base("prerouting", f"nat hook prerouting priority {DSTNAT}", before),
                Base("postrouting", f"nat hook postrouting priority {SRCNAT}", after),
            ]
            found.append(table)
    return found


def _inside_out(networks: tuple[Network, ...], version: int) -> str:
    text = networks_text(networks, version)
    return f"{_IP[version]} saddr {text} {_IP[version]} daddr != {text}"


def _pairs(pairs: list[OneToOne], inward: bool) -> str:
    return ", ".join(f"{p.outside} : {p.inside}" if inward else f"{p.inside} : {p.outside}" for p in pairs)
