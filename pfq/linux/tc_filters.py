"""What filters look at, out of words. Sources: tc-u32(8), tc-fw(8), tc-bpf(8), tc-flower(8), tc-matchall(8), tc-basic(8), tc-ematch(8)."""

from collections.abc import Callable, Mapping
from ipaddress import ip_network

from pfq.linux.cbpf import fault
from pfq.linux.nft_names import NAMES
from pfq.linux.queues import U32, Basic, Bytecode, Everything, Fields, Fw, Key, Meta, Test
from pfq.linux.tc_words import Words

# What a filter's line may say after its test.
ENDS = ("classid", "flowid", "action", "police")


class Matched:
    """What a filter's test came to: the test, the class it names, whether a mark handle was given."""

    def __init__(self, test: Test, classid: int | None = None) -> None:
        self.test = test
        self.classid = classid


# --- u32

_U32_FIELDS: Mapping[str, Mapping[str, tuple[int, int, bool]]] = {
    # bytes at an offset, how many bits of a 32-bit word they fill, whether they stand in the next header
    "ip": {"tos": (1, 8, False), "dsfield": (1, 8, False), "precedence": (1, 8, False), "ihl": (0, 8, False), "protocol": (9, 8, False),
           "sport": (20, 16, False), "dport": (22, 16, False), "icmp_type": (20, 8, False), "icmp_code": (21, 8, False)},
    "ip6": {"protocol": (6, 8, False), "sport": (40, 16, False), "dport": (42, 16, False), "icmp_type": (40, 8, False), "icmp_code": (41, 8, False)},
    "tcp": {"src": (0, 16, True), "dst": (2, 16, True), "sport": (0, 16, True), "dport": (2, 16, True)},
    "udp": {"src": (0, 16, True), "dst": (2, 16, True), "sport": (0, 16, True), "dport": (2, 16, True)},
    "icmp": {"type": (0, 8, True), "code": (1, 8, True)},
}  # fmt: skip


def _packed(value: int, mask: int, offset: int, width: int, relative: bool) -> Key:
    """A key of 8 or 16 bits in its 32-bit word (f_u32.c pack_key8, pack_key16)."""
    shift = 32 - width - 8 * (offset & 3)
    return Key((value & mask) << shift, mask << shift, offset & ~3, relative)


# What a listing says beside the keys, and how many words follow. `key ht 800 bkt 0` is where the filter stands, in the one table that is modelled.
_U32_REMARKS = {"order": 1, "fh": 1, "key": 4, "terminal": 0, "not_in_hw": 0, "chain": 1}


def u32(words: Words) -> Matched:
    """match SELECTOR ...; what comes before `action` or `classid`."""
    keys: list[Key] = []
    mark = (0, 0)
    classid = None
    while not words.done and words.now not in ("action", "police"):
        word = words.next()
        if word == "match" and "/" in words.now:
            # As listed: match 00100000/00ff0000 at 0
            value, _, mask = words.next().partition("/")
            offset, relative = _offset(words) if words.take("at") else (0, False)
            keys.append(Key(int(value, 16), int(mask, 16), offset, relative))
        elif word == "match":
            selector = words.next()
            if selector == "mark":
                mark = words.number(), words.number()
            else:
                keys += _u32_match(words, selector)
        elif word in ("classid", "flowid", "*flowid"):
            # `terminal flowid not_in_hw`: it ends the search, and names no class.
            classid = words.handle() if words.now != "not_in_hw" else None
        elif word in _U32_REMARKS:
            for _ in range(_U32_REMARKS[word]):
                words.next()
        else:
            raise words.not_modelled(f"u32 {word}")
    return Matched(U32(tuple(keys), mark), classid)


