"""A model of DynamoDB partitions, which are key ranges with separate throughput.

A table or global index consists of partitions. Each partition supports 1,000 write capacity units and 3,000 read
capacity units per second. Unused capacity remains available for up to 300 seconds (burst capacity). A hot partition is
split at the key that divides its load in half. A split does not help if all requests access a single item, or if all
new requests access the same side of the split because sort keys increase or decrease steadily. Splits are never undone.

The table or index as a whole also has a limit. With provisioned capacity, the limit is the provisioned throughput with
its own burst capacity. With on-demand capacity, the limit is twice the previous peak, and it rises at most once every
30 minutes. A configured maximum on-demand throughput is also enforced.

Sources: developer guide, "Best practices for designing and using partition keys effectively", "Burst and adaptive
capacity", "On-demand capacity mode"; "Scaling DynamoDB: How partitions, hot keys, and split for heat impact
performance" (AWS database blog). The time window for hot partitions and the sampling of load are choices of this model.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable
from typing import Literal

from keyplan import limits
from keyplan.dynamodb.values.keybytes import HASH_BYTES, HASH_SPACE

Kind = Literal["Read", "Write"]
KINDS: tuple[Kind, Kind] = ("Read", "Write")
Cause = Literal["ProvisionedThroughputExceeded", "KeyRangeThroughputExceeded", "MaxOnDemandThroughputExceeded"]

PARTITION_UNITS: dict[Kind, float] = {
    "Read": limits.PARTITION_READ_UNITS,
    "Write": limits.PARTITION_WRITE_UNITS,
}
LOAD_WINDOW_S = 60.0
"""The length of the time window, in seconds, in which a partition's load is measured to decide whether to split it."""
HOT_SHARE = 0.9
"""The share of a partition's throughput above which the partition is considered hot. A partition is also considered hot
if its requests are throttled.
"""
PEAK_S = 60.0
"""The number of seconds over which on-demand traffic is averaged to determine the peak."""
GROWTH_S = 1800.0
"""The minimum number of seconds between two increases of an on-demand limit."""
_SAMPLE_KEYS = 256
_MIN_SAMPLE_KEYS = 16
_MIN_SHARE = 0.05  # the minimum share of the load that a split must move


class Bucket:
    """A token bucket, to which capacity units are added at a steady rate until it is full."""

    __slots__ = ("_at", "_keep_s", "rate", "units")

    def __init__(self, rate: float, since: float, keep_s: float = limits.BURST_S) -> None:
        self.rate = rate
        """The rate in units per second."""
        self.units = rate
        """The available units. Initially, these are the units of one second."""
        self._keep_s = keep_s
        self._at = since

    @property
    def capacity(self) -> float:
        """The maximum number of capacity units in the token bucket."""
        return self.rate * self._keep_s

    def has_units(self, units: float, now: float) -> bool:
        """Return True if the token bucket contains at least `units` capacity units at the time `now`. If `units`
        exceeds the bucket's capacity, return True if the bucket is full.
        """
        self._fill(now)
        return self.units >= min(units, self.capacity)

    def consume(self, units: float) -> None:
        """Remove capacity units from the token bucket."""
        self.units -= units

    def change_rate(self, rate: float, now: float) -> None:
        """Change the rate at which capacity units are added to the token bucket, starting at the time `now`. The rate
        is in units per second.
        """
        self._fill(now)
        self.rate = rate
        self.units = min(self.units, self.capacity)

    def half(self, now: float) -> Bucket:
        """Return a token bucket with the same rate and half of the capacity units that this bucket contains at the time
        `now`.
        """
        self._fill(now)
        bucket = Bucket(self.rate, now, self._keep_s)
        bucket.units = self.units / 2
        return bucket

    def _fill(self, now: float) -> None:
        if now > self._at:
            self.units = min(self.capacity, self.units + (now - self._at) * self.rate)
            self._at = now


