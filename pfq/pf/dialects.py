"""The dialects of pf.conf: one feature table, a row a feature, each with the releases that have it and the source of that fact.

A dialect is nothing but the features its release has and the words it reserves. Code asks for features, never for releases.
"""

# A release as (major, minor); a feature exists from the first (inclusive) to the second (exclusive, None: still there).
Release = tuple[int, int]
Span = tuple[Release, Release | None] | None

_ALWAYS: Span = ((0, 0), None)

# name: (OpenBSD, FreeBSD, source). "parse.y" is sbin/pfctl/parse.y of the system named first in the row.
FEATURES: dict[str, tuple[Span, Span, str]] = {
    "altq": (((3, 3), (5, 5)), _ALWAYS, "OpenBSD 5.5 release notes; FreeBSD altq(4)"),
    "queue_trees": (((5, 5), None), None, "OpenBSD 5.5 release notes; parse.y 1.631"),
    "flow_queues": (((6, 2), None), None, "OpenBSD 6.2 release notes (fq_codel)"),
    "altq_codel": (None, ((11, 0), None), "FreeBSD r284777 (codel), r287009 (fairq)"),
    "altq_wide": (None, ((12, 0), None), "FreeBSD r338209 (rates of 64 bits, held under the parent's) and r338253 pfctl_altq.c"),
    "short_units": (((5, 0), None), ((9, 0), None), "parse.y bandwidth: K, M, G with b, B, bit or Bit after them"),
    "rules_name_defined_queues": (((6, 2), None), None, "parse.y qname: a queue must be defined above the rule; 5.6 and 6.0 take any name"),
    "underscored_queues_refused": (((5, 5), (6, 2)), None, "parse.y queuespec of 5.6 and 6.0; 7.x takes a queue name that begins with _"),
    "queue_interfaces_checked": (((6, 2), None), None, "parse.y queuespec: not an interface; 5.6 does not look"),
    "translation_rules": (((3, 0), (4, 7)), ((0, 0), None), "OpenBSD 4.7 release notes (nat-to)"),
    "nat_to": (((4, 7), None), None, "OpenBSD 4.7 release notes: all translation by filter rules, and the grammar that came with it"),
    "redirections_in_rules": (
        ((4, 7), None), ((15, 0), None),
        "OpenBSD 4.7 release notes; FreeBSD sbin/pfctl/tests/files pf0019, pf0020, pf0069 to pf0072 and pf0084 (7fec69828e4f, 5ecc60fb07d1)",
    ),
    "nexthops_of_ipv6": (None, ((15, 0), None), "FreeBSD sbin/pfctl/tests/files/pf1073 (65c318630123): prefer-ipv6-nexthop"),
    "ether_rules": (None, ((14, 0), None), "FreeBSD 14.0 release notes; parse.y etherrule, sbin/pfctl/tests/files/pf1014"),
    "match_rules": (((4, 6), None), ((14, 0), None), "OpenBSD 4.6 release notes; FreeBSD 14.0 release notes"),
    "scrub_rules": (((3, 0), (4, 6)), _ALWAYS, "OpenBSD 4.6 release notes"),
    "scrub_options": (((4, 6), None), ((14, 0), None), "OpenBSD 4.6 release notes; FreeBSD 14.0 release notes"),
    "statement_order": (((3, 0), (4, 7)), _ALWAYS, "parse.y check_rulestate: the order is enforced unless require-order says no"),
    "route_before_af": (((3, 0), (4, 7)), _ALWAYS, "parse.y pfrule: route stands between interface and af"),
    "fastroute": (((3, 0), (5, 5)), _ALWAYS, "parse.y FASTROUTE"),
    "route_interfaces": (((3, 0), (6, 9)), _ALWAYS, "parse.y route_host: an interface, or one in parentheses; went in 6.9"),
    "least_states": (((4, 9), None), None, "OpenBSD 4.9 release notes"),
    "weights": (((5, 0), None), None, "parse.y optweight, OpenBSD 5.0"),
    "address_family_translation": (((5, 1), None), ((15, 0), None), "OpenBSD 5.1 release notes; FreeBSD fcdb520c1b4e (af-to)"),
    "set_options": (((5, 2), None), ((11, 0), None), "parse.y filter_sets: prio, tos, queue; FreeBSD r307235: prio"),
    "set_spaced": (((5, 2), (6, 0)), _ALWAYS, "pfctl_parser.c print_rule (OpenBSD 5.6): blanks inside the parentheses of set"),
    "set_queue": (((5, 2), None), None, "parse.y filter_set; FreeBSD has prio only"),
    "prio": (((5, 0), None), ((11, 0), None), "OpenBSD 5.0 release notes; FreeBSD r307235"),
    "delay": (((6, 5), None), None, "OpenBSD 6.5 release notes (set delay)"),
    "received_on": (((4, 7), None), ((15, 0), None), "OpenBSD 4.7 release notes; FreeBSD pf_nl.h PF_RT_RCV_IFNAME"),
    "rdomain": (((4, 9), None), None, "parse.y if_item"),
    "once": (((5, 4), None), None, "OpenBSD 5.3 release notes (once rules)"),
    "packet_rate": (((6, 4), None), ((15, 0), None), "parse.y max-pkt-rate"),
    "sloppy": (((4, 5), None), ((9, 0), None), "OpenBSD 4.5 release notes"),
    "pflow": (((4, 5), None), ((15, 0), None), "OpenBSD 4.5 release notes"),
    "state_defaults": (((4, 5), None), ((9, 0), None), "parse.y set state-defaults"),
    "reassemble_option": (((4, 6), None), ((14, 0), None), "OpenBSD 4.6 release notes"),
    "syncookies": (((6, 4), None), ((13, 1), None), "OpenBSD 6.4 release notes; FreeBSD 13.1 release notes"),
    "fail_policy": (None, ((12, 0), None), "FreeBSD r336221"),
    "keep_counters": (None, ((13, 0), None), "FreeBSD r378301"),
    "divert_packets": (((4, 7), None), None, "parse.y divert-packet"),
    "divert_address": (((4, 4), None), None, "parse.y divert-to STRING port; FreeBSD takes the port alone"),
    "table_counters": (((4, 5), None), ((9, 0), None), "parse.y table_opt"),
    "log_matches": (((4, 8), None), ((15, 0), None), "OpenBSD 4.8 release notes"),
    "dscp_names": (((4, 9), None), ((9, 3), None), "parse.y map_tos"),
    "tos_zero": (((4, 9), None), ((9, 3), None), "parse.y tos: only values above 255 are refused"),
    "comparison_tokens": (((4, 8), None), None, "parse.y tokens NE, LE, GE; FreeBSD unaryop: '!' '='"),
    "signed_messages": (((4, 8), None), None, "parse.y: %lld where older releases print unsigned numbers"),
    "quoted_blanks": (((6, 4), None), None, "parse.y yylex: a backslash in quotes hides a blank, and counts its line"),
    "unread_kept": (((4, 5), None), _ALWAYS, "parse.y findeol: what was unread is skipped too, not dropped"),
    "one_port_ranges": (((4, 8), None), ((9, 0), None), "parse.y parseport: a range of one port is that port"),
    "route_labels": (((3, 9), None), None, "parse.y host: ROUTE STRING; FreeBSD has no route labels"),
    "final_newline_supplied": (((6, 1), None), None, "parse.y lgetc: an end of file is a line end first"),
    "any_wins_lists": (((4, 9), None), ((15, 0), None), "parse.y host_list: a list with any in it is any"),
    "any_interface": (((5, 6), None), ((14, 0), None), "parse.y if_item: any"),
    "masks_by_strtonum": (((6, 0), None), None, "pfctl_parser.c host(): OpenBSD 6.0 and later"),
    "port_numbers_printed": (((4, 9), None), None, "pfctl_parser.c print_port: names only with -P"),
    "state_always_printed": (((0, 0), (4, 6)), _ALWAYS, "pfctl_parser.c print_rule: keep state even without options"),
    "no_state_rule_route": (((6, 2), None), None, "parse.y rule_consistent: routing needs keep state, and no block rule"),
    "synproxy_warned": (((6, 6), None), None, "parse.y rule_consistent; OpenBSD 5.6 has no such warning"),
    "require_order": (((3, 0), (5, 5)), _ALWAYS, "parse.y REQUIREORDER: there in 4.9, off unless set since 4.7; gone in 5.6"),
    "icmp_mld2": (((6, 9), None), ((13, 1), None), "pfctl_parser.c: listenrepv2"),
    "overlapping_fragments": (((3, 0), (4, 5)), ((0, 0), (14, 0)), "parse.y fragcache: crop and drop-ovl"),
    "include_in_anchors": (((5, 6), None), None, "parse.y pfa_anchorlist"),
    "tables_in_anchors": (((7, 5), None), None, "parse.y pfa_anchorlist, OpenBSD 7.5"),
    "labels_many": (None, ((13, 0), None), "FreeBSD pfctl_parser.c print_rule: label[i]; five a rule"),
    "ridentifier": (None, ((14, 0), None), "FreeBSD pfctl_parser.c print_rule: ridentifier"),
    "dummynet": (None, ((14, 0), None), "FreeBSD pfctl_parser.c print_rule: dnpipe, dnrpipe"),
    "debug_levels_syslog": (((4, 8), None), None, "pfctl.c pfctl_set_debug"),
}

