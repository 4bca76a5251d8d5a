"""Statistics that need no more memory the longer they run."""

from dataclasses import dataclass, field

# Bits kept of a value: buckets are less than 1 % wide.
_BITS = 7


@dataclass(slots=True)
class Histogram:
    """Counts of values (integers, 0 and more) in buckets of less than 1 % of the value; count, sum, least and most are exact."""

    count: int = 0
    total: int = 0
    least: int = 0
    most: int = 0
    lost: int = 0
    buckets: dict[int, int] = field(default_factory=dict)

    def add(self, value: int) -> None:
        if not self.count or value < self.least:
            self.least = value
        self.most = max(self.most, value)
        self.count += 1
        self.total += value
        shift = max(value.bit_length() - _BITS, 0)
        bucket = value >> shift << shift
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def percentile(self, percent: int) -> int | None:
        """The value that `percent` of all do not exceed (nearest rank), to a bucket's width; None without values."""
        if not self.count:
            return None
        rank = -(-self.count * percent // 100)
        for bucket in sorted(self.buckets):
            rank -= self.buckets[bucket]
            if rank <= 0:
                width = 1 << max(bucket.bit_length() - _BITS, 0)
                return min(max(bucket + (width - 1) // 2, self.least), self.most)
        return self.most


@dataclass(slots=True)
class Bins:
    """Mean, least and most of values in `number` bins of `width` ns of time."""

    width: int
    number: int
    counts: list[int] = field(init=False)
    sums: list[int] = field(init=False)
    least: list[int] = field(init=False)
    most: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = [0] * self.number
        self.sums = [0] * self.number
        self.least = [0] * self.number
        self.most = [0] * self.number

    def add(self, now: int, value: int) -> None:
        index = min(now // self.width, self.number - 1)
        if not self.counts[index] or value < self.least[index]:
            self.least[index] = value
        self.most[index] = max(self.most[index], value)
        self.counts[index] += 1
        self.sums[index] += value

    def means(self) -> list[float | None]:
        return [total / count if count else None for total, count in zip(self.sums, self.counts, strict=True)]
