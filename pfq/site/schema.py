"""The model's tables and keys: one definition, from which models are read and the JSON Schema is printed."""

from typing import Any

from pfq.site.differences import DIFFERENCES
from pfq.site.encapsulation import ENCAPSULATIONS
from pfq.site.kinds import (
    BAD,
    ArrayOf,
    ByType,
    Choice,
    Faults,
    Flag,
    IpAddress,
    IpNetwork,
    JsonSchema,
    Key,
    MapOf,
    Quantity,
    Table,
    Text,
    Whole,
    meant,
)
from pfq.site.model import (
    Amount,
    Attachment,
    Curve,
    Demand,
    Host,
    Inbound,
    Inside,
    Link,
    Match,
    OneToOne,
    Policy,
    Service,
    TrafficClass,
)
from pfq.site.positions import Path
from pfq.site.systems import UnknownSystem, covered, parse_system
from pfq.site.units import UnitError, parse_packets, parse_percent, parse_rate, parse_size, parse_time

DEFAULT_POLICY = "default"
DEFAULT_SPEED = 10**9
SSH = 22

# IP protocol numbers by their usual names (IANA protocol-numbers registry).
PROTOCOLS = {"tcp": 6, "udp": 17, "igmp": 2, "ipencap": 4, "gre": 47, "esp": 50, "ah": 51, "sctp": 132}
WITH_PORTS = (6, 17)

# Differentiated services code points (RFC 2474, 2597, 3246, 5865, 8622); 0 is no condition at all in pf, so it is not offered.
DSCP = {
    "lowdelay": 0x10 >> 2,
    "le": 1,
    **{f"cs{n}": n << 3 for n in range(1, 8)},
    **{f"af{n}{m}": (n << 3) + (m << 1) for n in range(1, 5) for m in range(1, 4)},
    "va": 44,
    "ef": 46,
}

SCHEDULERS = ["priq", "cbq", "hfsc", "htb", "prio", "cake"]
LEAVES = ["fq_codel", "sfq", "pfifo"]

_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
_NAME_FORM = "letters, digits, '_' and '-', a letter first"
LINK_NAME = Text("the name of a link", _NAME, 63, _NAME_FORM)
_CLASS_NAME = Text("the name of a class", _NAME, 63, _NAME_FORM)
POLICY_NAME = Text("the name of a policy", _NAME, 63, _NAME_FORM)
_HOST_NAME = Text(
    "the name of a host", r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*", 63,
    "letters, digits, '-' and '.', as in a host name",
)
_INTERFACE = Text("an interface", r"[A-Za-z][A-Za-z0-9_.-]*", 15, "letters, digits, '_', '.' and '-', a letter first")

_RATE = Quantity("a rate", parse_rate, "128 kbit")
_SIZE = Quantity("a size", parse_size, "6 kB")


def _parse_amount(text: str) -> Amount:
    return parse_percent(text) if "%" in text else parse_rate(text)


def _parse_limit(text: str) -> tuple[int, str]:
    try:
        return (parse_packets(text), "packets") if "packet" in text else (parse_time(text), "us")
    except UnitError as error:
        raise UnitError(str(error), "write a time such as '200 ms', or a number such as '50 packets'") from None


_AMOUNT = Quantity("a rate or a percentage", _parse_amount, "64 kbit")


