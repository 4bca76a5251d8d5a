"""From a tree to a ruleset that can be asked."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pfq.diagnostics import Place, refuse
from pfq.headers.asking import Ruleset
from pfq.pf.evaluate.devices import devices
from pfq.pf.evaluate.facts import Facts
from pfq.pf.evaluate.features import Features
from pfq.pf.evaluate.judging import Judging
from pfq.pf.evaluate.matching import World
from pfq.pf.evaluate.normalizing import Normalizing
from pfq.pf.evaluate.refusals import check
from pfq.pf.evaluate.ruleset import PfRuleset
from pfq.pf.evaluate.settings import reassembles, skipped
from pfq.pf.evaluate.steps import FILTER, SCRUB, TRANSLATIONS, Rulesets
from pfq.pf.verdict import Tree

_NOTHING: Mapping[str, str] = MappingProxyType({})
_NO_ADDRESSES: Mapping[str, Sequence[str]] = MappingProxyType({})


def ruleset(
    tree: Tree, *, carriers: Mapping[str, str] = _NOTHING, addresses: Mapping[str, Sequence[str]] = _NO_ADDRESSES, file_name: str = "stdin"
) -> Ruleset:
    """The rules of a tree, ready to be asked.

    carriers: the device that carries an interface's packets (pppoe0: em0; vlan5: em1), whose queues they wait in too. addresses: those of
    interfaces, as `192.0.2.1/24`; `facts` says what holds where none are given. A name without a digit at its end is that of a group, unless one of
    these two says that it is an interface. file_name: what places call rules that have no statement.
    Raises Refused, with every fault: the text does not load, or it has something that is not modelled.
    """
    if tree.verdict.status:
        reason = tree.verdict.stderr.partition("\n")[0] or "pfctl refuses it"
        raise refuse("does-not-load", f"the ruleset does not load: {reason}", None, "pfq check says all that is wrong with it")
    dialect = tree.reading.dialect
    file = tree.statements[0].file if tree.statements else file_name
    rulesets = Rulesets(tree, file)
    filters, scrubs = rulesets.of(FILTER), rulesets.of(SCRUB)
    statements = {kind: rulesets.of(actions) for kind, actions in TRANSLATIONS.items()}
    facts = Facts(tree, addresses, carriers)
    every = [step for steps in (filters, scrubs, *statements.values()) for top in steps for step in top.every()]
    check(tree, every, facts)
    world = World(Features(dialect), facts, *_numbers([step.rule.tag for step in every]), Place(file, 1, 1))
    queues, width = _numbers([name for step in every for name in (step.rule.queue, step.rule.ack_queue)])
    return PfRuleset(
        world,
        Normalizing(world, scrubs, reassembles(tree, world.features, bool(scrubs))),
        Judging(world, filters, statements, queues, width),
        skipped(tree),
        devices(tree, file),
        carriers,
    )


def _numbers(names: list[str]) -> tuple[dict[str, int], int]:
    """A number from 1 for each name, and how many bits they take."""
    found = {name: number for number, name in enumerate(dict.fromkeys(name for name in names if name), start=1)}
    return found, max(1, len(found).bit_length())


