"""Recorder that counts requests, capacity units, throttling and errors by name, in time buckets of limited size.

A name is a pair of a kind and a text, such as ("pattern", "tasks_due") or ("resource", "app/open"). Every window
keeps a fixed number of buckets. A bucket contains a limited number of names of each kind, and all other names are
counted together as OTHER. The hottest keys come from the current and the previous set of counters. Each set is pruned
to its largest counters. A key that is not in the set starts at the largest pruned count, so the counts of keys are
upper bounds.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from keyplan.clock import Clock, SystemClock

Kind: TypeAlias = Literal["pattern", "undeclared", "resource", "partition", "total"]
Name: TypeAlias = tuple[Kind, str]
OTHER: Final = "(others)"
SEPARATOR: Final = " · "
"""The text between the attributes of a partition key."""
TOTAL: Final[Name] = ("total", "")
"""The name that is used to count all requests."""
_NAMES: Final = 150
"""The maximum number of names of one kind in a bucket. All other names are counted together as OTHER."""
_KEYS: Final = 500
_KEYS_S: Final = 300.0
"""The number of seconds until a new set of key counters is started."""


@dataclass(frozen=True)
class LoadSpan:
    """A time span that a page can show."""

    name: str
    title: str
    step_s: int
    """The duration of a bucket in seconds."""
    buckets: int

    @property
    def duration_text(self) -> str:
        """Return the duration as text that can follow the words "in the last", such as "hour"."""
        return self.title.removeprefix("1 ")

    @property
    def seconds(self) -> int:
        """Return the duration of the whole span in seconds."""
        return self.step_s * self.buckets


SPANS: Final = (
    LoadSpan("5m", "5 minutes", 5, 60),
    LoadSpan("1h", "1 hour", 60, 60),
    LoadSpan("1d", "1 day", 900, 96),
)
"""The time spans that pages can show, from the finest to the coarsest.

The bucket duration of each span is a multiple of the previous span's bucket duration.
"""


class LoadCounts:
    """The requests, capacity units, throttled requests and errors that are counted under one name."""

    __slots__ = ("errors", "read", "requests", "seconds", "throttled", "write")

    def __init__(self) -> None:
        self.requests = 0
        self.read = 0.0
        """The number of consumed read units."""
        self.write = 0.0
        self.throttled = 0
        """The number of throttled requests. For a partition, these are the requests that exceed its limit."""
        self.errors = 0
        """The number of requests that failed for a reason other than throttling, such as a false condition."""
        self.seconds = 0.0
        """The total duration of the requests, in seconds."""

    def count(self, part: LoadPart, elapsed_s: float, weight: int, *, failed: bool) -> None:
        """Add a request to these counts. `part` contains the request's capacity units and whether it was throttled.

        If only a sample of the requests is observed, the request is counted `weight` times.
        """
        self.requests += weight
        self.read += part.read * weight
        self.write += part.write * weight
        self.throttled += part.throttled * weight
        self.errors += failed * weight
        self.seconds += elapsed_s * weight

    def add(self, other: LoadCounts) -> None:
        """Add the counts of `other` to these counts."""
        self.requests += other.requests
        self.read += other.read
        self.write += other.write
        self.throttled += other.throttled
        self.errors += other.errors
        self.seconds += other.seconds

    @property
    def units(self) -> float:
        """Return the total number of consumed read and write units."""
        return self.read + self.write

    @property
    def mean_ms(self) -> float:
        """Return the average duration of a request in milliseconds."""
        return self.seconds / self.requests * 1000 if self.requests else 0.0


Bucket: TypeAlias = dict[Name, LoadCounts]


class _Ring:
    """The latest time buckets of one span, by bucket number. Buckets without requests are omitted."""

    def __init__(self, span: LoadSpan) -> None:
        self.span = span
        self._buckets: deque[tuple[int, Bucket]] = deque()

    def bucket(self, time: float) -> Bucket:
        """Return the bucket for the time `time`, and remove the buckets that are older than the span."""
        number = int(time // self.span.step_s)
        if self._buckets and self._buckets[-1][0] >= number:
            return self._buckets[-1][1]
        bucket: Bucket = {}
        self._buckets.append((number, bucket))
        while self._buckets[0][0] <= number - self.span.buckets:
            self._buckets.popleft()
        return bucket

    def last(self) -> tuple[int, Bucket] | None:
        """Return the number and the content of the latest bucket, or None if the span has no bucket."""
        return self._buckets[-1] if self._buckets else None

    def __iter__(self) -> Iterator[tuple[int, Bucket]]:
        return iter(self._buckets)


class KeyUse(NamedTuple):
    """The capacity units and requests that were counted for one partition key value of a table or index."""

    resource: str
    key: str
    units: float
    requests: int
    excess: float
    """The maximum error of `units`. The key consumed at least `units` - `excess` units."""


class _TopKeys:
    """Counters for the most frequently used partition keys.

    When the number of counters reaches twice the maximum `limit`, only the `limit` largest counters are kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._floor = 0.0
        self._counters: dict[tuple[str, str], list[float]] = {}

    def add(self, resource: str, key: str, units: float, requests: int) -> None:
        counter = self._counters.get((resource, key))
        if counter is None:
            if len(self._counters) >= 2 * self._limit:
                self._prune()
            self._counters[resource, key] = [self._floor + units, requests, self._floor]
        else:
            counter[0] += units
            counter[1] += requests

    def _prune(self) -> None:
        ranked = sorted(self._counters.items(), key=lambda entry: entry[1][0], reverse=True)
        self._floor = max(self._floor, ranked[self._limit][1][0])
        self._counters = dict(ranked[: self._limit])

    def __iter__(self) -> Iterator[tuple[tuple[str, str], list[float]]]:
        return iter(self._counters.items())


