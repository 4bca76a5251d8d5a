"""What the pf.conf of each OpenBSD and FreeBSD has: a table of facts, each with the version it starts with and its source."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from pfq.site.systems import System, schedulers, shapes_down
from pfq.targets.pf_reserved import reserved

# Which IPv6 packets reach the second queue of a rule: none, those with ToS bit 0x10, or those and empty ACKs.
SecondQueue6 = Literal["never", "tos", "full"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The language of one version. Rates are bit/s, lengths characters, sizes bytes.

    hfsc, queue_on (`queue NAME on IF`): as `pfq.site.systems` has them, see `dialect_of`.
    bound_state: `pass` keeps state by itself, and `no state` and `flags any` exist.
    scrub_option: `scrub (max-mss N)` on a match rule instead of a statement. nat_option: `nat-to` on a match rule instead of `nat`.
    tos_exact: a rule's ToS is compared with the whole byte, ECN bits too. tos_equal: the second queue wants ToS 0x10, not a bit of it.
    dscp_ipv6: a rule's ToS can match IPv6. rate_most, hfsc_rate_most: the largest rate that is kept as it is written.
    """

    name: str
    reserved: frozenset[str]
    altq: bool = True
    name_most: int = 15
    anchor_most: int = 15
    hfsc: bool = False
    queue_on: bool = False
    tags: bool = False
    inline_anchors: bool = False
    included_files: bool = False
    bound_state: bool = False
    scrub_option: bool = False
    nat_option: bool = False
    tos_exact: bool = True
    tos_equal: bool = True
    second_queue_6: SecondQueue6 = "never"
    dscp_ipv6: bool = False
    tbrsize_most: int = 65535
    rate_most: int = 2**32 - 1
    hfsc_rate_most: int = 2**32 - 1
    red: bool = True
    codel: bool = False
    flows: bool = False
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """From version `since` of `os` on, these fields have these values."""

    os: str
    since: tuple[int, int]
    values: Mapping[str, Any]
    source: str


FACTS = (
    Fact("openbsd", (3, 4), {"tags": True}, "parse.y: not in 3.3, in 3.5; 3.4 by its release notes"),
    Fact("openbsd", (3, 7), {"name_most": 63, "anchor_most": 63}, "pfvar.h PF_QNAME_SIZE, PF_ANCHOR_NAME_SIZE: 16 in 3.3, 64 in 4.x"),
    Fact("openbsd", (4, 1), {"bound_state": True}, "regress/sbin/pfctl pf1, pf49, pf57: October 2006"),
    Fact("openbsd", (4, 2), {"inline_anchors": True}, "parse.y: machinery in 4.1, grammar in 4.4"),
    Fact("openbsd", (4, 4), {"included_files": True, "tos_equal": False}, "parse.y of 4.4; pf.c pf_test: ToS & IPTOS_LOWDELAY"),
    Fact("openbsd", (4, 6), {"scrub_option": True}, "regress/sbin/pfctl pf15: scrub statement gone in April 2009"),
    Fact("openbsd", (4, 7), {"nat_option": True}, "parse.y 1.586: nat statements gone"),
    Fact("openbsd", (5, 3), {"second_queue_6": "full", "dscp_ipv6": True}, "pf.c of 5.4: one pf_test for both families"),
    Fact(
        "openbsd", (5, 5), {"altq": False, "red": False, "tos_exact": False},
        "pf.conf(5) of 5.5; hfsc.h struct hfsc_sc: 32 bits",
    ),
    Fact("openbsd", (6, 2), {"flows": True}, "parse.y: not in 6.0, in 7.6; fq_codel.c came with 6.2"),
    Fact(
        "freebsd", (12, 0),
        {
            "name_most": 63, "anchor_most": 63, "tags": True, "inline_anchors": True, "included_files": True,
            "bound_state": True, "tos_exact": False, "tos_equal": False, "tbrsize_most": 2**32 - 1, "codel": True,
            "hfsc_rate_most": 2**63 - 1,
            "kernel": "The kernel needs options ALTQ, ALTQ_PRIQ, ALTQ_CBQ, ALTQ_HFSC and ALTQ_CODEL for what is used below (altq(4)).",
        },
        "parse.y and pfctl_altq.c of 12.1; altq(4)",
    ),
    Fact("freebsd", (13, 0), {"second_queue_6": "tos", "dscp_ipv6": True}, "pf.c of 13.1 pf_test6: IPV6_DSCP, no ACK test"),
    Fact("freebsd", (15, 0), {"second_queue_6": "full"}, "pf.c of 15: pf_test for both families, use_2nd_queue"),
)

_KNOWN = {field.name for field in fields(Dialect)}
assert all(set(fact.values) <= _KNOWN for fact in FACTS)


@cache
def dialect_of(system: System) -> Dialect:
    """The pf.conf language of an OpenBSD or FreeBSD version."""
    # A queue for one of several interfaces is what downloads on the inside need.
    hfsc, queue_on = "hfsc" in schedulers(system), "inside" in shapes_down(system)
    dialect = Dialect(system.name, reserved(system.os, system.version), hfsc=hfsc, queue_on=queue_on)
    for fact in FACTS:
        if fact.os == system.os and fact.since <= system.version:
            dialect = replace(dialect, **fact.values)
    return dialect
