"""The reserved words of every pf.conf dialect: a queue cannot have one of them as its name without quotes.

Sources: the keyword tables of pfctl's parse.y of OpenBSD 3.3 (1.343), 3.5 (1.449), 4.1, 4.4, 4.7 (1.586), 5.4 (1.623), 5.6 (1.636), 7.8
and of FreeBSD 12, 14 and main of the end of 2024. A version between two of them reserves the words of both.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALL = _words(
    """all allow-opts anchor antispoof any bandwidth bitmask block block-policy code drop dup-to file flags for fragment from group
    icmp-type icmp6-type in inet inet6 keep label limit log loginterface max max-mss min-ttl modulate no no-df no-route on optimization
    out pass port proto qlimit queue quick random random-id reassemble reply-to return return-icmp return-icmp6 return-rst round-robin
    route-to scrub set source-hash state static-port table timeout to tos ttl user"""
)
_ALTQ = _words("altq cbq priority priq tbrsize") | _ALL
_TRANSLATION = _words("binat binat-anchor crop drop-ovl fastroute nat nat-anchor rdr rdr-anchor require-order")
_SINCE_35 = _words(
    """debug fingerprints floating global hostid if-bound load max-src-nodes max-src-states no-sync os rule source-track state-policy
    sticky-address synproxy tag tagged"""
)
_HFSC = _words("hfsc linkshare realtime upperlimit")
_SINCE_41 = _SINCE_35 | _words(
    """flush max-src-conn max-src-conn-rate overload probability route rtable ruleset-optimization skip sloppy urpf-failed"""
)
_SINCE_44 = _SINCE_41 | _words("divert-reply divert-to include")
_SINCE_47 = _SINCE_44 | _words("binat-to divert-packet match nat-to pflow rdr-to received-on state-defaults")
_SINCE_54 = _SINCE_47 | _words("af-to least-states matches once prio rdomain weight")
_QUEUES = _ALL | _SINCE_54 | _words("burst default min parent")
_FLOWS = _QUEUES | _words("delay flows max-pkt-rate quantum syncookies")
_FREEBSD = (_ALTQ | _TRANSLATION | _HFSC | _SINCE_44) | _words(
    "buckets codelq fail-policy fairq hogs interval prio set-tos state-defaults target"
)
_FREEBSD_13 = _FREEBSD | _words("keepcounters map-e-portset match ridentifier syncookies")
_FREEBSD_14 = _FREEBSD_13 | _words("bridge-to dnpipe dnqueue ether l3 pflow")

_OPENBSD_33 = _ALTQ | _TRANSLATION | _words("borrow default ecn log-all red rio yes")
_OPENBSD_35 = _ALTQ | _TRANSLATION | _HFSC | _SINCE_35 | _words("group-bound log-all")
_OPENBSD_44 = _ALTQ | _TRANSLATION | _HFSC | _SINCE_44 | _words("set-tos")

# By OS, from a version on.
RESERVED: tuple[tuple[str, tuple[int, int], frozenset[str]], ...] = (
    ("openbsd", (3, 3), _OPENBSD_33),
    ("openbsd", (3, 4), _OPENBSD_33 | _OPENBSD_35),
    ("openbsd", (3, 5), _OPENBSD_35),
    ("openbsd", (3, 6), _OPENBSD_35 | _SINCE_41),
    ("openbsd", (4, 1), _ALTQ | _TRANSLATION | _HFSC | _SINCE_41),
    ("openbsd", (4, 2), _OPENBSD_44),
    ("openbsd", (4, 5), _OPENBSD_44 | _SINCE_47),
    ("openbsd", (4, 8), _OPENBSD_44 | _SINCE_54),
    ("openbsd", (5, 4), _ALTQ | _HFSC | _SINCE_54),
    ("openbsd", (5, 5), _ALTQ | _HFSC | _QUEUES | {"oldqueue"}),
    ("openbsd", (5, 6), _QUEUES),
    ("openbsd", (6, 2), _FLOWS),
    ("openbsd", (7, 9), _FLOWS | _words("above below entries id limiter mask no-match rate source")),
    ("freebsd", (12, 0), _FREEBSD),
    ("freebsd", (13, 0), _FREEBSD_13),
    ("freebsd", (14, 0), _FREEBSD_14),
    (
        "freebsd",
        (15, 0),
        _FREEBSD_14
        | _words(
            """af-to allow-related binat-to endpoint-independent matches max-pkt-rate max-pkt-size nat-to once prefer-ipv6-nexthop
            rdr-to received-on"""
        ),
    ),
)


def reserved(os: str, version: tuple[int, int]) -> frozenset[str]:
    """The words that the pf.conf of this system reserves."""
    rows = [words for system, since, words in RESERVED if system == os and since <= version]
    return rows[-1]
