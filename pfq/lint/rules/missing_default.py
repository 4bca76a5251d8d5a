"""PFQ203. An interface without a default queue (ALTQ)."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.pf.altq_nodes import Altq


def check(ruleset: Ruleset) -> list[Finding]:
    queues: dict[str, list[Altq]] = {}
    for queue in ruleset.disciplines():
        if queue.name:
            queues.setdefault(queue.interface, []).append(queue)
    found = []
    for altq in ruleset.disciplines():
        statement = ruleset.statement_of("altq", "", altq.line)
        if altq.name or altq.scheduler == "codelq" or statement is None:
            continue
        # The root queue of hfsc, which pfctl makes itself, does not count.
        own = [queue for queue in queues.get(altq.interface, ()) if altq.scheduler != "hfsc" or queue.parent]
        defaults = [queue.name for queue in own if "default" in queue.written.flags]
        if len(defaults) == 1:
            continue
        place = ruleset.word(statement, altq.interface, "on")
        if defaults:
            message = f"{altq.interface} has {len(defaults)} default queues ({', '.join(defaults[:5])}): the kernel takes one"
        else:
            message = f"{altq.interface} has no default queue: packets without a queue of this interface, ARP too, are dropped"
        hint = f"mark one queue: {altq.scheduler}(default)"
        found.append(place.finding(message, hint, covers=(f"one default queue on {altq.interface}",)))
    return found


RULE = Rule(
    "PFQ203",
    "missing-default",
    "an interface has not exactly one default queue",
    "With several `altq` interfaces pfctl's exit status is that of the last one: a missing default queue "
    "on another is only a line on the terminal, and the ruleset is loaded. The kernel then drops what is "
    "not assigned to a queue of that interface: ARP, PPPoE control, and all that the rules forget.",
    wrong="""altq on em0 priq bandwidth 1Mb queue { up }
queue up priority 1
altq on em1 priq bandwidth 8Mb queue { down }
queue down priority 1 priq(default)
pass on em0 queue up
""",
    right="""altq on em0 priq bandwidth 1Mb queue { up }
queue up priority 1 priq(default)
altq on em1 priq bandwidth 8Mb queue { down }
queue down priority 1 priq(default)
pass on em0 queue up
""",
    example="openbsd-4.4",
    check=check,
    severity=ERROR,
)