_KEYWORDS = frozenset((
    "all", "allow-opts", "anchor", "antispoof", "any", "bandwidth", "bitmask", "block", "block-policy", "code", "debug",
    "drop", "dup-to", "file", "fingerprints", "flags", "floating", "flush", "for", "fragment", "from", "global", "group",
    "hostid", "icmp-type", "icmp6-type", "if-bound", "in", "include", "inet", "inet6", "keep", "label", "limit", "load",
    "log", "loginterface", "max", "max-mss", "max-src-conn", "max-src-conn-rate", "max-src-nodes", "max-src-states",
    "min-ttl", "modulate", "no", "no-df", "no-route", "no-sync", "on", "optimization", "os", "out", "overload", "pass",
    "port", "probability", "proto", "qlimit", "queue", "quick", "random", "random-id", "reassemble", "reply-to", "return",
    "return-icmp", "return-icmp6", "return-rst", "round-robin", "route", "route-to", "rtable", "rule",
    "ruleset-optimization", "scrub", "set", "skip", "source-hash", "source-track", "state", "state-policy", "static-port",
    "sticky-address", "synproxy", "table", "tag", "tagged", "timeout", "to", "tos", "ttl", "urpf-failed", "user",
))

# The words that come and go with a feature.
_WORDS: dict[str, str] = {
    "altq": "altq cbq hfsc linkshare priority priq realtime tbrsize upperlimit",
    "altq_codel": "buckets codelq fairq hogs interval target",
    "queue_trees": "burst default min parent",
    "flow_queues": "flows quantum",
    "translation_rules": "binat binat-anchor nat nat-anchor rdr rdr-anchor",
    "redirections_in_rules": "binat-to nat-to rdr-to",
    "nexthops_of_ipv6": "prefer-ipv6-nexthop",
    "ether_rules": "bridge-to ether l3",
    "match_rules": "match",
    "require_order": "require-order",
    "scrub_rules": "set-tos",
    "overlapping_fragments": "crop drop-ovl",
    "fastroute": "fastroute",
    "least_states": "least-states",
    "weights": "weight",
    "address_family_translation": "af-to",
    "prio": "prio",
    "delay": "delay",
    "received_on": "received-on",
    "rdomain": "rdomain",
    "once": "once",
    "packet_rate": "max-pkt-rate",
    "sloppy": "sloppy",
    "pflow": "pflow",
    "state_defaults": "state-defaults",
    "syncookies": "syncookies",
    "fail_policy": "fail-policy",
    "keep_counters": "keepcounters",
    "divert_packets": "divert-packet divert-reply divert-to",
    "log_matches": "matches",
    "ridentifier": "ridentifier",
    "dummynet": "dnpipe dnqueue",
}

