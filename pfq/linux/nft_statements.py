"""Statements of nft rules. Sources: nft(8)."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from pfq.linux.expressions import Binary, Constant, Element, Expression, Interval, Load, Lookup, Meta, Operator, Unknown, width_of
from pfq.linux.expressions import Ct as CtKey
from pfq.linux.nft_cursor import Cursor
from pfq.linux.nft_names import FLAGS
from pfq.linux.nft_reading import Expressions, Left
from pfq.linux.nft_values import Kind, elements, flags, value, verdict
from pfq.linux.rules import Assign, AssignTos, Match, NamedSet, Notrack, Statement, Translate, Verdict, VerdictMap

_OPERATORS: Mapping[str, Operator] = {
    "==": "==", "!=": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
}  # fmt: skip
# What has a say about packets that nothing here can follow.
_REFUSED = frozenset({"queue", "tproxy", "synproxy", "dup", "fwd", "flow", "add", "update", "delete", "set", "xt", "quota", "secmark", "meter", "last"})


class Statements:
    """Reads the statements of one rule."""

    def __init__(self, cursor: Cursor, family: str, sets: Mapping[str, NamedSet]) -> None:
        self.cursor = cursor
        self.family = family
        self.expressions = Expressions(cursor, family, sets)
        self.found: list[Statement] = []
        self.unknown: Unknown | None = None

    def read(self) -> tuple[Statement, ...]:
        """Every statement that has a say; () for a rule without any. Raises Skip, its fault noted."""
        cursor = self.cursor
        while not cursor.done:
            word = cursor.now
            own = _OWN.get(word.text) if word.kind == "word" else None
            decided = verdict(cursor)
            if decided is not None:
                self.found.append(decided)
            elif word.kind == "word" and word.text in _REFUSED:
                raise cursor.not_modelled(word.text)
            elif own is not None:
                own(self)
            elif self.expressions.at_field():
                self._about_packet()
            else:
                raise cursor.not_modelled(f"the statement {word.text!r}") if word.kind == "word" else cursor.wrong("this is no statement")
        effects = [each for each in self.found if not isinstance(each, Match)]
        if not effects:
            return ()
        if self.unknown is not None:
            place = self.unknown.place or cursor.now.place
            raise cursor.faults.not_modelled(f"a decision by {self.unknown.what}", place)
        return tuple(self.found)

    # --- matches and assignments

    def _about_packet(self) -> None:
        cursor = self.cursor
        first = cursor.now
        left = self.expressions.left()
        if isinstance(left.expression, Unknown) and left.expression.place is None:
            left = Left(replace(left.expression, place=first.place), left.kinds)
        if cursor.take("set"):
            self._assign(left)
        elif cursor.take("vmap"):
            self._verdict_map(left)
        else:
            self._match(left)

    def _verdict_map(self, left: Left) -> None:
        cursor = self.cursor
        if isinstance(left.expression, Unknown):
            self.unknown = left.expression
        entries = self.expressions.named(left.kinds) if cursor.now.kind == "set" else elements(cursor, left.kinds, verdicts=True)
        pairs = []
        for element, mapped in entries:
            assert isinstance(mapped, Verdict), "maps of verdicts only"
            pairs.append((element, mapped))
        self.found.append(VerdictMap(left.expression, tuple(pairs)))

    def _assign(self, left: Left) -> None:
        cursor, target = self.cursor, left.expression
        if isinstance(target, Unknown):
            self._passed_over(target)
            return
        new = self.expressions.value(left.kinds[0])
        if isinstance(new, Unknown):
            raise cursor.not_modelled(f"a value out of {new.what}")
        if isinstance(target, Meta) and target.key in ("mark", "priority"):
            self.found.append(Assign("mark" if target.key == "mark" else "priority", new))
        elif isinstance(target, CtKey) and target.key == "mark":
            self.found.append(Assign("ct mark", new))
        elif isinstance(target, Load) and left.kinds[0][0] in ("dscp", "ecn"):
            mask = 0xFC if left.kinds[0][0] == "dscp" else 0x03
            self.found.append(AssignTos(dict(target.needs)["family"], new, mask))
        else:
            raise cursor.not_modelled("setting this field")

    def _passed_over(self, target: Unknown) -> None:
        """Setting what no class depends on: a segment size, a TTL."""
        if not target.what.startswith(("tcp option", "ip ttl", "ip6 hoplimit", "ip id", "meta nftrace", "ct event", "ct label")):
            raise self.cursor.not_modelled(f"setting {target.what}")
        if self.cursor.take("rt"):
            self.cursor.next()
            return
        self.cursor.next()
        while self.cursor.take(",", "|"):
            self.cursor.next()

    def _match(self, left: Left) -> None:
        cursor, expression = self.cursor, left.expression
        if isinstance(expression, Unknown):
            self._past_value()
            self.unknown = self.unknown or expression
            return
        kind = left.kinds[0]
        negated = len(left.kinds) == 1 and kind[0] in FLAGS and cursor.take("!")
        sign = _OPERATORS.get(cursor.now.text) if cursor.now.kind in ("sign", "word") else None
        if sign is not None:
            cursor.next()
        if cursor.now.kind == "set":
            own = self.expressions.named(left.kinds)
            self.found.append(Match(expression, sign or "==", tuple(element for element, _ in own)))
        elif cursor.at("{"):
            self.found.append(Match(expression, sign or "==", tuple(element for element, _ in elements(cursor, left.kinds))))
        elif len(left.kinds) > 1:
            self.found.append(Match(expression, sign or "==", (self._side_by_side(left.kinds),)))
        elif kind[0] in FLAGS:
            self._flags(left, sign, negated)
        elif self.expressions.at_field() and not cursor.at("(") and not self._is_value(kind):
            right = self.expressions.arithmetic(kind)[0]
            if isinstance(right, Unknown):
                self.unknown = self.unknown or right
            self.found.append(Match(expression, sign or "==", right))
        else:
            self._compare(expression, sign or "==", value(cursor, kind))

    def _is_value(self, kind: Kind) -> bool:
        """Whether the word here, though it may begin a field, is a value of the kind: `ip protocol tcp`."""
        return kind[0] in ("inet_proto", "ether_type", "ifname", "iface_index")

    def _compare(self, expression: Expression, sign: Operator, interval: Interval) -> None:
        if isinstance(expression, Load) and expression.base == "inner" and not _always(expression, sign, interval):
            self.unknown = self.unknown or Unknown("the content of a payload", 0, self.cursor.now.place)
        self.found.append(Match(expression, sign, ((interval,),)))

    def _side_by_side(self, kinds: tuple[Kind, ...]) -> Element:
        found = [value(self.cursor, kinds[0])]
        for kind in kinds[1:]:
            self.cursor.need(".")
            found.append(value(self.cursor, kind))
        return tuple(found)

    def _flags(self, left: Left, sign: Operator | None, negated: bool) -> None:
        """FLAGS VALUE[,VALUE...] [/ MASK[,MASK...]]."""
        cursor, kind = self.cursor, left.kinds[0]
        if isinstance(left.expression, Binary):
            self._compare(left.expression, sign or "==", value(cursor, kind))
            return
        number, several = self._list(kind)
        if cursor.take("/"):
            mask, _ = self._list(kind)
            masked = Binary("&", left.expression, Constant(mask, kind[1]), kind[1])
            self._compare(masked, "!=" if negated else sign or "==", Interval(number, number))
        elif negated or sign is None or (several and sign == "!="):
            if negated or sign == "!=":
                masked = Binary("&", left.expression, Constant(number, kind[1]), kind[1])
                self._compare(masked, "==", Interval(0, 0))
            else:
                self._compare(left.expression, "any", Interval(number, number))
        elif several:
            self._compare(left.expression, "any", Interval(number, number))
        else:
            self._compare(left.expression, sign, Interval(number, number))

    def _list(self, kind: Kind) -> tuple[int, bool]:
        number, several = flags(self.cursor, kind), False
        while self.cursor.take(","):
            number, several = number | flags(self.cursor, kind), True
        return number, several

    def _past_value(self) -> None:
        """Over the right side of a comparison with something unknown."""
        cursor = self.cursor
        if cursor.now.text in _OPERATORS:
            cursor.next()
        if cursor.at("{"):
            depth = 0
            while not cursor.done:
                depth += cursor.at("{") - cursor.at("}")
                cursor.next()
                if depth == 0:
                    break
            return
        cursor.next()
        while cursor.at("-", ",", "/", ".", ":"):
            cursor.next()
            cursor.next()

    # --- statements with a word of their own

    def _counter(self) -> None:
        cursor = self.cursor
        cursor.next()
        if cursor.take("packets"):
            cursor.number()
            cursor.need("bytes")
            cursor.number()
        elif cursor.now.kind in ("text",) or cursor.take("name"):
            cursor.next()

    def _comment(self) -> None:
        self.cursor.next()
        self.cursor.next()

    def _log(self) -> None:
        cursor = self.cursor
        cursor.next()
        while cursor.at("prefix", "level", "group", "snaplen", "queue-threshold", "flags"):
            cursor.next()
            cursor.next()
            while cursor.take(","):
                cursor.next()
            if cursor.at("sequence", "options", "all", "skuid", "ether"):
                cursor.next()

    def _limit(self) -> None:
        cursor = self.cursor
        place = cursor.next().place
        if cursor.now.kind == "text" or cursor.take("name"):
            cursor.next()
        else:
            while cursor.at("rate", "over", "burst", "/", "packets", "bytes", "second", "minute", "hour", "day", "week", "kbytes", "mbytes") or (
                cursor.now.kind in ("number", "word") and cursor.now.text[0].isdigit()
            ):
                cursor.next()
        self.unknown = self.unknown or Unknown("a rate", 0, place)

    def _reject(self) -> None:
        cursor = self.cursor
        cursor.next()
        if cursor.take("with"):
            if cursor.take("tcp"):
                cursor.need("reset")
            else:
                cursor.next()
                cursor.take("type")
                cursor.next()
        self.found.append(Verdict("reject"))

    def _notrack(self) -> None:
        self.cursor.next()
        self.found.append(Notrack())

    def _masquerade(self) -> None:
        word = self.cursor.next()
        if self.cursor.at("to"):
            raise self.cursor.not_modelled("a range of ports for masquerade", word)
        self._ways()
        version = {"ip": 4, "ip6": 6}.get(self.family)
        self.found.append(Translate("masquerade", version, free_port=True))

    def _redirect(self) -> None:
        self.cursor.next()
        port = None
        if self.cursor.take("to"):
            self.cursor.need(":")
            port = self.expressions.value(("inet_service", 16))
        self._ways()
        self.found.append(Translate("redirect", {"ip": 4, "ip6": 6}.get(self.family), port=port))

    def _translate(self) -> None:
        cursor = self.cursor
        word = cursor.next()
        version = {"ip": 4, "ip6": 6}.get(self.family)
        if cursor.at("ip", "ip6") and cursor.ahead().text in ("to", "prefix", "addr", "interval"):
            version = 4 if cursor.next().text == "ip" else 6
        prefix = cursor.take("prefix")
        if cursor.at("addr", "interval"):
            raise cursor.not_modelled(f"{word.text} {cursor.now.text}")
        cursor.need("to")
        address: Expression | None = None
        port: Expression | None = None
        host = 0
        bracket = cursor.take("[")
        if version is None:
            version = 6 if cursor.now.kind == "ipv6" or cursor.at("ip6") else 4
        kind: Kind = ("ipv4_addr", 32) if version == 4 else ("ipv6_addr", 128)
        if not cursor.at(":"):
            address, host = self._address(kind)
        if bracket:
            cursor.need("]")
        if cursor.take(":"):
            port = self.expressions.value(("inet_service", 16))
        if cursor.at("-", ","):
            raise cursor.not_modelled(f"a choice of addresses or ports for {word.text}", word)
        self._ways()
        if (host > 0) != prefix:
            raise cursor.not_modelled(f"{word.text} to a choice of addresses", word)
        snat = word.text == "snat"
        self.found.append(Translate("snat" if snat else "dnat", version, address, port, host, free_port=snat and isinstance(address, Constant)))

    def _address(self, kind: Kind) -> tuple[Expression, int]:
        """What an address becomes, and how many of its bits stay."""
        expressions = self.expressions
        if not expressions.at_field():
            interval = value(self.cursor, kind)
            if self.cursor.at("map"):
                raise self.cursor.wrong("a key is missing before 'map'")
            return Constant(interval.low, kind[1]), (interval.high - interval.low).bit_length()
        left = expressions.left()
        if self.cursor.take("map"):
            found: tuple[Lookup, int] = expressions.lookup(left.expression, left.kinds, kind)
            return found
        if width_of(left.expression) != kind[1] or isinstance(left.expression, Unknown):
            raise self.cursor.not_modelled("this address")
        return left.expression, 0

    def _ways(self) -> None:
        """How ports are chosen, which no class depends on."""
        while self.cursor.take("random", "fully-random", "persistent", ","):
            pass


_OWN: Mapping[str, Callable[[Statements], None]] = {
    "counter": Statements._counter,
    "comment": Statements._comment,
    "log": Statements._log,
    "limit": Statements._limit,
    "reject": Statements._reject,
    "notrack": Statements._notrack,
    "masquerade": Statements._masquerade,
    "redirect": Statements._redirect,
    "snat": Statements._translate,
    "dnat": Statements._translate,
}


def _always(expression: Load, sign: Operator, interval: Interval) -> bool:
    """Whether a comparison holds of every number."""
    return (sign == ">=" and interval.low == 0) or (sign == "<=" and interval.low == (1 << expression.width) - 1)
