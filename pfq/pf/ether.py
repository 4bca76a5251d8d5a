"""Rules of the link layer, FreeBSD 14 and later: `ether pass`, `ether block`, `ether match`, and anchors called by name.

Source: etherrule, etheranchorrule, etherproto, mac and etherfilter_opt of FreeBSD's parse.y; the printed form is that of
sbin/pfctl/tests/files/pf1014. Anchors with their rules in braces are not read: the message says so in pfq's name.
"""

import re
from itertools import product

from . import clauses, peers
from .filters import block_kind
from .lexer import NUMBER, STRING
from .nodes import Host, InterfaceName, Rule
from .options import queue_names
from .order import ETHER, ordered
from .reading import Reading, SyntaxFault

_ADDRESS = re.compile(r"[0-9A-Fa-f]{1,2}(:[0-9A-Fa-f]{1,2}){5}\Z")
_FULL = 48


class Mac:
    """A link-layer address: `value` and `mask` are integers of 48 bits."""

    __slots__ = ("mask", "negated", "value")

    def __init__(self, value: int, mask: int = (1 << _FULL) - 1, negated: bool = False) -> None:
        self.value = value
        self.mask = mask
        self.negated = negated


class EtherRule:
    """A rule of the link layer; `conditions` holds the network addresses and the interface, `proto` is an EtherType or 0."""

    __slots__ = ("anchor", "bridge_to", "conditions", "destination", "proto", "source")

    def __init__(self, conditions: Rule) -> None:
        self.conditions = conditions
        self.anchor: str | None = None
        self.bridge_to = ""
        self.proto = 0
        self.source: Mac | None = None
        self.destination: Mac | None = None


def ether_rule(r: Reading) -> None:
    """`ether` and a rule, or an anchor by name."""
    r.i += 1
    anchor: str | None = None
    rule = Rule()
    kind = r.kinds[r.i]
    if kind not in ("pass", "block", "match", "anchor"):
        raise SyntaxFault
    r.i += 1
    rule.action = kind
    if kind == "block":
        block_kind(r, rule)
    elif kind == "anchor":
        anchor = r.string() if r.kinds[r.i] == STRING else ""
    rule.direction = clauses.direction(r)
    rule.quick = r.take("quick")
    interfaces = clauses.interfaces(r)
    bridge = r.string() if anchor is None and r.take("bridge-to") else ""
    protocols = _protocols(r)
    sources: list[Mac] = []
    destinations: list[Mac] = []
    if not r.take("all"):
        sources = _macs(r) if r.take("from") else []
        destinations = _macs(r) if r.take("to") else []
    ends = peers.from_to(r) if r.take("l3") else peers.FromTo()
    if ends.oses or ends.source_ports or ends.destination_ports:
        raise r.fail("pfq does not read ports or operating systems in ether rules", ahead=True)
    if anchor is None:
        _options(r, rule)
    elif r.kinds[r.i] == "{":
        raise r.fail("pfq does not read ether anchors with rules in braces", ahead=True)
    r.at_end()
    ordered(r, ETHER)
    if anchor is not None:
        if anchor.startswith("_") or "/_" in anchor:
            raise r.fail("anchor names beginning with '_' are reserved for internal use", ahead=True)
        if not anchor:
            raise r.fail("anchors without explicit rules must specify a name", ahead=True)
    for text in (rule.tag, rule.tagged):
        if len(text) >= clauses.TAG_NAME:
            raise r.fail(f"tag too long, max {clauses.TAG_NAME - 1} chars", ahead=True)
    _expand(r, rule, anchor, bridge, interfaces, protocols, (sources, destinations), (ends.source, ends.destination))


def _expand(
    r: Reading,
    base: Rule,
    anchor: str | None,
    bridge: str,
    interfaces: list[InterfaceName],
    protocols: list[int],
    macs: tuple[list[Mac], list[Mac]],
    hosts: tuple[list[Host], list[Host]],
) -> None:
    r.count_combinations(
        (len(interfaces) or 1) * (len(protocols) or 1) * (len(macs[0]) or 1) * (len(macs[1]) or 1) * (len(hosts[0]) or 1) * (len(hosts[1]) or 1)
    )
    none = (None,)
    for interface, proto, source, destination, from_host, to_host in product(
        interfaces or none, protocols or (0,), macs[0] or none, macs[1] or none, hosts[0] or none, hosts[1] or none
    ):
        rule = base.copy()
        if interface is not None:
            rule.interface, rule.interface_negated = interface.name, interface.negated
        families = {host.af for host in (from_host, to_host) if host is not None and host.af}
        if len(families) > 1:
            continue
        rule.af = families.pop() if families else 0
        rule.source = from_host if from_host is not None else rule.source
        rule.destination = to_host if to_host is not None else rule.destination
        found = EtherRule(rule)
        found.anchor, found.bridge_to, found.proto = anchor, bridge, proto
        found.source, found.destination = source, destination
        r.add_ether_rule(found)


