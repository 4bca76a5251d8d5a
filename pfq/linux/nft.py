"""nft text, as `nft -f` takes it and as `nft list ruleset` prints it (with -a, -s and without), read into tables.

Sources: nft(8), nftables 1.0.6's parser_bison.y.
"""

from collections.abc import Callable, Mapping, Sequence

from pfq.linux.expressions import Element
from pfq.linux.faults import Faults, Skip
from pfq.linux.nft_cursor import Cursor
from pfq.linux.nft_lexer import Token, tokens
from pfq.linux.nft_names import PRIORITIES, WIDTHS
from pfq.linux.nft_reading import Expressions
from pfq.linux.nft_statements import Statements
from pfq.linux.nft_values import Kind, elements
from pfq.linux.rules import Chain, Family, Hook, NamedSet, Rule, Table, Verdict

_FAMILIES: Mapping[str, Family] = {"ip": "ip", "ip6": "ip6", "inet": "inet", "netdev": "netdev", "arp": "arp"}
_HOOKS = ("ingress", "prerouting", "input", "forward", "output", "postrouting", "egress")
_STATES = frozenset({"counter", "quota", "limit", "ct", "synproxy", "secmark"})


class _Ruleset:
    """Builds the tables of one text. Rules are read last, when every set is known."""

    def __init__(self, name: str, text: str, first_line: int, faults: Faults) -> None:
        self.text = text
        self.faults = faults
        self.tables: dict[tuple[str, str], Table] = {}
        self.waiting: list[tuple[Table, Chain, Sequence[Token]]] = []
        self.cursor = Cursor(_expanded(tokens(name, text, first_line, faults), faults), faults)

    def read(self) -> list[Table]:
        cursor = self.cursor
        while not cursor.done:
            if cursor.now.kind == "end":
                cursor.next()
                continue
            try:
                self._command()
            except Skip:
                cursor.statement()
                cursor.take("}")
        for table, chain, words in self.waiting:
            # A chain that was deleted or flushed has no rules any more.
            if self.tables.get((table.family, table.name)) is table and table.chains.get(chain.name) is chain:
                self._rule(table, chain, words)
        return list(self.tables.values())

    # --- commands

    def _command(self) -> None:
        cursor = self.cursor
        word = cursor.next()
        if word.text == "table":
            self._table()
        elif word.text in ("add", "create"):
            self._add()
        elif word.text in ("delete", "destroy", "flush"):
            self._delete(word)
        else:
            raise cursor.not_modelled(f"the command {word.text!r}", word)

    def _named(self) -> tuple[Family, str]:
        """Family and name of a table; ip is understood."""
        cursor = self.cursor
        word = cursor.now
        family: Family = "ip"
        if word.text in ("bridge",) and cursor.ahead().kind in ("word", "text"):
            raise cursor.not_modelled("tables of the bridge family")
        if word.text in _FAMILIES and cursor.ahead().kind in ("word", "text"):
            family = _FAMILIES[cursor.next().text]
        if cursor.now.kind not in ("word", "text"):
            raise cursor.wrong("the name of a table is missing")
        return family, cursor.next().text

    def _existing(self) -> Table:
        word = self.cursor.now
        family, name = self._named()
        found = self.tables.get((family, name))
        if found is None:
            raise self.faults.syntax(f"there is no table {family} {name}", word.place)
        return found

    def _table(self) -> None:
        cursor = self.cursor
        place = cursor.now.place
        family, name = self._named()
        table = self.tables.setdefault((family, name), Table(family, name, place))
        if cursor.take("{"):
            self._block(lambda: self._member(table))

    def _block(self, each: Callable[[], None]) -> None:
        """Everything up to the closing brace."""
        cursor = self.cursor
        while not cursor.take("}"):
            if cursor.done:
                raise cursor.wrong("'}' is missing")
            if cursor.now.kind == "end":
                cursor.next()
                continue
            try:
                each()
            except Skip:
                cursor.statement()

    def _member(self, table: Table) -> None:
        cursor = self.cursor
        word = cursor.next()
        if word.text == "chain":
            name = cursor.next()
            self._chain(table, name.text, name)
        elif word.text in ("set", "map"):
            self._set(table)
        elif word.text in ("flags", "comment"):
            cursor.statement()
        elif word.text in _STATES:
            # Named counters and the like: what looks at them is refused where it does.
            while not (cursor.at("{") or cursor.done):
                cursor.next()
            cursor.need("{")
            self._block(self._passed)
        else:
            raise cursor.not_modelled(f"{word.text!r} in a table", word)

    def _passed(self) -> None:
        self.cursor.statement()

    def _add(self) -> None:
        cursor = self.cursor
        word = cursor.next()
        if word.text == "table":
            self._table()
            return
        if word.text not in ("chain", "set", "map", "rule", "element"):
            raise cursor.not_modelled(f"add {word.text}", word)
        table = self._existing()
        if word.text == "chain":
            name = cursor.next()
            self._chain(table, name.text, name)
        elif word.text in ("set", "map"):
            self._set(table)
        elif word.text == "rule":
            name = cursor.next()
            chain = table.chains.get(name.text)
            if chain is None:
                raise self.faults.syntax(f"there is no chain {name.text}", name.place)
            self.waiting.append((table, chain, cursor.statement()))
        else:
            name = cursor.next()
            found = table.sets.get(name.text)
            if found is None:
                raise self.faults.syntax(f"there is no set {name.text}", name.place)
            self._elements(found)

    def _delete(self, word: Token) -> None:
        cursor = self.cursor
        what = cursor.next()
        if what.text == "ruleset":
            self.tables.clear()
            return
        if what.text == "table":
            found = self.tables.get(self._named())
            if found is None:
                return
            if word.text == "flush":
                found.chains = {name: Chain(name, chain.place, chain.hook) for name, chain in found.chains.items()}
            else:
                del self.tables[found.family, found.name]
            return
        if what.text == "chain":
            table = self._existing()
            chain = table.chains.pop(cursor.next().text, None)
            if chain is not None and word.text == "flush":
                table.chains[chain.name] = Chain(chain.name, chain.place, chain.hook)
            return
        raise cursor.not_modelled(f"{word.text} {what.text}", word)

    # --- chains

    def _chain(self, table: Table, name: str, word: Token) -> None:
        chain = table.chains.setdefault(name, Chain(name, word.place))
        if self.cursor.take("{"):
            self._block(lambda: self._in_chain(table, chain))

    def _in_chain(self, table: Table, chain: Chain) -> None:
        cursor = self.cursor
        if cursor.at("type"):
            chain.hook = self._hook()
        elif cursor.at("policy"):
            word = cursor.next()
            if chain.hook is None:
                raise self.faults.syntax("a policy stands behind the hook", word.place)
            kind, hook, priority, devices = chain.hook.kind, chain.hook.hook, chain.hook.priority, chain.hook.devices
            chain.hook = Hook(kind, hook, priority, cursor.next().text == "accept", devices)
        elif cursor.at("comment", "flags"):
            cursor.statement()
        else:
            self.waiting.append((table, chain, cursor.statement()))

    def _hook(self) -> Hook:
        cursor = self.cursor
        cursor.next()
        kind = cursor.next()
        cursor.need("hook")
        hook = cursor.next()
        if kind.text not in ("filter", "nat", "route") or hook.text not in _HOOKS:
            raise cursor.not_modelled(f"a chain of type {kind.text} at {hook.text}", hook)
        devices: list[str] = []
        if cursor.take("device"):
            devices.append(cursor.next().text)
        elif cursor.take("devices"):
            cursor.need("=")
            cursor.need("{")
            while not cursor.take("}"):
                devices.append(cursor.next().text)
                cursor.take(",")
        cursor.need("priority")
        return Hook(kind.text, hook.text, self._priority(), True, tuple(devices))  # type: ignore[arg-type]

    def _priority(self) -> int:
        cursor = self.cursor
        base = 0
        if cursor.now.kind == "word":
            word = cursor.next()
            if word.text not in PRIORITIES:
                raise cursor.not_modelled(f"the priority {word.text}", word)
            base = PRIORITIES[word.text]
            if not cursor.at("+", "-"):
                return base
        sign = -1 if cursor.take("-") else 1
        cursor.take("+")
        return base + sign * cursor.number()

    def _rule(self, table: Table, chain: Chain, words: Sequence[Token]) -> None:
        if not words:
            return
        end = Token("", "", words[-1].place, words[-1].stop, words[-1].stop)
        cursor = Cursor([*words, end], self.faults)
        try:
            statements = Statements(cursor, table.family, table.sets).read()
        except Skip:
            return
        if statements:
            text = " ".join(self.text[words[0].start : words[-1].stop].split())
            chain.rules.append(Rule(statements, words[0].place, text))

    # --- sets

    def _set(self, table: Table) -> None:
        cursor = self.cursor
        word = cursor.next()
        found = table.sets[word.text] = NamedSet(word.text, word.place)
        if cursor.take("{"):
            self._block(lambda: self._in_set(table, found))

    def _in_set(self, table: Table, found: NamedSet) -> None:
        cursor = self.cursor
        word = cursor.next()
        if word.text == "type":
            found.kinds = self._kinds()
            if cursor.take(":"):
                self._values(found, self._verdicts() or self._kinds())
        elif word.text == "typeof":
            expressions = Expressions(cursor, table.family, table.sets)
            found.kinds = expressions.left().kinds
            if cursor.take(":"):
                self._values(found, self._verdicts() or expressions.left().kinds)
        elif word.text == "elements":
            cursor.need("=")
            self._elements(found)
        elif word.text == "flags":
            said = {each.text for each in cursor.statement()}
            if said & {"dynamic", "timeout"}:
                raise cursor.not_modelled(f"the set {found.name}, which packets or time change", word)
        elif word.text in ("size", "auto-merge", "policy", "comment", "counter"):
            cursor.statement()
        else:
            raise cursor.not_modelled(f"{word.text!r} in a set", word)

    def _verdicts(self) -> tuple[Kind, ...]:
        return (("verdict", 0),) if self.cursor.take("verdict") else ()

    @staticmethod
    def _values(found: NamedSet, kinds: tuple[Kind, ...]) -> None:
        if kinds == (("verdict", 0),):
            found.verdicts = True
        else:
            found.values = kinds

    def _kinds(self) -> tuple[Kind, ...]:
        cursor = self.cursor
        kinds: list[Kind] = []
        while True:
            word = cursor.next()
            if word.text not in WIDTHS:
                raise cursor.not_modelled(f"a set of {word.text}", word)
            kinds.append((word.text, WIDTHS[word.text]))
            if not cursor.take("."):
                return tuple(kinds)

    def _elements(self, found: NamedSet) -> None:
        if not found.kinds:
            raise self.cursor.wrong("the set's type must stand before its elements")
        pairs: list[tuple[Element, Element | Verdict | None]] = elements(self.cursor, found.kinds, found.values or None, found.verdicts)
        found.elements += pairs


