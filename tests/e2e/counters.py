"""The counters of queueing disciplines and classes, read by netlink: what `tc -s qdisc` and `tc -s class` print, without a process.

Layouts: include/uapi/linux/rtnetlink.h (tcmsg), gen_stats.h, pkt_sched.h (CAKE's tins).
"""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

_NEW_QDISC, _GET_QDISC, _NEW_CLASS, _GET_CLASS = 36, 38, 40, 42
_ERROR, _DONE = 2, 3
_REQUEST_DUMP = 0x301
_KIND, _OPTIONS, _STATISTICS, _SIZE_TABLE = 1, 2, 7, 8
_BASIC, _QUEUE, _OF_KIND = 1, 3, 4
_CAKE_TINS, _TIN_PACKETS, _TIN_BYTES = 10, 2, 3
_TYPE_MASK = 0x3FFF

ROOT, INGRESS = 0xFFFFFFFF, 0xFFFFFFF1

# Disciplines whose classes a packet is sorted into by priority or filter. The "classes" of the rest are flow buckets.
CLASSFUL = frozenset({"htb", "hfsc", "cbq", "prio", "ets", "drr", "qfq"})


@dataclass(frozen=True, slots=True)
class Counter:
    """A discipline's or a class's numbers at one moment.

    handle, parent: as tc's 32-bit ids. leaf: handle of the discipline that a class holds, 0 for none.
    packets, bytes: passed on so far. drops: thrown away so far. backlog: packets waiting now.
    tins: packets and bytes of each of CAKE's tins.
    """

    what: Literal["qdisc", "class"]
    index: int
    kind: str
    handle: int
    parent: int
    leaf: int
    packets: int
    bytes: int
    drops: int
    backlog: int
    tins: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """A discipline or class as the kernel describes it: options and size table are raw."""

    is_class: bool
    index: int
    kind: str
    handle: int
    parent: int
    info: int
    options: bytes
    size_table: bytes


def name_of(handle: int) -> str:
    """A handle as tc writes it: 1:12 for a class, 1: for a discipline."""
    minor = handle & 0xFFFF
    return f"{handle >> 16:x}:{minor:x}" if minor else f"{handle >> 16:x}:"


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and value of each netlink attribute."""
    offset = 0
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, offset)
        yield kind & _TYPE_MASK, data[offset + 4 : offset + length]
        offset += max(4, length + 3 & ~3)


def _tins(data: bytes) -> tuple[tuple[int, int], ...]:
    found = []
    for kind, tins in attributes(data):
        if kind == _CAKE_TINS:
            for _, tin in attributes(tins):
                values = dict(attributes(tin))
                found.append((int.from_bytes(values[_TIN_PACKETS], "little"), int.from_bytes(values[_TIN_BYTES], "little")))
    return tuple(found)


def _counter(message: int, data: bytes) -> Counter:
    index, handle, parent, info = struct.unpack_from("=iIII", data, 4)
    values = dict(attributes(data[20:]))
    kind = values[_KIND].rstrip(b"\0").decode()
    statistics = dict(attributes(values.get(_STATISTICS, b"")))
    size, packets = struct.unpack_from("=QI", statistics.get(_BASIC, bytes(12)))
    backlog, _, drops = struct.unpack_from("=III", statistics.get(_QUEUE, bytes(12)))
    is_class = message == _NEW_CLASS
    return Counter(
        what="class" if is_class else "qdisc",
        index=index,
        kind=kind,
        handle=handle,
        parent=parent,
        leaf=info & 0xFFFF0000 if is_class else 0,
        packets=packets,
        bytes=size,
        drops=drops,
        backlog=backlog,
        tins=_tins(statistics.get(_OF_KIND, b"")) if kind == "cake" and not is_class else (),
    )


class CounterSocket:
    """Reads the counters of the network namespace it was opened in."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._known: dict[bytes, Counter] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    def _dump(self, request: int, index: int) -> Iterator[tuple[int, bytes]]:
        """Kind and body of each message of a dump."""
        body = struct.pack("=BBHiIII", 0, 0, 0, index, 0, 0, 0)
        self._socket.send(struct.pack("=IHHII", 16 + len(body), request, _REQUEST_DUMP, 1, 0) + body)
        while True:
            data = self._socket.recv(1 << 18)
            offset = 0
            while offset < len(data):
                length, message = struct.unpack_from("=IH", data, offset)
                if message == _DONE:
                    return
                if message == _ERROR:
                    number = -struct.unpack_from("=i", data, offset + 16)[0]
                    raise OSError(number, "reading tc counters")
                yield message, data[offset + 16 : offset + length]
                offset += length + 3 & ~3

    def read(self) -> tuple[Counter, ...]:
        """Every discipline of the namespace and every class of those that have classes.

        What has counted nothing since the last reading is the same object as then: on an emulated machine, reading messages apart is dear.
        """
        known: dict[bytes, Counter] = {}

        def counters(request: int, index: int) -> Iterator[Counter]:
            for message, body in self._dump(request, index):
                counter = self._known.get(body)
                known[body] = counter = counter or _counter(message, body)
                yield counter

        disciplines = list(counters(_GET_QDISC, 0))
        with_classes = dict.fromkeys(qdisc.index for qdisc in disciplines if qdisc.kind in CLASSFUL)
        classes = [each for index in with_classes for each in counters(_GET_CLASS, index) if each.kind in CLASSFUL]
        self._known = known
        return (*disciplines, *classes)

    def objects(self) -> Iterator[Held]:
        """Every discipline and class of the namespace with its raw options."""
        for index, request in [(0, _GET_QDISC), *((qdisc.index, _GET_CLASS) for qdisc in self._roots())]:
            for message, data in self._dump(request, index):
                here, handle, parent, info = struct.unpack_from("=iIII", data, 4)
                values = dict(attributes(data[20:]))
                kind = values[_KIND].rstrip(b"\0").decode()
                yield Held(message == _NEW_CLASS, here, kind, handle, parent, info, values.get(_OPTIONS, b""), values.get(_SIZE_TABLE, b""))

    def _roots(self) -> list[Counter]:
        found = {qdisc.index: qdisc for qdisc in self.read() if qdisc.what == "qdisc" and qdisc.kind in CLASSFUL}
        return list(found.values())