# The dialects that are offered by name. Any release can be asked for; these are the ones whose answers are tested.
NAMES: tuple[str, ...] = (
    "openbsd-4.4", "openbsd-5.4", "openbsd-7.6", "freebsd-12.1", "freebsd-13.2", "freebsd-14.0", "freebsd-15.0",
)


class UnknownDialect(ValueError):
    """The name is not one of a dialect: `openbsd-MAJOR.MINOR` or `freebsd-MAJOR.MINOR`."""


class Dialect:
    """A release of pf.conf: which features it has, and which words it reserves."""

    altq: bool
    queue_trees: bool
    flow_queues: bool
    altq_codel: bool
    altq_wide: bool
    short_units: bool
    rules_name_defined_queues: bool
    underscored_queues_refused: bool
    queue_interfaces_checked: bool
    translation_rules: bool
    nat_to: bool
    redirections_in_rules: bool
    nexthops_of_ipv6: bool
    ether_rules: bool
    match_rules: bool
    scrub_rules: bool
    scrub_options: bool
    statement_order: bool
    route_before_af: bool
    fastroute: bool
    route_interfaces: bool
    least_states: bool
    weights: bool
    address_family_translation: bool
    set_options: bool
    set_spaced: bool
    set_queue: bool
    prio: bool
    delay: bool
    received_on: bool
    rdomain: bool
    once: bool
    packet_rate: bool
    sloppy: bool
    pflow: bool
    state_defaults: bool
    reassemble_option: bool
    syncookies: bool
    fail_policy: bool
    keep_counters: bool
    divert_packets: bool
    divert_address: bool
    table_counters: bool
    log_matches: bool
    dscp_names: bool
    tos_zero: bool
    comparison_tokens: bool
    signed_messages: bool
    quoted_blanks: bool
    unread_kept: bool
    one_port_ranges: bool
    route_labels: bool
    final_newline_supplied: bool
    any_wins_lists: bool
    any_interface: bool
    masks_by_strtonum: bool
    port_numbers_printed: bool
    state_always_printed: bool
    no_state_rule_route: bool
    synproxy_warned: bool
    require_order: bool
    icmp_mld2: bool
    overlapping_fragments: bool
    include_in_anchors: bool
    tables_in_anchors: bool
    labels_many: bool
    ridentifier: bool
    dummynet: bool
    debug_levels_syslog: bool

    def __init__(self, family: str, release: Release) -> None:
        self.name = f"{family}-{release[0]}.{release[1]}"
        self.family = family
        self.release = release
        words = set(_KEYWORDS)
        for feature, (openbsd, freebsd, _) in FEATURES.items():
            span = openbsd if family == "openbsd" else freebsd
            has = span is not None and span[0] <= release and (span[1] is None or release < span[1])
            setattr(self, feature, has)
            if has and feature in _WORDS:
                words.update(_WORDS[feature].split())
        if family == "freebsd":
            words.update(("divert-to", "divert-reply"))
        self.keywords = frozenset(words)


# What is told to who names another.
_FORM = "a system and its release, as in openbsd-7.6 or freebsd-14.0; from openbsd-4.4 and freebsd-11.0 on"

_BUILT: dict[str, Dialect] = {}


def dialect(name: str) -> Dialect:
    """The dialect of that name, `openbsd-7.6` or `freebsd-12.1`; a major release alone is its .0.

    Raises UnknownDialect when the name is not of that form or the release is older than any this table knows.
    """
    if name not in _BUILT:
        family, _, release = name.partition("-")
        major, _, minor = release.partition(".")
        numbers = major + minor
        if family not in ("openbsd", "freebsd") or not numbers.isascii() or not numbers.isdigit() or not major or release.endswith("."):
            raise UnknownDialect(f"unknown dialect {name}: {_FORM}")
        number = (int(major), int(minor or 0))
        if number < ((4, 4) if family == "openbsd" else (11, 0)) or number[0] > 99:
            raise UnknownDialect(f"no facts about {name}: {_FORM}")
        _BUILT[name] = Dialect(family, number)
    return _BUILT[name]
