"""The order in which older releases want their statements. Source: check_rulestate of parse.y."""

from .reading import Reading

# What comes in which order where order is enforced.
OPTIONS, ETHER, SCRUB, QUEUES, TRANSLATION, FILTER = range(1, 7)


def ordered(r: Reading, position: int) -> None:
    """Check that a statement is not too late, where the release enforces an order."""
    if r.dialect.require_order:
        if r.require_order and r.order > position:
            ether = "ethernet, " if r.dialect.ether_rules else ""
            raise r.fail(f"Rules must be in order: options, {ether}normalization, queueing, translation, filtering", ahead=True)
        r.order = position