@dataclass(frozen=True)
class LoadPart:
    """The capacity units of a request that are counted under one name, such as the name of a pattern."""

    name: Name
    read: float = 0.0
    write: float = 0.0
    throttled: bool = False


@dataclass
class UndeclaredUse:
    """The requests that match no declared pattern and have the same short description."""

    summary: str
    """The short description of the requests, such as "Query app/open"."""
    detail: str
    """The condition, filter or changes of the latest of these requests, including values."""
    first_s: float
    last_s: float
    counts: LoadCounts = field(default_factory=LoadCounts)


@dataclass(frozen=True)
class LoadWindow:
    """The counts of all requests in a time span that ends at the time `now`."""

    span: LoadSpan
    now: float
    since: float
    """The start time of the recording, in seconds since 1970."""
    buckets: tuple[Mapping[Name, LoadCounts], ...]
    """The counts in each bucket, the oldest bucket first. The last bucket is incomplete."""

    @property
    def times(self) -> list[float]:
        """Return the start time of each bucket, in seconds since 1970."""
        last = int(self.now // self.span.step_s)
        return [
            (last - self.span.buckets + 1 + number) * float(self.span.step_s) for number in range(len(self.buckets))
        ]

    @property
    def seconds(self) -> float:
        """Return the number of seconds in the window during which requests were recorded, but at least 1."""
        return max(1.0, self.now - max(self.since, self.times[0]))

    def select_names(self, is_included: Callable[[Name], bool]) -> LoadWindow:
        """Return a copy of the window that contains only the counts of selected names. `is_included` returns True for
        each selected name.

        The total of the copy includes only the requests under these names.
        """
        buckets = []
        for bucket in self.buckets:
            included_counts = {name: counts for name, counts in bucket.items() if name != TOTAL and is_included(name)}
            total = LoadCounts()
            for (kind, _), counts in included_counts.items():
                if kind in {"pattern", "undeclared"}:
                    total.add(counts)
            buckets.append({**included_counts, TOTAL: total} if total.requests else included_counts)
        return replace(self, buckets=tuple(buckets))

    def totals(self, kind: Kind) -> dict[str, LoadCounts]:
        """Return the total counts of each name of a kind, sorted by capacity units in descending order."""
        totals: dict[str, LoadCounts] = {}
        for bucket in self.buckets:
            for (name_kind, name), counts in bucket.items():
                if name_kind == kind:
                    totals.setdefault(name, LoadCounts()).add(counts)
        return dict(sorted(totals.items(), key=lambda entry: (-entry[1].units, -entry[1].requests, entry[0])))

    @property
    def total(self) -> LoadCounts:
        """Return the counts of all requests in the window."""
        return self.totals("total").get("", LoadCounts())

    def series(self, name: Name, attribute: str) -> list[float]:
        """Return the value per second of one counter of `name`, for each bucket. `attribute` is the counter's name in
        LoadCounts.
        """
        last = self.now - self.times[-1]
        lengths = [float(self.span.step_s)] * (len(self.buckets) - 1) + [max(1.0, last)]
        return [
            float(getattr(bucket[name], attribute)) / length if name in bucket else 0.0
            for bucket, length in zip(self.buckets, lengths, strict=True)
        ]


class LoadRecorder:
    """A recorder of the load of a database. Threads can share it."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self.since = self.clock.now()
        self._lock = threading.Lock()
        self._rings = [_Ring(span) for span in SPANS]
        self._keys, self._earlier = _TopKeys(_KEYS), _TopKeys(_KEYS)
        self._keys_since = self.since
        self._undeclared: dict[str, UndeclaredUse] = {}

    def add(
        self,
        parts: Iterable[LoadPart],
        *,
        elapsed_s: float = 0.0,
        failed: bool = False,
        keys: Iterable[tuple[str, str, float]] = (),
        weight: int = 1,
    ) -> None:
        """Count a request under the name of each element of `parts`.

        `keys` contains tuples of a table or index, a partition key value and the consumed units. `weight` is the number
        of requests that this request represents.
        """
        now = self.clock.now()
        with self._lock:
            bucket = self._bucket(now)
            for part in parts:
                counts = bucket.get(part.name)
                (counts if counts is not None else _counts_of(bucket, part.name)).count(
                    part, elapsed_s, weight, failed=failed
                )
            top = self._current_keys(now)
            for resource, key, units in keys:
                top.add(resource, key, units * weight, weight)

    def add_counts(self, entries: Mapping[Name, LoadCounts]) -> None:
        """Add counts that were collected elsewhere. `entries` contains the counts to add, by name."""
        now = self.clock.now()
        with self._lock:
            bucket = self._bucket(now)
            for name, counts in entries.items():
                _counts_of(bucket, name).add(counts)

    def add_undeclared(
        self, summary: str, detail: str, part: LoadPart, weight: int = 1, *, failed: bool = False
    ) -> None:
        """Count a request that matches no declared pattern.

        Requests with the same short description `summary` are counted together. `detail` is a description that includes
        the request's values. `part` contains the counts of the request, and `weight` is the number of requests that it
        represents.
        """
        counts = LoadCounts()
        counts.count(part, 0.0, weight, failed=failed)
        self.add_undeclared_counts(summary, counts, detail)

    def add_undeclared_counts(self, summary: str, counts: LoadCounts, detail: str = "") -> None:
        """Add the counts of requests that match no declared pattern and have the short description `summary`.

        `detail` describes one of these requests, including values.
        """
        now = self.clock.now()
        with self._lock:
            use = self._undeclared.get(summary)
            if use is None:
                if len(self._undeclared) >= _NAMES:
                    del self._undeclared[min(self._undeclared, key=lambda name: self._undeclared[name].last_s)]
                use = self._undeclared[summary] = UndeclaredUse(summary, detail, now, now)
            use.detail, use.last_s = detail or use.detail, now
            use.counts.add(counts)

    def window(self, name: str = "5m") -> LoadWindow:
        """Return the counts for the time span with the given name. If the name is unknown, use the first span."""
        now = self.clock.now()
        with self._lock:
            fine = self._bucket(now)
            ring = next((ring for ring in self._rings if ring.span.name == name), self._rings[0])
            span = ring.span
            last = int(now // span.step_s)
            buckets: list[Bucket] = [{} for _ in range(span.buckets)]
            for number, bucket in ring:
                resource = number - last + span.buckets - 1
                if 0 <= resource < span.buckets:
                    _merge(buckets[resource], bucket)
            if ring is not self._rings[0]:
                _merge(buckets[-1], fine)
        return LoadWindow(span, now, self.since, tuple(buckets))

    def hottest_keys(self, limit: int = 20) -> list[KeyUse]:
        """Return the partition keys that consumed the most capacity units in the last five to ten minutes."""
        now = self.clock.now()
        with self._lock:
            self._current_keys(now)
            merged: dict[tuple[str, str], list[float]] = {}
            for counters in (self._earlier, self._keys):
                for key, (units, requests, floor) in counters:
                    counter = merged.setdefault(key, [0.0, 0.0, 0.0])
                    counter[0] += units
                    counter[1] += requests
                    counter[2] += floor
        uses = [KeyUse(*key, units, int(requests), floor) for key, (units, requests, floor) in merged.items()]
        return sorted(uses, key=lambda use: (-use.units, -use.requests, use.resource, use.key))[:limit]

    def undeclared(self) -> list[UndeclaredUse]:
        """Return the requests that match no declared pattern, grouped by short description.

        The counts cover the whole recording. The groups are sorted by capacity units in descending order.
        """
        with self._lock:
            uses = list(self._undeclared.values())
        return sorted(uses, key=lambda use: (-use.counts.units, -use.counts.requests, use.summary))

    def _bucket(self, now: float) -> Bucket:
        """Return the current bucket of the shortest span.

        If the bucket is new, first add the previous bucket to the longer spans.
        """
        finest = self._rings[0]
        last = finest.last()
        bucket = finest.bucket(now)
        if last is not None and last[1] is not bucket:
            for ring in self._rings[1:]:
                _merge(ring.bucket(last[0] * finest.span.step_s), last[1])
        return bucket

    def _current_keys(self, now: float) -> _TopKeys:
        if now - self._keys_since >= _KEYS_S:
            idle = now - self._keys_since >= 2 * _KEYS_S
            self._earlier = _TopKeys(_KEYS) if idle else self._keys
            self._keys, self._keys_since = _TopKeys(_KEYS), now
        return self._keys


def _counts_of(bucket: Bucket, name: Name) -> LoadCounts:
    """Return the counts of a name in a bucket. They are created on first use.

    If the bucket already contains the maximum number of names of this kind, return the counts of OTHER.
    """
    counts = bucket.get(name)
    if counts is not None:
        return counts
    kind = name[0]
    if len(bucket) >= _NAMES and sum(name_of_kind == kind for name_of_kind, _ in bucket) >= _NAMES:
        name = (kind, OTHER)
    return bucket.setdefault(name, LoadCounts())


def _merge(target: Bucket, bucket: Mapping[Name, LoadCounts]) -> None:
    for name, counts in bucket.items():
        _counts_of(target, name).add(counts)


def key_text(values: Iterable[Mapping[str, Any]]) -> str:
    """Return the values of a partition key as text. Binary values are shown as hexadecimal digits."""
    contents = (content for value in values for content in value.values())
    return SEPARATOR.join(content.hex() if isinstance(content, bytes) else str(content) for content in contents)
