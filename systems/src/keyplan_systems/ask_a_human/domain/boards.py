"""Leaderboards: period keys, shards, sort keys, and the exact rank of a user.

There is one row per user and period, which is rewritten by each answer that changes it. The rows of a board are spread
across `SHARDS` partitions by user. The top n rows of a board are found by merging the first n rows of all its shards.

The sort key puts better rows first. It consists of the complement of the points with leading zeros, the time when the
score was reached, and the user. No two rows are equal, so the order never depends on the store.

Ranks are exact, but computing one does not read all better rows. Each shard of a period has one histogram item with the
number of rows in every bucket of points. The rank is 1, plus the number of rows in higher buckets, plus the number of
rows in the user's own bucket that sort before the user's row. A COUNT query per shard over `better_range` counts these.

With 8 shards, a rank takes 8 eventually consistent reads of an item of at most about 2 KB (4 read capacity units in
total), and 8 COUNT queries of at least half a unit each. If the own bucket has 1,000 rows of 150 bytes, these queries
take about 19 units more. Buckets are 25 points wide up to 500 points. Above, each power of two has eight buckets, so
that a bucket contains few users even for high scores. A histogram costs one more write (one or two ADDs on the item of
the user's shard) whenever an answer moves a row to another bucket.
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
    """The period of a board."""

    DAILY = "daily"
    WEEKLY = "weekly"
    ALL_TIME = "all_time"


@dataclass(frozen=True, slots=True)
class Row:
    """The row of one user on one board, before ranks are computed."""

    fingerprint_hash: str
    points: int
    answers: int
    reached_at_ms: int

    @property
    def sort_key(self) -> str:
        """The position of the row as a string. Better rows sort first."""
        return sort_key(self.points, self.reached_at_ms, self.fingerprint_hash)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a board, without a name."""

    rank: int
    points: int
    answers: int
    is_current_user: bool


def period_key(period: Period, now_ms: int) -> str:
    """Return the key of the board at a time: the UTC day, the Monday of the UTC week, or all time."""
    day = timestamps.utc_day(now_ms)
    if period is Period.DAILY:
        return f"DAILY#{day.isoformat()}"
    if period is Period.WEEKLY:
        return f"WEEKLY#{timestamps.week_start(day).isoformat()}"
    return "ALL_TIME"


def ttl_s(period: Period, now_ms: int) -> int | None:
    """Return the time at which a row of the current board can be deleted, in epoch seconds, or None for never.

    A row is kept for two days after its period.
    """
    day = timestamps.utc_day(now_ms)
    if period is Period.ALL_TIME:
        return None
    first, days = (day, 1) if period is Period.DAILY else (timestamps.week_start(day), 7)
    return (first.toordinal() - _EPOCH_ORDINAL + days + 2) * timestamps.DAY_S


def shard(fingerprint_hash: str) -> int:
    """Return the user's shard, which is the same on every board."""
    return hashlib.sha256(fingerprint_hash.encode()).digest()[0] % SHARDS


def partition(board: str, number: int) -> str:
    """Return the partition key of one shard of a board."""
    return f"{board}#{number:02d}"


def partitions(board: str) -> tuple[str, ...]:
    """Return the partition keys of all shards of a board."""
    return tuple(partition(board, number) for number in range(SHARDS))


def sort_key(points: int, reached_at_ms: int, fingerprint_hash: str) -> str:
    """Return a fixed-width string that sorts by points descending, then time, and then user."""
    if not (0 <= points <= _POINTS_CEILING and 0 <= reached_at_ms <= _TIME_CEILING):
        raise ValueError(f"no board row is possible for {points} points at {reached_at_ms} ms")
    return f"{_POINTS_CEILING - points:010d}#{reached_at_ms:013d}#{fingerprint_hash}"


def read_sort_key(key: str) -> tuple[int, int, str]:
    """Return the points, time and user in a sort key."""
    points, reached_at, person = key.split("#", 2)
    return _POINTS_CEILING - int(points), int(reached_at), person


def row(stats: Stats, period: Period, now_ms: int) -> Row:
    """Return the user's row on the board at a time."""
    if period is Period.ALL_TIME:
        points, answers = stats.total_points, stats.total_answers
    else:
        totals = scoring.day_totals if period is Period.DAILY else scoring.week_totals
        day = totals(stats, now_ms)
        points, answers = day.points, day.answers
    return Row(stats.fingerprint_hash, points, answers, stats.scored_at_ms)


def entries(rows: Iterable[Row], caller: str | None) -> list[Entry]:
    """Return sorted rows as entries with ranks starting at 1, with the caller's own row marked."""
    return [
        Entry(number, board_row.points, board_row.answers, board_row.fingerprint_hash == caller)
        for number, board_row in enumerate(rows, start=1)
    ]


def bucket(points: int) -> int:
    """Return the histogram bucket of a score. Higher scores never have lower buckets."""
    if points < _NARROW_UP_TO:
        return points // _NARROW_WIDTH
    power = points.bit_length() - 1
    part = (points >> (power - _PARTS_BITS)) - _PARTS
    return _NARROW_BUCKETS + (power - (_NARROW_UP_TO.bit_length() - 1)) * _PARTS + part


def bucket_highest(number: int) -> int:
    """Return the highest score in a bucket."""
    if number < _NARROW_BUCKETS:
        return min((number + 1) * _NARROW_WIDTH, _NARROW_UP_TO) - 1
    octave, part = divmod(number - _NARROW_BUCKETS, _PARTS)
    power = octave + _NARROW_UP_TO.bit_length() - 1
    return ((_PARTS + part + 1) << (power - _PARTS_BITS)) - 1


def bucket_moves(before: int | None, after: int) -> dict[int, int]:
    """Return the changes of the user's histogram buckets after a new score. `before` is None for a new row."""
    old, new = (bucket(before) if before is not None else None), bucket(after)
    if old == new:
        return {}
    return {new: 1} if old is None else {old: -1, new: 1}


def better_range(own: Row) -> tuple[str, str]:
    """Return the inclusive range of sort keys that are in the bucket of `own` and rank before it.

    The upper end is the sort key of `own` with its last character decremented. A query has one condition on its sort
    key, and BETWEEN is inclusive and would count the row itself.
    """
    low = f"{_POINTS_CEILING - min(bucket_highest(bucket(own.points)), _POINTS_CEILING):010d}"
    key = own.sort_key
    return low, f"{key[:-1]}{chr(ord(key[-1]) - 1)}~"


def rank(histograms: Iterable[Mapping[int, int]], own: Row, better_in_bucket: int) -> int:
    """Return the exact rank, starting at 1.

    `histograms` are those of all shards of the board. `better_in_bucket` is the number of better rows in the bucket of
    `own`.
    """
    mine = bucket(own.points)
    higher = sum(count for histogram in histograms for number, count in histogram.items() if number > mine)
    return 1 + higher + better_in_bucket
