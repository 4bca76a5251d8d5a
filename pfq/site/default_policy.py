"""The policy of a model that names none: ICMP and DNS first, then express, then everything else, shared fairly.

ICMP and DNS are few and short, empty ACKs are a stream: behind a download's ACKs a ping waits for them, and then for the data that they call
forth, 6 ms on average on a line of 1 and 8 Mbit/s (docs/latency.md)."""

from pfq.site.model import Match, Policy, TrafficClass
from pfq.site.schema import DEFAULT_POLICY

_UDP, _TCP, _DNS = 17, 6, ((53, 53),)
_INTERACTIVE = (
    Match((), "icmp", (), (), (), (), (), None, "both"),
    Match((), _UDP, _DNS, (), (), (), (), None, "both"),
    Match((), _TCP, _DNS, (), (), (), (), None, "both"),
)


def _traffic_class(name: str, matches: tuple[Match, ...] = (), express: bool = False, default: bool = False, upgrade: bool = True) -> TrafficClass:
    return TrafficClass((), name, matches, express, default, upgrade, None, None, None, None, None, "packets", None, "tail")


POLICY = Policy(
    (),
    DEFAULT_POLICY,
    (
        _traffic_class("interactive", _INTERACTIVE, upgrade=False),
        _traffic_class("express", express=True),
        _traffic_class("bulk", default=True),
    ),
    None,
)
