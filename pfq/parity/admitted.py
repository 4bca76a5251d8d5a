"""The inbound policy as a condition: which new packets may come in from a link."""

from collections.abc import Sequence

from pfq.headers import fields as space
from pfq.headers.algebra import Condition
from pfq.headers.asking import View
from pfq.headers.bits import any_of, masked
from pfq.parity.places import in_networks, in_ranges
from pfq.plan.classify import ICMP, ICMP6, TCP, UDP
from pfq.plan.model import Gateway, Uplink
from pfq.site.model import Inbound

# What path MTU discovery needs (RFC 1191: unreachable, fragmentation needed; RFC 8201: packet too big), IPv6's neighbours and routers (RFC 4861).
_NEEDED_4 = (3, 4)
_NEEDED_6 = (2, 134, 135, 136)
_ECHO = {ICMP: 8, ICMP6: 128}


def _icmp(view: View, version: int, types: Sequence[int]) -> Condition:
    algebra = view.algebra
    (six,) = view.bits[space.FAMILY]
    protocol = masked(algebra, view.bits[space.PROTOCOL], ICMP6 if version == 6 else ICMP)
    return (six if version == 6 else ~six) & protocol & any_of(algebra, [masked(algebra, view.bits[space.ICMP_TYPE], number) for number in types])


def admitted(gateway: Gateway, uplink: Uplink, policy: Inbound, view: View) -> Condition:
    """Where a new packet from the link may come in: services, the operator, what IP itself needs, and the inside on a gateway with one arm."""
    algebra, bits = view.algebra, view.bits
    headed = ~masked(algebra, bits[space.FRAGMENT], 2)
    tcp, udp = (masked(algebra, bits[space.PROTOCOL], number) for number in (TCP, UDP))
    kind, code = _NEEDED_4
    needed = (_icmp(view, 4, [kind]) & masked(algebra, bits[space.ICMP_CODE], code)) | _icmp(view, 6, _NEEDED_6)
    operator = tcp & masked(algebra, bits[space.DESTINATION_PORT], policy.operator_port)
    if policy.operator_from:
        operator = operator & in_networks(view, space.SOURCE, policy.operator_from)
    services = []
    for service in policy.services:
        if service.protocol == "icmp":
            services += [_icmp(view, 4, [_ECHO[ICMP]]), _icmp(view, 6, [_ECHO[ICMP6]])]
        else:
            ports = in_ranges(view, space.DESTINATION_PORT, [service.ports]) if service.ports else algebra.everything
            services.append((tcp if service.protocol == "tcp" else udp) & ports)
    own = [n for arm in gateway.inside if arm.interface in (uplink.interface, uplink.queue_on) for n in arm.networks]
    return (headed & any_of(algebra, [needed, operator, *services])) | in_networks(view, space.SOURCE, own)
