"""What each queueing discipline can express, and which one a policy gets that names none."""

from pfq.site.model import Policy, TrafficClass

# What a policy can ask a scheduler for beyond an order of classes.
ASKS = {
    "share": "shares",
    "guarantee": "a guarantee",
    "ceiling": "a ceiling",
    "curve": "a curve of two pieces",
    "parent": "classes within classes",
    "beside": "other traffic beside the link's on one interface",
    "links": "several links on one interface",
}

# ALTQ: altq(9), altq_priq.c, altq_cbq.c, altq_hfsc.c. `prio` is HTB with priority bands inside (seed article on ADSL).
# tc: tc-htb(8), tc-hfsc(8), tc-prio(8), tc-cbq(8), tc-cake(8).
ABILITIES: dict[str, frozenset[str]] = {
    "priq": frozenset(),
    "cbq": frozenset({"share", "guarantee", "ceiling", "parent", "beside"}),
    "hfsc": frozenset({"share", "guarantee", "ceiling", "curve", "parent", "beside", "links"}),
    "htb": frozenset({"share", "guarantee", "ceiling", "parent", "beside", "links"}),
    "prio": frozenset({"beside"}),
    "cake": frozenset(),
}

# How many steps of a strict order a discipline has: pf.conf(5) of OpenBSD 4.4 for priq (0 to 15) and cbq (0 to 7), TC_HTB_NUMPRIO,
# TCQ_PRIO_BANDS, and the four tins of CAKE's diffserv4. hfsc has guarantees instead.
STEPS = {"priq": 16, "cbq": 8, "htb": 8, "prio": 16, "cake": 4}

# CAKE gives a tin priority only up to a part of the rate (tc-cake(8), "diffserv4").
SOFT_ORDER = frozenset({"cake"})


def asks(item: TrafficClass) -> set[str]:
    """What a class asks its scheduler for."""
    found = {key for key in ("share", "guarantee", "ceiling", "parent") if getattr(item, key) is not None}
    for demand in (item.guarantee, item.ceiling):
        if demand and any(curve and curve.burst is not None for curve in (demand.up, demand.down)):
            found.add("curve")
    return found


def needs(policy: Policy, beside: bool) -> set[str]:
    """What the policy's classes ask for together, and other traffic beside the link's."""
    return set().union(*map(asks, policy.classes)) | ({"beside"} if beside else set())


def choose(needed: set[str], steps: int, available: tuple[str, ...]) -> str | None:
    """The first of the available schedulers that can do all that is needed and has as many steps of order; None if there is none."""
    return next((name for name in available if needed <= ABILITIES[name] and steps <= STEPS.get(name, steps)), None)
