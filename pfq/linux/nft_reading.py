"""Expressions of nft rules: fields, arithmetic, concatenations, maps. Sources: nft(8)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pfq.linux.expressions import Binary, Concatenation, Constant, Element, Expression, Extension, Fib, Interval, Load, Lookup, Unknown, width_of
from pfq.linux.nft_cursor import Cursor
from pfq.linux.nft_fields import BARE_META, HEADERS, OTHER_HEADERS, Typed, conntrack, conntrack_side, fragment, header, meta
from pfq.linux.nft_lexer import Token
from pfq.linux.nft_values import Kind, elements, flags, value
from pfq.linux.rules import NamedSet, Verdict

_FIELD_WORDS = frozenset({*HEADERS, *OTHER_HEADERS, *BARE_META, "meta", "ct", "fib", "frag", "exthdr", "rt", "socket", "osf", "jhash", "symhash", "numgen",
                          "ipsec"})  # fmt: skip
_SIGNS = {"&": "&", "and": "&", "|": "|", "or": "|", "^": "^", "xor": "^", "<<": "<<", "lshift": "<<", ">>": ">>", "rshift": ">>"}
# Operators from the one that binds least on.
_LEVELS = (frozenset({"|"}), frozenset({"^"}), frozenset({"&"}), frozenset({"<<", ">>"}))
_BASES = {"ll": "link", "nh": "network", "th": "transport", "ih": "inner"}


@dataclass(frozen=True, slots=True)
class Left:
    """An expression with the kinds of its parts."""

    expression: Expression
    kinds: tuple[Kind, ...]


class Expressions:
    """Reads expressions in a table of a family with its sets."""

    def __init__(self, cursor: Cursor, family: str, sets: Mapping[str, NamedSet]) -> None:
        self.cursor = cursor
        self.family = family
        self.sets = sets

    def at_field(self) -> bool:
        """Whether an expression that looks at the packet begins here."""
        word = self.cursor.now
        return word.kind == "raw" or (word.kind == "word" and word.text in _FIELD_WORDS) or self.cursor.at("(")

    def left(self) -> Left:
        """A concatenation of expressions, or one."""
        parts = [self._typed(self.arithmetic(None))]
        while self.cursor.take("."):
            parts.append(self._typed(self.arithmetic(None)))
        if len(parts) == 1:
            return Left(parts[0][0], (parts[0][1],))
        return Left(Concatenation(tuple(part for part, _ in parts)), tuple(kind for _, kind in parts))

    @staticmethod
    def _typed(typed: Typed) -> tuple[Expression, Kind]:
        expression, kind = typed
        return expression, (kind, width_of(expression))

    def value(self, kind: Kind) -> Expression:
        """What is assigned to something of a kind: a number, arithmetic, or a map's value."""
        expression, own = self.arithmetic(kind)
        if not self.cursor.at("map", "."):
            return expression
        parts, kinds = [expression], [(own, width_of(expression))]
        while self.cursor.take("."):
            other, other_kind = self.arithmetic(None)
            parts.append(other)
            kinds.append((other_kind, width_of(other)))
        self.cursor.need("map")
        key: Expression = parts[0] if len(parts) == 1 else Concatenation(tuple(parts))
        return self.lookup(key, tuple(kinds), kind)[0]

    def lookup(self, key: Expression, kinds: tuple[Kind, ...], kind: Kind) -> tuple[Lookup, int]:
        """The map that stands here, of values of a kind; and the bits below the prefix if its values are prefixes."""
        entries = self.named(kinds) if self.cursor.now.kind == "set" else elements(self.cursor, kinds, (kind,))
        pairs, hosts = [], set()
        for element, mapped in entries:
            assert isinstance(mapped, tuple), "maps of values only"
            hosts.add((mapped[0].high - mapped[0].low).bit_length())
            pairs.append((element, (mapped[0].low,)))
        if len(hosts) > 1:
            raise self.cursor.not_modelled("a map to prefixes of several lengths")
        return Lookup(key, tuple(pairs), kind[1]), hosts.pop() if hosts else 0

    def named(self, kinds: tuple[Kind, ...]) -> list[tuple[Element, Element | Verdict | None]]:
        """The elements of the set that is named here."""
        word = self.cursor.next()
        found = self.sets.get(word.text[1:])
        if found is None:
            raise self.cursor.faults.syntax(f"there is no set {word.text[1:]}", word.place)
        if found.kinds and sum(width for _, width in found.kinds) != sum(width for _, width in kinds):
            raise self.cursor.not_modelled(f"the set {found.name} has keys of another size", word)
        return list(found.elements)

    # --- arithmetic

    def arithmetic(self, kind: Kind | None, level: int = 0) -> Typed:
        """An expression of numbers; constants in it have the kind of what stands left of them, or `kind`."""
        if level == len(_LEVELS):
            return self._primary(kind)
        expression, own = self.arithmetic(kind, level + 1)
        while (sign := _SIGNS.get(self.cursor.now.text, "")) in _LEVELS[level] and self.cursor.now.kind in ("sign", "word"):
            self.cursor.next()
            width = width_of(expression)
            right = self._amount() if sign in ("<<", ">>") else self._operand((own, width), level)
            if isinstance(expression, Unknown) or isinstance(right, Unknown):
                expression = expression if isinstance(expression, Unknown) else right
            else:
                expression = Binary(sign, expression, right, max(width, width_of(right)) if sign not in ("<<", ">>") else width)
        return expression, own

    def _amount(self) -> Expression:
        return Constant(self.cursor.number(), 32)

    def _operand(self, kind: Kind, level: int) -> Expression:
        if self.at_field() and not self.cursor.at("("):
            return self.arithmetic(kind, level + 1)[0]
        if self.cursor.at("(") and self._holds_field():
            return self.arithmetic(kind, level + 1)[0]
        if self.cursor.at("("):
            return Constant(flags(self.cursor, kind), kind[1])
        return self.arithmetic(kind, level + 1)[0]

    def _holds_field(self) -> bool:
        depth, step = 0, 0
        while True:
            word = self.cursor.ahead(step)
            depth += (word.text == "(") - (word.text == ")")
            if depth == 0 or not word.kind:
                return False
            if word.kind == "raw" or (word.kind == "word" and word.text in _FIELD_WORDS):
                return True
            step += 1

    def _primary(self, kind: Kind | None) -> Typed:
        cursor = self.cursor
        if cursor.at("(") and (kind is None or self._holds_field()):
            cursor.next()
            found = self.arithmetic(kind)
            cursor.need(")")
            return found
        if self.at_field() and not cursor.at("("):
            return self._field()
        if kind is None:
            raise cursor.wrong("something to compare is missing")
        interval = value(cursor, kind)
        if interval.low != interval.high:
            raise cursor.not_modelled("a choice out of a range")
        return Constant(interval.low, kind[1]), kind[0]

    # --- fields

    def _field(self) -> Typed:
        word = self.cursor.next()
        if word.kind == "raw":
            base, offset, width = (part.strip() for part in word.text[1:].split(","))
            return Load(_BASES[base], int(offset), int(width)), "integer"  # type: ignore[arg-type]
        own = _OWN_FIELDS.get(word.text)
        if own is not None:
            return own(self, word)
        if word.text in HEADERS:
            return self._header(word)
        if word.text in BARE_META:
            return meta(word.text)
        return self._unknown(word)

    def _header(self, word: Token) -> Typed:
        cursor = self.cursor
        if cursor.at("option"):
            return self._option(word)
        name = cursor.next()
        found = header(word.text, name.text)
        if found is None:
            raise cursor.not_modelled(f"{word.text} {name.text}", name)
        return found

    def _option(self, word: Token) -> Typed:
        """tcp option NAME [FIELD]: the model knows that there are options, not which."""
        cursor = self.cursor
        cursor.next()
        name = cursor.next()
        what = f"{word.text} option {name.text}"
        if cursor.now.kind == "word" and cursor.now.text in ("size", "kind", "length", "left", "right", "tsval", "tsecr", "count", "ptr", "type"):
            what += f" {cursor.next().text}"
        return Unknown(what, 16, word.place), "boolean" if cursor.at("exists", "missing") else "integer"

    def _unknown(self, word: Token) -> Typed:
        """A field that the model has not: `ether saddr`, `socket mark`."""
        name = self.cursor.next() if self.cursor.now.kind == "word" else word
        return Unknown(f"{word.text} {name.text}", 32, word.place), "integer"

    def _meta(self, word: Token) -> Typed:
        key = self.cursor.next()
        found = meta(key.text)
        return found if not isinstance(found[0], Unknown) else (Unknown(f"meta {key.text}", 32, word.place), found[1])

    def _ct(self, word: Token) -> Typed:
        cursor = self.cursor
        key = cursor.next()
        if key.text not in ("original", "reply"):
            return conntrack(key.text)
        family = cursor.next().text if cursor.at("ip", "ip6") else self.family
        name = cursor.next()
        found = conntrack_side(key.text, name.text, family)
        if found is None:
            return Unknown(f"ct {key.text} {name.text}", 32, word.place), "integer"
        return found

    def _fib(self, word: Token) -> Typed:
        cursor = self.cursor
        side = cursor.next()
        if side.text in ("saddr", "daddr") and cursor.at("type"):
            cursor.next()
            return Fib("saddr" if side.text == "saddr" else "daddr"), "fib_addrtype"
        while cursor.at(".", "saddr", "daddr", "mark", "iif", "oif", "oifname", "type"):
            cursor.next()
        return Unknown("this fib lookup", 32, word.place), "boolean" if cursor.at("exists", "missing") else "integer"

    def _frag(self, word: Token) -> Typed:
        name = self.cursor.next()
        found = fragment(name.text)
        return found if found is not None else (Unknown(f"frag {name.text}", 32, word.place), "integer")

    def _exthdr(self, word: Token) -> Typed:
        name = self.cursor.next()
        if name.text == "frag":
            return Extension("exists", 1), "boolean"
        return Unknown(f"exthdr {name.text}", 1, word.place), "boolean"


_OWN_FIELDS: Mapping[str, Callable[[Expressions, Token], Typed]] = {
    "meta": Expressions._meta,
    "ct": Expressions._ct,
    "fib": Expressions._fib,
    "frag": Expressions._frag,
    "exthdr": Expressions._exthdr,
}


def single(number: int) -> tuple[Element, ...]:
    """The one element that is a number."""
    return ((Interval(number, number),),)
