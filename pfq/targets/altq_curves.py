"""Service curves of ALTQ's hfsc: spelling and the sums that pfctl admits (pfctl_altq.c eval_pfqueue_hfsc, gsc_add_sc, is_gsc_under_sc)."""

from dataclasses import dataclass

from pfq.plan.model import ServiceCurve
from pfq.site.kinds import Faults
from pfq.targets.pf_text import altq_rate


@dataclass(frozen=True, slots=True)
class Curve:
    """m1 bit/s for the first d milliseconds, then m2 bit/s; a straight line has d = 0 and m1 = m2."""

    m1: int
    d: int
    m2: int

    def text(self) -> str:
        """As pf.conf spells it: `30Kb`, or `(60Kb 20 30Kb)`."""
        return f"({altq_rate(self.m1)} {self.d} {altq_rate(self.m2)})" if self.d else altq_rate(self.m2)

    def bits(self, time: int) -> int:
        """Thousandths of bits served in `time` milliseconds."""
        return self.m1 * min(time, self.d) + self.m2 * max(0, time - self.d)


def curve_of(curve: ServiceCurve, name: str, what: str, faults: Faults) -> Curve:
    """The curve in pf's terms. Reports a burst that hfsc cannot have: shorter than it counts, or a convex curve."""
    rate = curve.rate.value
    if curve.burst is None:
        return Curve(rate, 0, rate)
    if curve.microseconds % 1000 or not curve.microseconds:
        message = f"class {name!r}: the {what}'s burst lasts {curve.microseconds} us, and hfsc counts whole milliseconds"
        faults.at(curve.rate.path, "unsupported", message, "write `for` in ms")
    if 0 < curve.burst < rate:
        message = f"class {name!r}: hfsc takes a {what} that begins slower than it goes on only if it begins with nothing"
        faults.at(curve.rate.path, "convex-curve", message, "raise `burst` to the rate, or leave it out")
    return Curve(curve.burst, max(1, curve.microseconds // 1000), rate)


def exceeds(curves: list[Curve], rate: int) -> bool:
    """Whether the sum of the curves is above the straight line of `rate` bit/s anywhere."""
    if sum(curve.m2 for curve in curves) > rate:
        return True
    return any(sum(curve.bits(point) for curve in curves) > rate * point for point in {curve.d for curve in curves if curve.d})


def room_below(curves: list[Curve], rate: int) -> int:
    """The largest straight line (bit/s) that fits between the sum of the curves and the line of `rate`."""
    points = {curve.d for curve in curves if curve.d}
    rooms = [(rate * point - sum(curve.bits(point) for curve in curves)) // point for point in points]
    return max(0, min([*rooms, rate - sum(curve.m2 for curve in curves)]))
