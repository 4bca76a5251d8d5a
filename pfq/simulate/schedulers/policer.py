"""Linux's policer (act_police.c tcf_police_act): what comes faster than the rate, beyond a burst, is dropped; nothing waits."""

from pfq.simulate.packet import SECOND, Deliver, Packet


class Policer:
    """`rate` bit/s, `burst` bytes. Tokens are nanoseconds of that rate."""

    __slots__ = ("drops", "forward", "last", "lengths", "most", "rate", "tokens")

    def __init__(self, rate: int, burst: int, lengths: dict[int, int], forward: Deliver | None) -> None:
        self.rate = rate
        self.most = burst * 8 * SECOND // rate
        self.tokens = self.most
        self.last = 0
        self.lengths = lengths
        self.forward = forward
        self.drops = 0

    def send(self, now: int, packet: Packet) -> None:
        left = min(self.tokens + now - self.last, self.most) - self.lengths[packet[0]] * 8 * SECOND // self.rate
        if left < 0 and packet[1] is not None:
            self.drops += 1
            return
        if packet[1] is not None:
            self.tokens, self.last = left, now
        (self.forward or packet[3])(now, packet)
