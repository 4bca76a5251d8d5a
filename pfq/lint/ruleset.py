"""A ruleset as lint rules see it: its texts, statements, rules, and queues, with the place of each in the text.

The one module of `pfq.lint` that knows how `pfq.pf` keeps them.
"""

from pfq.pf.dialects import Dialect
from pfq.pf.dialects import dialect as dialect_of
from pfq.pf.nodes import Anchor, Rule, Statement
from pfq.pf.verdict import Tree, read, read_text

from .finding import Finding, Fix, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.pf.altq_nodes import Altq
    from pfq.pf.queues import Queue
    from pfq.pf.system import System

_FILTER = ("pass", "block", "match")


def _in_name(character: str) -> bool:
    return character.isalnum() or character in "_.-"


class Place:
    """A span of a file."""

    __slots__ = ("end", "file", "start")

    def __init__(self, file: str, start: int, end: int) -> None:
        self.file = file
        self.start = start
        self.end = end

    def finding(self, message: str, hint: str = "", fix: "Fix | None" = None, covers: tuple[str, ...] = (), severity: str = "") -> Finding:
        """A finding here; what its rule's severity is, unless it is said."""
        return Finding(self.file, self.start, self.end, message, hint, fix, covers, severity=severity)


def _system(path: str, name: str) -> "System":
    from pfq.pf.system import load_system

    chosen = dialect_of(name)
    return load_system(path, chosen.family, chosen.release)


