"""PFQ211. A rate above the parent's (ALTQ of FreeBSD)."""

from pfq.lint.finding import Finding
from pfq.lint.rates import shown
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    stored = ruleset.disciplines()
    by_name = {(queue.interface, queue.name): queue for queue in stored}
    found = []
    said = set()
    for queue in stored:
        if not queue.name or not queue.parent:
            continue
        parent = by_name.get((queue.interface, queue.parent))
        if parent is None or not parent.bandwidth:
            continue
        rates = [("bandwidth", queue.spec.absolute)]
        rates += [(kind, curve.m2.absolute) for kind, curve in queue.written.curves.items()]
        for kind, rate in rates:
            if rate <= parent.bandwidth or (queue.line, kind) in said:
                continue
            said.add((queue.line, kind))
            statement = ruleset.statement_of("queue", queue.name, queue.line)
            if statement is None:
                continue
            place = ruleset.word(statement, kind)
            top = f"{queue.interface}'s" if parent.root else f"that of {parent.name},"
            message = f"{kind} {shown(rate)} is more than {top} {shown(parent.bandwidth)}, and is silently lowered to it"
            found.append(place.finding(message, "say what is meant"))
    return found


RULE = Rule(
    "PFQ211",
    "altq-clamped",
    "a rate above the parent's is lowered without a word",
    "FreeBSD's pfctl (pfctl_altq.c, eval_bwspec) takes an absolute rate for at most the parent's, in "
    "`bandwidth` as well as in hfsc's curves; OpenBSD's refuses it. A slip in a digit makes a queue as "
    "large as its parent.",
    wrong="""altq on em0 hfsc bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 8Mb hfsc(default)
queue voice bandwidth 2Mb hfsc(upperlimit 20Mb)
pass out on em0 proto udp queue voice
""",
    right="""altq on em0 hfsc bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 8Mb hfsc(default)
queue voice bandwidth 2Mb hfsc(upperlimit 2Mb)
pass out on em0 proto udp queue voice
""",
    example="freebsd-12.1",
    check=check,
)
