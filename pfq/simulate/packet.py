"""A packet is a list: the quickest record that Python has. These are the positions in it.

SIZE: bytes of IP. CLASS: index of the leaf of the plan's tree. KEY: what a fair queue tells flows apart by. SINK: called with (now, packet)
where the packet ends. NUMBER, TIME, EXTRA: the protocol's own. COUNTED: bytes that the scheduler counts. QUEUED: when it was queued (ns).
"""

from collections.abc import Callable
from typing import Any

Packet = list[Any]
Deliver = Callable[[int, Packet], None]

SIZE, CLASS, KEY, SINK, NUMBER, TIME, EXTRA, COUNTED, QUEUED = range(9)

SECOND = 1_000_000_000
# Later than anything.
NEVER = 1 << 62
