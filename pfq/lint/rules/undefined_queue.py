"""PFQ201. A rule names a queue that nothing defines, where pfctl does not look."""

from pfq.lint.finding import ERROR, Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    if ruleset.dialect.rules_name_defined_queues or not (ruleset.disciplines() or ruleset.roots()):
        return []
    leaves = {queue.name for queue in ruleset.disciplines() if queue.name} | {queue.name for queue in (*ruleset.roots(), *ruleset.children())}
    # Packets can wait in an inner class of cbq, not in one of hfsc (altq_hfsc.c hfsc_enqueue).
    parents = {queue.parent for queue in ruleset.disciplines() if queue.parent and queue.scheduler == "hfsc"}
    announced = {name for name, _ in ruleset.announced()}
    usable = [name for name in ruleset.queue_names() if name not in parents]
    found = []
    said = set()
    for rule in ruleset.rules():
        for name in dict.fromkeys((rule.queue, rule.ack_queue)):
            inner = name in parents
            # A queue that is announced and never defined has a rule of its own: PFQ202.
            if not name or (name in leaves and not inner) or (name in announced and name not in leaves) or (name, id(rule.statement)) in said:
                continue
            said.add((name, id(rule.statement)))
            place = ruleset.name_in(rule, name, "queue", "set")
            if inner:
                message = f"packets cannot wait in {name}, which has children: they go to the default queue"
                found.append(place.finding(message, "name one of its children"))
                continue
            close = _similar(name, usable)
            fix = None
            if close and ruleset.texts[place.file].text[place.start : place.end] == name:
                fix = Fix(f"write {close}", [(place.start, place.end, close)], False)
            hint = f"did you mean {close}?" if close else f"there are {', '.join(usable[:10])}"
            found.append(place.finding(f"nothing defines the queue {name}: the packets go to the default queue", hint, fix))
    return found


def _similar(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    alike = [one for one in names if one.casefold() == name.casefold()]
    if alike:
        return alike[0]
    return next(iter(get_close_matches(name, names[:1000], 1)), "")


RULE = Rule(
    "PFQ201",
    "undefined-queue",
    "a rule names a queue that nothing defines, or that has children",
    "ALTQ's pfctl, and that of OpenBSD before 6.2, takes any queue name in a rule, and the kernel puts packets of an unknown queue into "
    "the default queue, silently: a slip of the pen turns a priority off. The same happens with the names "
    "of inner queues under hfsc.",
    wrong="""altq on kue0 priq bandwidth 100Kb queue { q_pri, q_def }
queue q_pri priority 7
queue q_def priority 1 priq(default)
pass out on kue0 inet proto tcp queue (q_def, q_pir)
""",
    right="""altq on kue0 priq bandwidth 100Kb queue { q_pri, q_def }
queue q_pri priority 7
queue q_def priority 1 priq(default)
pass out on kue0 inet proto tcp queue (q_def, q_pri)
""",
    example="openbsd-4.4",
    check=check,
    severity=ERROR,
    fix="write the name that is most like it",
    whole=True,
)
