"""PFQ109. A comment that ends in a backslash takes the next line with it."""

from pfq.lint.finding import Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    found = []
    for file, start, end in ruleset.tree.comments:
        known = ruleset.texts.get(file)
        if known is None:
            continue
        at = known.text.find("\\\n", start, end)
        if at < 0:
            continue
        line = known.place(at)[0] + 1
        hidden = known.line(line).strip()
        if not hidden or hidden.startswith("#"):
            continue
        fix = Fix("remove the backslash", [(at, at + 1, "")], False)
        found.append(Finding(file, at, at + 1, f"the backslash makes line {line} a part of the comment", "remove the backslash, or comment the line out", fix))
    return found


RULE = Rule(
    "PFQ109",
    "comment-continues",
    "a comment ends in a backslash and hides the next line",
    "In pf.conf a backslash at the end of a line joins the next one to it, in comments too. A rule that "
    "stands below such a comment is not read, and nothing is said.",
    wrong="""# The way in for the operator: /home/op \\
pass in on em0 proto tcp to port 22
pass out on em0
""",
    right="""# The way in for the operator: /home/op
pass in on em0 proto tcp to port 22
pass out on em0
""",
    example="openbsd-7.6",
    check=check,
    fix="remove the backslash",
)
