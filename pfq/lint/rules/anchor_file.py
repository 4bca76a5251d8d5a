"""PFQ110. Rules that name queues in a file without queue definitions: what `pfctl -a` does with it."""

from pfq.lint.finding import Finding
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    if ruleset.statements_of("altq") or ruleset.statements_of("queue"):
        return []
    for statement in ruleset.statements_of("pass", "block", "match"):
        text = ruleset.source(statement)
        if "queue" not in text.split("#")[0].split() and "queue" not in text.replace("(", " ").split():
            continue
        place = ruleset.word(statement, "queue")
        if ruleset.dialect.rules_name_defined_queues:
            message = "this file names queues and defines none: pfctl, also with -a, knows no queue here and refuses it"
            hint = "load the file from the main one: load anchor NAME from FILE, behind the queue definitions"
            return [place.finding(message, hint, covers=(" is not defined",))]
        message = "this file names queues and defines none: no name in it is checked, a wrong one means the default queue"
        return [place.finding(message, "check it together with the file that defines them (include)")]
    return []


RULE = Rule(
    "PFQ110",
    "anchor-file",
    "a file names queues and defines none",
    "Such a file is meant to be loaded into an anchor. With the queues of OpenBSD 5.5 and later, `pfctl "
    "-a NAME -f FILE` knows no queue at all, so that every rule that names one is refused; `load anchor "
    "NAME from FILE` in the main ruleset works, because it is read after the definitions. ALTQ's pfctl "
    "takes any name without looking, and ignores queue definitions in such a file.",
    wrong="pass out on em0 proto tcp to port 25 set queue mail\n",
    right="""queue up on em0 bandwidth 10M, max 10M
queue bulk parent up bandwidth 8M default
queue mail parent up bandwidth 2M
pass out on em0 proto tcp to port 25 set queue mail
""",
    example="openbsd-7.6",
    check=check,
)