class Ruleset:
    """A ruleset that was read. `texts` are all files it consists of, by name; `whole` tells whether pfctl accepts it.

    `system_file` describes the machine the ruleset is for, see `pfq.pf.system`. Raises UnknownDialect, and what `load_system` raises.
    """

    def __init__(
        self,
        file: str,
        text: str,
        dialect: str,
        macros: dict[str, str] | None = None,
        system_file: str = "",
    ) -> None:
        self.file = file
        self.texts: dict[str, Text] = {file: Text(file, text)}
        system = _system(system_file, dialect) if system_file else None
        self.tree: Tree = read(text, dialect, macros=macros, system=system, file_name=file, open_file=self._open)
        self.dialect: Dialect = self.tree.reading.dialect
        self.macros = frozenset(macros or ())
        self.whole = self.tree.verdict.status == 0
        self._rules: list[Rule] | None = None
        self._lists: list[list[Rule]] = []
        self._defining: dict[tuple[str, str, int], Statement] | None = None
        # What `pfq.lint.shadow` found: two rules ask for it.
        self.shadows: list[tuple[Rule, Rule, bool]] | None = None

    def _open(self, name: str) -> str:
        text = read_text(name)
        self.texts.setdefault(name, Text(name, text))
        return text

    @property
    def statements(self) -> list[Statement]:
        """Every statement of the main ruleset, those in the braces of anchors included, in the order of reading."""
        return [one for statement in self.tree.statements for one in statement.every()]

    def statements_of(self, *kinds: str) -> list[Statement]:
        """The statements that begin with one of these words."""
        return [one for one in self.statements if one.kind in kinds]

    def source(self, statement: Statement) -> str:
        """The text of a statement."""
        return self.texts[statement.file].text[statement.start : statement.end]

    # -- rules

    def rules(self) -> list[Rule]:
        """Every pass, block, and match rule, in order: those of anchors with their rules in braces too, then those of loaded files."""
        if self._rules is None:
            self._rules = []
            self._walk(self.tree.reading.main)
            for loaded in self.tree.loaded:
                self._walk(loaded.main)
        return self._rules

    def lists(self) -> list[list[Rule]]:
        """The rules of each ruleset that is evaluated in one go: the main one, each anchor in braces, each loaded file."""
        self.rules()
        return self._lists

    def _walk(self, anchor: Anchor) -> None:
        rules = self._rules
        assert rules is not None
        here: list[Rule] = []
        self._lists.append(here)
        for rule in anchor.rules:
            if rule.anchor is not None:
                here.append(rule)
                self._walk(rule.anchor)
            elif rule.action in _FILTER:
                here.append(rule)
                rules.append(rule)

    def translations(self) -> list[Rule]:
        """The nat, rdr, and binat rules of the older syntax."""
        return [rule for rule in self.tree.reading.main.rules if rule.action in ("nat", "rdr", "binat") and rule.anchor is None]

    def open_anchors(self) -> bool:
        """Whether there are anchors that are filled from elsewhere: nobody knows what those rules name."""
        if self.tree.reading.loads:
            return True
        return any(rule.anchor is not None and not rule.anchor.inline for rule in self.every_rule())

    def _every_rule(self, anchor: Anchor) -> list[Rule]:
        found = list(anchor.rules)
        for rule in anchor.rules:
            if rule.anchor is not None:
                found += self._every_rule(rule.anchor)
        return found

    def every_rule(self) -> list[Rule]:
        """Every rule of any kind, anchors' own and those of loaded files included."""
        return [rule for reading in (self.tree.reading, *self.tree.loaded) for rule in self._every_rule(reading.main)]

    # -- queues

    def disciplines(self) -> "list[Altq]":
        """What altq statements define: disciplines (name '') and queues, of all interfaces."""
        return self.tree.reading.altqs

    def announced(self) -> list[tuple[str, str]]:
        """Queues that an altq or queue statement lists, each with its interface; they may never be defined."""
        return [(name, place.interface) for name, places in self.tree.reading.queue_places.items() for place in places]

    def roots(self) -> "list[Queue]":
        """The root queues of the queue syntax."""
        if not self.tree.reading.root_queues:
            return []
        from pfq.pf.queues import roots

        return roots(self.tree.reading)

    def children(self) -> "list[Queue]":
        """The queues with a parent of the queue syntax."""
        if not self.tree.reading.child_queues:
            return []
        from pfq.pf.queues import children

        return children(self.tree.reading)

    def every_queue(self) -> "list[Queue]":
        """The queues of the queue syntax as they stand in their trees: one that is under several roots is there several times."""
        found = []
        left = list(self.roots())
        while left:
            queue = left.pop()
            found.append(queue)
            left += queue.children
        return found

    def interfaces_of_queues(self) -> dict[str, set[str]]:
        """The interfaces on which there is a queue of a name."""
        found: dict[str, set[str]] = {}
        for altq in self.disciplines():
            if altq.name:
                found.setdefault(altq.name, set()).add(altq.interface)
        for root in self.roots():
            left = [root]
            while left:
                queue = left.pop()
                found.setdefault(queue.name, set()).add(root.interface)
                left += queue.children
        return found

    def statement_of(self, kind: str, name: str, line: int = 0) -> Statement | None:
        """The altq or queue statement that defines a queue (`name` '' for a discipline), the first one where no line is given."""
        if self._defining is None:
            self._defining = {}
            for statement in self.statements_of("altq", "queue"):
                named = str(getattr(statement.value, "name", "")) if statement.kind == "queue" else ""
                self._defining.setdefault((statement.kind, named, statement.line), statement)
                self._defining.setdefault((statement.kind, named, 0), statement)
        return self._defining.get((kind, name, line))

    def queue_names(self) -> list[str]:
        """The names of all queues that are defined, each once."""
        names = [queue.name for queue in self.disciplines() if queue.name and not queue.root]
        return list(dict.fromkeys(names + [queue.name for queue in (*self.roots(), *self.children())]))

    def used_queues(self) -> set[str]:
        """The names of queues that rules assign packets to."""
        found = set()
        for rule in self.rules():
            found.add(rule.queue)
            found.add(rule.ack_queue)
        return found - {""}

    # -- places

    def whole_place(self, statement: Statement) -> Place:
        """A statement."""
        return Place(statement.file, statement.start, statement.end)

    def clause(self, statement: Statement, *names: str) -> Place:
        """The first clause with one of these names; the statement where it has none."""
        for clause in statement.clauses:
            if clause.name in names and clause.end > clause.start:
                return Place(statement.file, clause.start, clause.end)
        return self.whole_place(statement)

    def word(self, statement: Statement, word: str, *clauses: str) -> Place:
        """A word in one of the named clauses (in the statement where none is named); the clause where a macro hides it."""
        within = self.clause(statement, *clauses) if clauses else self.whole_place(statement)
        text = self.texts[statement.file].text
        at = text.find(word, within.start, within.end) if word else -1
        while at >= 0:
            after = at + len(word)
            if not (at and _in_name(text[at - 1])) and not (after < within.end and _in_name(text[after])):
                return Place(statement.file, at, after)
            at = text.find(word, after, within.end)
        return within

    def place(self, rule: Rule, *clauses: str) -> Place:
        """A rule, or one of its clauses."""
        statement = rule.statement
        if statement is None:
            return self.line(rule.line)
        return self.clause(statement, *clauses, "head")

    def line_of(self, rule: Rule, beside: Rule) -> str:
        """How to name a rule's line in a message about another rule: `line 5`, with the file where that is not the same."""
        if rule.statement is None or beside.statement is None or rule.statement.file == beside.statement.file:
            return f"line {rule.line}"
        return f"line {rule.line} of {rule.statement.file}"

    def name_in(self, rule: Rule, name: str, *clauses: str) -> Place:
        """A name that a rule uses."""
        if rule.statement is None:
            return self.place(rule, *clauses)
        return self.word(rule.statement, name, *clauses)

    def line(self, number: int, file: str = "") -> Place:
        """A line of a file."""
        name = file if file in self.texts else self.file
        return Place(name, *self.texts[name].line_span(number))
