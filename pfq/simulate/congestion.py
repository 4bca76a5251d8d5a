"""Congestion control: how a TCP sender's window grows and what a loss leaves of it. Windows are in segments."""

from typing import Protocol

from pfq.simulate.packet import SECOND

INFINITE = 1e9


class Window(Protocol):
    """What congestion control sees of a sender: the window and the smoothed round trip (ns, 0 before the first)."""

    window: float
    threshold: float
    smoothed: int


class Control(Protocol):
    def grow(self, now: int, sender: Window, acked: int) -> None:
        """`acked` segments were newly acknowledged outside of recovery, and the window was in use."""

    def lost(self, now: int, sender: Window, flight: int) -> float:
        """The threshold after a loss with `flight` segments under way; the window is set by the caller."""


class NewReno:
    """RFC 5681 with RFC 3465's counting of bytes: slow start, then a segment a round trip; half the flight after a loss."""

    __slots__ = ()

    def grow(self, now: int, sender: Window, acked: int) -> None:
        window = sender.window
        if window < sender.threshold:
            sender.window = window + acked
        else:
            sender.window = window + acked / window

    def lost(self, now: int, sender: Window, flight: int) -> float:
        return max(flight / 2, 2.0)


class Cubic:
    """RFC 9438: C 0.4, beta 0.7, fast convergence, the Reno-friendly region; without HyStart."""

    __slots__ = ("begun", "cubic_root", "estimate", "origin")

    C, BETA = 0.4, 0.7
    # Additive increase of the Reno-friendly region (RFC 9438 4.3).
    ALPHA = 3 * (1 - BETA) / (1 + BETA)

    def __init__(self) -> None:
        self.origin = 0.0
        self.cubic_root = 0.0
        self.begun = -1
        self.estimate = 0.0

    def grow(self, now: int, sender: Window, acked: int) -> None:
        window = sender.window
        if window < sender.threshold:
            sender.window = window + acked
            return
        if self.begun < 0:
            self.begun = now
            if self.origin <= window:
                self.origin, self.cubic_root = window, 0.0
            else:
                self.cubic_root = ((self.origin - window) / self.C) ** (1 / 3)
            self.estimate = window
        time = (now - self.begun + sender.smoothed) / SECOND - self.cubic_root
        target = self.origin + self.C * time * time * time
        target = target if target < 1.5 * window else 1.5 * window
        # After it has passed the last maximum it is as quick as Reno itself.
        self.estimate += (self.ALPHA if self.estimate < self.origin else 1.0) * acked / window
        grown = window + (target - window) * acked / window if target > window else window
        sender.window = grown if grown > self.estimate else self.estimate

    def lost(self, now: int, sender: Window, flight: int) -> float:
        window = sender.window
        self.origin = window * (1 + self.BETA) / 2 if window < self.origin else window
        self.begun = -1
        return max(flight * self.BETA, 2.0)


CONTROLS: dict[str, type[NewReno] | type[Cubic]] = {"newreno": NewReno, "cubic": Cubic}
