"""What decides a packet's queue and differs between releases: one row a feature, each with the source of that fact.

A row has the releases of OpenBSD and of FreeBSD that have it, first (inclusive) and last (exclusive, None: still there). What a release's
grammar says about its kernel (translation statements, match rules, scrub rules) is asked of the dialect itself.
"""

from pfq.pf.dialects import Dialect, Span

_ALWAYS: Span = ((0, 0), None)

FEATURES: dict[str, tuple[Span, Span, str]] = {
    "tos_of_ipv6": (
        ((5, 3), None), ((13, 0), None),
        "pf.c pf_test6 of OpenBSD 4.4 and FreeBSD 12.1: tos is 0; OpenBSD 5.4 pf_setup_pdesc; FreeBSD 13.1 pf_test6: IPV6_DSCP",
    ),
    "empty_acks_of_ipv6": (
        ((5, 3), None), ((15, 0), None),
        "pf.c pf_test6 of OpenBSD 4.4 and FreeBSD 12.1, 13.1: no test; OpenBSD 5.4, FreeBSD 15.0: one pf_test for both families",
    ),
    "ecn_masked": (((5, 3), None), _ALWAYS, "pf.c: tos is ip_tos & ~IPTOS_ECN_MASK (OpenBSD 5.4, FreeBSD 12.1); OpenBSD 4.4 and 4.9 take the whole byte"),
    "reassembles_ipv6": (((5, 0), None), _ALWAYS, "pf_norm.c pf_normalize_ip6: OpenBSD 4.4 and 4.9 look at fragments and let them be"),
    "atomic_is_whole": (((5, 3), None), ((15, 0), None), "pf.c pf_walk_header6 of OpenBSD 5.4: RFC 6946; FreeBSD 12.1 pf_test6: any fragment header"),
    "fragments_name_protocol": (((5, 3), None), ((15, 0), None), "pf.c pf_walk_header6: goes on behind the header of a first fragment; pf_test6 does not"),
    "fragments_lose_queue": (((0, 0), (5, 0)), None, "ip_output.c ip_fragment: fresh headers behind the first; later m_dup_pkthdr"),
    "tcp_always_checked": (((4, 6), None), None, "pf_norm.c pf_normalize_tcp: of every segment where there are no scrub rules"),
    "icmp_replies_need_state": (
        ((4, 7), None), ((15, 0), None), "pf.c pf_test_rule: rules that keep state pass over ICMP replies unless they are sloppy",
    ),
    "ipv6_options_dropped": (((5, 5), None), ((15, 0), None), "pf.conf(5) allow-opts, destination options; pf.c pf_walk_header6 of 5.4 lets them pass"),
    "match_needs_state": (((4, 6), None), None, "pf.c pf_test: without a state only the final rule's own queue counts"),
    "quick_anchor_directly": (((6, 4), None), ((15, 0), None), "pf.c pf_step_into_anchor: stops if the last match stands in this very anchor"),
    "reassembles_unless_told": (((4, 6), None), None, "pfctl.c pfctl_init_options: reassemble is 1; FreeBSD pf.conf(5): the default is no"),
}


class Features:
    """The rows that a dialect has."""

    tos_of_ipv6: bool
    empty_acks_of_ipv6: bool
    ecn_masked: bool
    reassembles_ipv6: bool
    atomic_is_whole: bool
    fragments_name_protocol: bool
    fragments_lose_queue: bool
    tcp_always_checked: bool
    icmp_replies_need_state: bool
    ipv6_options_dropped: bool
    match_needs_state: bool
    quick_anchor_directly: bool
    reassembles_unless_told: bool

    def __init__(self, dialect: Dialect) -> None:
        for name, (openbsd, freebsd, _) in FEATURES.items():
            span = openbsd if dialect.family == "openbsd" else freebsd
            setattr(self, name, span is not None and span[0] <= dialect.release and (span[1] is None or dialect.release < span[1]))