def _expanded(words: list[Token], faults: Faults) -> list[Token]:
    """The words with `define`s carried out."""
    defined: dict[str, list[Token]] = {}
    found: list[Token] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word.kind == "word" and word.text in ("define", "redefine") and at + 2 < len(words) and words[at + 2].text == "=":
            name, at, depth = words[at + 1].text, at + 3, 0
            value: list[Token] = []
            while words[at].kind and (depth or words[at].kind != "end"):
                depth += (words[at].text == "{") - (words[at].text == "}")
                value += defined.get(words[at].text[1:], [words[at]]) if words[at].kind == "variable" else [words[at]]
                at += 1
            defined[name] = value
            continue
        if word.kind == "variable":
            own = defined.get(word.text[1:])
            if own is None:
                try:
                    raise faults.syntax(f"{word.text} is not defined", word.place)
                except Skip:
                    own = []
            found += [Token(each.kind, each.text, word.place, word.start, word.stop) for each in own]
        else:
            found.append(word)
        at += 1
    return found


def read_nft(name: str, text: str, first_line: int, faults: Faults) -> list[Table]:
    """The tables of a text; what cannot be used is noted in `faults`."""
    found = _Ruleset(name, text, first_line, faults).read()
    _check_jumps(found, faults)
    return found


def _check_jumps(tables: list[Table], faults: Faults) -> None:
    """Every chain that is jumped to must be there, and none may lead back to itself."""
    for table in tables:
        for chain in table.chains.values():
            for rule in chain.rules:
                for name in targets(rule):
                    if name not in table.chains:
                        _note(faults, f"there is no chain {name}", rule)
        for rule in _loops(table):
            _note(faults, "chains lead back to where they come from", rule)


def _note(faults: Faults, message: str, rule: Rule) -> None:
    try:
        raise faults.syntax(message, rule.place)
    except Skip:
        return


def targets(rule: Rule) -> list[str]:
    """The chains that a rule leads to."""
    found = []
    for statement in rule.statements:
        if isinstance(statement, Verdict) and statement.chain:
            found.append(statement.chain)
        elements = getattr(statement, "elements", ())
        found += [mapped.chain for _, mapped in elements if isinstance(mapped, Verdict) and mapped.chain]
    return found


def _loops(table: Table) -> list[Rule]:
    """Rules that close a circle of chains."""
    done: set[str] = set()
    found: list[Rule] = []

    def walk(name: str, above: tuple[str, ...]) -> None:
        if name in done or name not in table.chains:
            return
        for rule in table.chains[name].rules:
            for target in dict.fromkeys(targets(rule)):
                if target in (*above, name):
                    found.append(rule)
                else:
                    walk(target, (*above, name))
        done.add(name)

    for name in table.chains:
        walk(name, ())
    return found
