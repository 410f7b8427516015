"""Leaderboards: period keys, shards, sort keys, and the exact rank of a user.

Each user has one row per leaderboard. Each answer that changes the user's score rewrites the row. A leaderboard's rows
are distributed across `SHARDS` partitions by user. The top n rows are found by merging the first n rows of every
partition.

The sort key orders better rows first. It consists of the complement of the points with leading zeros, the time when the
score was reached, and the user's ID. All sort keys differ, so the order is always well defined.

Ranks are exact, but computing a rank does not read all better rows. For each partition of a leaderboard, a histogram
item contains the number of rows in every score bucket. The rank is 1, plus the number of rows in higher buckets, plus
the number of rows in the user's own bucket that sort before the user's row. The last number is computed by a COUNT
query per partition over `better_range`.

With 8 shards, computing a rank takes 8 eventually consistent reads of an item of at most about 2 KB (4 read capacity
units in total), and 8 COUNT queries that consume at least half a read capacity unit each. If the user's bucket has
1,000 rows of 150 bytes, these queries consume about 19 read capacity units. Buckets are 25 points wide up to 500
points. Above that, each power of two is divided into eight buckets, so a bucket contains few users even for high
scores. Each answer that moves a row to a different bucket causes an additional write, which updates the histogram.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from keyplan_systems.ask_a_human.domain import scoring, timestamps
from keyplan_systems.ask_a_human.domain.scoring import Stats

SHARDS = 8
_POINTS_CEILING = 9_999_999_999
_TIME_CEILING = 9_999_999_999_999
_NARROW_WIDTH = 25
_NARROW_UP_TO = 512  # 20 narrow buckets for 0 to 499, a short bucket to 511, then eight per power of two
_NARROW_BUCKETS = 21
_PARTS = 8
_PARTS_BITS = 3
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()


class Period(StrEnum):
    """The period of a leaderboard. Only answers within the period count."""

    DAILY = "daily"
    WEEKLY = "weekly"
    ALL_TIME = "all_time"


@dataclass(frozen=True, slots=True)
class Row:
    """A user's row on a leaderboard, without its rank."""

    fingerprint_hash: str
    points: int
    answers: int
    reached_at_ms: int

    @property
    def sort_key(self) -> str:
        """The sort key of the leaderboard row. Better rows sort first."""
        return sort_key(self.points, self.reached_at_ms, self.fingerprint_hash)


@dataclass(frozen=True, slots=True)
class Entry:
    """A leaderboard row with its rank, as it is returned to clients. It does not identify the user."""

    rank: int
    points: int
    answers: int
    is_current_user: bool


def period_key(period: Period, now_ms: int) -> str:
    """Return the key of the leaderboard of the given kind (daily, weekly or all-time) whose period contains `now_ms`.

    The key of a daily leaderboard contains the UTC day, and the key of a weekly leaderboard the Monday of the UTC week.
    """
    day = timestamps.utc_day(now_ms)
    if period is Period.DAILY:
        return f"DAILY#{day.isoformat()}"
    if period is Period.WEEKLY:
        return f"WEEKLY#{timestamps.week_start(day).isoformat()}"
    return "ALL_TIME"


def ttl_s(period: Period, now_ms: int) -> int | None:
    """Return the time after which a leaderboard row can be deleted, in epoch seconds, or None for the all-time
    leaderboard.

    This is two days after the end of the leaderboard's period.
    """
    day = timestamps.utc_day(now_ms)
    if period is Period.ALL_TIME:
        return None
    first, days = (day, 1) if period is Period.DAILY else (timestamps.week_start(day), 7)
    return (first.toordinal() - _EPOCH_ORDINAL + days + 2) * timestamps.DAY_S


def shard(fingerprint_hash: str) -> int:
    """Return the number of the shard to which the user with the given fingerprint hash belongs. It is the same on every
    leaderboard.
    """
    return hashlib.sha256(fingerprint_hash.encode()).digest()[0] % SHARDS


def partition(board: str, number: int) -> str:
    """Return the partition key of the shard with the given number on the leaderboard `board`."""
    return f"{board}#{number:02d}"


def partitions(board: str) -> tuple[str, ...]:
    """Return the partition keys of all shards of the leaderboard `board`."""
    return tuple(partition(board, number) for number in range(SHARDS))


