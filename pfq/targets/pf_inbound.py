"""What the inbound policy lets in from the link, alike for every pf."""

from dataclasses import dataclass

from pfq.plan.model import Uplink
from pfq.site.model import Inbound, Network
from pfq.targets.pf_match import AF, Selector, listed
from pfq.targets.pf_text import braces, ports

PATH_MTU = "path MTU discovery (RFC 1191, RFC 8201) and IPv6's neighbours and routers (RFC 4861)"


@dataclass(frozen=True, slots=True)
class Allowed:
    """New packets that may come in. icmp: ` icmp-type ...` or ''. operator: a load must not cut their open sessions off;
    local: nor these, which are on the inside."""

    selector: Selector
    icmp: str
    about: str
    operator: bool = False
    local: bool = False


def allowed(policy: Inbound, uplink: Uplink, own: tuple[Network, ...]) -> list[Allowed]:
    """Everything that may come in; comments stand at the first of a kind. own: inside networks on the link's interface."""
    found = [Allowed(Selector(AF[4], "icmp", "all", ""), " icmp-type unreach code needfrag", PATH_MTU)]
    if uplink.ipv6:
        found += [Allowed(Selector(AF[6], "ipv6-icmp", "all", ""), f" icmp6-type {name}", "") for name in ("toobig", "neighbrsol", "neighbradv", "routeradv")]
    about = "services"
    for service in policy.services:
        if service.protocol == "icmp":
            found.append(Allowed(Selector(AF[4], "icmp", "all", ""), " icmp-type echoreq", about))
            if uplink.ipv6:
                found.append(Allowed(Selector(AF[6], "ipv6-icmp", "all", ""), " icmp6-type echoreq", ""))
        else:
            hosts = f"from any to any{ports((service.ports,) if service.ports else ())}"
            found.append(Allowed(Selector("", service.protocol, hosts, ""), "", about))
        about = ""
    about = "the operator's way in; a session that is open stays open when these rules are loaded"
    port = f" port {policy.operator_port}"
    if not policy.operator_from:
        found.append(Allowed(Selector("", "tcp", f"from any to any{port}", ""), "", about, True))
    for version in (4, 6):
        names = listed(policy.operator_from, version)
        if names:
            found.append(Allowed(Selector(AF[version], "tcp", f"from {braces(names)} to any{port}", ""), "", about, True))
            about = ""
    about = "the inside, which is on this interface too"
    for version in (4, 6):
        names = listed(own, version)
        if names:
            found.append(Allowed(Selector(AF[version], "", f"from {braces(names)} to any", ""), "", about, local=True))
            about = ""
    return found
