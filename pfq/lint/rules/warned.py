"""PFQ002. What pfctl says about a ruleset that it loads; the runner reports it, see `pfq.lint.run`."""

from pfq.lint.rule import Rule

RULE = Rule(
    "PFQ002",
    "warned",
    "pfctl loads the ruleset, but complains",
    "The message is pfctl's own. It loads the ruleset all the same, and nobody reads what it said at "
    "boot.",
    wrong="""altq on em0 cbq bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 8Mb cbq(default)
queue voice bandwidth 4Mb
pass out on em0 proto udp queue voice
""",
    right="""altq on em0 cbq bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 6Mb cbq(default)
queue voice bandwidth 4Mb
pass out on em0 proto udp queue voice
""",
    example="openbsd-4.4",
)
