"""PFQ405. The transmit queue of a VLAN (models, Linux)."""

from pfq.lint.finding import NOTE, Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule
from pfq.site.systems import interface_kind

# 10 ms of full-size packets, the burst that pfq lets leave at once, and never fewer than these.
_LEAST_PACKETS = 100


def check(model: Model) -> list[Finding]:
    found = []
    for gateway, uplink, _, attachment in model.uplinks():
        if gateway.system.family != "linux" or interface_kind(gateway.system, uplink.queue_on) != "vlan" or uplink.txqueuelen is None:
            continue
        length = uplink.txqueuelen.value
        if attachment.txqueuelen is None:
            message = f"{uplink.queue_on} is a VLAN, which starts without a transmit queue: the output sets txqueuelen {length}"
            found.append(model.place(attachment.path).finding(message, f"write txqueuelen = {length} to say that it is meant", severity=NOTE))
        elif length < _LEAST_PACKETS:
            message = f"{length} packets are too few for the transmit queue of {uplink.queue_on}: queues without a limit of their own take it for theirs"
            found.append(model.place((*attachment.path, "txqueuelen")).finding(message, f"at least {_LEAST_PACKETS}; Ethernet has 1000"))
    return found


RULE = Rule(
    "PFQ405",
    "vlan-queue-length",
    "a VLAN's transmit queue is too short, or is not mentioned",
    "A VLAN of Linux starts with `noqueue` and, in older kernels, a transmit queue length of 0. pfifo and "
    "HTB's direct queue take that length for their limit, and drop everything beyond it. pfq sets 1000 "
    "where the model says nothing, and mentions that in a note; a length under 100 packets is a warning.",
    wrong="""[links.backhaul]
up = "100 Mbit"

[hosts.gw]
system = "linux-6.1"
links.backhaul = { interface = "eth0.2417", txqueuelen = 3 }
""",
    right="""[links.backhaul]
up = "100 Mbit"

[hosts.gw]
system = "linux-6.1"
links.backhaul = { interface = "eth0.2417", txqueuelen = 1000 }
""",
    example="site",
    check_model=check,
)
