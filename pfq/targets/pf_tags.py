"""Tags for dialects whose filter rules see addresses after NAT: a flow is marked where it comes in from the inside."""

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_network

from pfq.plan.model import Gateway, Uplink
from pfq.site.kinds import Faults
from pfq.site.model import Match, Network
from pfq.targets.pf_dialects import Dialect

# pf.h PF_TAG_NAME_SIZE was 16 in the first releases that had tags.
TAG_MOST = 15


def overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def within(one: Network, others: Iterable[Network]) -> bool:
    return any(one.version == other.version and one.subnet_of(other) for other in others)  # type: ignore[arg-type]


def translated(gateway: Gateway, uplink: Uplink) -> tuple[Network, ...]:
    """The inside networks whose packets leave on the link with another source address."""
    version = uplink.nat.version if not isinstance(uplink.nat, bool) else 4
    found = [item for inside in gateway.inside for item in inside.networks if item.version == version] if uplink.nat else []
    hosts = [ip_network(pair.inside) for pair in uplink.one_to_one]
    return tuple(found + hosts)


def needs_tag(match: Match, hidden: tuple[Network, ...]) -> bool:
    """Whether a match asks for sources that NAT hides from rules on the link's interface."""
    return match.opened != "outside" and any(overlap(source, item) for source in match.sources for item in hidden)


def loses_source_port(match: Match, gateway: Gateway, uplink: Uplink) -> bool:
    """Whether a match asks for source ports that NAT has changed before rules on the link's interface see them. 1:1 NAT keeps ports
    (pf.conf(5), binat); where a match needs a tag anyway, the inside interface sees the port."""
    if not uplink.nat or not match.source_ports or match.opened == "outside" or needs_tag(match, translated(gateway, uplink)):
        return False
    version = 4 if isinstance(uplink.nat, bool) else uplink.nat.version
    inside = any(item.version == version for arm in gateway.inside for item in arm.networks)
    reachable = not match.destinations or any(item.version == version for item in match.destinations)
    return inside and match.family in (None, version) and not match.sources and reachable


def visible_sources(match: Match, hidden: tuple[Network, ...]) -> tuple[Network, ...]:
    """The sources of a match that (also) leave untranslated."""
    return tuple(source for source in match.sources if not within(source, hidden))


def tag_of(name: str, index: int) -> str:
    """The tag of a flow rule: the class and the rule's number, where a tag can be that long."""
    tag = f"{name}_{index + 1}"
    return tag if len(tag) <= TAG_MOST else f"pfq_{index + 1}"


def check_tags(gateway: Gateway, dialect: Dialect, faults: Faults) -> None:
    """Reports flow rules that need a tag which the dialect does not have, and uplinks that would tag one packet differently."""
    first: tuple[Uplink, list[tuple[str, Match]]] | None = None
    for uplink in gateway.uplinks:
        hidden = translated(gateway, uplink)
        for rule in uplink.classifier.rules:
            if loses_source_port(rule.match, gateway, uplink):
                message = f"class {rule.queue!r}: rules of {dialect.name} see source ports after NAT, which picks others"
                hint = "say which inside networks it is `from`, or add opened = 'outside'"
                faults.at((*rule.match.path, "source_port"), "unsupported", message, hint)
        tagged = [(rule.queue, rule.match) for rule in uplink.classifier.rules if needs_tag(rule.match, hidden)]
        if not tagged:
            continue
        if not dialect.tags:
            for name, match in tagged:
                message = f"class {name!r}: rules of {dialect.name} see addresses after NAT, and it has no tags to remember them"
                faults.at((*match.path, "from"), "unsupported", message, "match by port or destination, or add opened = 'outside'")
        plain = [(name, replace(match, path=())) for name, match in tagged]
        if first is None:
            first = (uplink, plain)
        elif plain != first[1]:
            message = f"links {first[0].link!r} and {uplink.link!r} classify by inside addresses differently, and a packet has one tag only"
            faults.at(uplink.path, "unsupported", message, f"give both one policy: rules of {dialect.name} see addresses after NAT")
