"""What a TCP sender knows of its segments from selective acknowledgements (RFC 2018, RFC 6675), counted in segments."""

from bisect import bisect_left, bisect_right
from collections import deque

# RFC 6675: so many segments later ones must have arrived before one counts as lost.
DUP_THRESH = 3


class Scoreboard:
    """sacked: segments above the cumulative ACK that have arrived. `lost`: to be sent again and not yet."""

    __slots__ = ("begins", "ends", "highest", "lost", "lost_edge", "lost_queue", "resent", "sacked")

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.sacked: set[int] = set()
        self.lost: set[int] = set()
        self.lost_queue: deque[int] = deque()
        # (segment, first segment not yet sent when it was sent again)
        self.resent: deque[tuple[int, int]] = deque()
        self.highest = -1
        self.lost_edge = 0

    def add(self, blocks: list[tuple[int, int]], una: int) -> int:
        """Takes in blocks [begin, end); returns how many segments are newly known to have arrived."""
        new = 0
        begins, ends = self.begins, self.ends
        for begin, end in blocks:
            if end > una:
                at = bisect_right(begins, begin) - 1
                # Most of what an ACK says has been said before.
                if at >= 0 and ends[at] >= end:
                    continue
                if at >= 0 and ends[at] >= begin and (at + 1 == len(begins) or begins[at + 1] > end):
                    # A known block has grown.
                    new += self._arrived(ends[at], end)
                    ends[at] = end
                    self.highest = max(self.highest, end - 1)
                else:
                    new += self._add(max(begin, una), end)
        return new

    def _add(self, begin: int, end: int) -> int:
        begins, ends = self.begins, self.ends
        # Known blocks that touch this one.
        first, last = bisect_left(ends, begin), bisect_right(begins, end)
        if first < last and begins[first] <= begin and ends[first] >= end:
            return 0
        new, at = 0, begin
        for index in range(first, last):
            if at < begins[index]:
                new += self._arrived(at, min(begins[index], end))
            at = max(at, ends[index])
        if at < end:
            new += self._arrived(at, end)
        if first < last:
            begin, end = min(begin, begins[first]), max(end, ends[last - 1])
        begins[first:last] = [begin]
        ends[first:last] = [end]
        self.highest = max(self.highest, end - 1)
        return new

    def _arrived(self, begin: int, end: int) -> int:
        for segment in range(begin, end):
            self.sacked.add(segment)
            self.lost.discard(segment)
        return end - begin

    def acknowledge(self, old: int, una: int) -> int:
        """The cumulative ACK moves on; returns how many of its segments were not known to have arrived."""
        known = 0
        for segment in range(old, una):
            if segment in self.sacked:
                self.sacked.discard(segment)
                known += 1
            else:
                self.lost.discard(segment)
        while self.ends and self.ends[0] <= una:
            del self.begins[0], self.ends[0]
        if self.begins and self.begins[0] < una:
            self.begins[0] = una
        return una - old - known

    def mark(self, una: int) -> bool:
        """Marks as lost what lies DUP_THRESH below the highest segment that arrived, and what was sent again and has been overtaken too.

        Returns whether there was any.
        """
        before = len(self.lost)
        edge = self.highest - DUP_THRESH + 1
        if edge > self.lost_edge:
            for segment in range(max(self.lost_edge, una), edge):
                if segment not in self.sacked:
                    self._lose(segment)
            self.lost_edge = edge
        while self.resent and self.resent[0][1] <= edge:
            segment, _ = self.resent.popleft()
            if segment >= una and segment not in self.sacked and segment not in self.lost:
                self._lose(segment)
        return len(self.lost) > before

    def _lose(self, segment: int) -> None:
        self.lost.add(segment)
        self.lost_queue.append(segment)

    def lose_all(self, una: int, following: int) -> None:
        """After a timeout: everything that is not known to have arrived counts as lost."""
        self.lost_queue.clear()
        self.resent.clear()
        self.lost = {segment for segment in range(una, following) if segment not in self.sacked}
        self.lost_queue.extend(sorted(self.lost))
        self.lost_edge = following

    def next_lost(self, following: int) -> int | None:
        """The segment to send again now, None if there is none. `following`: the first segment not yet sent."""
        queue = self.lost_queue
        while queue:
            segment = queue.popleft()
            if segment in self.lost:
                self.lost.discard(segment)
                self.resent.append((segment, following))
                return segment
        return None

    def flight(self, una: int, following: int) -> int:
        """Segments that are believed to be under way."""
        return following - una - len(self.sacked) - len(self.lost)

    def clean(self) -> bool:
        return not self.sacked and not self.lost
