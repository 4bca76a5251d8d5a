"""pf.conf with the queues of OpenBSD 5.5 and later."""

from pfq.diagnostics import Refused
from pfq.plan.model import Gateway, Plan
from pfq.site.kinds import Faults
from pfq.site.systems import System
from pfq.targets.files import Ability, File
from pfq.targets.pf_dialects import Dialect, dialect_of
from pfq.targets.pf_file import complete_header, files, header
from pfq.targets.pf_match import Table
from pfq.targets.pf_names import Names, Placed, local_of, names_of, placed
from pfq.targets.pf_text import Section, Statement
from pfq.targets.queue_rules import QueueRules
from pfq.targets.queue_tree import Definitions

PARTS = ("queues", "rules")


def render(plan: Plan, gateway: Gateway, part: str | None) -> list[File]:
    """The gateway's pf.conf, or one part of it: `queues` (definitions) or `rules` (assignments) for a pf.conf that is there already.

    Raises Refused with everything that the dialect cannot express.
    """
    dialect = dialect_of(gateway.system)
    faults = Faults(plan.source)
    places = placed(gateway)
    names = names_of(gateway, places, dialect, part is None, faults)
    queueing = Section("queueing", tuple(_definitions(plan, dialect, names, places, faults)))
    found: list[Table] = []
    rules = [
        QueueRules(plan, gateway, uplink, number, dialect, names, local_of(uplink.queue_on, places), found, faults)
        for number, uplink in enumerate(gateway.uplinks)
    ]
    assignments = [item.section("Each match rule overrides those above it", part is None) for item in rules]
    if part == "rules":
        about = _rules_header(plan, gateway, dialect, rules)
    else:
        about = _queues_header(plan, gateway, dialect) if part else complete_header(plan, gateway, dialect)
    written = files(part, about, names, queueing, found, assignments, lambda: _complete(rules, queueing, assignments))
    if faults.found:
        raise Refused(faults.found)
    return written


def abilities(system: System) -> list[Ability]:
    """What the system's pf can express of a model."""
    dialect = dialect_of(system)
    fair = "flows: by flow; by address only if 'fair-by-flow' is accepted" if dialect.flows else "since 6.2: accept 'fifo'"
    return [
        Ability("schedulers", True, "hfsc (queue statements)"),
        Ability("express class, IPv4", True, "empty ACKs and ToS bit 0x10"),
        Ability("express class, IPv6", True, "empty ACKs and ToS bit 0x10"),
        Ability("guarantee", True, "min; never with flows"),
        Ability("curve of two pieces", True, "burst B for Tms"),
        Ability("ceiling", True, "max"),
        Ability("fair sharing", dialect.flows, fair),
        Ability("drop: red, ecn", False, "gone with ALTQ"),
        Ability("drop: codel", dialect.flows, "flows" if dialect.flows else "since 6.2"),
        Ability("dscp, IPv6", True, "tos"),
        Ability("downloads shaped on the inside interface", True, "queues of one name on two interfaces"),
        Ability("downloads shaped on arrival", False, "pf queues what leaves"),
        Ability("classes by inside address under NAT", True, "assignment before NAT"),
        Ability("inbound policy", True, "block, pass"),
        Ability("rates above 4.29 Gbit/s", False, "curves have 32 bits"),
    ]


def _definitions(plan: Plan, dialect: Dialect, names: Names, places: tuple[Placed, ...], faults: Faults) -> list[Statement]:
    found: list[Statement] = []
    for place in places:
        on = f" on {names.interfaces.get(place.interface, place.interface)}" if len(places) > 1 else ""
        found += Definitions(plan, dialect, names, place, faults, on).statements()
    return found


def _complete(rules: list[QueueRules], queueing: Section, assignments: list[Section]) -> list[Section]:
    """Queues come before the rules that name them, the assignment before NAT, which changes the addresses that later rules see."""
    return [
        Section("normalization", tuple(text for item in rules for text in item.normalization())),
        queueing,
        Section("translation of incoming connections", tuple(text for item in rules for text in item.inward_translation())),
        *assignments,
        Section("translation", tuple(text for item in rules for text in item.outward_translation())),
        Section("filtering", tuple(text for item in rules for text in item.passing())),
    ]


def _queues_header(plan: Plan, gateway: Gateway, dialect: Dialect) -> list[str]:
    return [
        *header("Queue definitions", plan, gateway, dialect),
        'In your pf.conf, include "/etc/pf.pfq.queues" before the first rule that names a queue.',
        "They cannot stand in an anchor, and no other root queue may be on the same interface.",
    ]


def _rules_header(plan: Plan, gateway: Gateway, dialect: Dialect, rules: list[QueueRules]) -> list[str]:
    lines = [
        *header("Assignment to queues", plan, gateway, dialect),
        'In your pf.conf, include "/etc/pf.pfq.rules" after the queue definitions and before any match rule with nat-to (1:1 NAT: but after'
        ' its rdr-to). Or as an anchor: anchor "pfq", and load anchor "pfq" from "/etc/pf.pfq.rules". pfctl -a cannot load it: queues'
        " are known in the main file only.",
        "Your pass rules must keep state (they do by default) and name no queue: what a match rule sets is lost without state, and a queue"
        " on the last pass rule beats all of these. Where no pass rule matches there is no state either: have a `pass`.",
        "For connections that are open before you load this, put above your pass rules:",
        *(f"    {statement.text}" for item in rules for statement in item.stateless()),
    ]
    if any(uplink.inbound or uplink.nat or uplink.one_to_one or uplink.mss for uplink in gateway.uplinks):
        lines.append("NAT, segment size and the inbound policy of the model are not in here: they stay in your pf.conf.")
    return lines
