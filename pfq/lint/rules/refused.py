"""PFQ001. What pfctl says as it refuses a ruleset; the runner reports it, see `pfq.lint.run`."""

from pfq.lint.finding import ERROR
from pfq.lint.rule import Rule

RULE = Rule(
    "PFQ001",
    "refused",
    "pfctl refuses the ruleset",
    "pfctl of this dialect loads nothing of this file; the rules that were loaded before stay. The "
    "message is pfctl's own, as `pfq check --as DIALECT` prints it.",
    wrong="pass in on em0 proto tpc to port 80\n",
    right="pass in on em0 proto tcp to port 80\n",
    example="openbsd-7.6",
    severity=ERROR,
)
