"""How fast to shape, and how much the ACKs need: every derived rate with its reason."""

from dataclasses import dataclass

from pfq.plan.model import Accounting, Figure
from pfq.site.encapsulation import EMPTY_ACK_WITH_TIMESTAMPS, PTM_BLOCK, PTM_PAYLOAD, Encapsulation, ack_rate, ceil_div
from pfq.site.model import Direction, Link
from pfq.site.units import show_rate, tidy

# A scheduler that counts the line's own bytes may come as close as the seed article on ADSL did by trial: 1008 of 1020 kbit/s.
EXACT_PERMILLE = 988
# One that counts no cells meets packets of other sizes than the mix it is made for; a twentieth is kept for them.
CELLS_PERMILLE = 950
# A queue before the bottleneck can be kept empty exactly, one behind it only if it is fed more slowly than it drains. Where every byte is
# counted, so much is enough (docs/latency.md); but what TCP's growth puts into the queue before the bottleneck are whole packets: on a slow line
# as much must stay free as drains five of them a second.
DOWN_EXACT_PERMILLE, DOWN_PERMILLE = 972, 900
DRAINED_A_SECOND, LEAST_DOWN_PERMILLE = 5, 800
# ACKs may take this part of a line at most; a download that needs more is slowed down by its own ACKs.
MOST_ACKS_PERMILLE = 750


@dataclass(frozen=True, slots=True)
class AckDemand:
    """Empty ACKs for a download (or upload) at full rate: how many a second, and bit/s in counted bytes. `capped`: the line has no room for all."""

    packets: int
    rate: int
    capped: bool


def counted(ip_bytes: int, accounting: Accounting, encapsulation: Encapsulation) -> int:
    """Bytes that a rate of this accounting counts for an IP packet."""
    if not accounting.exact:
        return ip_bytes + accounting.counted
    frame = max(ip_bytes + encapsulation.overhead, encapsulation.minimum)
    return encapsulation.line_bytes(ip_bytes) if accounting.cells == "atm" else frame


def ack_demand(link: Link, direction: Direction, mtu: int, accounting: Accounting) -> AckDemand:
    """What the ACKs in `direction` need while the other direction is full. Empty ACKs with timestamps: 52 bytes of IP (RFC 7323)."""
    other, own = (link.down, link.up) if direction == "up" else (link.up, link.down)
    if not other or not own:
        return AckDemand(0, 0, False)
    ack = EMPTY_ACK_WITH_TIMESTAMPS
    wanted = ack_rate(other, link.encapsulation, mtu, link.segments_per_ack)
    room = own * MOST_ACKS_PERMILLE // (1000 * 8 * link.encapsulation.line_bytes(ack))
    packets = min(wanted, room)
    return AckDemand(packets, packets * counted(ack, accounting, link.encapsulation) * 8, wanted > room)


def shaped_rate(link: Link, direction: Direction, mtu: int, accounting: Accounting) -> Figure:
    """The rate to shape to, in counted bytes.

    Where the scheduler counts the line's bytes: a fixed part of the line. Where it counts fewer: the bytes it would count of the
    mix that fills the line when both directions are full, ACKs and full-size packets, or of full-size packets alone if those are fewer;
    the line must overflow under neither. Rounded down to four digits.
    """
    line = link.up if direction == "up" else link.down
    assert line is not None, "a direction without a rate is not shaped"
    down = direction == "down"
    if accounting.exact:
        permille = _exact_down_permille(link, line, mtu) if down else EXACT_PERMILLE
        rate, of = line, f"{show_rate(line)} of line"
        if link.encapsulation.cells == "ptm":
            rate, of = line * PTM_PAYLOAD // PTM_BLOCK, f"64/65 of {show_rate(line)} (PTM)"
        return Figure(tidy(rate * permille // 1000), "bit/s", False, f"{_percent(permille)} of {of}", link.path)
    encapsulation = link.encapsulation
    permille = DOWN_PERMILLE if down else CELLS_PERMILLE if encapsulation.cells == "atm" else EXACT_PERMILLE
    demand = ack_demand(link, direction, mtu, accounting)
    full_line, full = encapsulation.line_bytes(mtu), counted(mtu, accounting, encapsulation)
    left = max(0, line - demand.packets * encapsulation.line_bytes(EMPTY_ACK_WITH_TIMESTAMPS) * 8)
    mix, alone = demand.rate + left * full // full_line, line * full // full_line
    # Where this system counts more of a small packet than the line does, the mix would let too many full-size packets through.
    with_acks = f"{demand.packets} ACKs/s and " if demand.packets and mix <= alone else ""
    mix = tidy(min(mix, alone))
    why = (
        f"{_percent(permille)} of {show_rate(mix)}: what {with_acks}packets of {mtu} bytes count (IP+{accounting.counted})"
        f" when they fill {show_rate(line)} ({encapsulation.name})"
    )
    return Figure(tidy(mix * permille // 1000), "bit/s", False, why, link.path)


def _exact_down_permille(link: Link, line: int, mtu: int) -> int:
    drained = DRAINED_A_SECOND * link.encapsulation.line_bytes(mtu) * 8
    return max(min(DOWN_EXACT_PERMILLE, 1000 - ceil_div(1000 * drained, line)), LEAST_DOWN_PERMILLE)


def _percent(permille: int) -> str:
    whole, rest = divmod(permille, 10)
    return f"{whole}.{rest} %" if rest else f"{whole} %"
