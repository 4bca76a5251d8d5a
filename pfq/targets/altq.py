"""pf.conf with ALTQ: OpenBSD 3.3 to 5.4, FreeBSD 12 to 15."""

from pfq.diagnostics import Refused
from pfq.plan.model import Gateway, Plan
from pfq.site.kinds import Faults
from pfq.site.systems import System, schedulers
from pfq.targets.altq_queues import Definitions
from pfq.targets.altq_rules import AltqRules
from pfq.targets.files import Ability, File
from pfq.targets.pf_dialects import Dialect, dialect_of
from pfq.targets.pf_file import complete_header, files, header
from pfq.targets.pf_match import Table
from pfq.targets.pf_names import Names, Placed, local_of, names_of, placed
from pfq.targets.pf_tags import check_tags
from pfq.targets.pf_text import Section, Statement

PARTS = ("queues", "rules")


def render(plan: Plan, gateway: Gateway, part: str | None) -> list[File]:
    """The gateway's pf.conf, or one part of it: `queues` (definitions) or `rules` (assignments) for a pf.conf that is there already.

    Raises Refused with everything that the dialect cannot express.
    """
    dialect = dialect_of(gateway.system)
    faults = Faults(plan.source)
    places = placed(gateway)
    names = names_of(gateway, places, dialect, part is None, faults)
    _check(plan, gateway, dialect, faults)
    queueing = Section("queueing", tuple(_definitions(plan, dialect, names, places, faults)))
    found: list[Table] = []
    rules = [
        AltqRules(plan, gateway, uplink, number, dialect, names, local_of(uplink.queue_on, places), found, faults)
        for number, uplink in enumerate(gateway.uplinks)
    ]
    assignments = [item.section("Last match wins", part is None) for item in rules]
    about = {"queues": _queues_header, "rules": _rules_header}.get(part or "", complete_header)(plan, gateway, dialect)
    written = files(part, about, names, queueing, found, assignments, lambda: _complete(rules, queueing, assignments))
    if faults.found:
        raise Refused(faults.found)
    return written


def abilities(system: System) -> list[Ability]:
    """What the system's pf can express of a model."""
    dialect = dialect_of(system)
    never = {"never": "this pf looks at IPv4 only", "tos": "ToS 0x10 only, no empty ACKs", "full": "empty ACKs and ToS 0x10"}
    equal = "the second queue of a rule" + (" (ToS must equal 0x10)" if dialect.tos_equal else "")
    return [
        Ability("schedulers", True, ", ".join(schedulers(system))),
        Ability("express class, IPv4", True, equal),
        Ability("express class, IPv6", dialect.second_queue_6 == "full", never[dialect.second_queue_6]),
        Ability("guarantee", True, "hfsc realtime, cbq bandwidth" if dialect.hfsc else "cbq bandwidth"),
        Ability("curve of two pieces", dialect.hfsc, "hfsc (m1 d m2)" if dialect.hfsc else "no hfsc yet"),
        Ability("ceiling", True, "hfsc upperlimit, cbq without borrow" if dialect.hfsc else "cbq without borrow"),
        Ability("fair sharing", False, "no fair queue: accept 'fifo'"),
        Ability("drop: red, ecn", True, "options of a queue"),
        Ability("drop: codel", dialect.codel, "option of a queue" if dialect.codel else "not in this version"),
        Ability("dscp, IPv6", dialect.dscp_ipv6, "tos" if dialect.dscp_ipv6 else "never matches IPv6"),
        Ability("downloads shaped on the inside interface", dialect.queue_on, "queues of one name on two interfaces"),
        Ability("downloads shaped on arrival", False, "pf queues what leaves"),
        Ability("classes by inside address under NAT", dialect.tags or dialect.nat_option, "assignment before NAT" if dialect.nat_option else "tags"),
        Ability("inbound policy", dialect.tags, "tags" if dialect.tags else "no tags yet"),
        Ability("rates above 4.29 Gbit/s", dialect.hfsc_rate_most >= 2**32, "hfsc" if dialect.hfsc_rate_most >= 2**32 else "32 bits"),
    ]


