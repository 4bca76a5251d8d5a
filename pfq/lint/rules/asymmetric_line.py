"""PFQ402. A line whose upload cannot carry the ACKs of its download (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule
from pfq.plan.rates import ack_demand
from pfq.site.encapsulation import ack_rate
from pfq.site.units import show_rate


def check(model: Model) -> list[Finding]:
    found = []
    said = set()
    for _, link, _, tree in model.trees():
        if (link.name, tree.direction) in said or not ack_demand(link, tree.direction, tree.mtu, tree.accounting).capped:
            continue
        said.add((link.name, tree.direction))
        other, own = ("down", "up") if tree.direction == "up" else ("up", "down")
        rate = link.down if tree.direction == "up" else link.up
        wanted = ack_rate(rate or 0, link.encapsulation, tree.mtu, link.segments_per_ack)
        message = f"{show_rate(rate or 0)} {other} wants {wanted} ACKs a second, more than three quarters of the line {own} can carry"
        hint = "nothing in the gateway mends that; say segments_per_ack if the receivers send fewer ACKs"
        found.append(model.place((*link.path, own)).finding(message, hint))
    return found


RULE = Rule(
    "PFQ402",
    "asymmetric-line",
    "a line cannot carry the ACKs of a full download",
    "The ACKs of a download at full rate would take more than three quarters of the other direction. "
    "Downloads cannot reach the rate of the line while anything is sent, whatever the queues do. "
    "Receivers that answer more than two segments with an ACK (GRO, ACK suppression) need less: "
    "`segments_per_ack`.",
    wrong="""[links.dsl]
up = "256 kbit"
down = "25 Mbit"
encapsulation = "pppoe-llc"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "pppoe0"
""",
    right="""[links.dsl]
up = "1 Mbit"
down = "16 Mbit"
encapsulation = "pppoe-llc"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "pppoe0"
""",
    example="site",
    check_model=check,
)
