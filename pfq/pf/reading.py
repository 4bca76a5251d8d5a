"""The state of a ruleset being read: where in its tokens the parser is, what was said so far, and what it came to.

The parser does in one pass what parse.y does: it reads a statement, resolves what it names, and acts. A statement ends
at its first fault; the reader then goes on at the next line, with yacc's rule of saying only the first of a series of
syntax errors (three tokens must have been accepted before the next one is said).
"""

from .dialects import Dialect
from .hosts import Resolver
from .lexer import END, ERROR, NUMBER, STRING, Lexer, Opener
from .nodes import Anchor, Clause, Rule, Statement, Table
from .system import System

# mypy takes a name like this for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .altq_nodes import Altq, Place
    from .ether import EtherRule

# A ruleset that expands to more rules than this is refused: pfctl would need some 2 GB for it.
MOST_RULES = 400_000
# How many combinations of listed things are looked at for them: most that go together are rules.
_MOST_COMBINATIONS = 10 * MOST_RULES


class Fault(Exception):
    """The statement is given up; what there was to say has been said."""


class SyntaxFault(Fault):
    """The statement is given up at a token that no statement has there."""


class Exit(Exception):
    """pfctl ends here and now, with status 1; what there was to say has been said."""


class Reading:
    """Everything about one run of pfctl: its options, the cursor in the tokens, its output, and the ruleset so far."""

    def __init__(
        self,
        dialect: Dialect,
        system: System,
        name: str,
        text: str,
        open_file: Opener | None,
        verbose: bool,
        stdout: list[str],
        stderr: list[str],
    ) -> None:
        self.dialect = dialect
        self.system = system
        self.verbose = verbose
        self.open_file = open_file
        self.lexer = Lexer(dialect, name, text, open_file)
        self.kinds: list[str] = []
        self.values: list[str] = []
        self.lines: list[int] = []
        self.i = 0
        # The first token of the statement that is read, the innermost one where statements stand in braces.
        self.first = 0
        # How many lists are open around the cursor.
        self.depth = 0
        self.stdout = stdout
        self.stderr = stderr
        self.errors = 0
        self.resolver = Resolver(system, dialect, self.stderr)
        self.keep_tree = False
        self.statements: list[Statement] = []
        # The statements in the braces of the anchor that is read.
        self.inner_statements: list[Statement] = []
        self.clauses: list[tuple[str, int, int]] = []
        self.accepted = 3
        # What `set` changes.
        self.block_policy = "drop"
        self.require_order = dialect.statement_order
        self.order = 0
        self.if_bound = False
        self.state_defaults: list[tuple[str, object]] | None = None
        self.optimize: str | None = None
        self.optimize_fixed = False
        self.reassemble = True
        # The ruleset.
        self.main = Anchor("", "")
        self.anchor_name = ""
        self.stack: list[Anchor] = [self.main]
        self.inline_numbers = 0
        self.inner: Anchor | None = None
        self.rule_count = 0
        self.combinations = 0
        self.table_count = 0
        self.tables: list[Table] = []
        self.loads: list[tuple[str, str]] = []
        self.new_rules: list[Rule] = []
        self.ether_rules: list[EtherRule] = []
        self.altqs: list[Altq] = []
        # By interface and queue name ('': the discipline).
        self.altq_index: dict[tuple[str, str], Altq] = {}
        # The queues announced by name: where each may be defined.
        self.queue_places: dict[str, list[Place]] = {}
        self.root_queues: list[object] = []
        self.child_queues: list[object] = []
        self.child_queue_names: set[str] = set()
        self.result: object = None

    # -- tokens

    def begin(self) -> None:
        """Go to the first token of the next statement."""
        lexer = self.lexer
        lexer.start()
        lexer.fill()
        self.kinds = lexer.kinds
        self.values = lexer.values
        self.lines = lexer.lines
        self.i = 0
        self.first = 0
        self.depth = 0
        self.clauses = []
        self.inner_statements = []

    def newline(self) -> None:
        """Step over line ends inside a list."""
        while self.kinds[self.i] == "\n":
            self.i += 1
            while self.i >= len(self.kinds):
                self.lexer.fill()

    def take(self, kind: str) -> bool:
        """Step over a token of that kind, if there is one."""
        if self.kinds[self.i] == kind:
            self.i += 1
            return True
        return False

    def want(self, kind: str) -> str:
        """The value of a token that must be there."""
        i = self.i
        if self.kinds[i] != kind:
            raise SyntaxFault
        self.i = i + 1
        return self.values[i]

    def at_end(self) -> None:
        """Check that the line ends here, before a statement acts: yacc acts only on what may follow."""
        if self.kinds[self.i] != "\n":
            raise SyntaxFault

    def string(self) -> str:
        """A string."""
        return self.want(STRING)

    def number(self) -> int:
        """A number."""
        return int(self.want(NUMBER))

    def strings(self) -> str:
        """One or more strings, joined by spaces."""
        words = [self.want(STRING)]
        while self.kinds[self.i] == STRING:
            words.append(self.values[self.i])
            self.i += 1
        return " ".join(words)

    def mark(self, name: str, start: int) -> None:
        """Note that the tokens from `start` to here are the clause of that name."""
        self.clauses.append((name, start, self.i))

    # -- messages

    def say(self, message: str, ahead: bool = True) -> None:
        """An error at the token read last; `ahead` when yacc has looked at the next token by then."""
        self.errors += 1
        lexer = self.lexer
        at = self.i if ahead or not self.i else self.i - 1
        line = self.lines[at] if at < len(self.lines) else self.lines[-1]
        self.stderr.append(f"{lexer.origins[-1].source.name}:{line}: {message}\n")

    def fail(self, message: str, ahead: bool = False) -> Fault:
        """Say the error that ends this statement."""
        self.say(message, ahead)
        return Fault()

    def warn(self, message: str) -> None:
        """What pfctl says by warnx(3)."""
        self.stderr.append(f"pfctl: {message}\n")

    def die(self, message: str) -> Exit:
        """What pfctl says by errx(3) as it ends."""
        self.stderr.append(f"pfctl: {message}\n")
        return Exit()

    def show(self, text: str) -> None:
        """A line of `pfctl -v`."""
        if self.verbose:
            self.stdout.append(text)

    # -- errors and statements

    def recover(self, fault: Fault) -> bool:
        """Go on after a fault: to the end of the line, or False at the end of the file."""
        if isinstance(fault, SyntaxFault):
            self._lexer_error()
            if self.accepted + self.i >= 3:
                self.say("syntax error")
        self.errors += 1
        while True:
            kind = self.kinds[self.i]
            if kind == "\n":
                self.i += 1
                # The line end is the first of the three tokens.
                self.accepted = 1 - self.i
                return True
            if kind == END:
                self._lexer_error()
                return False
            if kind == ERROR:
                self._lexer_error()
            self.i += 1
            while self.i >= len(self.kinds):
                self.lexer.fill()

    def _lexer_error(self) -> None:
        """Say what is wrong with the token at the cursor, if it is the lexer that found fault with it; once."""
        if self.kinds[self.i] in (ERROR, END) and self.values[self.i]:
            self.say(self.values[self.i])
            self.values[self.i] = ""

    def end_of_statement(self, kind: str, faulty: bool) -> None:
        """Count the tokens of a statement, and keep its node if the tree is wanted."""
        self.accepted += self.i
        if not self.keep_tree or not self.i:
            return
        last = max(self.i - 2 if self.kinds[self.i - 1] == "\n" else self.i - 1, 0)
        self.first = 0
        statement = self._node(kind, last)
        statement.faulty = faulty
        self.statements.append(statement)

    def inside(self, read: "Callable[[Reading], None]") -> None:
        """Read a statement in an anchor's braces; it gets a node of its own if the tree is wanted."""
        outer = self.first
        self.first = self.i
        if not self.keep_tree:
            read(self)
            self.first = outer
            return
        kind = self.kinds[self.i]
        clauses, rules, result, statements = self.clauses, self.new_rules, self.result, self.inner_statements
        self.clauses, self.new_rules, self.result, self.inner_statements = [], [], None, []
        faulty = True
        try:
            read(self)
            faulty = False
        finally:
            statement = self._node(kind, max(self.i - 1, self.first))
            statement.faulty = faulty
            statements.append(statement)
            rules += self.new_rules
            self.clauses, self.new_rules, self.result, self.inner_statements = clauses, rules, result, statements
            self.first = outer

    def _node(self, kind: str, last: int) -> Statement:
        """The node of the statement that was read, whose last token is `last`."""
        file = self.lexer.source_of(self.first).name
        statement = Statement(kind, file, self.lines[self.first], *self.lexer.span(self.first, last))
        for name, first, after in self.clauses:
            if after > first:
                statement.clauses.append(Clause(name, *self.lexer.span(first, after - 1)))
        statement.rules = self.new_rules
        statement.value = self.result
        statement.inner = self.inner_statements
        for rule in self.new_rules:
            if rule.statement is None:
                rule.statement = statement
        return statement

    def _count_rule(self) -> None:
        self.rule_count += 1
        if self.rule_count > MOST_RULES:
            raise self.die(f"the ruleset expands to more than {MOST_RULES} rules")

    def count_combinations(self, many: int) -> None:
        """Refuse lists that would keep anybody waiting, even if few of their combinations are rules."""
        self.combinations += many
        if self.combinations > _MOST_COMBINATIONS:
            raise self.die(f"the ruleset's lists make more than {_MOST_COMBINATIONS} combinations")

    def add_ether_rule(self, rule: "EtherRule") -> None:
        """Add a rule of the link layer."""
        self._count_rule()
        self.ether_rules.append(rule)

    def add_rule(self, rule: Rule) -> None:
        """Add a rule to the ruleset that is open."""
        self._count_rule()
        rule.line = self.lines[self.first]
        anchor = self.stack[-1]
        rule.number = anchor.matches
        anchor.matches += 1
        anchor.rules.append(rule)
        if self.keep_tree:
            self.new_rules.append(rule)
