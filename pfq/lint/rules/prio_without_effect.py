"""PFQ309. set prio on an interface with queues."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

# Here prio still means something: it is the priority in the tag, or that of the interface below.
_PASSED_ON = ("vlan", "pppoe", "carp", "aggr", "trunk", "wg", "gif", "gre")


def check(ruleset: Ruleset) -> list[Finding]:
    shaped = {queue.interface for queue in (*ruleset.roots(), *ruleset.children()) if queue.interface}
    found = []
    said = set()
    for rule in ruleset.rules():
        if rule.set_prio is None or rule.direction == "in" or rule.interface_negated or id(rule.statement) in said:
            continue
        if rule.interface not in shaped or rule.interface.rstrip("0123456789") in _PASSED_ON:
            continue
        said.add(id(rule.statement))
        place = ruleset.name_in(rule, "prio", "set")
        message = f"{rule.interface} has queues: they take the place of its eight priorities, and prio decides nothing there"
        found.append(place.finding(message, "use set queue"))
    return found


RULE = Rule(
    "PFQ309",
    "prio-without-effect",
    "`set prio` on an interface that has queues decides nothing",
    "An interface without queues serves eight priorities. A `queue` definition on it (HFSC or fq_codel) "
    "replaces them, and the priority of a packet is then only copied to a VLAN tag or used by an "
    "interface below.",
    wrong="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass out on em0
pass out on em0 proto udp to port 5060 set queue voice
pass out on em0 proto tcp to port 22 set prio 6
""",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue voice parent up bandwidth 2M
pass out on em0
pass out on em0 proto udp to port 5060 set queue voice
pass out on em0 proto tcp to port 22 set queue voice
""",
    example="openbsd-7.6",
    check=check,
)
