"""What a reader of one value cannot see: references, contradictions between tables."""

from collections.abc import Iterator
from typing import Any

from pfq.site.kinds import Faults
from pfq.site.model import Address, Attachment, Host, Inside, Link, Policy, Site, TrafficClass
from pfq.site.positions import Path
from pfq.site.reach import check_reach
from pfq.site.schema import DEFAULT_POLICY, LINK_NAME, POLICY_NAME, SITE
from pfq.site.systems import counted_bytes, interface_kind, is_group, schedulers, shapes_down

# HTB has eight levels (TC_HTB_MAXDEPTH); the interface and the shaped rate above the classes take two of them.
MOST_LEVELS = 6


def check_references(raw: dict[str, Any], faults: Faults) -> None:
    """Reports names that nothing defines, from the text's own tables, so that a fault elsewhere in a table hides none."""
    links, policies, hosts = (_table(raw, name) for name in ("links", "policies", "hosts"))
    for name, link in (links or {}).items():
        policy = link.get("policy") if isinstance(link, dict) else None
        if policies is None or not isinstance(policy, str) or not POLICY_NAME.matches(policy):
            continue
        if policy != DEFAULT_POLICY and policy not in policies:
            hint = faults.meant(policy, [*policies, DEFAULT_POLICY])
            faults.at(("links", name, "policy"), "dangling", f"there is no policy {policy[:40]!r}", hint)
    for name, host in (hosts or {}).items():
        attachments = host.get("links") if isinstance(host, dict) else None
        if attachments == {}:
            faults.at(("hosts", name), "empty", f"the host {name[:40]!r} is attached to no link", "add links.NAME = 'INTERFACE'")
        if links is None or not isinstance(attachments, dict):
            continue
        for link in attachments:
            if link not in links and LINK_NAME.matches(link):
                hint = faults.meant(link, links)
                faults.at_key(("hosts", name, "links", link), "dangling", f"there is no link {link[:40]!r}", hint)
    if hosts == {}:
        faults.at((), "empty", "the model has no host", "add a table [hosts.NAME] with `system` and `links`")


