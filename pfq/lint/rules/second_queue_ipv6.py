"""PFQ204. IPv6 and the second queue (ALTQ)."""

from pfq.lint.finding import NOTE, Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset
from pfq.pf.dialects import Dialect
from pfq.pf.nodes import Rule as PfRule


def _never(dialect: Dialect) -> bool:
    """Whether an empty ACK over IPv6 stays in the first queue.

    Source: pf_test6 of pf.c in OpenBSD 4.4 and FreeBSD 12.1 to 14; one pf_test for both families since OpenBSD 5.2 or so, FreeBSD 15.
    """
    return dialect.release < ((5, 3) if dialect.family == "openbsd" else (15, 0))


def check(ruleset: Ruleset) -> list[Finding]:
    if not _never(ruleset.dialect):
        return []
    six: dict[int, list[int]] = {}
    first: dict[int, PfRule] = {}
    for rule in ruleset.rules():
        if rule.ack_queue and rule.ack_queue != rule.queue:
            six.setdefault(id(rule.statement), []).append(rule.af)
            first.setdefault(id(rule.statement), rule)
    found = []
    open_said = False
    for statement, families in six.items():
        rule = first[statement]
        only_six = 6 in families
        if not only_six and (0 not in families or open_said):
            continue
        place = ruleset.name_in(rule, rule.ack_queue, "queue", "set")
        message = f"empty ACKs over IPv6 never go to {rule.ack_queue}: this kernel looks for them in IPv4 only"
        hint = "give IPv6 a rule of its own, with a queue it can share with the ACKs of its downloads"
        if only_six:
            found.append(place.finding(message, hint))
        else:
            # One note for a ruleset: every rule without a family has this gap.
            open_said = True
            found.append(place.finding(message, f"write inet where that is meant; {hint}", severity=NOTE))
    return found


RULE = Rule(
    "PFQ204",
    "second-queue-ipv6",
    "empty ACKs over IPv6 never reach the second queue",
    "The kernels of the ALTQ era (OpenBSD before 5.3, FreeBSD before 15) look for empty ACKs in IPv4 "
    "only. A rule for IPv6 with two queues uses the first for everything: the ACKs of IPv6 downloads wait "
    "behind its uploads. (FreeBSD 13 and 14 do look at the low-delay bit in IPv6.) Of rules without "
    "`inet` and `inet6`, which have the same gap, only the first is mentioned, in a note.",
    wrong="""altq on tun0 priq bandwidth 1Mb queue { bulk, fast }
queue bulk priority 1 priq(default)
queue fast priority 7
pass out on tun0 inet proto tcp queue (bulk, fast)
pass out on tun0 inet6 proto tcp queue (bulk, fast)
""",
    right="""altq on tun0 priq bandwidth 1Mb queue { bulk, six, fast }
queue bulk priority 1 priq(default)
queue six priority 2
queue fast priority 7
pass out on tun0 inet proto tcp queue (bulk, fast)
pass out on tun0 inet6 proto tcp queue six
""",
    example="freebsd-12.1",
    check=check,
)
