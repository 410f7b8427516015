"""Leaderboards: period keys, shards, the sort key that orders them, and a person's exact rank.

One row per person and period, rewritten by the answer that changes it. A board's rows are spread over `SHARDS`
partitions by person; the top n of the board is the merge of each shard's first n rows.

The sort key orders better rows first: points as a complement with leading zeros, then the time when the score was
reached, then the person, so that no two rows are equal and the order never depends on the store.

A rank is exact and does not read all better rows. Each shard of a period has one histogram item: for every bucket
of points the number of its rows. The rank is one, plus the rows of higher buckets, plus the rows of the person's own
bucket that sort before theirs: a COUNT query per shard over `better_range`. With 8 shards that
is 8 eventually consistent reads of an item of at most about 2 KB (4 read units together) and 8 COUNT queries of at
least half a unit each; 1,000 people in the own bucket at 150 bytes a row add about 19 units. Buckets are 25 points wide
up to 500 and widen by an eighth of their power of two above, so they hold few people however high scores climb.
Keeping it costs one more write (an ADD or two on the histogram item of the person's shard) whenever an answer moves a
row to another bucket.
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
    """Period of a board."""

    DAILY = "daily"
    WEEKLY = "weekly"
    ALL_TIME = "all_time"


@dataclass(frozen=True, slots=True)
class Row:
    """Row of one person on one board, before ranks are counted."""

    fingerprint_hash: str
    points: int
    answers: int
    reached_at_ms: int

    @property
    def sort_key(self) -> str:
        """Position of the row as text: better rows sort first."""
        return sort_key(self.points, self.reached_at_ms, self.fingerprint_hash)


@dataclass(frozen=True, slots=True)
class Entry:
    """Line of a board as shown, without a name."""

    rank: int
    points: int
    answers: int
    is_current_user: bool


def period_key(period: Period, now_ms: int) -> str:
    """Return the key of the board at this time: the UTC day, the Monday of the UTC week, or all time."""
    day = timestamps.utc_day(now_ms)
    if period is Period.DAILY:
        return f"DAILY#{day.isoformat()}"
    if period is Period.WEEKLY:
        return f"WEEKLY#{timestamps.week_start(day).isoformat()}"
    return "ALL_TIME"


def ttl_s(period: Period, now_ms: int) -> int | None:
    """Return when a row of the current board may be removed, epoch seconds: two days after the period; None: never."""
    day = timestamps.utc_day(now_ms)
    if period is Period.ALL_TIME:
        return None
    first, days = (day, 1) if period is Period.DAILY else (timestamps.week_start(day), 7)
    return (first.toordinal() - _EPOCH_ORDINAL + days + 2) * timestamps.DAY_S


def shard(fingerprint_hash: str) -> int:
    """Return the person's shard, the same on every board."""
    return hashlib.sha256(fingerprint_hash.encode()).digest()[0] % SHARDS


def partition(board: str, number: int) -> str:
    """Return the partition key of one shard of a board."""
    return f"{board}#{number:02d}"


def partitions(board: str) -> tuple[str, ...]:
    """Return the partition keys of all shards of a board."""
    return tuple(partition(board, number) for number in range(SHARDS))


def sort_key(points: int, reached_at_ms: int, fingerprint_hash: str) -> str:
    """Return points descending, then time ascending, then person, as text of fixed width."""
    if not (0 <= points <= _POINTS_CEILING and 0 <= reached_at_ms <= _TIME_CEILING):
        raise ValueError(f"no board row is possible for {points} points at {reached_at_ms} ms")
    return f"{_POINTS_CEILING - points:010d}#{reached_at_ms:013d}#{fingerprint_hash}"


def read_sort_key(key: str) -> tuple[int, int, str]:
    """Return points, time and person of a sort key."""
    points, reached_at, person = key.split("#", 2)
    return _POINTS_CEILING - int(points), int(reached_at), person


def row(stats: Stats, period: Period, now_ms: int) -> Row:
    """Return the person's row on the board at this time."""
    if period is Period.ALL_TIME:
        points, answers = stats.total_points, stats.total_answers
    else:
        totals = scoring.day_totals if period is Period.DAILY else scoring.week_totals
        day = totals(stats, now_ms)
        points, answers = day.points, day.answers
    return Row(stats.fingerprint_hash, points, answers, stats.scored_at_ms)


def entries(rows: Iterable[Row], caller: str | None) -> list[Entry]:
    """Return rows in order as shown: ranks from 1, the caller's own marked."""
    return [
        Entry(number, board_row.points, board_row.answers, board_row.fingerprint_hash == caller)
        for number, board_row in enumerate(rows, start=1)
    ]


def bucket(points: int) -> int:
    """Return the histogram bucket of a score; higher scores never have lower buckets."""
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
    """Return the changes of the person's histogram buckets after a new score; `before` is None for a new row."""
    old, new = (bucket(before) if before is not None else None), bucket(after)
    if old == new:
        return {}
    return {new: 1} if old is None else {old: -1, new: 1}


def better_range(own: Row) -> tuple[str, str]:
    """Return the inclusive range of sort keys of the own bucket's rows that rank before the own row.

    The upper end is the own key with its last character lowered: a query has one condition on its sort key, and BETWEEN
    would count the own row.
    """
    low = f"{_POINTS_CEILING - min(bucket_highest(bucket(own.points)), _POINTS_CEILING):010d}"
    key = own.sort_key
    return low, f"{key[:-1]}{chr(ord(key[-1]) - 1)}~"


def rank(histograms: Iterable[Mapping[int, int]], own: Row, better_in_bucket: int) -> int:
    """Return the exact rank from 1, from all histograms of the board and the better rows of the own bucket."""
    mine = bucket(own.points)
    higher = sum(count for histogram in histograms for number, count in histogram.items() if number > mine)
    return 1 + higher + better_in_bucket
