"""PFQ401. A class of ACKs too small for the download (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule
from pfq.plan.rates import ack_demand
from pfq.site.units import show_rate


def check(model: Model) -> list[Finding]:
    found = []
    said = set()
    for _, link, _, tree in model.trees():
        demand = ack_demand(link, tree.direction, tree.mtu, tree.accounting)
        for queue in tree.leaves():
            curve = queue.guarantee
            # Of a line that has no room for the ACKs at all, PFQ402 speaks.
            if not queue.express or curve is None or demand.capped or curve.rate.value >= demand.rate or (queue.path, link.name) in said:
                continue
            said.add((queue.path, link.name))
            other = "download" if tree.direction == "up" else "upload"
            sure, needed = show_rate(curve.rate.value), show_rate(demand.rate)
            message = f"{queue.name} is sure of {sure} on {link.name} {tree.direction}, and the ACKs of a full {other} need {needed}"
            hint = f"{demand.packets} ACKs a second; give fewer classes a place of their own in the order: neighbours with a share need no guarantee"
            found.append(model.place(queue.path or link.path).finding(message, hint))
    return found


RULE = Rule(
    "PFQ401",
    "acks-too-small",
    "the express class is too small for the ACKs of a full download",
    "A download at full rate needs an ACK for every second segment. Where the class that carries them is "
    "sure of less, uploads beside it hold the ACKs back, and the download slows down to what they allow. "
    "The need is computed from the link's rates, its encapsulation, and the MTU; a guarantee that the "
    "model itself gives and that is too small is refused already (PFQ004).",
    wrong="""[links.dsl]
up = "1 Mbit"
down = "24 Mbit"
policy = "office"

[policies.office]
classes = [
  { name = "express", express = true },
  { name = "calls", match = "udp/5060" },
  { name = "dns", match = "udp/53" },
  { name = "web", match = "tcp/443" },
  { name = "rest", default = true },
]

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "em0"
""",
    right="""[links.dsl]
up = "1 Mbit"
down = "16 Mbit"
policy = "office"

[policies.office]
classes = [
  { name = "express", express = true },
  { name = "calls", match = "udp/5060" },
  { name = "dns", match = "udp/53" },
  { name = "web", match = "tcp/443" },
  { name = "rest", default = true },
]

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "em0"
""",
    example="site",
    check_model=check,
)