def _table(raw: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The table of definitions; None where nobody can know what it defines, because it is no table, or perhaps a misspelt one."""
    if name not in raw:
        return {} if name == "policies" and raw.keys() <= SITE.keys.keys() else None
    table = raw[name]
    return table if isinstance(table, dict) else None


def check_policy(policy: Policy, faults: Faults) -> bool:
    """Reports what is wrong between the classes of a policy. Returns whether its tree of classes is known all the same."""
    names: dict[str, TrafficClass] = {}
    for item in policy.classes:
        if item.name in names:
            faults.at((*item.path, "name"), "twice", f"the class {item.name!r} is there already", "names are unique in a policy")
        names.setdefault(item.name, item)
    if not policy.classes:
        faults.at((*policy.path, "classes"), "empty", "the policy has no class", "write at least one: { name = 'bulk' }")
        return False
    parents = {item.parent for item in policy.classes if item.parent}
    placed = [_check_parent(item, names, faults) for item in policy.classes]
    if not all(placed):
        return False
    for item in policy.classes:
        if item.name in parents and (item.matches or item.express or item.default or item.fair or item.limit is not None):
            message = f"packets cannot wait in {item.name!r}: other classes take their parts of it"
            faults.at(item.path, "inner-class", message, "match, express, default, fair and limit belong to classes without parts")
    leaves = [item for item in policy.classes if item.name not in parents]
    for key, chosen in (("express", [c for c in leaves if c.express]), ("default", [c for c in leaves if c.default])):
        for item in chosen[1:]:
            faults.at((*item.path, key), "twice", f"the class {chosen[0].name!r} is the {key} class already", "there can be one in a policy")
    if policy.unclassified is not None and policy.unclassified not in {item.name for item in leaves}:
        hint = faults.meant(policy.unclassified, [item.name for item in leaves])
        faults.at((*policy.path, "unclassified"), "dangling", f"{policy.unclassified!r} is no class that packets wait in", hint)
    check_reach(policy, leaves, default_class(policy.classes), faults)
    return True


def _check_parent(item: TrafficClass, names: dict[str, TrafficClass], faults: Faults) -> bool:
    """Whether the class's place in the tree is known. A circle is reported once, at the first of its classes."""
    if item.parent is None:
        return True
    if item.parent not in names:
        faults.at((*item.path, "parent"), "dangling", f"there is no class {item.parent!r}", faults.meant(item.parent, names))
        return False
    chain = {item.name: None}
    above: str | None = item.parent
    while above is not None and above in names and above not in chain:
        chain[above] = None
        above = names[above].parent
    if above == item.name:
        first = next(name for name in names if name in chain)
        if item.name == first:
            faults.at((*item.path, "parent"), "circle", f"{item.name!r} is a part of itself", "a parent stands above its parts")
        return False
    if len(chain) == MOST_LEVELS + 1:
        message = f"the class {item.name!r} stands {len(chain)} levels deep"
        faults.at((*item.path, "parent"), "too-deep", message, f"at most {MOST_LEVELS} levels of classes")
    return len(chain) <= MOST_LEVELS


def default_class(classes: tuple[TrafficClass, ...]) -> TrafficClass | None:
    """The class of flows that match nothing: the one that says so, else the last one without a match that is not express."""
    parents = {item.parent for item in classes}
    leaves = [item for item in classes if item.name not in parents]
    said = [item for item in leaves if item.default]
    plain = [item for item in leaves if not item.matches and not item.express]
    return said[0] if said else plain[-1] if plain else None


def _interfaces(host: Host) -> Iterator[tuple[str, Path]]:
    for attachment in host.attachments:
        yield attachment.interface, (*attachment.path, "interface")


def check_host(host: Host, site: Site, faults: Faults) -> None:
    used: dict[str, Path] = {}
    for interface, path in _interfaces(host):
        if interface in used:
            faults.at(path, "twice", f"the interface {interface!r} carries another link already", "a link has an interface of its own: a VLAN, a tunnel")
        used.setdefault(interface, path)
    inside: set[str] = set()
    for item in host.inside:
        if item.interface in inside:
            faults.at(item.path, "twice", f"the inside interface {item.interface!r} is there already", "give it all its networks in one table")
        inside.add(item.interface)
        _check_interface(host, item.interface, item.path, faults, group_allowed=False)
        if item.interface in used and not item.networks:
            message = f"{item.interface!r} is the inside and carries a link too: its networks must be known to be left alone"
            faults.at(item.path, "needs-networks", message, "write inside = { interface = ..., networks = [...] }")
    for attachment in host.attachments:
        _check_attachment(host, attachment, site.links.get(attachment.link), faults)


def _check_interface(host: Host, interface: str, path: Path, faults: Faults, group_allowed: bool) -> None:
    if host.system.family == "linux":
        return
    if not interface.isalnum() or not interface[0].islower():
        faults.at(path, "bad-name", f"{interface!r} is no interface of {host.system.name}", "a driver's name and a number, such as em0")
    elif is_group(host.system, interface) and not group_allowed:
        faults.at(path, "group", f"{interface!r} is an interface group: queues need a real interface", "name the interface, such as em0")


def _check_attachment(host: Host, item: Attachment, link: Link | None, faults: Faults) -> None:
    system = host.system
    _check_interface(host, item.interface, (*item.path, "interface"), faults, group_allowed=True)
    if item.queue_on is not None:
        _check_interface(host, item.queue_on, (*item.path, "queue_on"), faults, group_allowed=False)
    elif is_group(system, item.interface) and item.interface.isalnum():
        message = f"{item.interface!r} is an interface group: queues need a real interface"
        faults.at((*item.path, "interface"), "group", message, "add queue_on = 'em0' with the interface that holds the queues")
    known = schedulers(system)
    if item.scheduler is not None and item.scheduler not in known:
        message = f"{system.name} has no scheduler {item.scheduler!r}"
        faults.at((*item.path, "scheduler"), "unsupported", message, f"it has {', '.join(known)}")
    for key, value in (("leaf", item.leaf), ("txqueuelen", item.txqueuelen)):
        if value is not None and system.family != "linux":
            faults.at((*item.path, key), "unsupported", f"{system.name} has no such thing as {key!r}", "leave it out: it is for Linux")
    _check_counting(host, item, faults)
    _check_place(host, item, link, faults)
    if item.nat is not False:
        version = 4 if item.nat is True else item.nat.version
        if all(network.version != version for inside in host.inside for network in inside.networks):
            message = f"NAT of IPv{version} needs the IPv{version} networks it is for"
            faults.at((*item.path, "nat"), "needs-networks", message, "write inside = { interface = ..., networks = [...] }")
    insides: set[Address] = set()
    outsides: set[Address] = set()
    for pair in item.one_to_one:
        if pair.inside in insides or pair.outside in outsides:
            faults.at(pair.path, "twice", f"{pair.inside} and {pair.outside}: an address can stand in one pair only", "one pair an address")
        insides.add(pair.inside)
        outsides.add(pair.outside)


def _check_counting(host: Host, item: Attachment, faults: Faults) -> None:
    system = host.system
    queue_on = item.queue_on or item.interface
    if is_group(system, queue_on):
        return
    kind = interface_kind(system, queue_on)
    own = kind if is_group(system, item.interface) else interface_kind(system, item.interface)
    if counted_bytes(system, own, kind) is None:
        if item.queue_on is None:
            message, hint = f"{system.name} cannot queue on {item.interface!r} ({own})", "add queue_on = its parent interface"
        else:
            message, hint = f"{system.name} loses the queue between {item.interface!r} and {queue_on!r}", "queue on the interface itself"
        faults.at((*item.path, "interface"), "unsupported", message, hint)


def arms_of(host: Host, item: Attachment) -> list[Inside]:
    """The inside interfaces that the link's downloads leave by: those that are not its own."""
    return [inside for inside in host.inside if inside.interface not in (item.interface, item.queue_on)]


def carries_link(host: Host, interface: str) -> bool:
    """Whether a link's packets go out on the interface itself, not on a VLAN or tunnel above it."""
    return any(interface == item.interface for item in host.attachments)


def _check_place(host: Host, item: Attachment, link: Link | None, faults: Faults) -> None:
    where, path = item.shape_down, (*item.path, "shape_down")
    if where in (None, "none"):
        return
    if link is not None and link.down is None:
        faults.at(path, "contradiction", f"the link {link.name!r} has no `down` rate to shape to", "add it to the link")
    known = shapes_down(host.system)
    if where not in known:
        message = f"{host.system.name} cannot shape downloads by {where!r}"
        faults.at(path, "unsupported", message, " or ".join(f"shape_down = {place!r}" for place in (*known, "none")))
    if where == "inside":
        arms = arms_of(host, item)
        if len(arms) != 1:
            message = f"downloads can be shaped on one inside interface, and there are {len(arms)}"
            faults.at(path, "inside", message, "name the one inside interface of the host; more than one cannot share a rate")
        elif carries_link(host, arms[0].interface):
            message = f"{arms[0].interface!r} carries a link of its own: rules for that one's traffic would take downloads from their classes"
            faults.at(path, "inside", message, " or ".join(f"shape_down = {place!r}" for place in (*known, "none") if place != "inside"))
