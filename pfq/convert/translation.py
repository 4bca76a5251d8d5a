"""`nat`, `rdr` and `binat` statements as match rules with nat-to, rdr-to and binat-to; with `pass`, as quick pass rules.

The older pf translates first: the first translation rule that matches, and no other; then filter rules see the translated packet. A match rule
translates where it stands, so the rules below it see the translated packet too; what comes after is evaluated all the same. Where a later rule could
translate again, the first one leaves a tag, and the later one asks that it is not there.
Sources: pf_get_translation and pf_match_translation of pf.c (OpenBSD 4.4), pf_match_rule and pf_get_transaddr (7.6).
"""

from pfq.convert.overlap import may_meet
from pfq.convert.script import Written
from pfq.convert.work import Work
from pfq.pf.nodes import ANY, Host, Pool, Rule

KINDS = ("nat", "rdr", "binat")
ANCHORS = ("nat-anchor", "rdr-anchor", "binat-anchor")
_DIRECTION = {"nat": "out", "rdr": "in", "binat": ""}
_TAG = "pfq_first_"


class Statement:
    """A translation statement: its rules as they meet packets, one for each direction."""

    def __init__(self, work: Work, written: Written) -> None:
        self.written = written
        self.negated = written.tokens[0].kind == "no"
        self.at = int(self.negated)
        self.kind = written.tokens[self.at].kind
        self.passes = written.tokens[self.at + 1].kind == "pass"
        self.rules = work.statements[written.start].rules
        self.first = self.later = self.split = False
        self.sides: set[str] = set()
        self.tag = ""
        self.untagged = ""
        self.before: list[Rule] = []
        self.after: list[tuple[Rule, Pool]] = []
        for rule in self.rules:
            self._views(rule)

    def _views(self, rule: Rule) -> None:
        out = rule.copy()
        out.direction = "out" if self.kind in ("nat", "binat") else "in"
        self.before.append(out)
        if rule.pool is not None:
            for host in rule.pool.hosts:
                new = out.copy()
                if self.kind == "rdr":
                    new.destination, new.destination_port = host, None
                else:
                    new.source, new.source_port = host, None
                self.after.append((new, rule.pool))
        if self.kind != "binat":
            return
        back = rule.copy()
        back.direction = "in"
        back.source = rule.destination
        # `no binat` names no outer address: whatever comes in is concerned.
        back.destination = rule.pool.hosts[0] if rule.pool is not None else ANY
        self.before.append(back)
        if rule.pool is not None:
            new = back.copy()
            new.destination = rule.source
            self.after.append((new, rule.pool))

    def spoils(self, later: "Statement") -> set[str]:
        """In which directions a match rule below would act on packets that this one was the first for."""
        if self.passes:
            return set()
        if self.negated:
            # `no binat` keeps packets from binat rules alone; so do `no nat` and `no rdr` with theirs.
            return {a.direction for a in self.before for b in later.before if self.kind == later.kind and may_meet(a, b)}
        return {
            after.direction
            for after, pool in self.after
            for other, other_pool in zip(later.before, _pools(later), strict=True)
            if may_meet(after, other) and not _same_pool(pool, other_pool)
        }

    def overtakes(self, later: "Statement") -> bool:
        """Whether this one acts on packets that the older pf leaves to one further down: binat before nat, rdr before binat."""
        if self.negated or later.negated or {self.kind, later.kind} not in ({"nat", "binat"}, {"rdr", "binat"}):
            return False
        side = "out" if self.kind == "nat" else "in" if self.kind == "binat" and later.kind == "rdr" else ""
        return bool(side) and any(may_meet(a, b) for a in self.before for b in later.before if a.direction == b.direction == side)


def _pools(statement: Statement) -> list[Pool | None]:
    """The pool of each of a statement's views."""
    each = 2 if statement.kind == "binat" else 1
    return [rule.pool for rule in statement.rules for _ in range(each)]


def _host_key(host: Host) -> tuple[object, ...]:
    return host.kind, host.af, host.value, host.bits, host.end, host.name, host.modifiers


def _same_pool(a: Pool, b: Pool | None) -> bool:
    """Whether translating a second time comes to the same."""
    if b is None or (a.low, a.high, a.kind, a.key) != (b.low, b.high, b.kind, b.key):
        return False
    return [_host_key(host) for host in a.hosts] == [_host_key(host) for host in b.hosts]


def translation_kind(statement: Written) -> str:
    """Which kind of translation a statement is, or ''."""
    kind = statement.kind
    if kind == "no" and len(statement.tokens) > 1:
        kind = statement.tokens[1].kind
    return kind if kind in KINDS else ""


def convert_translation(work: Work) -> None:
    """Rewrite the translation statements of a source that has them."""
    found = [Statement(work, one) for one in work.script if translation_kind(one)]
    _keep_first_match(work, found)
    for statement in found:
        _rewrite(work, statement)
        if not statement.passes and not statement.negated:
            work.stateful.append((statement.written, statement.before))
    _anchors(work)


