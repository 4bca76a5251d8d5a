"""Classes and matches that no packet can reach: what stands above takes all of them."""

from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import IPv4Network, IPv6Network, collapse_addresses

from pfq.site.kinds import Faults
from pfq.site.model import Match, Network, Policy, TrafficClass

# So many matches above are looked at for the ones that together take all packets of a match.
_MOST_TOGETHER = 200


def check_reach(policy: Policy, leaves: list[TrafficClass], default: TrafficClass | None, faults: Faults) -> None:
    """Reports the classes among `leaves` and their matches that no packet can reach, and a policy without a default class."""
    if default is None:
        faults.at(policy.path, "no-default", f"the policy {policy.name!r} has no class for flows that match nothing", "add default = true to one class")
        return
    if default.express:
        faults.at((*default.path, "default"), "express-default", f"{default.name!r} cannot be express and default at once", "add a class for the rest")
    for item in leaves:
        if not (item.matches or item.express or item.default) and item is not default:
            faults.at(item.path, "unreachable", f"no packet can reach the class {item.name!r}", "give it a match, or leave it out")
    earlier = _Earlier()
    for item in leaves:
        for match in item.matches:
            above = _taken(match, earlier)
            if above:
                named = above[0] if len(above) == 1 else f"{', '.join(above[:-1])} and {above[-1]}"
                how = f"{named} above takes" if len(above) == 1 else f"{named} above together take"
                faults.at(match.path, "unreachable", f"no packet can reach this match: {how} all of them", "move it above, or leave it out")
        for match in item.matches:
            earlier.add(item.name, match)


def _taken(match: Match, earlier: "_Earlier") -> list[str]:
    """The classes, quoted, whose matches take all packets of this one; none if some are left."""
    alike: dict[str, list[tuple[str, Match]]] = {}
    for name, before in earlier.like(match):
        missing = _missing(before, match)
        if missing is None:
            return [repr(name)]
        found = alike.setdefault(missing, [])
        if missing and len(found) < _MOST_TOGETHER and _touch(missing, before, match):
            found.append((name, before))
    for condition, matches in alike.items():
        if len(matches) > 1 and _TOGETHER[condition]([one for _, one in matches], match):
            return list(dict.fromkeys(repr(name) for name, _ in matches))
    return []


def _touch(condition: str, one: Match, other: Match) -> bool:
    """Whether both may hold of a packet, as far as networks tell: of a thousand subscribers each has an address of its own."""
    if condition == "from":
        return _networks_touch(one.sources, other.sources)
    return condition != "to" or _networks_touch(one.destinations, other.destinations)


def _networks_touch(ones: tuple[Network, ...], others: tuple[Network, ...]) -> bool:
    return not others or any(one.version == other.version and one.overlaps(other) for one in ones for other in others)


class _Earlier:
    """Matches with their class, by protocol and by the hundreds of ports they lie in: thousands need not all be compared with each other."""

    def __init__(self) -> None:
        self.found: dict[tuple[object, int], list[tuple[str, Match]]] = {}

    def add(self, name: str, match: Match) -> None:
        for block in _blocks(match) or {-1}:
            self.found.setdefault((match.protocol, block), []).append((name, match))

    def like(self, match: Match) -> Iterator[tuple[str, Match]]:
        """Those that could take packets of the match, each once."""
        for protocol in (match.protocol, None) if match.protocol is not None else (None,):
            yield from self.found.get((protocol, -1), ())
        blocks = _blocks(match)
        if len(blocks) < 2:
            for block in blocks:
                yield from self.found.get((match.protocol, block), ())
            return
        seen: set[int] = set()
        for block in sorted(blocks):
            for name, before in self.found.get((match.protocol, block), ()):
                if id(before) not in seen:
                    seen.add(id(before))
                    yield name, before


def _blocks(match: Match) -> set[int]:
    return {block for low, high in match.ports for block in range(low >> 8, (high >> 8) + 1)}


