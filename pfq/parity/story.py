"""Packets one after the other: which of them open a flow, and which belong to one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pfq.parity.ordinary import QUESTIONS, QUESTIONS6
from pfq.parity.packet import ACK, FIN, PUSH, SYN, WORDS, Packet, is_icmp
from pfq.parity.proof import Moment
from pfq.plan.classify import TCP

_FIRST_FRAGMENT, _LATER_FRAGMENT = 1, 2


@dataclass(frozen=True, slots=True)
class Step:
    """A packet, and the one that opened its flow (itself at the beginning)."""

    packet: Packet
    opener: Packet
    moment: Moment


def _answers(packet: Packet, opener: Packet) -> bool:
    """Whether two ICMP messages may be of one flow: a question, the same question again, its answer."""
    if not is_icmp(packet.source.version, packet.protocol):
        return True
    known = QUESTIONS if packet.source.version == 4 else QUESTIONS6
    wanted = opener.icmp_type if packet.follows(opener) else known.get(opener.icmp_type)
    return opener.icmp_type in known and packet.icmp_type == wanted


def _turned(one: Packet) -> Packet:
    return replace(one, source=one.destination, destination=one.source, source_port=one.destination_port, destination_port=one.source_port)


def _begun(packet: Packet) -> Step:
    """A TCP packet that opens nothing, after the SYN that it takes: the other side's if it is the answer to one."""
    syn = replace(packet, flags=SYN, payload=0, fragment=0)
    return Step(packet, _turned(syn), "reply") if packet.flags & SYN else Step(packet, syn, "later")


def steps(packets: Iterable[Packet], assume: bool = False) -> Iterator[Step]:
    """Each packet in its flow. A later fragment belongs to the last first one between the same hosts; a new SYN begins anew.

    assume: a TCP packet of no known flow is one of a connection that began as usual, with a SYN.
    """
    openers: dict[tuple[object, ...], Packet] = {}
    firsts: dict[tuple[object, ...], Packet] = {}
    for found in packets:
        hosts = (found.source, found.destination, found.protocol)
        packet = found
        if packet.fragment == _FIRST_FRAGMENT:
            firsts[hosts] = packet
        elif packet.fragment == _LATER_FRAGMENT and hosts in firsts:
            head = firsts[hosts]
            packet = replace(head, fragment=_LATER_FRAGMENT, payload=packet.payload, tos=packet.tos, header_words=packet.header_words)
        there = (packet.source, packet.source_port, packet.destination, packet.destination_port, packet.protocol)
        back = (packet.destination, packet.destination_port, packet.source, packet.source_port, packet.protocol)
        anew = packet.protocol == TCP and packet.opens()
        if there in openers and not anew and _answers(packet, openers[there]):
            yield Step(packet, openers[there], "later")
        elif back in openers and not anew and _answers(packet, openers[back]):
            yield Step(packet, openers[back], "reply")
        elif assume and packet.protocol == TCP and not anew:
            step = _begun(packet)
            openers[back if step.moment == "reply" else there] = step.opener
            yield step
        else:
            openers.pop(back, None)
            openers[there] = packet
            yield Step(packet, packet, "first")


def connection(packet: Packet) -> list[Packet]:
    """A whole exchange on the addresses and ports of a packet, and with its ToS: TCP from SYN to the last ACK, a question and its answer."""
    if packet.protocol != TCP:
        answers = QUESTIONS if packet.source.version == 4 else QUESTIONS6
        answer = replace(packet, icmp_type=answers.get(packet.icmp_type, packet.icmp_type)) if is_icmp(packet.source.version, packet.protocol) else packet
        return [packet, _turned(answer), packet]
    syn = replace(packet, flags=SYN, payload=0)
    # With the timestamps of RFC 7323 after the handshake: the header is 3 words longer.
    ack = replace(packet, flags=ACK, payload=0, offset_words=max(packet.offset_words, WORDS + 3))
    data = replace(ack, flags=ACK | PUSH, payload=500)
    full = replace(ack, payload=1448)
    last = replace(ack, flags=FIN | ACK)
    return [syn, _turned(replace(syn, flags=SYN | ACK)), ack, data, _turned(ack), _turned(full), _turned(full), ack, last, _turned(last), ack]
