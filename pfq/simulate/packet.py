"""A packet is a list: the quickest record that Python has. These are the positions in it.

SIZE: bytes of IP. CLASS: index of the leaf of the plan's tree. KEY: what a fair queue tells flows apart by. SINK: called with (now, packet)
where the packet ends. NUMBER, TIME: the protocol's own. EXTRA: of a pure ACK what it acknowledges selectively, None of anything else. COUNTED: bytes
that the scheduler counts. QUEUED: when it was queued (ns). MARKS: bits of ECN (RFC 3168).
"""

from collections.abc import Callable
from typing import Any

Packet = list[Any]
Deliver = Callable[[int, Packet], None]

SIZE, CLASS, KEY, SINK, NUMBER, TIME, EXTRA, COUNTED, QUEUED, MARKS = range(10)
# The sender does ECN; a queue has marked the packet. An ACK echoes that; the sender says that it has slowed down.
CAPABLE, EXPERIENCED, ECHO, REDUCED = 1, 2, 4, 8

SECOND = 1_000_000_000
# Later than anything.
NEVER = 1 << 62
