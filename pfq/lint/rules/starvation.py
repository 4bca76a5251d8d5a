"""PFQ403. A class that others can starve (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule

# Schedulers that serve a class only while all before it are empty.
_STRICT = ("priq", "prio")


def check(model: Model) -> list[Finding]:
    found = []
    for gateway, uplink, _, _ in model.uplinks():
        if uplink.scheduler not in _STRICT:
            continue
        # The built-in policy's ICMP and DNS (classes without a place in the model) cannot fill a line.
        greedy = [queue for queue in uplink.up.leaves() if not queue.express and queue.ceiling is None and queue.path]
        if len(greedy) < 2:
            continue
        names = ", ".join(queue.name for queue in greedy[:-1])
        message = f"{gateway.name}: {uplink.scheduler} serves {greedy[-1].name} only while {names} have nothing to send"
        hint = "choose htb, hfsc or cbq, which keep a part for every class"
        path = (*uplink.path, "scheduler") if uplink.scheduler_given else uplink.path
        found.append(model.place(path).finding(message, hint))
    return found


RULE = Rule(
    "PFQ403",
    "starvation",
    "strict priority lets classes starve others",
    "priq and prio have no guarantees: as long as a class has packets, the classes below it wait. That is "
    "harmless for an express class of ACKs, which cannot fill the line, but two classes that carry whole "
    "connections need a scheduler that divides the line between them.",
    wrong="""[links.dsl]
up = "1 Mbit"
down = "16 Mbit"
policy = "office"

[policies.office]
classes = [
  { name = "express", express = true },
  { name = "web", match = "tcp/443" },
  { name = "rest", default = true },
]

[hosts.gw]
system = "linux-6.1"
links.dsl = { interface = "ppp0", scheduler = "prio" }
""",
    right="""[links.dsl]
up = "1 Mbit"
down = "16 Mbit"
policy = "office"

[policies.office]
classes = [
  { name = "express", express = true },
  { name = "web", match = "tcp/443" },
  { name = "rest", default = true },
]

[hosts.gw]
system = "linux-6.1"
links.dsl = { interface = "ppp0", scheduler = "htb" }
""",
    example="site",
    check_model=check,
)
