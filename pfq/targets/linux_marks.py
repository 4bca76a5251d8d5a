"""The part of the conntrack mark that is pfq's: a field for each link of a gateway, so that a flow has a class on every link that it crosses."""

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from pfq.plan.model import Gateway, Uplink

# All other bits of the mark belong to others.
MARK_SHIFT, MARK_BITS = 16, 16
MARK_MASK = ((1 << MARK_BITS) - 1) << MARK_SHIFT


class TooManyClasses(ValueError):
    """The classes of a gateway's links do not fit into the mark."""


@dataclass(frozen=True, slots=True)
class LinkMarks:
    """A link's field of the mark. classes: the value of each class, in its place in the mark; 0 is a flow without a class on this link.

    unshaped: the value of flows that are not shaped, 0 where there are none.
    """

    mask: int
    classes: Mapping[str, int]
    unshaped: int

    @property
    def rest(self) -> int:
        """The bits of the mark that this link leaves alone."""
        return self.mask ^ 0xFFFFFFFF


def flow_marks(gateway: Gateway) -> dict[str, LinkMarks]:
    """The marks of each link, by the link's name. Raises TooManyClasses."""
    uplinks = sorted(gateway.uplinks, key=lambda uplink: uplink.link)
    names = [_names(uplink) for uplink in uplinks]
    found: dict[str, LinkMarks] = {}
    shift = MARK_SHIFT
    for uplink, own, width in zip(uplinks, names, _widths([len(each) for each in names]), strict=True):
        numbers = {name: number << shift for name, number in _numbers(uplink.link, own, width).items()}
        unshaped = numbers.pop("", 0)
        found[uplink.link] = LinkMarks(((1 << width) - 1) << shift, numbers, unshaped)
        shift += width
    return found


def _names(uplink: Uplink) -> list[str]:
    """Every class that a flow can have, in alphabetical order, then '' if flows can be unshaped."""
    names = sorted(leaf.name for leaf in uplink.up.leaves())
    return [*names, ""] if uplink.classifier.exclude else names


def _widths(counts: list[int]) -> list[int]:
    """Bits for each link: the same for all if that is enough, so that a class more or less moves nobody's field; else what each needs."""
    equal = MARK_BITS // max(len(counts), 1)
    needed = [count.bit_length() for count in counts]
    if max(needed, default=0) <= equal:
        return [equal] * len(counts)
    if sum(needed) <= MARK_BITS:
        return needed
    links = f"{len(counts)} links" if len(counts) > 1 else "one link"
    raise TooManyClasses(f"{sum(counts)} classes on {links} take {sum(needed)} bits of the flow mark, and pfq's part has {MARK_BITS}")


def _numbers(link: str, names: list[str], width: int) -> dict[str, int]:
    """A number for each name. It comes from the name, so that flows keep their class when the configuration changes around them; names that fall
    on one number move on to the next free one, in their order."""
    most = (1 << width) - 1
    used: set[int] = set()
    numbers: dict[str, int] = {}
    for name in names:
        number = crc32(f"{link}/{name}".encode()) % most + 1
        while number in used:
            number = number % most + 1
        used.add(number)
        numbers[name] = number
    return numbers