def _protocols(r: Reading) -> list[int]:
    return clauses.listed(r, _protocol) if r.take("proto") else []


def _protocol(r: Reading) -> int:
    if r.kinds[r.i] == NUMBER:
        number = r.number()
        if not 0 <= number <= 0xFFFF:
            raise r.fail("protocol outside range")
        return number
    text = r.string()
    if not text.startswith("0x"):
        raise r.fail("Symbolic EtherType not yet supported")
    if re.match(r"0x[0-9A-Fa-f]{1,4}\Z", text) is None:
        raise r.fail("invalid EtherType hex")
    return int(text, 16)


def _macs(r: Reading) -> list[Mac]:
    return clauses.listed(r, _mac)


def _mac(r: Reading) -> Mac:
    negated = r.take("!")
    text = r.string()
    address = _mac_value(text)
    mask = (1 << _FULL) - 1
    if r.take("/"):
        length = r.number()
        if not 0 <= length <= _FULL:
            raise r.fail("invalid MAC mask length")
        mask = mask >> (_FULL - length) << (_FULL - length)
    elif r.take("&"):
        found = _mac_value(r.string())
        if found is None:
            raise r.fail("invalid MAC mask")
        mask = found
    if address is None:
        raise r.fail(f"invalid MAC address {text}")
    return Mac(address, mask, negated)


def _mac_value(text: str) -> int | None:
    if _ADDRESS.match(text) is None:
        return None
    return int("".join(f"{int(part, 16):02x}" for part in text.split(":")), 16)


def _options(r: Reading, rule: Rule) -> None:
    while True:
        kind = r.kinds[r.i]
        if kind == "queue":
            r.i += 1
            if rule.queue:
                raise r.fail("queue cannot be redefined")
            rule.queue = queue_names(r)[0]
        elif kind == "tag":
            r.i += 1
            rule.tag = r.strings()
        elif kind in ("!", "tagged"):
            rule.tagged_negated = r.take("!")
            r.want("tagged")
            rule.tagged = r.strings()
        elif kind in ("dnpipe", "dnqueue"):
            r.i += 1
            rule.dummynet = (kind, clauses.number(r), 0)
        elif kind == "label":
            r.i += 1
            if len(text := r.string()) >= clauses.LABEL:
                raise r.fail(f"rule label too long (max {clauses.LABEL - 1} chars)")
            if rule.label:
                rule.more_labels = (*rule.more_labels, text)
            else:
                rule.label = text
        elif kind == "ridentifier":
            r.i += 1
            rule.ridentifier = clauses.number(r)
        else:
            return


def mac_text(mac: Mac) -> str:
    """A link-layer address with its mask, as bits where they are the first ones."""
    text = ":".join(f"{mac.value >> shift & 255:02x}" for shift in range(40, -1, -8))
    if mac.negated:
        text = f"! {text}"
    bits = bin(mac.mask).count("1")
    if bits == _FULL:
        return text
    if mac.mask == (1 << _FULL) - (1 << (_FULL - bits)):
        return f"{text}/{bits}"
    return f"{text} & " + ":".join(f"{mac.mask >> shift & 255:02x}" for shift in range(40, -1, -8))


def ether_text(found: EtherRule, network: str) -> str:
    """The rule as pfctl prints it; `network` is what stands behind `l3`."""
    rule = found.conditions
    words = ["ether", f'anchor "{found.anchor}"' if found.anchor is not None else rule.action]
    words += [rule.direction] if rule.direction else []
    words += ["quick"] if rule.quick else []
    if rule.interface:
        words += ["on", *(["!"] if rule.interface_negated else []), rule.interface]
    words += ["bridge-to", found.bridge_to] if found.bridge_to else []
    words += [f"proto 0x{found.proto:04x}"] if found.proto else []
    words += [f"from {mac_text(found.source)}"] if found.source is not None else []
    words += [f"to {mac_text(found.destination)}"] if found.destination is not None else []
    words.append(f"l3{network}")
    words += [f'label "{label}"' for label in (rule.label, *rule.more_labels) if label]
    words += [f"ridentifier {rule.ridentifier}"] if rule.ridentifier else []
    words += [f"queue {rule.queue}"] if rule.queue else []
    words += [f"tag {rule.tag}"] if rule.tag else []
    words += [f"{'! ' if rule.tagged_negated else ''}tagged {rule.tagged}"] if rule.tagged else []
    what, number, _ = rule.dummynet
    words += [f"{what} {number}"] if number else []
    return " ".join(words)
