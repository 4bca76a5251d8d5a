"""PFQ202. A queue is listed and never defined (ALTQ)."""

from pfq.lint.finding import ERROR, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    defined = {(queue.name, queue.interface) for queue in ruleset.disciplines()}
    found = []
    for name, interface in dict.fromkeys(ruleset.announced()):
        if (name, interface) in defined:
            continue
        for statement in ruleset.statements_of("altq", "queue"):
            place = ruleset.word(statement, name)
            if ruleset.texts[place.file].text[place.start : place.end] == name:
                found.append(place.finding(f"the queue {name} is listed for {interface} and never defined: it does not exist",
                                     f"add: queue {name} ..."))
                break
    return found


RULE = Rule(
    "PFQ202",
    "announced-queue",
    "a queue is listed as a child and never defined",
    "pfctl creates only queues that have a `queue` statement of their own. One that an `altq` or `queue` "
    "statement merely lists is dropped without a word, and packets that rules put into it go to the "
    "default queue.",
    wrong="""altq on tun0 priq bandwidth 1Mb queue { bulk, voice }
queue bulk priority 1 priq(default)
pass out on tun0 proto udp queue voice
""",
    right="""altq on tun0 priq bandwidth 1Mb queue { bulk, voice }
queue bulk priority 1 priq(default)
queue voice priority 7
pass out on tun0 proto udp queue voice
""",
    example="openbsd-4.4",
    check=check,
    severity=ERROR,
    whole=True,
)
