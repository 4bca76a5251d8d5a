"""What a line wraps round an IP packet, and the arithmetic that follows: bytes on the wire, best MTU, ACK demand, latency.

Everything is exact integer arithmetic. Where a result must be a whole number, a size is rounded up (the packet
does not fit otherwise) and a rate is rounded down (a shaper must not be faster than its line).
"""

from dataclasses import dataclass
from typing import Literal

Cells = Literal["none", "atm", "ptm"]

# ATM: 48 bytes of payload in a cell of 53 (ITU-T I.361). PTM: 64/65 block code (IEEE 802.3 61.3.3, ITU-T G.992.3 annex N).
ATM_PAYLOAD, ATM_CELL = 48, 53
PTM_PAYLOAD, PTM_BLOCK = 64, 65

IPV4_HEADER, IPV6_HEADER, TCP_HEADER = 20, 40, 20
# RFC 7323: timestamps take 10 bytes, padded to 12 in every segment; every common system sends them.
TIMESTAMPS = 12
EMPTY_ACK = IPV4_HEADER + TCP_HEADER
EMPTY_ACK_WITH_TIMESTAMPS = EMPTY_ACK + TIMESTAMPS

ETHERNET_MTU = 1500
PPPOE_HEADER = 8  # RFC 2516: 6 bytes of PPPoE and 2 of PPP come out of Ethernet's 1500.


def ceil_div(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


@dataclass(frozen=True, slots=True)
class Encapsulation:
    """`overhead`: bytes added to an IP packet; `minimum`: bytes below which a frame is padded, counted with the overhead;
    `cells`: how the frame is then cut; `mtu_limit`: the largest IP packet the encapsulation carries (bytes)."""

    name: str
    overhead: int
    minimum: int
    cells: Cells
    mtu_limit: int
    meaning: str

    def line_bytes(self, ip_bytes: int) -> int:
        """Bytes that an IP packet of `ip_bytes` takes on the line."""
        frame = max(ip_bytes + self.overhead, self.minimum)
        if self.cells == "atm":
            return ceil_div(frame, ATM_PAYLOAD) * ATM_CELL
        if self.cells == "ptm":
            # The block code runs on through packets: 65 bytes for 64, rounded up for this packet.
            return ceil_div(frame * PTM_BLOCK, PTM_PAYLOAD)
        return frame

    def best_mtu(self, limit: int = ETHERNET_MTU) -> int:
        """The largest IP packet of at most `limit` bytes (68 or more) whose cells are all full; without ATM cells, the limit.

        Source: seed article on ADSL (its table of eight MTUs); RFC 2684 for the padding that a cell boundary saves.
        """
        largest = min(limit, self.mtu_limit)
        if self.cells != "atm":
            return largest
        cells = (largest + self.overhead) // ATM_PAYLOAD
        return cells * ATM_PAYLOAD - self.overhead

    def serialisation(self, ip_bytes: int, rate: int) -> int:
        """Microseconds (rounded up) that the line at `rate` bit/s is busy with one IP packet."""
        return ceil_div(self.line_bytes(ip_bytes) * 8 * 1_000_000, rate)


def _dsl(name: str, overhead: int, limit: int, meaning: str) -> Encapsulation:
    return Encapsulation(name, overhead, 0, "atm", limit, meaning)


_PPPOE_LIMIT = ETHERNET_MTU - PPPOE_HEADER

# ADSL: overheads with the 8 bytes of the AAL5 trailer, from the seed article on ADSL and RFC 2684, 2364, 2516.
# Ethernet: preamble 8, header 14, FCS 4, gap 12 = 38, smallest frame 64 + 20 = 84 (IEEE 802.3 clause 4.4.2); a tag adds 4.
# PTM and DOCSIS: as tc-cake(8) lists them (pppoe-ptm 30, bridged-ptm 22, docsis 18 with a smallest frame of 64).
_TABLE = (
    _dsl("ipoa-vcmux", 8, ETHERNET_MTU, "ADSL, IP over ATM, VC multiplexing"),
    _dsl("ipoa-llc", 16, ETHERNET_MTU, "ADSL, IP over ATM, LLC/SNAP"),
    _dsl("bridged-vcmux", 24, ETHERNET_MTU, "ADSL, bridged Ethernet, VC multiplexing"),
    _dsl("bridged-llc", 32, ETHERNET_MTU, "ADSL, bridged Ethernet, LLC/SNAP"),
    _dsl("pppoa-vcmux", 10, ETHERNET_MTU, "ADSL, PPP over ATM, VC multiplexing"),
    _dsl("pppoa-llc", 14, ETHERNET_MTU, "ADSL, PPP over ATM, LLC/SNAP"),
    _dsl("pppoe-vcmux", 32, _PPPOE_LIMIT, "ADSL, PPPoE, VC multiplexing"),
    _dsl("pppoe-llc", 40, _PPPOE_LIMIT, "ADSL, PPPoE, LLC/SNAP"),
    Encapsulation("ptm", 22, 0, "ptm", ETHERNET_MTU, "VDSL, Ethernet over PTM"),
    Encapsulation("ptm-vlan", 26, 0, "ptm", ETHERNET_MTU, "VDSL, Ethernet over PTM, VLAN tag"),
    Encapsulation("pppoe-ptm", 30, 0, "ptm", _PPPOE_LIMIT, "VDSL, PPPoE over PTM"),
    Encapsulation("pppoe-ptm-vlan", 34, 0, "ptm", _PPPOE_LIMIT, "VDSL, PPPoE over PTM, VLAN tag"),
    Encapsulation("docsis", 18, 64, "none", ETHERNET_MTU, "cable modem"),
    Encapsulation("ethernet", 38, 84, "none", ETHERNET_MTU, "Ethernet as on the wire, with preamble and gap"),
    Encapsulation("ethernet-vlan", 42, 88, "none", ETHERNET_MTU, "Ethernet with a VLAN tag"),
    Encapsulation("pppoe-ethernet", 46, 84, "none", _PPPOE_LIMIT, "PPPoE on Ethernet (fibre)"),
    Encapsulation("pppoe-ethernet-vlan", 50, 88, "none", _PPPOE_LIMIT, "PPPoE on Ethernet with a VLAN tag (fibre)"),
    Encapsulation("ip", 0, 0, "none", ETHERNET_MTU, "the rate counts IP packets only"),
)

ENCAPSULATIONS = {row.name: row for row in _TABLE}

# What Linux counts of a frame on Ethernet is in the packet already, so `tc stab` gets the overhead less this.
ETHERNET_HEADER = 14


def ack_rate(down: int, encapsulation: Encapsulation, mtu: int, segments_per_ack: int) -> int:
    """Empty ACKs a second (rounded up) for a download that fills `down` bit/s of line with packets of `mtu` bytes."""
    return ceil_div(down, encapsulation.line_bytes(mtu) * 8 * segments_per_ack)


def stream_rate(packets_per_second: int, packet_bytes: int) -> int:
    """Bit/s of a stream of equal packets."""
    return packets_per_second * packet_bytes * 8
