"""The right side of comparisons, and elements of sets: values of known kinds. Sources: nft(8)."""

from collections.abc import Sequence
from ipaddress import ip_address

from pfq.linux.expressions import NAME_BITS, Element, Interval
from pfq.linux.nft_cursor import Cursor
from pfq.linux.nft_names import FLAGS, NAMES, WIDTHS
from pfq.linux.rules import Verdict, VerdictKind

# A kind and its width in bits.
Kind = tuple[str, int]

_VERDICTS: dict[str, VerdictKind] = {
    "accept": "accept", "drop": "drop", "return": "return", "continue": "continue", "jump": "jump", "goto": "goto",
}  # fmt: skip


def width_of_kind(name: str) -> int:
    """Bits of a kind by its name in `type`. Raises KeyError."""
    return WIDTHS[name]


def verdict(cursor: Cursor) -> Verdict | None:
    """The verdict that stands here, if there is one."""
    if cursor.now.kind != "word" or cursor.now.text not in _VERDICTS:
        return None
    kind = _VERDICTS[cursor.next().text]
    if kind not in ("jump", "goto"):
        return Verdict(kind)
    if cursor.now.kind not in ("word", "text"):
        raise cursor.wrong(f"the chain to {kind} to is missing")
    return Verdict(kind, cursor.next().text)


def interface_name(name: str) -> Interval:
    """A name as a number of 16 bytes; one that ends with * is all that begin so."""
    if name.endswith("*") and not name.endswith("\\*"):
        known = name[:-1].encode()
        low = int.from_bytes(known.ljust(NAME_BITS // 8, b"\0"), "big")
        return Interval(low, low | (1 << NAME_BITS - 8 * len(known)) - 1)
    number = int.from_bytes(name.encode()[: NAME_BITS // 8].ljust(NAME_BITS // 8, b"\0"), "big")
    return Interval(number, number)


def _address(cursor: Cursor, width: int) -> int:
    word = cursor.now
    if word.kind not in ("ipv4", "ipv6"):
        raise cursor.wrong("an address is missing")
    try:
        found = ip_address(word.text)
    except ValueError:
        raise cursor.wrong("no address") from None
    if found.max_prefixlen != width:
        raise cursor.wrong(f"an address of {width} bits is needed")
    cursor.next()
    return int(found)


def _single(cursor: Cursor, kind: Kind) -> int:
    """One number of a kind."""
    name, width = kind
    word = cursor.now
    if name in ("ipv4_addr", "ipv6_addr"):
        return _address(cursor, width)
    if word.kind == "class" and name in ("classid", "mark", "integer"):
        major, _, minor = cursor.next().text.partition(":")
        return int(major, 16) << 16 | int(minor, 16)
    if word.kind == "number":
        number = cursor.number()
        if number >> width:
            raise cursor.faults.syntax(f"{word.text} does not fit into {width} bits", word.place)
        return number
    if word.kind in ("word", "text") and word.text in NAMES.get(name, {}):
        return NAMES[name][cursor.next().text]
    if cursor.done:
        raise cursor.wrong("a value is missing")
    raise cursor.not_modelled(f"{word.text!r} as {name}")


def flags(cursor: Cursor, kind: Kind) -> int:
    """A number written with `|` and `&` between names, perhaps in parentheses."""
    value = _flag(cursor, kind)
    while cursor.at("|", "&", "or", "and"):
        both = cursor.next().text in ("|", "or")
        other = _flag(cursor, kind)
        value = value | other if both else value & other
    return value


def _flag(cursor: Cursor, kind: Kind) -> int:
    if cursor.take("("):
        value = flags(cursor, kind)
        cursor.need(")")
        return value
    return _single(cursor, kind)


def value(cursor: Cursor, kind: Kind) -> Interval:
    """A value, a prefix or a range."""
    name, width = kind
    if name in ("ifname", "iface_index"):
        if cursor.now.kind not in ("word", "text", "number", "class"):
            raise cursor.wrong("the name of an interface is missing")
        return interface_name(cursor.next().text)
    if name in FLAGS or cursor.at("("):
        number = flags(cursor, kind)
        return Interval(number, number)
    low = _single(cursor, kind)
    if cursor.at("/") and name in ("ipv4_addr", "ipv6_addr"):
        cursor.next()
        length = cursor.number()
        if length > width:
            raise cursor.wrong(f"a prefix has {width} bits at most")
        host = (1 << width - length) - 1
        return Interval(low & ~host, low | host)
    if cursor.take("-"):
        high = _single(cursor, kind)
        if high < low:
            raise cursor.wrong("the range is empty")
        return Interval(low, high)
    return Interval(low, low)


def element(cursor: Cursor, kinds: Sequence[Kind]) -> Element:
    """An element of a set: a value for each part. `*` is what no other element is."""
    if cursor.take("*"):
        return tuple(Interval(0, (1 << width) - 1) for _, width in kinds)
    found = [value(cursor, kinds[0])]
    for kind in kinds[1:]:
        cursor.need(".")
        found.append(value(cursor, kind))
    return tuple(found)


def elements(
    cursor: Cursor, kinds: Sequence[Kind], values: Sequence[Kind] | None = None, verdicts: bool = False
) -> list[tuple[Element, Element | Verdict | None]]:
    """The elements between braces; those of a map have values of the kinds `values`, or verdicts. Those for `*` stand last."""
    found: list[tuple[Element, Element | Verdict | None]] = []
    rest: list[tuple[Element, Element | Verdict | None]] = []
    cursor.need("{")
    while not cursor.take("}"):
        if cursor.at("{"):
            found += elements(cursor, kinds, values, verdicts)
        else:
            group = rest if cursor.at("*") else found
            key = element(cursor, kinds)
            _remarks(cursor)
            group.append((key, _mapped(cursor, values, verdicts)))
            _remarks(cursor)
        if not cursor.take(",") and not cursor.at("}"):
            raise cursor.wrong("',' or '}' is missing")
    return found + rest


def _mapped(cursor: Cursor, values: Sequence[Kind] | None, verdicts: bool) -> Element | Verdict | None:
    if values is None and not verdicts:
        return None
    cursor.need(":")
    if values is not None:
        return element(cursor, values)
    found = verdict(cursor)
    if found is None:
        raise cursor.wrong("a verdict is missing")
    return found


def _remarks(cursor: Cursor) -> None:
    """What an element may say beside its value."""
    while cursor.at("counter", "comment", "timeout", "expires"):
        word = cursor.next()
        if word.text in ("timeout", "expires"):
            raise cursor.not_modelled(f"{word.text} of an element", word)
        if word.text == "comment":
            cursor.next()
        elif cursor.take("packets"):
            cursor.number()
            cursor.need("bytes")
            cursor.number()