def _keep_first_match(work: Work, found: list[Statement]) -> None:
    """Tags for the rules of which only the first may act: one for all that have to do with each other."""
    free = not any(token.kind in ("tag", "tagged") for one in (*work.script, *work.elsewhere) for token in one.tokens)
    groups = {id(one): index for index, one in enumerate(found)}
    for index, first in enumerate(found):
        for later in found[index + 1 :]:
            line = later.written.line
            if first.overtakes(later):
                what = f"the {later.kind} rule in line {line} comes before this one wherever it stands (better move it above this one)"
                work.lose("first-match", first.written, first.written.start, what)
            sides = first.spoils(later)
            if not sides:
                continue
            if not free:
                work.lose("first-match", first.written, first.written.start, f"the rule in line {line} may act on the same packets, and tags are used already")
                continue
            first.sides |= sides
            first.first = later.later = True
            old, new = groups[id(later)], groups[id(first)]
            groups = {key: new if group == old else group for key, group in groups.items()}
    numbers: dict[int, int] = {}
    for statement in found:
        if not statement.first and not statement.later:
            continue
        tag = f"{_TAG}{numbers.setdefault(groups[id(statement)], len(numbers) + 1)}"
        statement.tag = tag if statement.first else ""
        statement.untagged = tag if statement.later else ""
        statement.split = statement.first and statement.kind == "binat" and _splits(statement)
        if statement.first and statement.kind == "binat" and not statement.split:
            what = "its tag is for both directions, so that what comes in and leaves by the same interface is not translated again"
            work.lose("first-match", statement.written, statement.written.start, what)


def _splits(statement: Statement) -> bool:
    """Whether a binat rule can be written as one rule for each direction: one address to one, and a tag in one of them."""
    return not statement.negated and len(statement.sides) == 1 and all(
        rule.source.bits in (32, 128) and rule.pool is not None and rule.pool.hosts[0].bits in (32, 128) for rule in statement.rules
    )


def _split(work: Work, statement: Statement) -> None:
    """The two rules that pf makes of a binat-to, the tag on one."""
    written = statement.written
    tokens = written.tokens
    work.own(written, *tokens)
    source, destination, arrow = written.find("from"), written.find("to"), written.find("->")
    end = next((at for at in (written.find("tag", "tagged", "rtable"),) if at > 0), arrow)
    head = f"{work.source_of(tokens[statement.at + 1], tokens[source - 1])} " if source > statement.at + 1 else ""
    inner = work.source_of(tokens[source + 1], tokens[(destination if destination > 0 else end) - 1])
    other = work.source_of(tokens[destination + 1], tokens[end - 1]) if destination > 0 else "any"
    outer = work.source_of(tokens[arrow + 1], tokens[-1])
    guard = f" ! tagged {statement.untagged}" if statement.untagged else ""
    tags = {side: f" tag {statement.tag}" if side in statement.sides else "" for side in ("out", "in")}
    work.rewrite(written, [
        f"match out {head}from {inner} to {other} nat-to {outer} static-port{guard}{tags['out']}",
        f"match in {head}from {other} to {outer} rdr-to {inner}{guard}{tags['in']}",
    ])


def _rewrite(work: Work, statement: Statement) -> None:
    written = statement.written
    if statement.split:
        _split(work, statement)
        return
    tokens = written.tokens
    last = statement.at + statement.passes
    work.own(written, *tokens[: last + 1])
    words = ["pass" if statement.passes else "match", _DIRECTION[statement.kind], "quick" if statement.passes else ""]
    work.edits.replace(tokens[0].start, tokens[last].end, " ".join(word for word in words if word))
    arrow = written.find("->")
    if arrow >= 0:
        work.own(written, tokens[arrow])
        work.edits.replace(tokens[arrow].start, tokens[arrow].end, f"{statement.kind}-to")
    _family(work, statement, arrow)
    if statement.passes:
        # State is kept for any packet, not only for the first of a TCP connection.
        work.append(written, "flags any")
    if statement.untagged:
        work.append(written, f"! tagged {statement.untagged}")
    if statement.tag:
        work.append(written, f"tag {statement.tag}")


def _family(work: Work, statement: Statement, arrow: int) -> None:
    """Where an interface's name stands for addresses of both families, the older pf took the first one's; the newer wants it said."""
    written = statement.written
    families = {rule.af for rule in statement.rules}
    if arrow < 0 or len(families) != 1 or 0 in families or written.find("inet", "inet6") >= 0:
        return
    target = written.tokens[arrow + 1 :]
    if any(token.kind == "STRING" and token.value[:1].isalpha() and ":" not in token.value.replace(":0", "") for token in target[:1]):
        at = written.find("proto", "from", "os", "to", "all", "tag", "tagged", "rtable", "->")
        before = written.tokens[at - (written.tokens[at].kind == "tagged" and written.tokens[at - 1].kind == "!")]
        work.own(written, before)
        work.edits.insert(before.start, "inet " if families == {4} else "inet6 ")


def _anchors(work: Work) -> None:
    named = {one.tokens[1].value for one in work.script if one.kind == "anchor" and len(one.tokens) > 1}
    for statement in work.script:
        if statement.kind not in ANCHORS:
            continue
        name = statement.tokens[1]
        work.lose("translation-anchor", statement, statement.start, f"{statement.kind} {name.value}")
        if name.value in named:
            work.remove(statement)
        else:
            named.add(name.value)
            work.own(statement, statement.tokens[0])
            work.edits.replace(statement.start, statement.tokens[0].end, "anchor")
