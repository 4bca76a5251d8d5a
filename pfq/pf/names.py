"""The words pf.conf has for numbers: ICMP types and codes, timeouts, limits, ToS values, log levels.

Sources: the RFCs and IANA registries of the protocols, pf.conf(5), and the tables of pfctl_parser.c, parse.y and pfctl.c.
"""

ICMP_TYPES: dict[str, int] = {
    "echoreq": 8, "echorep": 0, "unreach": 3, "squench": 4, "redir": 5, "althost": 6, "routeradv": 9,
    "routersol": 10, "timex": 11, "paramprob": 12, "timereq": 13, "timerep": 14, "inforeq": 15, "inforep": 16,
    "maskreq": 17, "maskrep": 18, "trace": 30, "dataconv": 31, "mobredir": 32, "ipv6-where": 33, "ipv6-here": 34,
    "mobregreq": 35, "mobregrep": 36, "skip": 39, "photuris": 40,
}

# 130 to 132, 139 and 140 have two names each; the one that comes first is the one that is printed.
ICMP6_TYPES: dict[str, int] = {
    "unreach": 1, "toobig": 2, "timex": 3, "paramprob": 4, "echoreq": 128, "echorep": 129, "groupqry": 130,
    "listqry": 130, "grouprep": 131, "listenrep": 131, "groupterm": 132, "listendone": 132, "routersol": 133,
    "routeradv": 134, "neighbrsol": 135, "neighbradv": 136, "redir": 137, "routrrenum": 138, "wrureq": 139,
    "wrurep": 140, "fqdnreq": 139, "fqdnrep": 140, "niqry": 139, "nirep": 140, "mtraceresp": 200, "mtrace": 201,
}

# MLDv2 reports got a name in OpenBSD 6.9 (pfctl_parser.c 1.345).
ICMP6_TYPES_LATER: dict[str, int] = {"listenrepv2": 143}

ICMP_CODES: dict[tuple[int, str], int] = {
    (3, "net-unr"): 0, (3, "host-unr"): 1, (3, "proto-unr"): 2, (3, "port-unr"): 3, (3, "needfrag"): 4,
    (3, "srcfail"): 5, (3, "net-unk"): 6, (3, "host-unk"): 7, (3, "isolate"): 8, (3, "net-prohib"): 9,
    (3, "host-prohib"): 10, (3, "net-tos"): 11, (3, "host-tos"): 12, (3, "filter-prohib"): 13,
    (3, "host-preced"): 14, (3, "cutoff-preced"): 15, (5, "redir-net"): 0, (5, "redir-host"): 1,
    (5, "redir-tos-net"): 2, (5, "redir-tos-host"): 3, (9, "normal-adv"): 0, (9, "common-adv"): 16,
    (11, "transit"): 0, (11, "reassemb"): 1, (12, "badhead"): 0, (12, "optmiss"): 1, (12, "badlen"): 2,
    (40, "unknown-ind"): 1, (40, "auth-fail"): 2, (40, "decrypt-fail"): 3,
}

ICMP6_CODES: dict[tuple[int, str], int] = {
    (1, "admin-unr"): 1, (1, "noroute-unr"): 0, (1, "beyond-unr"): 2, (1, "addr-unr"): 3, (1, "port-unr"): 4,
    (3, "transit"): 0, (3, "reassemb"): 1, (4, "badhead"): 0, (4, "nxthdr"): 1, (137, "redironlink"): 0,
    (137, "redirrouter"): 1,
}

# In the order in which the kernel numbers them, which is the order in which a rule prints them.
TIMEOUTS: tuple[str, ...] = (
    "tcp.first", "tcp.opening", "tcp.established", "tcp.closing", "tcp.finwait", "tcp.closed", "udp.first",
    "udp.single", "udp.multiple", "icmp.first", "icmp.error", "other.first", "other.single", "other.multiple",
    "frag", "interval", "adaptive.start", "adaptive.end", "src.track", "tcp.tsdiff",
)

# Names that `set optimization` takes.
OPTIMIZATIONS: frozenset[str] = frozenset(
    ("normal", "default", "satellite", "high-latency", "conservative", "aggressive")
)

DEBUG_LEVELS_OLD: frozenset[str] = frozenset(("none", "urgent", "misc", "loud"))

# syslog(3) priority names; `set debug` of OpenBSD 4.8 and later prints the last of two names for one level.
SYSLOG_LEVELS: dict[str, int] = {
    "alert": 1, "crit": 2, "debug": 7, "emerg": 0, "err": 3, "error": 3, "info": 6, "notice": 5, "panic": 0,
    "warn": 4, "warning": 4,
}

TOS_OLD: dict[str, int] = {"lowdelay": 0x10, "throughput": 0x08, "reliability": 0x04}

TOS: dict[str, int] = TOS_OLD | {
    "af11": 0x28, "af12": 0x30, "af13": 0x38, "af21": 0x48, "af22": 0x50, "af23": 0x58, "af31": 0x68,
    "af32": 0x70, "af33": 0x78, "af41": 0x88, "af42": 0x90, "af43": 0x98, "critical": 0xA0, "cs0": 0x00,
    "cs1": 0x20, "cs2": 0x40, "cs3": 0x60, "cs4": 0x80, "cs5": 0xA0, "cs6": 0xC0, "cs7": 0xE0, "ef": 0xB8,
    "inetcontrol": 0xC0, "netcontrol": 0xE0,
}

TCP_FLAGS = "FSRPAUEW"


def icmp6_codes(new: bool) -> dict[tuple[int, str], int]:
    """The ICMPv6 codes; older releases have a name of RFC 1885 for code 2 of unreach, and print that."""
    return ICMP6_CODES if new else {(1, "notnbr-unr"): 2} | ICMP6_CODES


def icmp_type_name(number: int, af: int) -> str | None:
    """The printed name of an ICMP type, or None; ``af`` is 6 for ICMPv6."""
    return _first_names(af == 6).get(number)


def icmp_code_name(number: int, code: int, af: int, new: bool = True) -> str | None:
    """The printed name of an ICMP code of a type, or None; ``af`` is 6 for ICMPv6."""
    table = icmp6_codes(new) if af == 6 else ICMP_CODES
    for (of_type, name), value in table.items():
        if of_type == number and value == code:
            return name
    return None


_PRINTED: dict[bool, dict[int, str]] = {}


def _first_names(six: bool) -> dict[int, str]:
    if six not in _PRINTED:
        found: dict[int, str] = {}
        for name, number in (ICMP6_TYPES if six else ICMP_TYPES).items():
            found.setdefault(number, name)
        _PRINTED[six] = found
    return _PRINTED[six]
