"""The lines that are measured, and what physics leaves on each."""

from dataclasses import dataclass

from pfq.site.encapsulation import EMPTY_ACK_WITH_TIMESTAMPS, ENCAPSULATIONS, IPV4_HEADER, TCP_HEADER, TIMESTAMPS, Encapsulation

ETHERNET_HEADER = 14
# The delay between exchange and server, each way.
DELAY_MS = 15
# What waits in the modem and in the exchange: so long a time in full packets, at least and at most so many.
BUFFER_MS, LEAST_BUFFER, MOST_BUFFER = 800, 16, 1000


@dataclass(frozen=True, slots=True)
class Profile:
    """A line: bit/s each way and its encapsulation. settle: seconds before anything is counted; interval: milliseconds between pings."""

    name: str
    up: int
    down: int
    encapsulation: str
    settle: int
    interval: int

    @property
    def wrapping(self) -> Encapsulation:
        return ENCAPSULATIONS[self.encapsulation]

    @property
    def mtu(self) -> int:
        """What the line carries, filled cells or not."""
        return self.wrapping.mtu_limit

    def netem(self, rate: int) -> str:
        """The rate of one direction in netem's words: it counts from the Ethernet frame on."""
        overhead = self.wrapping.overhead - ETHERNET_HEADER
        cells = " 48 5" if self.wrapping.cells == "atm" else ""
        packets = rate * BUFFER_MS // (self.wrapping.line_bytes(self.mtu) * 8000)
        return f"netem rate {rate}bit {overhead}{cells} limit {min(max(packets, LEAST_BUFFER), MOST_BUFFER)}"


PROFILES = {
    row.name: row
    for row in (
        Profile("1020/8000", 1_020_000, 8_000_000, "ip", 12, 100),
        Profile("1020/8000-atm", 1_020_000, 8_000_000, "pppoe-llc", 12, 100),
        Profile("128/512", 128_000, 512_000, "ip", 20, 200),
        Profile("2000/20000", 2_000_000, 20_000_000, "ip", 12, 100),
        Profile("50000/500000", 50_000_000, 500_000_000, "ip", 4, 50),
    )
}


@dataclass(frozen=True, slots=True)
class Limit:
    """What no gateway can better while `up` and `down` are full. Milliseconds, kbit/s of TCP payload.

    mean, most: idle ping and half a full packet, a whole one, in each direction that is full; download, upload: what headers leave, and for
    an upload beside a download the ACKs too, one for every other segment. unacknowledged: the upload if the download needed no ACK at all.
    """

    mean: float
    most: float
    download: float
    upload: float
    unacknowledged: float


def limit(profile: Profile, idle: float, up: bool, down: bool, family: int = 4) -> Limit:
    """The line's limit over `idle` ms of ping for traffic that fills these directions. IPv6 has 20 bytes more of header."""
    wrapping = profile.wrapping
    longer = 20 if family == 6 else 0
    mtu = wrapping.best_mtu(profile.mtu)
    payload, full = mtu - IPV4_HEADER - longer - TCP_HEADER - TIMESTAMPS, wrapping.line_bytes(mtu)
    ack = wrapping.line_bytes(EMPTY_ACK_WITH_TIMESTAMPS + longer)
    waits = [full * 8000 / rate for rate, busy in ((profile.up, up), (profile.down, down)) if busy]
    segments_down = profile.down / (full * 8) if down else 0.0
    segments_up = profile.up / (full * 8) if up else 0.0
    free_up = max(profile.up - segments_down / 2 * ack * 8, 0)
    free_down = max(profile.down - segments_up / 2 * ack * 8, 0)
    return Limit(
        idle + sum(waits) / 2,
        idle + sum(waits),
        free_down * payload / full / 1000 if down else 0.0,
        free_up * payload / full / 1000 if up else 0.0,
        profile.up * payload / full / 1000 if up else 0.0,
    )