def _u32_match(words: Words, selector: str) -> list[Key]:
    if selector in ("u32", "u16", "u8"):
        width = int(selector[1:])
        value, mask = _hexadecimal(words), _hexadecimal(words)
        offset, relative = _offset(words) if words.take("at") else (0, False)
        if width == 32:
            return [Key(value & mask, mask, offset, relative)]
        return [_packed(value, mask, offset, width, relative)]
    if selector not in _U32_FIELDS:
        raise words.not_modelled(f"u32 match {selector}")
    name = words.next()
    if selector in ("ip", "ip6") and name in ("src", "dst"):
        return _u32_address(words, selector, name)
    if selector == "ip6" and name in ("priority",):
        value, mask = words.number(), words.number()
        return [Key(value << 20, mask << 20, 0)]
    if selector == "ip" and name in ("nofrag", "firstfrag", "df", "mf"):
        return [_packed(*{"nofrag": (0, 0x3FFF), "firstfrag": (0x2000, 0x3FFF), "df": (0x4000, 0x4000), "mf": (0x2000, 0x2000)}[name], 6, 16, False)]
    if name not in _U32_FIELDS[selector]:
        raise words.not_modelled(f"u32 match {selector} {name}")
    offset, width, relative = _U32_FIELDS[selector][name]
    value, mask = _named_number(words, name), _u32_number(words)
    return [_packed(value, mask, offset, width, relative)]


def _named_number(words: Words, name: str) -> int:
    if name == "protocol" and words.now in NAMES["inet_proto"]:
        return NAMES["inet_proto"][words.next()]
    return _u32_number(words)


def _u32_number(words: Words) -> int:
    return words.number()


def _hexadecimal(words: Words) -> int:
    """f_u32.c get_u32 with base 0 for numbers; keys as tc prints them are bare hexadecimal of 8 digits."""
    return words.number()


def _offset(words: Words) -> tuple[int, bool]:
    word = words.next()
    relative = word.startswith("nexthdr+")
    text = word.removeprefix("nexthdr+")
    try:
        return int(text, 0), relative
    except ValueError:
        raise words.wrong("an offset is missing") from None


def _u32_address(words: Words, selector: str, name: str) -> list[Key]:
    text = words.next()
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise words.wrong("an address is missing") from None
    if network.version != (4 if selector == "ip" else 6):
        raise words.wrong("an address of the other family")
    start = {"ip": {"src": 12, "dst": 16}, "ip6": {"src": 8, "dst": 24}}[selector][name]
    address, mask = network.network_address.packed, network.netmask.packed
    keys = []
    for at in range(0, len(address), 4):
        part = int.from_bytes(mask[at : at + 4], "big")
        if part:
            keys.append(Key(int.from_bytes(address[at : at + 4], "big") & part, part, start + at))
    return keys


# --- the others


def fw(words: Words, handle_text: str) -> Matched:
    """The handle is the mark, perhaps with a mask."""
    classid = _classid(words)
    if not handle_text:
        return Matched(Fw(None), classid)
    value, _, mask = handle_text.partition("/")
    return Matched(Fw(int(value, 0), int(mask, 0) if mask else 0xFFFFFFFF), classid)


def _classid(words: Words) -> int | None:
    return words.handle() if words.take("classid", "flowid") else None


def matchall(words: Words, handle_text: str) -> Matched:
    """Every packet."""
    classid = None
    while not words.done and words.now not in ("action", "police"):
        if words.take("classid", "flowid"):
            classid = words.handle()
        elif words.take("(rule"):
            words.next()
            words.next()
        elif not words.take("skip_hw", "not_in_hw", "in_hw"):
            raise words.not_modelled(f"matchall {words.next()}")
    return Matched(Everything(), classid)


def bpf(words: Words, handle_text: str) -> Matched:
    """bytecode 'COUNT,code jt jf k,...'."""
    program: tuple[tuple[int, int, int, int], ...] | None = None
    classid = None
    while not words.done and words.now not in ("action", "police"):
        word = words.next()
        if word in ("bytecode", "bytecode-file") and word == "bytecode":
            program = _program(words)
        elif word in ("classid", "flowid"):
            classid = words.handle()
        elif word in ("not_in_hw", "skip_hw", "run"):
            continue
        else:
            raise words.not_modelled(f"bpf {word}")
    if program is None:
        raise words.not_modelled("a bpf filter without bytecode")
    return Matched(Bytecode(program), classid)


_MOST_INSTRUCTIONS = 4096


def _program(words: Words) -> tuple[tuple[int, int, int, int], ...]:
    text = words.next()
    count, *rows = text.rstrip(",").split(",")
    try:
        program = tuple(tuple(int(number, 0) for number in row.split()) for row in rows)
        if len(program) != int(count) or not 0 < len(program) <= _MOST_INSTRUCTIONS or any(len(row) != 4 for row in program):
            raise ValueError
    except ValueError:
        raise words.wrong("this is no bytecode") from None
    wrong = fault(program)  # type: ignore[arg-type]
    if wrong:
        raise words.not_modelled(f"{wrong} of this program")
    return program  # type: ignore[return-value]


