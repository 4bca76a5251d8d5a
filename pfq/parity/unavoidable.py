"""Which of the named differences a system cannot avoid, as far as a packet's class is concerned: facts of the targets' own tables."""

from collections.abc import Iterator
from itertools import combinations

from pfq.headers import fields as space
from pfq.headers.algebra import Condition
from pfq.headers.asking import View
from pfq.headers.bits import at_least, masked
from pfq.parity.packet import WORDS
from pfq.parity.reference import ACKS_6, DSCP_6, EXACT, EXPRESS_6, EXTENSIONS
from pfq.site.systems import System


def unavoidable(system: System) -> dict[str, str]:
    """What the plan loses on this system (`Reference.lost`), and the name of the difference that a model accepts it by."""
    if system.family == "linux":
        from pfq.targets.linux_kernels import has

        return {} if has(system, "inner-header") else {EXTENSIONS: EXTENSIONS}
    from pfq.targets.pf_dialects import dialect_of

    dialect = dialect_of(system)
    lost: dict[str, str] = {"never": {EXPRESS_6: EXPRESS_6}, "tos": {ACKS_6: EXPRESS_6}, "full": {}}[dialect.second_queue_6]
    if dialect.tos_equal:
        lost[EXACT] = EXACT
    if not dialect.dscp_ipv6:
        lost[DSCP_6] = DSCP_6
    return lost


def together(lost: dict[str, str]) -> Iterator[tuple[frozenset[str], tuple[str, ...]]]:
    """Every set of them that may lie behind one packet's class, the smaller ones first, with the names to accept."""
    for many in range(1, len(lost) + 1):
        for chosen in combinations(lost, many):
            yield frozenset(chosen), tuple(dict.fromkeys(lost[one] for one in chosen))


def fragments_left_out(system: System, view: View, arriving: bool) -> Condition:
    """Fragments of which nothing can be said on this system: where a pf does not put IPv6's together, or the kernel cuts datagrams again into
    fragments that have lost their queue (facts of `pfq.pf.evaluate.features`); on Linux, where they are queued before they are put together,
    as they arrive (`arriving`): only the first has ports."""
    algebra = view.algebra
    (six,) = view.bits[space.FAMILY]
    whole, later = (masked(algebra, view.bits[space.FRAGMENT], kind) for kind in (0, 2))
    if system.family == "linux":
        return later if arriving else algebra.nothing
    from pfq.pf.dialects import dialect
    from pfq.pf.evaluate.features import Features

    features = Features(dialect(system.name))
    left_out = algebra.nothing
    if not features.reassembles_ipv6:
        left_out = six & ~whole
    return left_out | later if features.fragments_lose_queue else left_out


def has_options(view: View) -> Condition:
    """Where a packet has IP options, or IPv6's extension headers."""
    return at_least(view.algebra, view.bits[space.HEADER_WORDS], WORDS + 1) | at_least(view.algebra, view.bits[space.EXTENSION_WORDS], 1)


def dropped_by_nature(system: System, view: View) -> Condition:
    """Packets that a pf drops by itself where no rule says `allow-opts`: those with IP options, and in some releases those with IPv6's
    extension headers (pf.c pf_test, pf_walk_header6; pf.conf(5))."""
    return view.algebra.nothing if system.family == "linux" else has_options(view)
