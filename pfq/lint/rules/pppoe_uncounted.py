"""PFQ409. A PPPoE session on a line that is said to carry none (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule
from pfq.site.systems import interface_kind


def check(model: Model) -> list[Finding]:
    found = []
    for gateway, _, link, attachment in model.uplinks():
        name = link.encapsulation.name
        if interface_kind(gateway.system, attachment.interface) != "pppoe" or name.startswith("pppoe") or name == "ip":
            continue
        message = f"{attachment.interface} is a PPPoE session, and the encapsulation {name} counts no PPPoE: its 8 bytes are missing in every packet"
        place = model.place(("links", link.name, "encapsulation"))
        found.append(place.finding(message, "choose one of pppoe-llc and pppoe-vcmux (ADSL), pppoe-ptm (VDSL), pppoe-ethernet (fibre)"))
    return found


RULE = Rule(
    "PFQ409",
    "pppoe-uncounted",
    "the interface is a PPPoE session, and the encapsulation counts none",
    "An interface pppoe0 puts 8 bytes of PPPoE and PPP round every packet, and leaves 1492 bytes of "
    "Ethernet's 1500. An encapsulation without them makes the shaped rate too high, so that the queue "
    "forms in the modem, and the MTU and the TCP segment size too large. An encapsulation left out is "
    "`ethernet`.",
    wrong="""[links.dsl]
up = "10 Mbit"
down = "50 Mbit"
encapsulation = "ptm"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "pppoe0"
""",
    right="""[links.dsl]
up = "10 Mbit"
down = "50 Mbit"
encapsulation = "pppoe-ptm"

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "pppoe0"
""",
    example="site",
    check_model=check,
)