_FLOWER_NUMBERS: Mapping[str, tuple[str, int]] = {"ip_proto": ("inet_proto", 8), "ip_tos": ("", 8), "tcp_flags": ("", 8), "type": ("", 8), "code": ("", 8)}


def flower(words: Words, handle_text: str) -> Matched:
    """Fields by name."""
    found: list[tuple[str, int, int]] = []
    classid = None
    while not words.done and words.now not in ("action", "police"):
        word = words.next()
        if word in ("classid", "flowid"):
            classid = words.handle()
        elif word in _FLOWER_NUMBERS:
            kind, width = _FLOWER_NUMBERS[word]
            text = words.next()
            if text in NAMES.get(kind, {}) or text == "icmpv6":
                found.append((word, NAMES["inet_proto"][text], 255))
                continue
            value, _, mask = text.partition("/")
            found.append((word, int(value, 0), int(mask, 0) if mask else (1 << width) - 1))
        elif word in ("src_port", "dst_port"):
            low, _, high = words.next().partition("-")
            found.append((word, int(low), int(high or low)))
        elif word in ("src_ip", "dst_ip"):
            network = ip_network(words.next(), strict=False)
            found.append((f"{word}{network.version}", int(network.network_address), int(network.netmask)))
        elif word == "eth_type":
            found.append(("eth_type", {"ipv4": 0x0800, "ip": 0x0800, "ipv6": 0x86DD}.get(words.now, 0), 0xFFFF))
            words.next()
        elif word == "ip_flags":
            for flag in words.next().split("/"):
                bit = {"frag": 1, "nofrag": 1, "firstfrag": 2, "nofirstfrag": 2}.get(flag)
                if bit is None:
                    raise words.not_modelled(f"flower ip_flags {flag}")
                found.append(("ip_flags", 0 if flag.startswith("no") else bit, bit))
        elif word not in ("skip_hw", "skip_sw", "not_in_hw", "in_hw"):
            raise words.not_modelled(f"flower {word}")
    return Matched(Fields(tuple(found)), classid)


def basic(words: Words, handle_text: str) -> Matched:
    """match EMATCH [and EMATCH ...]."""
    tests: list[Meta] = []
    classid = None
    while not words.done and words.now not in ("action", "police"):
        word = words.next()
        if word in ("classid", "flowid"):
            classid = words.handle()
        elif word == "match":
            tests += _ematches(words)
        elif word.startswith("meta(") or word == "not":
            # As listed: meta(priority gt 131071)
            words.back()
            tests += _ematches(words)
        elif word != "not_in_hw":
            raise words.not_modelled(f"basic {word}")
    return Matched(Basic(tuple(tests)), classid)


def _ematches(words: Words) -> list[Meta]:
    """meta( KEY [mask M] OP NUMBER ), several joined by `and`."""
    text: list[str] = []
    while not words.done and words.now not in ENDS:
        text.append(words.next())
    found = []
    for part in " ".join(text).split(" and "):
        pieces = part.replace("(", " ( ").replace(")", " ) ").replace("'", " ").split()
        negated = pieces[:1] == ["not"]
        pieces = pieces[1:] if negated else pieces
        mask = 0xFFFFFFFF
        if "mask" in pieces:
            at = pieces.index("mask")
            mask = int(pieces[at + 1], 0)
            del pieces[at : at + 2]
        if len(pieces) != 6 or pieces[0] != "meta" or pieces[2] not in ("priority", "nf_mark", "nfmark") or pieces[3] not in ("eq", "gt", "lt"):
            raise words.not_modelled(f"the ematch {part[:60]!r}")
        found.append(Meta("mark" if pieces[2] != "priority" else "priority", mask, pieces[3], int(pieces[4], 0), negated))
    return found


TESTS: Mapping[str, Callable[[Words, str], Matched]] = {
    "u32": lambda words, _: u32(words), "fw": fw, "matchall": matchall, "bpf": bpf, "flower": flower, "basic": basic,
}  # fmt: skip
