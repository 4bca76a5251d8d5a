"""What `set` says that decides about packets."""

from pfq.pf.evaluate.features import Features
from pfq.pf.nodes import InterfaceName
from pfq.pf.verdict import Tree


def skipped(tree: Tree) -> list[str]:
    """The interfaces and groups that pf leaves alone."""
    return [
        one.name
        for statement in tree.statements
        if statement.kind == "set" and isinstance(statement.value, list)
        for one in statement.value
        if isinstance(one, InterfaceName)
    ]


def reassembles(tree: Tree, features: Features, scrubs: bool) -> bool:
    """Whether fragments are put together without a scrub rule that says so."""
    if not tree.reading.dialect.reassemble_option or scrubs:
        return False
    said = [statement.value for statement in tree.statements if statement.kind == "set" and isinstance(statement.value, bool)]
    return said[-1] if said else features.reassembles_unless_told
