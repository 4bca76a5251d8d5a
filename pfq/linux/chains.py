"""Chains of nft rules over all packets at once. Sources: nf_tables_core.c nft_do_chain, nft_ct.c, nft_meta.c, nft_nat.c (Linux 6.1)."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from pfq.headers.algebra import Condition
from pfq.headers.asking import Decision
from pfq.headers.bits import any_of, choose, constant
from pfq.headers.decide import decide
from pfq.headers.fields import TOS
from pfq.linux.compare import Comparison, equals, one_of, widths_of
from pfq.linux.expressions import Binary, Concatenation, Constant, Ct, Expression, Lookup, Meta
from pfq.linux.rules import Assign, AssignTos, Chain, Match, Notrack, Rule, Statement, Table, Translate, Verdict, VerdictMap
from pfq.linux.state import Packet
from pfq.linux.why import why

# Below this many rules in a row, one after the other is as quick.
_FEW = 3
_ENDS = ("accept", "drop", "reject", "return", "goto")


class Translated(NamedTuple):
    """Where a NAT statement decided."""

    where: Condition
    statement: Translate


class Walk:
    """A packet's way through the chains of a table."""

    def __init__(self, table: Table, packet: Packet) -> None:
        self.table = table
        self.packet = packet
        self.algebra = packet.view.algebra
        self.comparison = Comparison(packet)
        self.accepted = self.algebra.nothing
        self.refused = self.algebra.nothing
        self.translated: list[Translated] = []

    def base(self, chain: Chain, entering: Condition) -> None:
        """A base chain: what it drops is in `refused`, and everything else goes on."""
        through = self._chain(chain, entering)
        hook = chain.hook
        if hook is not None and not hook.accepts:
            self.refused = self.refused | through
            said = "no rule of the chain takes it, and the chain's policy drops it"
            self.packet.note(through, Decision(chain.place, f"chain {chain.name} policy drop", said))

    def _chain(self, chain: Chain, entering: Condition) -> Condition:
        """Where a packet comes to the chain's end without a verdict."""
        alive, through = entering, self.algebra.nothing
        at, rules = 0, chain.rules
        while at < len(rules) and alive.satisfiable():
            count = _alike(rules, at)
            if count >= _FEW:
                alive, back = self._in_a_row(rules[at : at + count], alive)
                at += count
            else:
                alive, back = self._rule(rules[at], alive)
                at += 1
            through = through | back
        return through | alive

    # --- one rule

    def _rule(self, rule: Rule, alive: Condition) -> tuple[Condition, Condition]:
        """Where it goes on with the next rule, and where it leaves the chain without a verdict."""
        here = alive
        for statement in rule.statements:
            if not here.satisfiable():
                break
            if isinstance(statement, Match):
                here = here & self._match(statement)
            elif isinstance(statement, Verdict):
                self._say(rule, here, statement)
                return self._verdict(statement, here, alive)
            elif isinstance(statement, VerdictMap):
                return self._mapped(rule, statement, here, alive)
            else:
                taken = self._act(statement, here)
                self._say(rule, taken, statement)
                if isinstance(statement, Translate):
                    self.accepted = self.accepted | here
                    return alive & ~here, self.algebra.nothing
        return alive, self.algebra.nothing

    def _verdict(self, verdict: Verdict, here: Condition, alive: Condition) -> tuple[Condition, Condition]:
        rest, nothing = alive & ~here, self.algebra.nothing
        match verdict.kind:
            case "accept":
                self.accepted = self.accepted | here
            case "drop" | "reject":
                self.refused = self.refused | here
            case "return":
                return rest, here
            case "goto":
                return rest, self._chain(self.table.chains[verdict.chain], here)
            case "jump":
                return rest | self._chain(self.table.chains[verdict.chain], here), nothing
            case "continue":
                return alive, nothing
        return rest, nothing

    def _mapped(self, rule: Rule, statement: VerdictMap, here: Condition, alive: Condition) -> tuple[Condition, Condition]:
        algebra = self.algebra
        key, ok = self.comparison.value(statement.key)
        here = here & ok
        widths = widths_of(statement.key)
        verdicts = list(dict.fromkeys(verdict for _, verdict in statement.elements))
        last = statement.elements[-1][0] if statement.elements else ()
        if any(interval.low == 0 and interval.high + 1 == 1 << width for interval, width in zip(last, widths, strict=False)):
            cases = decide(algebra, [(equals(algebra, key, widths, e), v, True) for e, v in statement.elements], None)
            found = {verdict: cases[verdict] for verdict in verdicts if verdict in cases}
        else:
            found = {v: one_of(algebra, key, widths, [e for e, own in statement.elements if own == v]) for v in verdicts}
        rest, back = alive & ~(here & any_of(algebra, found.values())), algebra.nothing
        for verdict, where in found.items():
            taken = here & where
            if taken.satisfiable():
                self._say(rule, taken, verdict)
                on, out = self._verdict(verdict, taken, taken)
                rest, back = rest | on, back | out
        return rest, back

    def _match(self, match: Match) -> Condition:
        if _reads(match):
            return self.comparison.match(match)
        # What the packet itself says is the same wherever it is asked, until it is translated.
        view = self.packet.view
        known = self.packet.compared
        found = known.get(id(match))
        if found is None or found[0] is not view:
            found = known[id(match)] = view, self.comparison.match(match)
        return found[1]

    def _act(self, statement: Statement, here: Condition) -> Condition:
        """Carry out a statement that changes something; returns where it did."""
        packet = self.packet
        match statement:
            case Assign():
                bits, ok = self.comparison.value(statement.value)
                here = here & ok
                bits = constant(self.algebra, 0, max(0, 32 - len(bits))) + bits
                if statement.target == "mark":
                    packet.mark = choose(here, bits, packet.mark)
                elif statement.target == "priority":
                    packet.priority = choose(here, bits, packet.priority)
                else:
                    here = here & packet.tracked
                    packet.ct_mark = choose(here, bits, packet.ct_mark)
            case AssignTos():
                here = here & (packet.layout.six if statement.version == 6 else ~packet.layout.six)
                bits, ok = self.comparison.value(statement.value)
                here = here & ok
                old = packet.view.bits[TOS]
                new = (*bits[-6:], *old[6:]) if statement.mask == 0xFC else (*old[:6], *bits[-2:])
                packet.change(here, TOS, new)
            case Notrack():
                if not packet.seen_by_conntrack:
                    packet.untracked = packet.untracked | here
            case Translate():
                self.translated.append(Translated(here, statement))
        return here

    def _say(self, rule: Rule, where: Condition, statement: Statement) -> None:
        view = self.packet.view
        if view.notes is not None and where.satisfiable():
            self.packet.note(where, Decision(rule.place, rule.text, why(rule, statement, self.packet)))
        elif view.regions is not None:
            # What it does to all of these packets is no sentence about one.
            view.note(where, rule.place, rule.text, "")

    # --- many rules that only look at the packet, at once

    def _in_a_row(self, rules: Sequence[Rule], alive: Condition) -> tuple[Condition, Condition]:
        """Rules of which the first that matches decides, or (without verdicts) the last."""
        algebra = self.algebra
        quick = isinstance(rules[0].statements[-1], Verdict)
        # Rules that do the same are one, unless somebody wants to know which of them it was.
        told = self.packet.view.wants_notes
        steps: list[tuple[Condition, Hashable, bool]] = []
        for number, rule in enumerate(rules):
            here = algebra.everything
            for statement in rule.statements:
                if isinstance(statement, Match):
                    here = here & self._match(statement)
            steps.append((here, (_effects(rule), number if told else None), quick))
        rest, back = alive, algebra.nothing
        for outcome, where in decide(algebra, steps, ()).items():
            taken = alive & where
            if not outcome or not taken.satisfiable():
                continue
            rule = rules[[step[1] for step in steps].index(outcome)]
            effects = _effects(rule)
            for statement in effects:
                if isinstance(statement, Verdict):
                    self._say(rule, taken, statement)
                    _, out = self._verdict(statement, taken, taken)
                    back = back | out
                else:
                    self._say(rule, self._act(statement, taken), statement)
            if quick:
                rest = rest & ~taken
        return rest, back


