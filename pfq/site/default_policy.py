"""The policy of a model that names none: express first, then ICMP and DNS, then everything else, shared fairly."""

from pfq.site.model import Match, Policy, TrafficClass
from pfq.site.schema import DEFAULT_POLICY

_UDP, _TCP, _DNS = 17, 6, ((53, 53),)
_INTERACTIVE = (
    Match((), "icmp", (), (), (), (), (), None, "both"),
    Match((), _UDP, _DNS, (), (), (), (), None, "both"),
    Match((), _TCP, _DNS, (), (), (), (), None, "both"),
)


def _traffic_class(name: str, matches: tuple[Match, ...] = (), express: bool = False, default: bool = False) -> TrafficClass:
    return TrafficClass((), name, matches, express, default, True, None, None, None, None, None, "packets", None, "tail")


POLICY = Policy(
    (),
    DEFAULT_POLICY,
    (
        _traffic_class("express", express=True),
        _traffic_class("interactive", _INTERACTIVE),
        _traffic_class("bulk", default=True),
    ),
    None,
)
