"""Which of the named differences a system cannot avoid, as far as a packet's class is concerned: facts of the targets' own tables."""

from collections.abc import Iterator
from itertools import combinations

from pfq.parity.reference import ACKS_6, DSCP_6, EXACT, EXPRESS_6, EXTENSIONS
from pfq.site.systems import System


def unavoidable(system: System) -> dict[str, str]:
    """What the plan loses on this system (`Reference.lost`), and the name of the difference that a model accepts it by."""
    if system.family == "linux":
        from pfq.targets.linux_kernels import has

        return {} if has(system, "inner-header") else {EXTENSIONS: EXTENSIONS}
    from pfq.targets.pf_dialects import dialect_of

    dialect = dialect_of(system)
    lost = {"never": {EXPRESS_6: EXPRESS_6}, "tos": {ACKS_6: EXPRESS_6}, "full": {}}[dialect.second_queue_6]
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
