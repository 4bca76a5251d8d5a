"""PFQ004. What `pfq compile` refuses about a model; the runner reports it, see `pfq.lint.model`."""

from pfq.lint.finding import ERROR
from pfq.lint.rule import Rule

RULE = Rule(
    "PFQ004",
    "model-refused",
    "`pfq compile` refuses the model",
    "The message is the compiler's own, with its code in brackets.",
    wrong="""[links.dsl]
up = "1 Mbti"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "em0"
""",
    right="""[links.dsl]
up = "1 Mbit"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "em0"
""",
    example="site",
    severity=ERROR,
)
