"""`pfq explain`: its options, and what it does with them. Exit status 0: explained; 2: broken use or input, or not modelled."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from pfq.diagnostics import Diagnostic, Refused, as_text, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pfq.parity.explain import Explained
    from pfq.parity.packet import Packet
    from pfq.parity.story import Step

FINE, BROKEN = 0, 2


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `pfq explain`."""
    parser.add_argument("subject", metavar="SITE|RULESET", help="a model (*.toml), or a ruleset")
    parser.add_argument(
        "--packet", dest="packets", action="append", default=[], metavar="TEXT",
        help="a packet: 'PROTOCOL SOURCE[:PORT] > DESTINATION[:PORT] [flags] [len N] [tos N] ...'; several are taken one after the other",
    )
    parser.add_argument("--pcap", metavar="FILE", help="the packets of a capture (pcap, pcapng; - for standard input)")
    parser.add_argument("--state", action="store_true", help="the whole connection of the packet, in both directions")
    parser.add_argument("--host", metavar="NAME", help="of a model: only this gateway")
    parser.add_argument("--link", metavar="NAME", help="of a model: only this link")
    parser.add_argument("--from", dest="origin", choices=("inside", "outside", "gateway"), help="where the flow comes from, if its addresses do not tell")
    parser.add_argument("--as", dest="system", metavar="SYSTEM", help="of a ruleset: openbsd-7.6, freebsd-14.0, linux; guessed if left out")
    parser.add_argument("--in", dest="enters", metavar="IF", help="of a ruleset: the flow comes in here; left out: it begins at the gateway")
    parser.add_argument("--out", dest="leaves", metavar="IF", help="of a ruleset: the flow leaves by this interface; left out: it is for the gateway")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text for people (default), json for programs")


def run(arguments: Namespace) -> int:
    """Explain. Raises Refused for broken use and input, and for what is not modelled."""
    from pfq.parity import explain
    from pfq.parity.packet_text import PacketFault
    from pfq.parity.proof import Disagreement

    if not arguments.packets and arguments.pcap is None:
        raise refuse("no-packet", "no packet is given", hint="--packet 'tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 0', or --pcap FILE")
    if arguments.packets and arguments.pcap is not None:
        raise refuse("wrong-use", "--packet and --pcap are two ways to say the same", hint="one of them")
    try:
        steps = list(_steps(arguments))
    except PacketFault as fault:
        sys.stderr.write(f"pfq: this packet is not understood:\n{fault.shown()}")
        return BROKEN
    is_site = arguments.system is None and (arguments.subject.endswith(".toml") or arguments.subject == "-")
    try:
        found = list(_of_site(arguments, steps) if is_site else _of_ruleset(arguments, steps))
    except Disagreement as wrong:
        raise refuse("internal", f"the evaluation of one packet goes wrong: {wrong}", hint="this is a fault of pfq's") from None
    sys.stdout.write(explain.as_json(found) if arguments.format == "json" else explain.as_text(found))
    return FINE


def _steps(arguments: Namespace) -> "Iterator[tuple[int, Step | str]]":
    """The packets, numbered from 1, in their flows; for what is no packet, why."""
    from pfq.parity.packet_text import parse_packet
    from pfq.parity.story import connection, steps

    if arguments.pcap is None:
        packets = [parse_packet(text) for text in arguments.packets]
        if arguments.state:
            packets = [packet for one in packets for packet in connection(one)]
        yield from enumerate(steps(packets, assume=True), 1)
        return
    found = list(_captured(arguments.pcap))
    story = steps(packet for _, packet in found if not isinstance(packet, str))
    yield from ((number, packet if isinstance(packet, str) else next(story)) for number, packet in found)


def _captured(path: str) -> "Iterator[tuple[int, Packet | str]]":
    from pfq.parity.capture import read_capture
    from pfq.parity.frames import NoPacket, packet_in

    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except (OSError, ValueError) as error:
        raise refuse("unreadable", f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    capture = read_capture(data, "<stdin>" if path == "-" else path)
    if capture.cut:
        sys.stderr.write(as_text((Diagnostic("cut", capture.cut, severity="warning"),)))
    for frame in capture.frames:
        try:
            yield frame.number, packet_in(frame)
        except NoPacket as reason:
            yield frame.number, str(reason)


def _of_site(arguments: Namespace, steps: "list[tuple[int, Step | str]]") -> "Iterator[Explained]":
    if arguments.enters or arguments.leaves:
        raise refuse("wrong-use", "--in and --out are for a ruleset", hint="--from and --link say which way a packet goes through a model")
    from pfq.compiling import compile_site
    from pfq.parity.explain import Explained, explain
    from pfq.parity.gateways import ruleset_of
    from pfq.parity.sides import origin_or_refuse

    compiled, plan = compile_site(arguments.subject, arguments.host, None, None, several=True)
    links = [(gateway, uplink) for gateway in plan.gateways for uplink in gateway.uplinks if arguments.link in (None, uplink.link)]
    if not links:
        known = sorted({uplink.link for gateway in plan.gateways for uplink in gateway.uplinks})
        raise refuse("no-link", f"no gateway has a link {arguments.link!r}", hint=f"there are {', '.join(known)}")
    faults: list[Diagnostic] = []
    rulesets = {}
    for gateway in {id(gateway): gateway for gateway, _ in links}.values():
        file = compiled[gateway.name][0]
        try:
            rulesets[gateway.name] = ruleset_of(gateway, {os.path.join(gateway.name, file.name): file.text})
        except Refused as refused:
            faults += refused.diagnostics
    if faults:
        raise Refused(faults)
    for number, step in steps:
        if isinstance(step, str):
            yield Explained(number, None, None, note=step)
            continue
        if arguments.origin is None and arguments.pcap is None:
            origin_or_refuse(step.opener, plan.gateways)
        yield explain(plan, rulesets, links, step, number, arguments.origin)


def _of_ruleset(arguments: Namespace, steps: "list[tuple[int, Step | str]]") -> "Iterator[Explained]":
    if arguments.host or arguments.link or arguments.origin:
        raise refuse("wrong-use", "--host, --link and --from are for a model", hint="--in and --out say which way a packet goes through a ruleset")
    if not arguments.enters and not arguments.leaves:
        raise refuse("no-way", "which way does the packet go?", hint="--in IF, --out IF, or both")
    from pfq.headers.asking import Way
    from pfq.parity.explain import Explained, explain_ruleset
    from pfq.parity.rulesets import load

    loaded = load(arguments.subject, arguments.system)
    way = Way(arguments.enters, arguments.leaves)
    for number, step in steps:
        if isinstance(step, str):
            yield Explained(number, None, None, note=step)
        else:
            yield explain_ruleset(f"{loaded.name} ({loaded.system})", loaded.ruleset, way, step, number)
