"""Leaderboards, ranks and users' own records. A worker counts the users per score bucket, and ranks are computed from
these counts.
"""

from __future__ import annotations

import contextvars
import threading
from contextlib import suppress
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from keyplan import Inserted, Modified
from keyplan.client.errors import AlreadyExistsError
from keyplan.streams import Destination, Runner, TableCheckpoints
from keyplan_systems.ask_a_human import design_people, records
from keyplan_systems.ask_a_human.base import UNREADABLE, Base, convert_readable, log_unreadable
from keyplan_systems.ask_a_human.domain import boards, scoring
from keyplan_systems.ask_a_human.domain.boards import Entry, Period, Row
from keyplan_systems.ask_a_human.domain.scoring import Stats
from keyplan_systems.ask_a_human.entities import BoardRow, Histogram, user_stats

CONSUMER = "count_places"


@dataclass(frozen=True)
class Position:
    """The caller's position on a leaderboard. The rank is None if the caller has not answered in the period."""

    rank: int | None
    points: int


@dataclass(frozen=True)
class UserRecord:
    """A user's record (points, badges and counters), with the current streak and the all-time rank.

    `stats` is None for a user who has not answered any questions.
    """

    stats: Stats | None
    streak_days: int
    rank: int | None


class Leaderboards:
    """The leaderboards and ranks. They reflect new answers after a short delay. Instances are thread-safe."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def board(self, period: Period, limit: int, caller: str | None) -> tuple[list[Entry], Position | None]:
        """Return the first `limit` rows of a period's current leaderboard, and the caller's own position.

        The position is None if `caller` is None or if stored data that is needed to compute the position cannot be
        read.
        """
        board = boards.period_key(period, self._base.now_ms)
        call = design_people.leaderboard(list(boards.partitions(board)))
        page = self._connection.run(call, limit=limit, unreadable=log_unreadable)
        entries = boards.entries(convert_readable(records.row, page), caller)
        return entries, None if caller is None else self._position(board, caller)

    def record(self, person: str, zone: ZoneInfo) -> UserRecord:
        """Return a user's record, with the current streak and the all-time rank."""
        now_ms = self._base.now_ms
        item = self._connection.run(design_people.stats_of_user(person))
        if item is None:
            return UserRecord(None, 0, None)
        stats = records.stats(item)
        position = self._position(boards.period_key(Period.ALL_TIME, now_ms), person)
        return UserRecord(stats, scoring.streak_at(stats, now_ms, zone), None if position is None else position.rank)

    def _position(self, board: str, person: str) -> Position | None:
        """Return a user's position on a leaderboard, or None if stored data that is needed to compute the position
        cannot be read.
        """
        try:
            item = self._connection.run(design_people.row_of(board, person))
            if item is None:
                return Position(None, 0)
            row = records.row(item)
            return Position(self._rank(board, row), row.points)
        except UNREADABLE as error:
            log_unreadable(error)
            return None

    def _rank(self, board: str, row: Row) -> int:
        partitions = list(boards.partitions(board))
        histograms = self._connection.run(design_people.histograms(partitions))
        better_count = self._connection.run(design_people.better_in_bucket(partitions, *boards.better_range(row)))
        shards = [
            {int(number): count for number, count in histogram.buckets.items()}
            for histogram in histograms
            if histogram is not None
        ]
        return boards.rank(shards, row, better_count)


class Ranking:
    """Counts the users in each score bucket. Ranks are computed from these counts. Each change to a leaderboard row is
    counted exactly once.
    """

    def __init__(self, base: Base, failures: Destination, runner: str | None = None) -> None:
        """Create the worker.

        `failures` is the destination for changes that could not be counted. `runner` is the name that identifies this
        worker among the readers of the stream (see `keyplan.streams.runner`).
        """
        self._connection = base.connection
        self._runner = Runner(
            base.connection,
            user_stats,
            [CONSUMER],
            destinations={design_people.FAILED_COUNTS: failures},
            checkpoints=TableCheckpoints(base.connection, clock=base.clock, create=True),
            runner=runner,
            clock=base.clock,
        )
        self._created_histograms: set[str] = set()
        self._lock = threading.Lock()

    def run_once(self) -> int:
        """Update the histograms according to the pending changes of leaderboard rows, and return the number of these
        changes.
        """
        with self._lock:
            return contextvars.copy_context().run(self._deliver)

    def close(self) -> None:
        """Stop reading the stream, and release its shards for other workers."""
        with self._lock:
            self._runner.close()

    def _deliver(self) -> int:
        design_people.count_change.set(self._count)
        return self._runner.run_once().delivered

    def _count(self, change: Inserted[BoardRow] | Modified[BoardRow]) -> None:
        old = change.old.total_points if isinstance(change, Modified) else None
        bucket_moves = boards.bucket_moves(old, change.new.total_points)
        if not bucket_moves:
            return
        partition = change.new.leaderboard
        self._create_histogram(partition, change.new.ttl)
        new = str(boards.bucket(change.new.total_points))
        if old is None:
            effect = design_people.move_into(partition, new)
        else:
            effect = design_people.move_between(partition, str(boards.bucket(old)), new)
        design_people.counted_changes.apply(self._connection, CONSUMER, change, effect)

    def _create_histogram(self, partition: str, ttl: int | None) -> None:
        if partition in self._created_histograms:
            return
        with suppress(AlreadyExistsError):  # another worker or an earlier run of this worker created it
            self._connection.run(design_people.begin_histogram(Histogram(leaderboard=partition, buckets={}, ttl=ttl)))
        self._created_histograms.add(partition)
