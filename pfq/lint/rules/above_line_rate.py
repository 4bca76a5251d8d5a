"""PFQ406. A shaped rate that the line cannot carry (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule
from pfq.plan.rates import counted
from pfq.site.units import show_rate


def check(model: Model) -> list[Finding]:
    found = []
    for _, link, attachment, tree in model.trees():
        given = attachment.shaped_up if tree.direction == "up" else attachment.shaped_down
        if given is None or tree.where == "police":
            continue
        # Full-size packets are the best case: everything smaller takes more of the line for the bytes that are counted.
        most = tree.line * counted(tree.mtu, tree.accounting, link.encapsulation) // link.encapsulation.line_bytes(tree.mtu)
        if given <= most:
            continue
        carries = f"the line's {show_rate(tree.line)} carry: at most {show_rate(most)}, in full packets"
        message = f"{show_rate(given)} of what {tree.interface} counts is more than {carries}"
        hint = f"leave shaped_{tree.direction} out, and it is computed for the expected traffic"
        found.append(model.place((*attachment.path, f"shaped_{tree.direction}")).finding(message, hint))
    return found


RULE = Rule(
    "PFQ406",
    "above-line-rate",
    "a shaped rate is above what the line carries",
    "A gateway counts other bytes than the line: no cells, no PPPoE or DSL overhead. A shaped rate that "
    "looks smaller than the line's can still fill it, and the queue forms in the modem. The bound here is "
    "that of full-size packets; what is computed when the rate is left out also has room for ACKs.",
    wrong="""[links.dsl]
up = "1 Mbit"
down = "8 Mbit"
encapsulation = "pppoe-llc"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = { interface = "pppoe0", shaped_up = "950 kbit" }
""",
    right="""[links.dsl]
up = "1 Mbit"
down = "8 Mbit"
encapsulation = "pppoe-llc"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = { interface = "pppoe0", shaped_up = "700 kbit" }
""",
    example="site",
    check_model=check,
)