def _check(plan: Plan, gateway: Gateway, dialect: Dialect, faults: Faults) -> None:
    if not dialect.nat_option:
        check_tags(gateway, dialect, faults)
    for uplink in gateway.uplinks:
        express = uplink.classifier.express
        if express and 6 in express.families and dialect.second_queue_6 != "full" and "ipv6-express" not in plan.accept:
            message = f"{dialect.name} never upgrades empty ACKs of IPv6 to the class {express.queue!r}: it looks for them in IPv4 only"
            hint = "add accept = ['ipv6-express'] to the model, or ipv6 = false to the link"
            faults.at(("links", uplink.link), "difference", message, hint)
        if express and dialect.tos_equal and "exact-low-delay" not in plan.accept:
            message = f"{dialect.name} upgrades packets with ToS 0x10 to the class {express.queue!r}, but none with other bits beside it"
            faults.at(("links", uplink.link), "difference", message, "add accept = ['exact-low-delay'] to the model")


def _definitions(plan: Plan, dialect: Dialect, names: Names, places: tuple[Placed, ...], faults: Faults) -> list[Statement]:
    several = len(places) > 1
    if several and not dialect.queue_on:
        # Without `on`, a queue is defined once for all interfaces, and its numbers would hold on both.
        extra = places[1]
        message = f"{dialect.name} cannot define queues for more than one interface: {places[0].interface} and {extra.interface}"
        inside = extra.trees[0][1].where == "inside"
        hint = "shape_down = 'none' leaves the inside interface alone" if inside else "OpenBSD 3.5 and later can"
        faults.at(extra.trees[0][1].path, "unsupported", message, hint)
    found: list[Statement] = []
    for place in places:
        on = f" on {names.interfaces.get(place.interface, place.interface)}" if several else ""
        found += Definitions(plan, dialect, names, place, faults, on).statements()
    return found


def _complete(rules: list[AltqRules], queueing: Section, assignments: list[Section]) -> list[Section]:
    """The sections in the order that pfctl enforces up to OpenBSD 4.6 and in FreeBSD; after that, NAT follows the assignment.

    A `match ... scrub` rule is a filter rule, a `scrub` statement is not.
    """
    dialect = rules[0].dialect
    normalization = Section("normalization", tuple(text for item in rules for text in item.normalization()))
    inbound = Section("inbound policy", tuple(text for item in rules for text in item.inbound()))
    outward = Section("translation", tuple(text for item in rules for text in item.outward_translation()))
    if dialect.nat_option:
        inward = Section("translation of incoming connections", tuple(text for item in rules for text in item.inward_translation()))
        return [queueing, normalization, inward, inbound, *assignments, outward]
    if dialect.scrub_option:
        return [queueing, outward, normalization, inbound, *assignments]
    return [normalization, queueing, outward, inbound, *assignments]


def _queues_header(plan: Plan, gateway: Gateway, dialect: Dialect) -> list[str]:
    how = 'include "/etc/pf.pfq.queues"' if dialect.included_files else "this text"
    return [
        *header("Queue definitions", plan, gateway, dialect),
        f"In your pf.conf, {how} stands after the options and `scrub`, and before translation and filter rules.",
        "No other `altq on` may name the same interface.",
    ]


def _rules_header(plan: Plan, gateway: Gateway, dialect: Dialect) -> list[str]:
    where = "after all pass and block rules and before any match rule with nat-to" if dialect.nat_option else "at the very end"
    included = 'include "/etc/pf.pfq.rules" (or anchor "pfq", and load anchor "pfq" from "/etc/pf.pfq.rules")'
    how = included if dialect.included_files else "this text"
    lines = [
        *header("Assignment to queues", plan, gateway, dialect),
        f"In your pf.conf, {how} stands {where}: the last rule that matches decides the queue.",
        "So write your own block rules as `block quick`, and your own pass rules without `quick`; they need no queue.",
    ]
    if any(uplink.inbound or uplink.nat or uplink.one_to_one or uplink.mss for uplink in gateway.uplinks):
        lines.append("NAT, segment size and the inbound policy of the model are not in here: they stay in your pf.conf.")
    return lines
