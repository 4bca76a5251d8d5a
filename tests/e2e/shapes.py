"""Every shape of TCP packet that an express test may look at."""

from collections.abc import Iterator
from dataclasses import replace

from tests.e2e.packet import (
    ACK,
    CWR,
    DESTINATION_OPTIONS,
    ECE,
    FIN,
    FRAGMENT,
    HOP_BY_HOP,
    PSH,
    ROUTING,
    RST,
    SYN,
    TIMESTAMPS,
    URG,
    Packet,
    sack,
)

_OPTIONS = {
    "no options": b"",
    "timestamps": TIMESTAMPS,
    **{f"{n} SACK blocks": sack(n) for n in range(1, 5)},
    "timestamps, 3 SACK blocks": TIMESTAMPS + sack(3),
}
_TOS = (0x01, 0x02, 0x03, 0x08, 0x10, 0x12, 0x13, 0x18, 0x40, 0x50, 0xB8, 0xE0, 0xEF)
_EXTENSIONS = ((HOP_BY_HOP,), (DESTINATION_OPTIONS,), (ROUTING,), (FRAGMENT,), (HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS))


def every_shape(base: Packet) -> Iterator[tuple[str, Packet]]:
    """Packets of an open TCP connection; the last ones close it. base: addresses, ports."""
    empty = replace(base, flags=ACK, tcp_options=b"", payload=0, tos=0)
    for name, options in _OPTIONS.items():
        for payload in (0, 1, 12) if options else (0, 1, 4, 6, 12, 1300):
            yield f"{name}, {payload} bytes", replace(empty, tcp_options=options, payload=payload)
    for tos in _TOS:
        yield f"ToS {tos:#04x}, data", replace(empty, tos=tos, payload=100)
        yield f"ToS {tos:#04x}, empty", replace(empty, tos=tos)
    for flags in (ACK | PSH, ACK | ECE, ACK | CWR, ACK | URG, ACK | PSH | ECE | CWR):
        yield f"flags {flags:#04x}, empty", replace(empty, flags=flags)
        yield f"flags {flags:#04x}, data", replace(empty, flags=flags, payload=3)
    if base.version == 4:
        for words in (1, 4, 10):
            yield f"{words} words of IP options, empty", replace(empty, ip_options=b"\x01" * 4 * words)
            yield f"{words} words of IP options, timestamps, empty", replace(empty, ip_options=b"\x01" * 4 * words, tcp_options=TIMESTAMPS)
            yield f"{words} words of IP options, data", replace(empty, ip_options=b"\x01" * 4 * words, payload=4)
    else:
        for headers in _EXTENSIONS:
            yield f"extension headers {headers}, empty", replace(empty, extensions=headers)
            yield f"extension headers {headers}, ToS 0x10", replace(empty, extensions=headers, tos=0x10, payload=9)
            yield f"extension headers {headers}, data", replace(empty, extensions=headers, payload=8)
    yield "SYN again", replace(empty, flags=SYN)
    yield "FIN", replace(empty, flags=FIN | ACK)
    yield "FIN, data", replace(empty, flags=FIN | ACK | PSH, payload=7)
    yield "RST ACK", replace(empty, flags=RST | ACK)
    yield "RST", replace(empty, flags=RST)


def brief(base: Packet) -> Iterator[tuple[str, Packet]]:
    """What tells the flow's class and whether it is upgraded."""
    empty = replace(base, flags=ACK, tcp_options=b"", payload=0, tos=0)
    yield "empty, timestamps", replace(empty, tcp_options=TIMESTAMPS)
    yield "1 byte, timestamps", replace(empty, tcp_options=TIMESTAMPS, payload=1)
    yield "low delay, data", replace(empty, tos=0x10, payload=50)
    yield "expedited, data", replace(empty, tos=0xA0, payload=50)
