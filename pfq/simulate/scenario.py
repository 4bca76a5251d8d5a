"""Scenarios: what happens on the line, and how its two ends behave. Built in, or a TOML file."""

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from pfq.diagnostics import Refused, refuse
from pfq.simulate.packet import SECOND
from pfq.simulate.tcp import TcpKind
from pfq.site.encapsulation import ENCAPSULATIONS, Encapsulation
from pfq.site.kinds import BAD, ArrayOf, Choice, Faults, Flag, JsonSchema, Key, Quantity, Table, Text, Whole, meant
from pfq.site.load import read_toml
from pfq.site.positions import Path
from pfq.site.units import UnitError, parse_packets, parse_rate, parse_size, parse_time

FlowKind = Literal["tcp", "udp", "ping", "ssh", "web"]

LONGEST = 24 * 3600 * SECOND
MOST_FLOWS = 10_000

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|min|h)\Z", re.ASCII)
_UNITS = {"ms": SECOND // 1000, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}


@dataclass(frozen=True, slots=True)
class Buffer:
    """What waits before a bottleneck at most: packets, bytes of the line, or ns of it; the two others None."""

    packets: int | None = None
    size: int | None = None
    time: int | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """`count` flows of a kind that begin at `start` (each `apart` ns after the one before) and end at `stop` (ns).

    direction: tcp and udp only. hosts: inside hosts (and servers) that the flows are spread over; host: the first one of them. size: bytes of a
    page, of a udp or ping packet. rate: bit/s of a udp stream. every: ns between pings, keys or pages. port: of the server. tos: of the packets.
    window: bytes that the receiver of a transfer offers, 0: as the scenario says.
    """

    kind: FlowKind
    direction: Literal["up", "down"]
    count: int
    hosts: int
    start: int
    stop: int
    apart: int
    size: int
    rate: int
    every: int
    port: int
    tos: int
    window: int
    host: int


@dataclass(frozen=True, slots=True)
class Phase:
    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """duration, delay_up, delay_down: ns (the delays from one end to the other, without serialisation and waiting).

    lan: bit/s at which the inside sends, None: at once. real_up, real_down (bit/s), real_encapsulation: the line as it is, where the model
    says something else of it; None: as the model says.
    """

    name: str
    title: str
    duration: int
    delay_up: int
    delay_down: int
    up_buffer: Buffer
    down_buffer: Buffer
    lan: int | None
    real_up: int | None
    real_down: int | None
    real_encapsulation: Encapsulation | None
    tcp: TcpKind
    phases: tuple[Phase, ...]
    flows: tuple[Flow, ...]


# A modem or an exchange that holds a quarter of a second: between the extremes that people measure. A scenario can say another.
DEFAULT_BUFFER = Buffer(time=SECOND // 4)
DEFAULT_DELAY = 15_000_000
PING_SIZE, PING_EVERY = 84, SECOND // 5
_DEFAULTS: dict[str, dict[str, int]] = {
    "tcp": {"port": 80, "apart": 100_000_000},
    "udp": {"port": 5060, "size": 200, "rate": 80_000},
    "ping": {"size": PING_SIZE, "every": PING_EVERY},
    # Shells of before 2018 set the low-delay bit (OpenSSH 7.8 went over to AF21).
    "ssh": {"port": 22, "size": 92, "every": SECOND // 4, "tos": 0x10},
    "web": {"port": 443, "size": 100_000, "every": 2 * SECOND},
}


def flow(kind: FlowKind, start: int, stop: int, direction: Literal["up", "down"] = "down", count: int = 1, hosts: int = 1, **more: int) -> Flow:
    """A flow with the defaults of its kind."""
    values = {"apart": 0, "size": 0, "rate": 0, "every": 0, "port": 0, "tos": 0, "window": 0, "host": 0} | _DEFAULTS[kind] | more
    return Flow(kind, direction, count, hosts, start, stop, **values)


def parse_duration(text: str) -> int:
    """Nanoseconds of '100 ms', '90 s', '10 min', '1 h', at most a day. Raises UnitError."""
    found = _DURATION.match(text.strip())
    if not found:
        raise UnitError(f"{text[:40]!r} is not a time", "write a number with ms, s, min or h, such as '90 s'")
    value = int(float(found[1]) * _UNITS[found[2]])
    if not 0 < value <= LONGEST:
        raise UnitError(f"the time {text[:40]!r} is out of range", "more than nothing, at most 24 h")
    return value


def _parse_moment(text: str) -> int:
    return 0 if _DURATION.match(text.strip()) and not text.strip(" msinh0.") else parse_duration(text)


def _parse_buffer(text: str) -> Buffer:
    if "packet" in text:
        return Buffer(packets=parse_packets(text))
    try:
        return Buffer(size=parse_size(text))
    except UnitError:
        try:
            return Buffer(time=parse_time(text) * 1000)
        except UnitError:
            raise UnitError(f"{text[:40]!r} is not a buffer", "write '64 kB', '50 packets' or '250 ms'") from None


def _named(name: str, title: str, duration: int, flows: list[Flow], phases: list[Phase] | None = None) -> Scenario:
    # The first seconds of a transfer are its own affair.
    settled = Phase(name, min(5 * SECOND, duration // 2), duration)
    return Scenario(
        name, title, duration, DEFAULT_DELAY, DEFAULT_DELAY, DEFAULT_BUFFER, DEFAULT_BUFFER, None, None, None, None, TcpKind(),
        tuple(phases or [settled]), tuple(flows),
    )


def _in_phases(part: int) -> Scenario:
    names = ("idle", "download", "both", "upload", "idle again")
    phases = [Phase(name, index * part, (index + 1) * part) for index, name in enumerate(names)]
    flows = [
        flow("ping", 0, 5 * part),
        flow("tcp", part, 3 * part, "down", count=4),
        flow("tcp", 2 * part, 4 * part, "up", count=4),
    ]
    return _named("phases", "idle, download, both, upload, idle", 5 * part, flows, phases)


def _built_in() -> dict[str, Scenario]:
    minute = 60 * SECOND
    ping = flow("ping", 0, minute)
    shell = flow("ssh", 0, minute)
    down, up = flow("tcp", 0, minute, "down", count=4), flow("tcp", 0, minute, "up", count=4)
    users = [
        flow("tcp", 0, minute, "down", count=8, hosts=8),
        flow("tcp", 0, minute, "up", count=6, hosts=6),
        flow("web", 0, minute, count=6, hosts=6),
        flow("udp", 0, minute, "up"),
        flow("udp", 0, minute, "down"),
    ]
    made = [
        _in_phases(20 * SECOND),
        _named("idle", "nothing but a ping and a shell", 20 * SECOND, [flow("ping", 0, 20 * SECOND), flow("ssh", 0, 20 * SECOND)]),
        _named("download", "four downloads", minute, [ping, shell, down]),
        _named("upload", "four uploads", minute, [ping, shell, up]),
        _named("both", "four downloads and four uploads", minute, [ping, shell, down, up]),
        _named("many-users", "twenty people: transfers both ways, pages, a call", minute, [ping, shell, *users]),
    ]
    return {scenario.name: scenario for scenario in made}


BUILT_IN = _built_in()
DEFAULT = "phases"


# --- files


class _Quantity(Quantity):
    def json_schema(self) -> JsonSchema:
        return {"type": "string"}


_TIME = _Quantity("a time", parse_duration, "90 s")
_MOMENT = _Quantity("a time", _parse_moment, "120 s")
_SHORT = _Quantity("a time", lambda text: parse_time(text) * 1000, "15 ms")
_RATE = _Quantity("a rate", parse_rate, "80 kbit")
_SIZE = _Quantity("a size", parse_size, "64 kB")
_BUFFER = _Quantity("a buffer", _parse_buffer, "64 kB")
_NAME = Text("a name", r"[^\x00-\x1f\x7f]+", 80, "one line of text")

_TCP_KEYS = {
    "control": Key(Choice("a congestion control", ["newreno", "cubic"]), "How the window grows."),
    "receive_window": Key(_SIZE, "What receivers offer at most."),
    "initial_window": Key(Whole("segments", 1, 100), "Segments that are sent before the first ACK."),
    "sack": Key(Flag(), "Selective acknowledgements."),
    "timestamps": Key(Flag(), "Timestamps: 12 bytes more in every segment."),
    "delayed_ack": Key(_SHORT, "How long an ACK may wait."),
    "segments_per_ack": Key(Whole("segments", 1, 64), "Segments that one ACK answers."),
    "bunch": Key(Whole("segments", 1, 45), "Segments that the sender's card is given as one (TSO); 1 if left out."),
    "ecn": Key(Flag(), "Explicit congestion notification: queues that can mark instead of dropping; false if left out."),
    "least_rto": Key(_SHORT, "Least time until a segment is sent again."),
}
_LINE_KEYS = {
    "delay": Key(_SHORT, "One-way delay of each direction, without serialisation and waiting."),
    "delay_up": Key(_SHORT, "The same, upwards only."),
    "delay_down": Key(_SHORT, "The same, downwards only."),
    "up_buffer": Key(_BUFFER, "What waits in the modem at most."),
    "down_buffer": Key(_BUFFER, "What waits at the exchange at most."),
    "up": Key(_RATE, "The line's real rate up, where the model says another."),
    "down": Key(_RATE, "The line's real rate down, where the model says another."),
    "encapsulation": Key(Choice("an encapsulation", list(ENCAPSULATIONS)), "The line's real encapsulation, where the model says another."),
    "lan": Key(_RATE, "Speed at which the inside sends into the line; as fast as it likes if left out."),
}
_FLOW_KEYS = {
    "kind": Key(Choice("a kind of traffic", list(_DEFAULTS)), "tcp, udp, ping, ssh or web.", required=True),
    "direction": Key(Choice("a direction", ["up", "down"]), "Which way the data goes; down if left out."),
    "count": Key(Whole("a number of flows", 1, MOST_FLOWS), "How many; 1 if left out."),
    "hosts": Key(Whole("a number of hosts", 1, MOST_FLOWS), "Hosts that the flows are spread over; 1 if left out."),
    "start": Key(_MOMENT, "When; at the beginning if left out."),
    "stop": Key(_MOMENT, "Until when; the end if left out."),
    "apart": Key(_SHORT, "Time between the starts of two of them."),
    "size": Key(_SIZE, "Bytes of a page, or of a udp or ping packet."),
    "rate": Key(_RATE, "Rate of a udp stream."),
    "every": Key(_TIME, "Time between pings, keys, pages."),
    "port": Key(Whole("a port", 1, 65535), "The server's port."),
    "tos": Key(Whole("a ToS byte", 0, 255), "ToS byte of the packets."),
    "host": Key(Whole("a host", 0, MOST_FLOWS), "Number of the first host; 0 if left out, which all flows share then."),
    "window": Key(_SIZE, "What the receivers of these transfers offer at most."),
}
_PHASE_KEYS = {
    "name": Key(_NAME, "Its name in tables.", required=True),
    "start": Key(_MOMENT, "From when on."),
    "stop": Key(_MOMENT, "Until when."),
}


def _as_they_are(_path: Path, values: dict[str, Any], _faults: Faults) -> Any:
    return values


_FILE = Table(
    "the scenario",
    {
        "title": Key(_NAME, "What happens, in one line."),
        "duration": Key(_TIME, "How long.", required=True),
        "line": Key(Table("the line", _LINE_KEYS, _as_they_are), "Delay and buffers."),
        "tcp": Key(Table("tcp", _TCP_KEYS, _as_they_are), "How the ends do TCP."),
        "phases": Key(ArrayOf(Table("a phase", _PHASE_KEYS, _as_they_are), most=100), "Spans of time that are reported apart."),
        "flows": Key(ArrayOf(Table("a flow", _FLOW_KEYS, _as_they_are), most=1000), "The traffic.", required=True),
    },
    _as_they_are,
)


def load_scenario(path: str) -> Scenario:
    """The scenario of a TOML file. Raises Refused with everything that is wrong with it."""
    raw, source = read_toml(path)
    faults = Faults(source)
    values = _FILE.read(raw, (), faults)
    if values is BAD or faults.found:
        raise Refused(faults.found)
    scenario = _scenario(path, values, faults)
    if faults.found:
        raise Refused(faults.found)
    return scenario


def _scenario(path: str, values: dict[str, Any], faults: Faults) -> Scenario:
    duration = values["duration"]
    line = values.get("line", {})
    delay = line.get("delay", DEFAULT_DELAY)
    tcp = values.get("tcp", {})
    if not tcp.get("sack", True) and tcp.get("control") != "newreno":
        faults.at(("tcp", "sack"), "unsupported", "without SACK only NewReno is simulated", "add control = 'newreno'")
    flows = []
    for index, item in enumerate(values["flows"]):
        start, stop = item.pop("start", 0), min(item.pop("stop", duration), duration)
        if start >= stop:
            faults.at(("flows", index), "empty-flow", "the flow ends before it begins", "start before stop, and before the scenario ends")
        kind = item["kind"]
        if kind == "udp" and not 28 < item.get("size", 200) <= 1500:
            faults.at(("flows", index, "size"), "out-of-range", "a udp packet has 29 to 1500 bytes")
        flows.append(flow(start=start, stop=stop, **item))
    if sum(item.count for item in flows) > MOST_FLOWS:
        faults.at(("flows",), "too-many", f"more than {MOST_FLOWS} flows", "lower `count`")
    phases = []
    for index, item in enumerate(values.get("phases", [])):
        phase = Phase(item["name"], item.get("start", 0), min(item.get("stop", duration), duration))
        if phase.start >= phase.stop:
            faults.at(("phases", index), "empty-phase", f"the phase {phase.name!r} ends before it begins", "start before stop, and before the scenario ends")
        phases.append(phase)
    return Scenario(
        path, values.get("title", path), duration, line.get("delay_up", delay), line.get("delay_down", delay), line.get("up_buffer", DEFAULT_BUFFER),
        line.get("down_buffer", DEFAULT_BUFFER), line.get("lan"), line.get("up"), line.get("down"),
        ENCAPSULATIONS[line["encapsulation"]] if "encapsulation" in line else None, TcpKind(**tcp), tuple(phases) or (Phase("all", 0, duration),), tuple(flows),
    )


def find_scenario(name: str) -> Scenario:
    """A built-in scenario, or the one of a file (a name with a dot or a slash). Raises Refused."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if "/" in name or "." in name:
        return load_scenario(name)
    raise refuse("unknown-scenario", f"there is no scenario {name!r}", hint=f"{meant(name, list(BUILT_IN))} or name a file, such as ./{name}.toml")


def of_length(scenario: Scenario, duration: int) -> Scenario:
    """The scenario cut or stretched to `duration` ns: every time in it in proportion, but delays and intervals as they are."""

    def scaled(time: int) -> int:
        return time * duration // scenario.duration

    return replace(
        scenario, duration=duration,
        phases=tuple(replace(phase, start=scaled(phase.start), stop=scaled(phase.stop)) for phase in scenario.phases),
        flows=tuple(replace(item, start=scaled(item.start), stop=scaled(item.stop)) for item in scenario.flows),
    )
