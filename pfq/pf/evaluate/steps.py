"""The rules of a tree as pf walks them: in order, with the anchors that they call filled in, each with its place and its text."""

from collections.abc import Iterator
from dataclasses import dataclass

from pfq.diagnostics import Place
from pfq.pf.nodes import Anchor, Rule
from pfq.pf.print import Printer
from pfq.pf.verdict import Tree

FILTER, SCRUB = ("pass", "block", "match"), ("scrub", "no scrub")
TRANSLATIONS: dict[str, tuple[str, str]] = {kind: (kind, f"no {kind}") for kind in ("binat", "nat", "rdr")}


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A rule. `calls`: the rulesets that an anchor goes through, in order, one unless its name ends in `/*`; None for other rules."""

    rule: Rule
    place: Place
    text: str
    calls: tuple[tuple["Step", ...], ...] | None = None

    def every(self) -> Iterator["Step"]:
        """This step and those inside it."""
        yield self
        for ruleset in self.calls or ():
            for step in ruleset:
                yield from step.every()


def place(rule: Rule, main: str) -> Place:
    """Where a rule stands; `main` names the file of rules that have no statement."""
    return Place(rule.statement.file if rule.statement is not None else main, rule.line, 1)


class Rulesets:
    """The rulesets of a tree by the actions of their rules."""

    def __init__(self, tree: Tree, main: str) -> None:
        self._main = main
        self._printer = Printer(tree.reading.dialect, tree.reading.system)
        self._root = tree.reading.main
        self._by_path: dict[str, Anchor] = {}
        self._index(tree.reading.main, "")
        for loaded in tree.loaded:
            path = loaded.anchor_name.strip("/")
            self._by_path[path] = loaded.main
            self._index(loaded.main, path)

    def of(self, actions: tuple[str, ...]) -> tuple[Step, ...]:
        """The rules with these actions, anchors with a rule among them included."""
        return self._steps(self._root, "", actions, frozenset())

    def _index(self, anchor: Anchor, path: str) -> None:
        for rule in anchor.rules:
            inner = rule.anchor
            if inner is not None and inner.rules:
                below = _below(path, inner.name)
                self._by_path.setdefault(below, inner)
                self._index(inner, below)

    def _steps(self, anchor: Anchor, path: str, actions: tuple[str, ...], open_paths: frozenset[str]) -> tuple[Step, ...]:
        found = []
        for rule in anchor.rules:
            if rule.action not in actions:
                continue
            where = place(rule, self._main)
            if rule.anchor is None:
                found.append(Step(rule, where, self._printer.rule(rule)))
                continue
            text = self._printer.rule(rule, rule.anchor.name if rule.anchor.inline else rule.anchor.path)
            calls = tuple(
                self._steps(called, below, actions, open_paths | {below})
                for below, called in self._called(rule.anchor, path)
                if below not in open_paths
            )
            found.append(Step(rule, where, text, calls))
        return tuple(found)

    def _called(self, anchor: Anchor, path: str) -> list[tuple[str, Anchor]]:
        """The rulesets that an anchor goes through. One that nothing in the text fills is empty, as it is once the text is loaded."""
        if anchor.rules:
            return [(_below(path, anchor.name), anchor)]
        name = anchor.path.strip("/")
        bases = [name] if anchor.path.startswith("/") else [_below(path, name), name]
        for base in bases:
            if base.endswith("/*"):
                parent = base.removesuffix("*")
                inside = sorted(one for one in self._by_path if one.startswith(parent) and "/" not in one.removeprefix(parent))
                if inside:
                    return [(one, self._by_path[one]) for one in inside]
            elif base in self._by_path:
                return [(base, self._by_path[base])]
        return []


def _below(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