def covers(wide: Match, narrow: Match) -> bool:
    """Whether every first packet that `narrow` matches is matched by `wide`."""
    return _missing(wide, narrow) is None


def _missing(wide: Match, narrow: Match) -> str | None:
    """The one condition by which `wide` takes not all packets of `narrow`: None where it takes all, '' where there are several such conditions."""
    if wide.protocol is not None and wide.protocol != narrow.protocol:
        return ""
    missing = None
    for condition, covered in _CONDITIONS:
        if not covered(wide, narrow):
            if missing is not None:
                return ""
            missing = condition
    return missing


def _families(match: Match) -> set[int]:
    if match.family is not None:
        return {match.family}
    return {network.version for network in (*match.sources, *match.destinations)} or {4, 6}


def _sides(match: Match) -> set[str]:
    return {"inside", "outside"} if match.opened == "both" else {match.opened}


def _ports_cover(wide: tuple[tuple[int, int], ...], narrow: tuple[tuple[int, int], ...]) -> bool:
    # Without ports a later fragment matches too, so only "no ports" covers "no ports".
    joined = _joined(wide) if len(wide) > 1 else wide
    return not wide or (bool(narrow) and all(any(a <= low and high <= b for a, b in joined) for low, high in narrow))


def _joined(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """The same ports, ranges that touch or overlap made one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _networks_cover(wide: tuple[Network, ...], narrow: tuple[Network, ...]) -> bool:
    return not wide or (
        bool(narrow) and all(any(w.version == n.version and n.subnet_of(w) for w in wide) for n in narrow)  # type: ignore[arg-type]
    )


def _united(networks: tuple[Network, ...]) -> tuple[Network, ...]:
    """The same addresses, networks that lie side by side made one."""
    four = [network for network in networks if isinstance(network, IPv4Network)]
    six = [network for network in networks if isinstance(network, IPv6Network)]
    return (*collapse_addresses(four), *collapse_addresses(six))


_CONDITIONS: tuple[tuple[str, Callable[[Match, Match], bool]], ...] = (
    ("opened", lambda wide, narrow: wide.opened in ("both", narrow.opened)),
    ("family", lambda wide, narrow: wide.family is None or _families(narrow) == {wide.family}),
    ("dscp", lambda wide, narrow: not wide.dscp or (bool(narrow.dscp) and set(narrow.dscp) <= set(wide.dscp))),
    ("port", lambda wide, narrow: _ports_cover(wide.ports, narrow.ports)),
    ("source_port", lambda wide, narrow: _ports_cover(wide.source_ports, narrow.source_ports)),
    ("from", lambda wide, narrow: _networks_cover(wide.sources, narrow.sources)),
    ("to", lambda wide, narrow: _networks_cover(wide.destinations, narrow.destinations)),
)


def _all_ports(key: str, matches: list[Match], narrow: Match) -> bool:
    return _ports_cover(tuple(ports for match in matches for ports in getattr(match, key)), getattr(narrow, key))


def _all_networks(key: str, matches: list[Match], narrow: Match) -> bool:
    return _networks_cover(_united(tuple(network for match in matches for network in getattr(match, key))), _united(getattr(narrow, key)))


# Whether matches that each miss some packets of one by the same condition take all of them together.
_TOGETHER: dict[str, Callable[[list[Match], Match], bool]] = {
    "": lambda matches, narrow: False,
    "opened": lambda matches, narrow: _sides(narrow) <= {side for match in matches for side in _sides(match)},
    "family": lambda matches, narrow: _families(narrow) <= {family for match in matches for family in _families(match)},
    "dscp": lambda matches, narrow: bool(narrow.dscp) and set(narrow.dscp) <= {point for match in matches for point in match.dscp},
    "port": partial(_all_ports, "ports"),
    "source_port": partial(_all_ports, "source_ports"),
    "from": partial(_all_networks, "sources"),
    "to": partial(_all_networks, "destinations"),
}
