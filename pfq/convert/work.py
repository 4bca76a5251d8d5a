"""A conversion at work: the ruleset, the changes made so far, and what was lost."""

from pfq.convert.edits import Edits
from pfq.convert.losses import LOSSES
from pfq.convert.script import Token, Written
from pfq.diagnostics import Severity
from pfq.pf.dialects import Dialect
from pfq.pf.nodes import Rule, Statement
from pfq.pf.verdict import Tree


class Inline(Exception):
    """A macro holds more than what is to be changed: its text must stand in its place first."""

    def __init__(self, token: Token, value: str) -> None:
        super().__init__(token.macro)
        self.start = token.start
        self.end = token.start + len(token.macro)
        self.value = value


class Said:
    """One diagnostic, by its offset in the text."""

    __slots__ = ("code", "hint", "message", "offset", "severity")

    def __init__(self, code: str, offset: int, message: str, hint: str, severity: Severity = "error") -> None:
        self.code = code
        self.offset = offset
        self.message = message
        self.hint = hint
        self.severity = severity


class Work:
    """Everything about one conversion. `renamed` are queues that rules name by another name now; `defined` those that rules may name."""

    def __init__(
        self, text: str, tree: Tree, script: list[Written], source: Dialect, target: Dialect, accept: frozenset[str], known: frozenset[str], name: str,
    ) -> None:
        self.text = text
        self.tree = tree
        self.source = source
        self.target = target
        self.accept = accept
        self.known = known
        self.name = name
        self.edits = Edits(text)
        self.said: list[Said] = []
        self.script = [one for one in script if one.file == name]
        self.elsewhere = [one for one in script if one.file != name]
        self.statements: dict[int, Statement] = {one.start: one for outer in tree.statements for one in outer.every() if one.file == name}
        self.renamed: dict[str, str] = {}
        self.defined: set[str] = set()
        # Converted rules that only work for packets that keep state: the statement, and where they apply.
        self.stateful: list[tuple[Written, list[Rule]]] = []
        self._noted: set[tuple[int, str]] = set()

    # -- text

    def source_of(self, first: Token, last: Token | None = None) -> str:
        """What was written for a token, or from one to another."""
        return self.text[first.start : (last or first).end]

    def own(self, statement: Written, *tokens: Token) -> None:
        """Check that tokens can be changed by themselves. Raises Inline where they came from a macro with others."""
        for token in tokens:
            if token.macro:
                raise Inline(token, statement.macros[token.macro[1:]])

    def drop(self, statement: Written, first: int, last: int) -> None:
        """Take tokens out of a statement."""
        tokens = statement.tokens[first : last + 1]
        self.own(statement, *tokens)
        self.edits.drop(tokens[0].start, tokens[-1].end)

    def append(self, statement: Written, text: str) -> None:
        """Add text at a statement's end."""
        self.own(statement, statement.tokens[-1])
        self.edits.insert(statement.end, f" {text}")

    def above(self, statement: Written, *lines: str) -> None:
        """Write lines above a statement."""
        indent = self.edits.indent(statement.start)
        self.edits.insert(self.edits.line_start(statement.start), "".join(f"{indent}{line}\n" for line in lines))

    def comments_in(self, statement: Written) -> list[str]:
        """The comments between the tokens of a statement, which would go with them."""
        return [
            self.text[start:end].rstrip() for file, start, end in self.tree.comments if file == self.name and statement.start < start < statement.end
        ]

    def rewrite(self, statement: Written, lines: list[str]) -> None:
        """Write other statements for a whole one. Comments inside it are kept above."""
        comments = self.comments_in(statement)
        if comments:
            self.above(statement, *comments)
        self.edits.replace(statement.start, statement.end, f"\n{self.edits.indent(statement.start)}".join(lines))

    def remove(self, statement: Written) -> None:
        """Take a whole statement out."""
        comments = self.comments_in(statement)
        if comments:
            self.above(statement, *comments)
        if comments or self.text[statement.end : self.edits.line_end(statement.end)].strip():
            self.edits.replace(statement.start, statement.end, "")
        else:
            self.edits.remove(self.edits.line_start(statement.start), statement.end)

    # -- diagnostics

    def lose(self, code: str, statement: Written, offset: int, what: str = "") -> None:
        """Note a loss: a comment in the output where it is accepted, else an error. `what` says what exactly is concerned."""
        lost, nearest = LOSSES[code]
        about = f"{what}: " if what else ""
        if code not in self.accept:
            self.said.append(Said(code, offset, f"{about}{self.target.name} has no equal for {lost}", f"nearest: {nearest}; --accept {code} takes that"))
        elif (statement.start, code) not in self._noted:
            self._noted.add((statement.start, code))
            self.above(statement, f"# Accepted {code}: {lost}. Now: {nearest}.")

    def fail(self, code: str, offset: int, message: str, hint: str = "") -> None:
        """Note a fault that nobody can accept."""
        self.said.append(Said(code, offset, message, hint))

    def note(self, code: str, offset: int, message: str) -> None:
        """Note something that is only to be known."""
        self.said.append(Said(code, offset, message, "", "note"))