def sort_key(points: int, reached_at_ms: int, fingerprint_hash: str) -> str:
    """Return a fixed-width sort key that orders leaderboard rows by points in descending order, then by the time at
    which the points were reached, and then by user.
    """
    if not (0 <= points <= _POINTS_CEILING and 0 <= reached_at_ms <= _TIME_CEILING):
        raise ValueError(f"a leaderboard row cannot store {points} points reached at {reached_at_ms} ms since 1970")
    return f"{_POINTS_CEILING - points:010d}#{reached_at_ms:013d}#{fingerprint_hash}"


def parse_sort_key(key: str) -> tuple[int, int, str]:
    """Return the points, the time in epoch milliseconds, and the hash of the user's fingerprint from a leaderboard
    row's sort key.
    """
    points, reached_at, person = key.split("#", 2)
    return _POINTS_CEILING - int(points), int(reached_at), person


def row(stats: Stats, period: Period, now_ms: int) -> Row:
    """Return the user's row on the leaderboard of the given kind (daily, weekly or all-time) whose period contains
    `now_ms`.
    """
    if period is Period.ALL_TIME:
        points, answers = stats.total_points, stats.total_answers
    else:
        totals = scoring.day_totals if period is Period.DAILY else scoring.week_totals
        day = totals(stats, now_ms)
        points, answers = day.points, day.answers
    return Row(stats.fingerprint_hash, points, answers, stats.scored_at_ms)


def entries(rows: Iterable[Row], caller: str | None) -> list[Entry]:
    """Convert sorted leaderboard rows to entries with ranks starting at 1. The entry of the user `caller` is marked."""
    return [
        Entry(number, board_row.points, board_row.answers, board_row.fingerprint_hash == caller)
        for number, board_row in enumerate(rows, start=1)
    ]


def bucket(points: int) -> int:
    """Return the number of the histogram bucket for a score. Bucket numbers increase with the score."""
    if points < _NARROW_UP_TO:
        return points // _NARROW_WIDTH
    power = points.bit_length() - 1
    part = (points >> (power - _PARTS_BITS)) - _PARTS
    return _NARROW_BUCKETS + (power - (_NARROW_UP_TO.bit_length() - 1)) * _PARTS + part


def bucket_highest(number: int) -> int:
    """Return the highest score that belongs to the histogram bucket with the given number."""
    if number < _NARROW_BUCKETS:
        return min((number + 1) * _NARROW_WIDTH, _NARROW_UP_TO) - 1
    octave, part = divmod(number - _NARROW_BUCKETS, _PARTS)
    power = octave + _NARROW_UP_TO.bit_length() - 1
    return ((_PARTS + part + 1) << (power - _PARTS_BITS)) - 1


def bucket_moves(before: int | None, after: int) -> dict[int, int]:
    """Return the changes to the histogram after a user's score changes, as a mapping from bucket number to the change
    in the number of users.

    `before` is the old score, or None if the user is new on the leaderboard. `after` is the new score.
    """
    old, new = (bucket(before) if before is not None else None), bucket(after)
    if old == new:
        return {}
    return {new: 1} if old is None else {old: -1, new: 1}


def better_range(row: Row) -> tuple[str, str]:
    """Return the first and last sort key of a range that contains exactly the rows in the same bucket that rank before
    `row`.

    BETWEEN includes both ends and would also count `row`. Therefore, the upper end is the row's sort key with
    its last character decremented.
    """
    low = f"{_POINTS_CEILING - min(bucket_highest(bucket(row.points)), _POINTS_CEILING):010d}"
    key = row.sort_key
    return low, f"{key[:-1]}{chr(ord(key[-1]) - 1)}~"


def rank(histograms: Iterable[Mapping[int, int]], row: Row, better_in_bucket: int) -> int:
    """Return the exact rank of a leaderboard row. Ranks start at 1.

    `histograms` are the histograms of all shards of the leaderboard. `better_in_bucket` is the number of better rows in
    the same bucket.
    """
    own_bucket = bucket(row.points)
    higher = sum(count for histogram in histograms for number, count in histogram.items() if number > own_bucket)
    return 1 + higher + better_in_bucket
