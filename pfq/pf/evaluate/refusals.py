"""What a ruleset has that is not modelled: refused by name and place, all of it at once."""

from collections.abc import Callable, Iterable, Iterator

from pfq.diagnostics import Diagnostic, Place, Refused
from pfq.pf.evaluate.facts import Facts
from pfq.pf.evaluate.steps import Step
from pfq.pf.evaluate.translating import choices, wraps
from pfq.pf.nodes import NO_ROUTE, ROUTE_LABEL, TABLE, URPF_FAILED, Rule
from pfq.pf.verdict import Tree

_GUESS = "what it does depends on more than packets; leave it out of what you compare"

# What a rule may have, by name.
_CONDITIONS: tuple[tuple[str, Callable[[Rule], object]], ...] = (
    ("route-to and its kin", lambda rule: rule.route_kind),
    ("af-to", lambda rule: rule.translation_af),
    ("user", lambda rule: rule.user is not None),
    ("group", lambda rule: rule.group is not None),
    ("os", lambda rule: rule.os),
    ("probability", lambda rule: rule.probability),
    ("rtable", lambda rule: rule.rtable >= 0),
    ("rdomain", lambda rule: rule.rdomain >= 0),
    ("prio as a condition", lambda rule: rule.prio >= 0),
    ("max-pkt-rate", lambda rule: rule.packet_rate is not None),
    ("once", lambda rule: rule.once),
    ("divert-to and its kin", lambda rule: rule.divert or rule.divert_port),
    ("dnpipe and dnqueue", lambda rule: rule.dummynet[0]),
    ("synproxy state", lambda rule: rule.state == "synproxy"),
    ("max", lambda rule: rule.max_states),
    ("max-src-states", lambda rule: rule.max_src_states),
    ("max-src-conn", lambda rule: rule.max_src_conn),
    ("max-src-conn-rate", lambda rule: rule.max_src_conn_rate[0]),
    ("max-src-nodes", lambda rule: rule.max_src_nodes),
)
_ADDRESSES = {NO_ROUTE: "no-route", URPF_FAILED: "urpf-failed", ROUTE_LABEL: "route labels"}


def check(tree: Tree, steps: Iterable[Step], facts: Facts) -> None:
    """Raise Refused if there is anything that the evaluator does not model."""
    found = [Diagnostic("not-modelled", f"not modelled: {what}", step.place, hint) for step in steps for what, hint in _of_rule(step, facts)]
    for statement in tree.statements:
        if statement.kind == "ether":
            found.append(Diagnostic("not-modelled", "not modelled: ether rules", Place(statement.file, statement.line, 1), _GUESS))
    if found:
        raise Refused(found)


def _of_rule(step: Step, facts: Facts) -> Iterator[tuple[str, str]]:
    rule = step.rule
    for what, has in _CONDITIONS:
        if has(rule):
            yield what, _GUESS
    for host in (rule.source, rule.destination):
        if host.kind in _ADDRESSES:
            yield _ADDRESSES[host.kind], _GUESS
        if host.kind == TABLE and facts.table(host.name) is None:
            yield f"the contents of table <{host.name}>, which the text does not define", "define it with the addresses that it holds"
    for name in (rule.interface, rule.received_on):
        if name and name not in ("any", "all") and not facts.is_interface(name) and facts.group(name) is None:
            yield f"which interfaces are in group {name}", "describe the interfaces and their groups in a system file"
    for pool in (rule.nat, rule.rdr, rule.pool if rule.action in ("nat", "rdr", "binat") else None):
        if pool is None:
            continue
        families = (rule.af,) if rule.af else (4, 6)
        if any(len(choices(pool, facts, family)) > 1 for family in families):
            yield "a pool of several addresses: which of them a flow gets", "write one address"
        if wraps(pool, rule) and pool is not rule.nat and rule.action != "nat":
            yield "a redirection to fewer ports than the rule has", "give both ranges the same size"