# --- which rules can be taken together


def _effects(rule: Rule) -> tuple[Statement, ...]:
    return tuple(statement for statement in rule.statements if not isinstance(statement, Match))


def _reads(match: Match) -> frozenset[str]:
    """What a comparison looks at that rules can change or that hangs on the place: mark, priority, ct."""
    found = set(_looked_at(match.left))
    if not isinstance(match.right, tuple):
        found |= _looked_at(match.right)
    return frozenset(found)


def _looked_at(expression: Expression) -> set[str]:
    match expression:
        case Meta():
            return {expression.key} if expression.key in ("mark", "priority", "iifname", "oifname") else set()
        case Ct():
            return {"ct mark" if expression.key == "mark" else "ct"}
        case Concatenation():
            return set().union(*(_looked_at(part) for part in expression.parts))
        case Binary():
            return _looked_at(expression.left) | _looked_at(expression.right)
        case Lookup():
            return _looked_at(expression.key)
    return set()


def _kind(rule: Rule) -> tuple[str, ...]:
    """Rules of one kind in a row can be taken together: those that end with a verdict, or those that set the same things to numbers. () is none."""
    effects = _effects(rule)
    if any(isinstance(statement, Match) for statement in rule.statements[len(rule.statements) - len(effects) :]):
        return ()
    last = effects[-1]
    sets = effects[:-1] if isinstance(last, Verdict) else effects
    if not all(isinstance(each, Assign) and isinstance(each.value, Constant) for each in sets):
        return ()
    if isinstance(last, Verdict):
        return ("ends",) if last.kind in _ENDS else ()
    return tuple(each.target for each in sets if isinstance(each, Assign))


def _alike(rules: Sequence[Rule], at: int) -> int:
    """How many rules from `at` on can be taken together."""
    kind = _kind(rules[at])
    count = 0
    changed = set(kind) - {"ends"}
    while kind and at + count < len(rules):
        rule = rules[at + count]
        if _kind(rule) != kind:
            break
        if changed and any(_reads(each) & changed for each in rule.statements if isinstance(each, Match)):
            break
        count += 1
    return count

