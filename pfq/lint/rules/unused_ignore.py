"""PFQ003. A comment that silences nothing; see `pfq.lint.ignores`."""

from pfq.lint.rule import Rule

RULE = Rule(
    "PFQ003",
    "unused-ignore",
    "a `# pfq: ignore[...]` comment silences nothing",
    "The comment names a rule that finds nothing there (any more), a rule that does not exist, or no rule "
    "at all. It would hide the next mistake of that kind.",
    wrong="pass in on em0 proto tcp to port 80 # pfq: ignore[PFQ104]\n",
    right="pass in on em0 proto tcp to port 80\n",
    example="openbsd-7.6",
    fix="remove the comment",
    safe=True,
)
