"""Service curves of HFSC, and whether a sum of them stays under another. Source: the gsc functions of pfctl_altq.c."""


class ServiceCurve:
    """Rate `m1` (bit/s) for the first `d` milliseconds, then `m2`."""

    __slots__ = ("d", "m1", "m2")

    def __init__(self, m1: int, d: int, m2: int) -> None:
        self.m1 = m1
        self.d = d
        self.m2 = m2

    def at(self, x: float) -> float:
        """The service by time `x`."""
        if x <= self.d:
            return x * self.m1
        return float(self.d) * self.m1 + (x - self.d) * self.m2


def total(curves: list[ServiceCurve]) -> list[tuple[float, float, float]]:
    """The sum of curves as segments: where each begins, the service by then, and its slope."""
    turns: dict[int, int] = {0: 0}
    slope = 0
    for curve in curves:
        if curve.m1 or curve.m2:
            turns[curve.d] = turns.get(curve.d, 0) + curve.m2 - curve.m1
            slope += curve.m1
    segments = []
    x = y = 0
    for d in sorted(turns):
        y += (d - x) * slope
        slope += turns[d]
        x = d
        segments.append((float(x), float(y), float(slope)))
    return segments


def fits(segments: list[tuple[float, float, float]], under: ServiceCurve) -> bool:
    """Whether a sum of curves is nowhere above another curve."""
    if not under.m1 and not under.m2:
        return all(slope == 0 for _, _, slope in segments)
    if any(y > under.at(x) for x, y, _ in segments):
        return False
    x, y, slope = segments[-1]
    if slope > under.m2:
        return False
    return not (x < under.d and slope > under.m1 and y + (under.d - x) * slope > under.at(under.d))