def _build_curve(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    if ("burst" in values) != ("for" in values):
        faults.at(path, "half-a-curve", "a curve of two pieces needs both `burst` and `for`", "{ rate = '64 kbit', burst = '128 kbit', for = '20 ms' }")
        return BAD
    return Curve(values["rate"], values.get("burst"), values.get("for", 0))


_CURVE_KEYS = {
    "rate": Key(_AMOUNT, "The rate that holds in the long run.", required=True),
    "burst": Key(_AMOUNT, "The rate at the beginning of a backlog."),
    "for": Key(Quantity("a time", parse_time, "20 ms"), "How long the burst rate holds."),
}
_CURVE = Table("a curve", _CURVE_KEYS, _build_curve)


def _build_demand(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    if "up" in values or "down" in values:
        if "rate" in values or "burst" in values or "for" in values:
            faults.at(path, "mixed-demand", "`up` and `down` cannot stand beside `rate`", "put the curve inside `up` and `down`")
            return BAD
        return Demand(values.get("up"), values.get("down"))
    if "rate" not in values:
        faults.at(path, "missing-key", "a demand needs `rate`, or `up` and `down`", "{ rate = '64 kbit' }")
        return BAD
    curve = _build_curve(path, values, faults)
    return BAD if curve is BAD else Demand(curve, curve)


class _DemandTable(Table):
    def json_schema(self) -> JsonSchema:
        return super().json_schema() | {"anyOf": [{"required": [name]} for name in ("rate", "up", "down")]}


class _Amount(Quantity):
    """A one-piece curve written as a plain rate."""

    def __init__(self, both: bool) -> None:
        super().__init__("a rate or a percentage", _parse_amount, "64 kbit")
        self.both = both

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        amount = super().read(value, path, faults)
        if amount is BAD:
            return BAD
        curve = Curve(amount, None, 0)
        return Demand(curve, curve) if self.both else curve


_ONE_WAY = ByType("a rate or a curve", str=_Amount(False), dict=_CURVE, int=_AMOUNT, float=_AMOUNT)
_DEMAND_KEYS = {name: Key(key.kind, key.meaning) for name, key in _CURVE_KEYS.items()} | {
    "up": Key(_ONE_WAY, "For uploads only."),
    "down": Key(_ONE_WAY, "For downloads only."),
}
_DEMAND = ByType(
    "a rate, a percentage or a curve", str=_Amount(True), dict=_DemandTable("a demand", _DEMAND_KEYS, _build_demand), int=_AMOUNT, float=_AMOUNT
)


def _ports(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not (low.isascii() and low.isdigit() and len(low) <= 5 and (not dash or (high.isascii() and high.isdigit() and len(high) <= 5))):
        raise UnitError(f"{text[:30]!r} is no port", "write 53, or '8000-8100' for a range")
    first, last = int(low), int(high) if dash else int(low)
    if not 1 <= first <= last <= 65535:
        raise UnitError(f"{text!r} is no range of ports", "1 to 65535, the smaller one first")
    return first, last


class _Port(Whole):
    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        port = super().read(value, path, faults)
        return BAD if port is BAD else (port, port)


class _PortText(Quantity):
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "pattern": r"^\d{1,5}(-\d{1,5})?$"}


_PORTS = ArrayOf(ByType("a port", int=_Port("a port", 1, 65535), str=_PortText("a port", _ports, "8000-8100")), single=True, most=1000)


class _MatchText(Quantity):
    """'icmp', 'udp/53', 'tcp/8000-8100' as a match."""

    def __init__(self) -> None:
        super().__init__("a match", str, "udp/53")

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        protocol, slash, ports = value.partition("/")
        number = "icmp" if protocol == "icmp" else PROTOCOLS.get(protocol)
        if number is None:
            faults.at(path, "bad-match", f"{value[:40]!r} is not a match", meant(protocol[:40], ["icmp", *PROTOCOLS]))
            return BAD
        if slash and number not in WITH_PORTS:
            faults.at(path, "bad-match", f"{value[:40]!r}: {protocol} has no ports", "tcp and udp have")
            return BAD
        try:
            ranges = (_ports(ports),) if slash else ()
        except UnitError as error:
            faults.at(path, "bad-match", str(error), error.hint)
            return BAD
        return Match(path, number, ranges, (), (), (), (), None, "both")  # type: ignore[arg-type]

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "pattern": rf"^(icmp|{'|'.join(PROTOCOLS)}|(tcp|udp)/\d{{1,5}}(-\d{{1,5}})?)$"}


class _Protocol(Choice):
    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        word = super().read(value, path, faults)
        return BAD if word is BAD else ("icmp" if word == "icmp" else PROTOCOLS[word])


class _Dscp(Choice):
    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        word = super().read(value, path, faults)
        return BAD if word is BAD else DSCP[word]


def _build_match(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    protocol = values.get("protocol")
    good = True
    if ("port" in values or "source_port" in values) and protocol not in WITH_PORTS:
        faults.at(path, "bad-match", "ports need a protocol that has them", "add protocol = 'tcp' or protocol = 'udp'")
        good = False
    family = {"ipv4": 4, "ipv6": 6}.get(values.get("family", ""))
    sources, destinations = values.get("from", ()), values.get("to", ())
    families = [{n.version for n in side} for side in (sources, destinations) if side]
    families += [{family}] if family else []
    if families and not set.intersection(*families):
        faults.at(path, "unreachable", "no packet can match: IPv4 and IPv6 are asked for at once", "make two matches of it")
        good = False
    if not values:
        faults.at(path, "empty-match", "an empty match says nothing", "leave `match` out and set default = true")
        good = False
    if not good:
        return BAD
    return Match(
        path, protocol, values.get("port", ()), values.get("source_port", ()), sources, destinations, values.get("dscp", ()),
        family, values.get("opened", "both"),
    )


_MATCH_KEYS = {
    "protocol": Key(_Protocol("a protocol", ["icmp", *PROTOCOLS]), "Protocol; 'icmp' means ICMPv6 in IPv6."),
    "port": Key(_PORTS, "Destination ports of the first packet: the service's."),
    "source_port": Key(_PORTS, "Source ports of the first packet."),
    "from": Key(ArrayOf(IpNetwork(), single=True), "Networks that the first packet comes from, as they are inside (before NAT)."),
    "to": Key(ArrayOf(IpNetwork(), single=True), "Networks that the first packet goes to, as they are inside (after 1:1 NAT)."),
    "dscp": Key(ArrayOf(_Dscp("a DSCP", list(DSCP)), single=True, most=64), "Code points of the first packet."),
    "family": Key(Choice("a family", ["ipv4", "ipv6"]), "Only this family."),
    "opened": Key(Choice("a side", ["inside", "outside", "both"]), "Which side sends the first packet; both if left out."),
}
_MATCH = ByType("a match", str=_MatchText(), dict=Table("a match", _MATCH_KEYS, _build_match))


def _build_class(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    limit, unit = values.get("limit", (None, "packets"))
    return TrafficClass(
        path, values["name"], values.get("match", ()), values.get("express", False), values.get("default", False),
        values.get("upgrade", True), values.get("parent"), values.get("share"), values.get("guarantee"), values.get("ceiling"),
        limit, unit, values.get("fair"), values.get("drop", "tail"),
    )


_CLASS_KEYS = {
    "name": Key(_CLASS_NAME, "Name of the class; becomes the queue's.", required=True),
    "match": Key(ArrayOf(_MATCH, single=True, most=10_000), "What belongs here: the first class that matches a flow's first packet has it."),
    "express": Key(Flag(), "Empty TCP ACKs and low-delay packets of the other classes go here, packet by packet."),
    "default": Key(Flag(), "Flows that match no class go here; if no class says so, to the last class without match."),
    "upgrade": Key(Flag(), "false: this class's empty ACKs and low-delay packets stay in it."),
    "parent": Key(_CLASS_NAME, "The class of which this one takes a part."),
    "share": Key(Whole("a share", 1, 1000), "Neighbours with a share are served together, in proportion; without, classes go in order."),
    "guarantee": Key(_DEMAND, "Rate that the class gets whatever the others do."),
    "ceiling": Key(_DEMAND, "Rate that the class never exceeds."),
    "limit": Key(Quantity("a limit", _parse_limit, "200 ms"), "Longest queue, as a time at the class's rate or in packets."),
    "fair": Key(Choice("a way to share", ["none", "flow", "source", "destination"]), "How the class's flows share it."),
    "drop": Key(Choice("a way to drop", ["tail", "red", "ecn", "codel"]), "How the queue drops; ecn marks where it can."),
}


def _build_policy(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    return Policy(path, str(path[-1]), values["classes"], values.get("unclassified"))


_POLICY_KEYS = {
    "classes": Key(ArrayOf(Table("a class", _CLASS_KEYS, _build_class), most=1000), "The classes, the one to serve first written first.", required=True),
    "unclassified": Key(_CLASS_NAME, "Class of frames without an IP header (ARP, PPPoE discovery)."),
}


def _build_link(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    encapsulation = ENCAPSULATIONS[values.get("encapsulation", "ethernet")]
    mtu = values.get("mtu")
    if mtu is not None and mtu > encapsulation.mtu_limit:
        faults.at((*path, "mtu"), "out-of-range", f"{encapsulation.name} carries at most {encapsulation.mtu_limit} bytes", "leave mtu out: it is computed")
        return BAD
    return Link(
        path, str(path[-1]), values["up"], values.get("down"), encapsulation, values.get("policy", DEFAULT_POLICY),
        values.get("ipv6", True), mtu, values.get("segments_per_ack", 2),
    )


_LINK_KEYS = {
    "up": Key(_RATE, "Rate towards the Internet, as the modem reports it or the contract says.", required=True),
    "down": Key(_RATE, "Rate from the Internet; without it, downloads are not shaped and no ACK demand is computed."),
    "encapsulation": Key(Choice("an encapsulation", list(ENCAPSULATIONS)), "What the line wraps round an IP packet; 'ethernet' if left out."),
    "policy": Key(POLICY_NAME, "The policy; 'default' (ICMP and DNS, then express, then the rest, shared fairly) if left out."),
    "ipv6": Key(Flag(), "Whether the line carries IPv6; true if left out."),
    "mtu": Key(Whole("an MTU", 576, 1500), "Largest IP packet (bytes); computed from the encapsulation if left out."),
    "segments_per_ack": Key(Whole("segments for an ACK", 1, 64), "Full segments that one ACK answers; 2 if left out (RFC 5681)."),
}


class _ServiceText(Quantity):
    def __init__(self) -> None:
        super().__init__("a service", str, "tcp/443")

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not str:
            return self.wrong(value, path, faults)
        protocol, _, ports = value.partition("/")
        if value == "icmp/echo":
            return Service("icmp", None)
        if protocol not in ("tcp", "udp"):
            faults.at(path, "bad-service", f"{value[:40]!r} is not a service", "write 'tcp/443', 'udp/5000-5010' or 'icmp/echo'")
            return BAD
        try:
            return Service("tcp" if protocol == "tcp" else "udp", _ports(ports))
        except UnitError as error:
            faults.at(path, "bad-service", str(error), error.hint)
            return BAD

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "pattern": r"^(icmp/echo|(tcp|udp)/\d{1,5}(-\d{1,5})?)$"}


def _build_operator(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    return values.get("port", SSH), values.get("from", ())


_OPERATOR_KEYS = {
    "port": Key(Whole("a port", 1, 65535), "TCP port of the operator's way in; 22 if left out."),
    "from": Key(ArrayOf(IpNetwork(), single=True), "Networks the operator comes from; anywhere if left out."),
}


def _build_inbound(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    port, networks = values.get("operator", (SSH, ()))
    return Inbound(path, values.get("services", ()), port, networks)


_INBOUND_KEYS = {
    "services": Key(ArrayOf(_ServiceText(), most=1000), "What may be reached from the link: 'tcp/443', 'udp/5000-5010', 'icmp/echo'."),
    "operator": Key(Table("the operator's way in", _OPERATOR_KEYS, _build_operator), "The TCP port that stays open for the operator."),
}


def _build_one_to_one(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    if values["inside"].version != values["outside"].version:
        faults.at(path, "bad-nat", "1:1 NAT cannot turn IPv4 into IPv6")
        return BAD
    return OneToOne(path, values["inside"], values["outside"])


_ONE_TO_ONE_KEYS = {
    "inside": Key(IpAddress(), "The host's own address.", required=True),
    "outside": Key(IpAddress(), "The address it has on the link.", required=True),
}


def _build_attachment(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    return Attachment(
        path, str(path[-1]), values["interface"], values.get("queue_on"), values.get("speed", DEFAULT_SPEED), values.get("scheduler"),
        values.get("leaf"), values.get("shape_down"), values.get("shaped_up"), values.get("shaped_down"), values.get("burst"),
        values.get("txqueuelen"), values.get("exclude", ()), values.get("nat", False), values.get("one_to_one", ()), values.get("mss"),
        values.get("inbound"),
    )


_ATTACHMENT_KEYS = {
    "interface": Key(_INTERFACE, "Interface that packets to the link go out on (on pf also a group).", required=True),
    "queue_on": Key(_INTERFACE, "Interface that holds the queues, where it is not the same: the parent of a VLAN or of pppoe."),
    "speed": Key(_RATE, "Speed of the interface that holds the queues; 1 Gbit if left out. Counts only beside unshaped traffic."),
    "scheduler": Key(Choice("a scheduler", SCHEDULERS), "The queueing discipline; chosen by what the policy asks for if left out."),
    "leaf": Key(Choice("a leaf queue", LEAVES), "Linux: the queue of a class that is shared fairly (fq_codel, sfq) or not at all (pfifo)."),
    "shape_down": Key(
        Choice("a place", ["none", "ingress", "inside", "police"]),
        "Where downloads are shaped: on arrival (Linux), on the inside interface, by dropping (Linux), or not at all.",
    ),
    "shaped_up": Key(_RATE, "Shaped rate up, in the bytes that this system counts; computed if left out."),
    "shaped_down": Key(_RATE, "Shaped rate down, in the bytes that this system counts; computed if left out."),
    "burst": Key(_SIZE, "Depth of the token bucket; computed if left out."),
    "txqueuelen": Key(Whole("a queue length", 1, 100_000), "Linux: transmit queue length of the interface (packets)."),
    "exclude": Key(ArrayOf(IpNetwork(), single=True), "Networks on this interface that are not behind the link: never shaped."),
    "nat": Key(ByType("true, false or an address", bool=Flag(), str=IpAddress()), "true: the inside's IPv4 networks go out with the interface's address."),
    "one_to_one": Key(ArrayOf(Table("a 1:1 NAT", _ONE_TO_ONE_KEYS, _build_one_to_one)), "Inside hosts with an address of their own on the link."),
    "mss": Key(
        ByType("true, false or a size", bool=Flag(), int=Whole("a segment size", 536, 1460)),
        "TCP segment size to clamp to (IPv4; IPv6 is 20 less); true computes it, and so does nothing at all where the MTU is below 1500.",
    ),
    "inbound": Key(Table("an inbound policy", _INBOUND_KEYS, _build_inbound), "Lets nothing new in from the link but what is listed here."),
}


class _AttachmentText(Text):
    """An attachment written as its interface alone."""

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        interface = super().read(value, path, faults)
        return BAD if interface is BAD else _build_attachment(path, {"interface": interface}, faults)


_ATTACHMENT = ByType(
    "an interface or a table",
    str=_AttachmentText("an interface", _INTERFACE.pattern, _INTERFACE.most, _INTERFACE.allowed),
    dict=Table("an attachment", _ATTACHMENT_KEYS, _build_attachment),
)


def _build_inside(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    return Inside(path, values["interface"], values.get("networks", ()), values.get("speed", DEFAULT_SPEED))


_INSIDE_KEYS = {
    "interface": Key(_INTERFACE, "Interface of the inside network.", required=True),
    "networks": Key(ArrayOf(IpNetwork(), single=True), "Networks behind it."),
    "speed": Key(_RATE, "Its speed; 1 Gbit if left out."),
}


class _InsideText(Text):
    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        interface = super().read(value, path, faults)
        return BAD if interface is BAD else _build_inside(path, {"interface": interface}, faults)


_INSIDE = ArrayOf(
    ByType(
        "an interface or a table",
        str=_InsideText("an interface", _INTERFACE.pattern, _INTERFACE.most, _INTERFACE.allowed),
        dict=Table("an inside network", _INSIDE_KEYS, _build_inside),
    ),
    single=True, most=100,
)


class _System(Text):
    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not str:
            return self.wrong(value, path, faults)
        try:
            return parse_system(value)
        except UnknownSystem as error:
            faults.at(path, "unknown-system", str(error), error.hint)
            return BAD


def _build_host(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    return Host(path, str(path[-1]), values["system"], values.get("inside", ()), tuple(values["links"].values()))


_HOST_KEYS = {
    "system": Key(
        _System("a system", r"(openbsd|freebsd|linux)-\d{1,3}(\.\d{1,3})?", 20, covered()),
        "Operating system and version: 'openbsd-7.6', 'freebsd-14', 'linux-6.1'.",
        required=True,
    ),
    "inside": Key(_INSIDE, "The inside: an interface, a table with its networks, or a list of them."),
    "links": Key(MapOf(LINK_NAME, _ATTACHMENT), "The links that the host is attached to, each with its interface.", required=True),
}


def _build_site(path: Path, values: dict[str, Any], faults: Faults) -> Any:
    return values


# A backslash at the end of a comment would take the next line into it (pf), the rest a terminal or an editor could take for a new line.
_SITE_NAME = Text(
    "the site's name", r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\\]*", 80, "one line of text without a backslash"
)
_SITE_KEYS = {
    "name": Key(_SITE_NAME, "Name of the site, for comments."),
    "accept": Key(ArrayOf(Choice("a difference", list(DIFFERENCES)), most=100), "Differences between systems that are accepted, by name."),
    "links": Key(MapOf(LINK_NAME, Table("a link", _LINK_KEYS, _build_link)), "The lines to the Internet.", required=True),
    "policies": Key(MapOf(POLICY_NAME, Table("a policy", _POLICY_KEYS, _build_policy)), "Traffic classes, by name of the policy."),
    "hosts": Key(MapOf(_HOST_NAME, Table("a host", _HOST_KEYS, _build_host)), "The gateways.", required=True),
}
SITE = Table("the model", _SITE_KEYS, _build_site, partial=True)


def json_schema() -> JsonSchema:
    """JSON Schema (draft 2020-12) of a model, for editors. It knows keys, kinds and ranges; references between tables are checked on reading."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pfq link model",
        **SITE.json_schema(),
    }


