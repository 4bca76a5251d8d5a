"""Where packets come from and go to, as conditions: networks and ports."""

from collections.abc import Sequence

from pfq.headers import fields as space
from pfq.headers.algebra import Condition
from pfq.headers.asking import View
from pfq.headers.bits import any_of, between, masked
from pfq.site.model import Address, Network


def in_networks(view: View, field: str, networks: Sequence[Network]) -> Condition:
    """Where an address is in one of the networks."""
    algebra, bits = view.algebra, view.bits[field]
    (six,) = view.bits[space.FAMILY]
    found = []
    for version, family in ((4, ~six), (6, six)):
        own = [n for n in networks if n.version == version]
        if own:
            found.append(family & any_of(algebra, [masked(algebra, bits, int(n.network_address), int(n.netmask)) for n in own]))
    return any_of(algebra, found)


def is_address(view: View, field: str, addresses: Sequence[Address]) -> Condition:
    """Where an address is one of these."""
    (six,) = view.bits[space.FAMILY]
    found = []
    for address in addresses:
        family = six if address.version == 6 else ~six
        found.append(family & masked(view.algebra, view.bits[field], int(address), (1 << address.max_prefixlen) - 1))
    return any_of(view.algebra, found)


def in_ranges(view: View, field: str, ranges: Sequence[tuple[int, int]]) -> Condition:
    """Where a number is in one of the ranges."""
    return any_of(view.algebra, [between(view.algebra, view.bits[field], low, high) for low, high in ranges])
