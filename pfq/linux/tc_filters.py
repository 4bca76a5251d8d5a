"""What filters look at, and actions, out of words. Sources: tc-u32(8), tc-fw(8), tc-bpf(8), tc-flower(8), tc-basic(8), tc-ematch(8), tc-actions(8)."""

from collections.abc import Callable, Mapping
from ipaddress import ip_network

from pfq.linux.cbpf import fault
from pfq.linux.nft_names import NAMES
from pfq.linux.queues import U32, Action, Basic, Bytecode, Everything, Fields, Fw, Key, Meta, Test
from pfq.linux.tc_words import Words

_CONTROLS = {"ok": "pass", "pass": "pass", "drop": "drop", "shot": "drop", "continue": "continue", "pipe": "pipe", "reclassify": "reclassify"}
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


# --- actions


def actions(words: Words) -> tuple[Action, ...]:
    """action KIND ... action KIND ..."""
    found: list[Action] = []
    while not words.done:
        if words.now == "police":
            words.next()
            found.append(_police(words))
            continue
        word = words.next()
        if word != "action":
            raise words.not_modelled(f"{word!r} in a filter")
        if words.take("order"):
            # As listed: `action order 1: mirred (Egress Redirect to device ifb0) stolen`.
            words.next()
        kind = words.next()
        own = _ACTIONS.get(kind)
        if own is None:
            if kind not in _CONTROLS or kind == "reclassify":
                raise words.not_modelled(f"action {kind}")
            found.append(Action("gact", _CONTROLS[kind]))
            _remarks(words)
            continue
        found.append(own(words))
    return tuple(found)


def _remarks(words: Words) -> None:
    """What a listing says beside an action."""
    while not words.done:
        if words.take("index", "ref", "bind", "cookie", "hw_stats", "used_hw_stats"):
            words.next()
        elif words.take("random"):
            # type none pass val 0
            for _ in range(5):
                words.next()
        elif not words.take("not_in_hw", "no_percpu"):
            return


def _control(words: Words, usual: str) -> str:
    control = usual
    _remarks(words)
    while not words.done and (words.now in _CONTROLS or words.now == "stolen"):
        word = words.next()
        control = _CONTROLS.get(word, word)
        if control == "reclassify":
            raise words.not_modelled("reclassify")
        _remarks(words)
    return control


def _gact(words: Words) -> Action:
    words.take("action")
    word = words.next()
    if word not in _CONTROLS or word == "reclassify":
        raise words.not_modelled(f"action {word}")
    _remarks(words)
    return Action("gact", _CONTROLS[word])


def _mirred(words: Words) -> Action:
    direction, device = "egress", ""
    redirect = False
    if words.now.startswith("("):
        # (Egress Redirect to device ifb0)
        direction, redirect = words.next().lstrip("(").lower(), words.next() == "Redirect"
        words.next()
        words.next()
        device = words.next().rstrip(")")
    while not words.done and words.now in ("egress", "ingress", "redirect", "mirror", "dev", "index"):
        word = words.next()
        if word in ("egress", "ingress"):
            direction = word
        elif word in ("redirect", "mirror"):
            redirect = word == "redirect"
        elif word == "dev":
            device = words.next()
        else:
            words.next()
    if direction != "egress":
        raise words.not_modelled("mirred to a device's ingress")
    return Action("mirred", _control(words, "stolen" if redirect else "pipe"), device, redirect)


def _skbedit(words: Words) -> Action:
    mark: tuple[int, int] | None = None
    priority: int | None = None
    while not words.done and words.now in ("mark", "priority", "ptype", "queue_mapping", "inheritdsfield"):
        word = words.next()
        if word == "mark":
            value, _, mask = words.next().partition("/")
            mark = int(value, 0), int(mask, 0) if mask else 0xFFFFFFFF
        elif word == "priority":
            priority = words.handle()
        elif word == "queue_mapping":
            words.next()
        else:
            raise words.not_modelled(f"skbedit {word}")
    return Action("skbedit", _control(words, "pipe"), mark=mark, priority=priority)


def _ctinfo(words: Words) -> Action:
    mask, control = None, ""
    while not words.done and (words.now in ("cpmark", "dscp", "zone") or words.now in _CONTROLS or words.now in ("index", "ref", "bind")):
        if words.now in _CONTROLS or words.now in ("index", "ref", "bind"):
            control = _control(words, control)
            continue
        word = words.next()
        if word == "cpmark":
            mask = words.number() if words.now[:1].isdigit() else 0xFFFFFFFF
        elif word == "zone" and words.number() == 0:
            continue
        else:
            raise words.not_modelled(f"ctinfo {word}")
    return Action("ctinfo", control or "pipe", mark=None if mask is None else (0, mask))


def _connmark(words: Words) -> Action:
    if words.take("zone") and words.number() != 0:
        raise words.not_modelled("connmark zone")
    return Action("ctinfo", _control(words, "pipe"), mark=(0, 0xFFFFFFFF))


_POLICE = ("rate", "burst", "buffer", "maxburst", "mtu", "peakrate", "avrate", "overhead", "linklayer", "mpu", "minburst", "index")


def _police(words: Words) -> Action:
    """What keeps to the rate goes on as `conform-exceed A/B` or by default says."""
    control = "pass"
    if words.now.startswith("0x"):
        words.next()
    while not words.done:
        _remarks(words)
        if words.now == "action" and words.ahead() == "order":
            break
        if words.take("action"):
            exceeding, slash, conforming = words.next().partition("/")
            control = _CONTROLS.get(conforming, "pass") if slash else "pass"
        elif words.now in _POLICE:
            words.next()
            words.next()
        elif words.now == "conform-exceed":
            words.next()
            exceeding, slash, conforming = words.next().partition("/")
            if exceeding not in _CONTROLS or (slash and conforming not in _CONTROLS):
                raise words.not_modelled(f"conform-exceed {exceeding}")
            control = _CONTROLS[conforming] if slash else "pass"
        elif words.now in ("drop", "pass", "ok", "continue", "reclassify", "pipe"):
            words.next()
        elif words.now == "flowid":
            break
        else:
            break
    return Action("police", control)


_ACTIONS: Mapping[str, Callable[[Words], Action]] = {
    "gact": _gact, "mirred": _mirred, "skbedit": _skbedit, "ctinfo": _ctinfo, "connmark": _connmark, "police": _police,
}  # fmt: skip
