"""Names that nft writes for numbers, by kind of value. Sources: nft(8) and `nft describe` (1.0.6), RFC 2474, IANA's ICMP registries."""

from collections.abc import Mapping

from pfq.linux.expressions import NAME_BITS

# Bits of each kind of value; "integer" takes the width of what it is compared with.
WIDTHS: Mapping[str, int] = {
    "ipv4_addr": 32, "ipv6_addr": 128, "inet_service": 16, "inet_proto": 8, "mark": 32, "ifname": NAME_BITS, "iface_index": NAME_BITS,
    "icmp_type": 8, "icmp_code": 8, "icmpv6_type": 8, "icmpv6_code": 8, "dscp": 6, "ecn": 2, "ct_state": 32, "ct_dir": 8, "ct_status": 32,
    "tcp_flag": 8, "classid": 32, "nf_proto": 8, "ether_type": 16, "fib_addrtype": 32, "boolean": 1,
}  # fmt: skip

# Kinds whose values are sets of flags: a list of them, or one without an operator, asks whether any is set.
FLAGS = frozenset({"ct_state", "ct_status", "tcp_flag"})

INVALID, ESTABLISHED, RELATED, NEW, UNTRACKED = 1, 2, 4, 8, 64
DNAT_STATUS, SNAT_STATUS, SEEN_REPLY = 0x20, 0x10, 0x02
LOCAL, UNICAST = 2, 1

_ICMP_CODES = {
    "net-unreachable": 0, "host-unreachable": 1, "prot-unreachable": 2, "port-unreachable": 3, "frag-needed": 4, "net-prohibited": 9,
    "host-prohibited": 10, "admin-prohibited": 13,
}  # fmt: skip
_DSCP = {"cs0": 0, "lephb": 1, "le": 1, "va": 44, "ef": 46, "df": 0, "be": 0, **{f"cs{n}": 8 * n for n in range(1, 8)},
         **{f"af{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)}}  # fmt: skip

NAMES: Mapping[str, Mapping[str, int]] = {
    "inet_service": {
        "ftp-data": 20, "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "time": 37, "domain": 53, "bootps": 67, "bootpc": 68, "tftp": 69, "http": 80,
        "kerberos": 88, "pop3": 110, "sunrpc": 111, "ntp": 123, "imap": 143, "imap2": 143, "snmp": 161, "snmp-trap": 162, "bgp": 179, "ldap": 389,
        "https": 443, "submissions": 465, "isakmp": 500, "syslog": 514, "dhcpv6-client": 546, "dhcpv6-server": 547, "submission": 587, "ldaps": 636,
        "imaps": 993, "pop3s": 995, "openvpn": 1194, "radius": 1812, "nfs": 2049, "mysql": 3306, "ipsec-nat-t": 4500, "sip": 5060,
        "sip-tls": 5061, "mdns": 5353, "postgresql": 5432, "http-alt": 8080,
    },
    "inet_proto": {
        "icmp": 1, "igmp": 2, "ipencap": 4, "tcp": 6, "udp": 17, "dccp": 33, "ipv6": 41, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "ipv6-icmp": 58,
        "icmpv6": 58, "ospf": 89, "pim": 103, "comp": 108, "vrrp": 112, "l2tp": 115, "sctp": 132, "udplite": 136,
    },
    "icmp_type": {
        "echo-reply": 0, "destination-unreachable": 3, "source-quench": 4, "redirect": 5, "echo-request": 8, "router-advertisement": 9,
        "router-solicitation": 10, "time-exceeded": 11, "parameter-problem": 12, "timestamp-request": 13, "timestamp-reply": 14, "info-request": 15,
        "info-reply": 16, "address-mask-request": 17, "address-mask-reply": 18,
    },
    "icmp_code": _ICMP_CODES,
    "icmpv6_type": {
        "destination-unreachable": 1, "packet-too-big": 2, "time-exceeded": 3, "parameter-problem": 4, "echo-request": 128, "echo-reply": 129,
        "mld-listener-query": 130, "mld-listener-report": 131, "mld-listener-done": 132, "mld-listener-reduction": 132, "nd-router-solicit": 133,
        "nd-router-advert": 134, "nd-neighbor-solicit": 135, "nd-neighbor-advert": 136, "nd-redirect": 137, "router-renumbering": 138,
        "ind-neighbor-solicit": 141, "ind-neighbor-advert": 142, "mld2-listener-report": 143,
    },
    "icmpv6_code": {"no-route": 0, "admin-prohibited": 1, "addr-unreachable": 3, "port-unreachable": 4, "policy-fail": 5, "reject-route": 6},
    "dscp": _DSCP,
    "ecn": {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3},
    "ct_state": {"invalid": INVALID, "established": ESTABLISHED, "related": RELATED, "new": NEW, "untracked": UNTRACKED},
    "ct_dir": {"original": 0, "reply": 1},
    "ct_status": {"expected": 1, "seen-reply": SEEN_REPLY, "assured": 4, "confirmed": 8, "snat": SNAT_STATUS, "dnat": DNAT_STATUS, "dying": 512},
    "tcp_flag": {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32, "ecn": 64, "cwr": 128},
    "classid": {"root": 0xFFFFFFFF, "none": 0},
    "nf_proto": {"ipv4": 2, "ipv6": 10},
    "ether_type": {"ip": 0x0800, "arp": 0x0806, "ip6": 0x86DD, "vlan": 0x8100},
    "fib_addrtype": {"unspec": 0, "unicast": UNICAST, "local": LOCAL},
    "boolean": {"exists": 1, "missing": 0},
}  # fmt: skip

# Priorities of base chains: linux/netfilter_ipv4.h NF_IP_PRI_*.
PRIORITIES: Mapping[str, int] = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