class _WindowLoad:
    """The load of a partition in the current time window, with a random sample of the requested keys."""

    __slots__ = ("_random", "_request_counts", "samples", "since", "throttled", "used")

    def __init__(self, since: float, random_source: random.Random) -> None:
        self.since = since
        self.throttled = False
        self.used: dict[Kind, float] = {"Read": 0.0, "Write": 0.0}
        self.samples: tuple[list[bytes], list[bytes]] = ([], [])
        self._request_counts = [0, 0]
        self._random = random_source

    def add(self, key: bytes, now: float) -> None:
        """Count one request, and add its key to the random sample for the current half of the time window."""
        half = int(now - self.since >= LOAD_WINDOW_S / 2)
        sample = self.samples[half]
        self._request_counts[half] += 1
        if len(sample) < _SAMPLE_KEYS:
            sample.append(key)
            return
        position = self._random.randrange(self._request_counts[half])
        if position < _SAMPLE_KEYS:
            sample[position] = key

    def is_hot(self) -> bool:
        """Return True if, in the current time window, a request was throttled or the load was close to the limit of the
        partition.
        """
        return self.throttled or any(
            self.used[kind] > HOT_SHARE * LOAD_WINDOW_S * PARTITION_UNITS[kind] for kind in KINDS
        )


class Partition:
    """A partition, which is a range of keys with separate throughput."""

    __slots__ = ("buckets", "high", "load", "low")

    def __init__(self, low: bytes, high: bytes | None, buckets: dict[Kind, Bucket], load: _WindowLoad) -> None:
        self.low = low
        self.high = high
        """The first key above the range, or None if the range has no upper end."""
        self.buckets = buckets
        self.load = load

    def boundary(self, collection: Callable[[bytes], bytes]) -> bytes | None:
        """Return the key at which to split a hot partition, or None if a split would not help.

        The keys of the first half of the time window determine the boundary. The keys of the second half show whether
        the split would have divided the load. `collection` is documented in `Partitions`.
        """
        earlier, later = (sorted(map(collection, sample)) for sample in self.load.samples)
        if len(earlier) < _MIN_SAMPLE_KEYS or len(later) < _MIN_SAMPLE_KEYS:
            return None
        middle = earlier[len(earlier) // 2]
        above = bisect_right(earlier, middle)
        # Try to split on both sides of the median key, because almost no load may be below it.
        for boundary in (middle, *earlier[above : above + 1]):
            below = sum(key < boundary for key in later) / len(later)
            # The sample may be from before the partition's last split.
            if _MIN_SHARE <= below <= 1 - _MIN_SHARE and (self.high is None or boundary < self.high):
                return boundary
        return None


class Partitions:
    """The partitions of one table or index."""

    def __init__(
        self,
        count: int,
        since: float,
        random_source: random.Random,
        collection: Callable[[bytes], bytes] = lambda key: key,
    ) -> None:
        """Create `count` partitions, which have existed since the time `since`.

        `random_source` selects the sampled keys. `collection` maps a row's key to the first key of
        the group of rows that a split must keep together.
        """
        self._random = random_source
        self._collection = collection
        self._partitions: list[Partition] = []
        bounds = [b"", *((HASH_SPACE * n // count).to_bytes(HASH_BYTES, "big") for n in range(1, count))]
        for low, high in zip(bounds, [*bounds[1:], None], strict=True):
            buckets = {kind: Bucket(PARTITION_UNITS[kind], since) for kind in KINDS}
            self._partitions.append(Partition(low, high, buckets, _WindowLoad(since, random_source)))
        self._lows = bounds

    def __len__(self) -> int:
        return len(self._partitions)

    def admits(self, kind: Kind, key: bytes, units: float, now: float) -> bool:
        """Return True if the partition that contains the key has enough capacity for `units` read or write capacity
        units. `kind` selects reads or writes.

        The request is added to the partition's load even if the result is False.
        """
        partition = self._partitions[self._number_of(key)]
        if now - partition.load.since >= LOAD_WINDOW_S:
            self._end_window(partition, now)
            partition = self._partitions[self._number_of(key)]
        partition.load.add(key, now)
        if partition.buckets[kind].has_units(units, now):
            return True
        partition.load.throttled = True
        return False

    def consume(self, kind: Kind, key: bytes, units: float) -> None:
        """Consume read or write capacity units, depending on `kind`, from the partition that contains the key."""
        partition = self._partitions[self._number_of(key)]
        partition.buckets[kind].consume(units)
        partition.load.used[kind] += units

    def grow(self, count: int, now: float) -> None:
        """Split the widest partitions in half until `count` partitions exist."""
        while len(self._partitions) < count:
            widest = max(self._partitions, key=_hash_width)
            middle = _hash_bounds(widest)[0] + _hash_width(widest) // 2
            self._split(widest, middle.to_bytes(HASH_BYTES, "big"), now)

    def low_of(self, key: bytes) -> bytes:
        """Return the first key of the partition that contains the key. This key identifies the partition."""
        return self._lows[self._number_of(key)]

    @property
    def lows(self) -> tuple[bytes, ...]:
        """The first key of each partition, in key order."""
        return tuple(self._lows)

    def _number_of(self, key: bytes) -> int:
        return bisect_right(self._lows, key) - 1

    def _end_window(self, partition: Partition, now: float) -> None:
        boundary = partition.boundary(self._collection) if partition.load.is_hot() else None
        partition.load = _WindowLoad(now, self._random)
        if boundary is not None:
            self._split(partition, boundary, now)

    def _split(self, partition: Partition, boundary: bytes, now: float) -> None:
        number = self._number_of(partition.low)
        upper = Partition(
            boundary,
            partition.high,
            {kind: bucket.half(now) for kind, bucket in partition.buckets.items()},
            _WindowLoad(now, self._random),
        )
        partition.buckets = {kind: bucket.half(now) for kind, bucket in partition.buckets.items()}
        partition.high = boundary
        self._partitions.insert(number + 1, upper)
        self._lows.insert(number + 1, boundary)


def _hash_bounds(partition: Partition) -> tuple[int, int]:
    low = int.from_bytes(partition.low[:HASH_BYTES].ljust(HASH_BYTES, b"\x00"), "big")
    high = HASH_SPACE if partition.high is None else int.from_bytes(partition.high[:HASH_BYTES], "big")
    return low, high


def _hash_width(partition: Partition) -> int:
    low, high = _hash_bounds(partition)
    return high - low


class ProvisionedCeiling:
    """A throughput limit: the provisioned throughput of a table or index, plus its burst capacity."""

    cause: Cause = "ProvisionedThroughputExceeded"

    def __init__(self, units_per_s: float, since: float) -> None:
        self._bucket = Bucket(units_per_s, since)

    def admits(self, units: float, now: float) -> bool:
        """Return True if `units` provisioned capacity units are available at the time `now`, including
        burst capacity.
        """
        return self._bucket.has_units(units, now)

    def consume(self, units: float) -> None:
        """Consume provisioned capacity units, which must be available."""
        self._bucket.consume(units)

    def change(self, units_per_s: float, now: float) -> None:
        """Change the provisioned throughput to `units_per_s`."""
        self._bucket.change_rate(units_per_s, now)


class OnDemandCeiling:
    """A throughput limit of twice the previous peak of on-demand traffic, without burst capacity."""

    cause: Cause = "KeyRangeThroughputExceeded"

    def __init__(self, units_per_s: float, since: float) -> None:
        self.units_per_s = units_per_s
        self._bucket = Bucket(units_per_s, since, keep_s=1.0)
        self._raised_at = since
        self._peak = units_per_s / 2
        self._window_since = since
        self._window_units = 0.0

    def admits(self, units: float, now: float) -> bool:
        """Return True if the on-demand limit allows `units` more capacity units at the time `now`. If the limit can be
        raised now, it is raised first.
        """
        self._follow_peak(now)
        return self._bucket.has_units(units, now)

    def consume(self, units: float) -> None:
        """Consume on-demand capacity units, which must be available."""
        self._bucket.consume(units)
        self._window_units += units

    def raise_limit(self, units_per_s: float, now: float) -> None:
        """Raise the on-demand limit to at least `units_per_s` capacity units per second."""
        if units_per_s > self.units_per_s:
            self.units_per_s = units_per_s
            self._bucket.change_rate(units_per_s, now)

    def _follow_peak(self, now: float) -> None:
        if now - self._window_since >= PEAK_S:
            # All units of the window were used in its first minute, because any later request first ends the window.
            self._peak = max(self._peak, self._window_units / PEAK_S)
            self._window_since, self._window_units = now, 0.0
        if now - self._raised_at >= GROWTH_S and 2 * self._peak > self.units_per_s:
            self.raise_limit(2 * self._peak, now)
            self._raised_at = now

    def partition_count(self, kind: Kind) -> int:
        """Return the number of partitions required to serve the current on-demand limit. `kind` selects the limit on
        reads or on writes.
        """
        return math.ceil(self.units_per_s / PARTITION_UNITS[kind])
