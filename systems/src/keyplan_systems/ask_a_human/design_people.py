"""Access patterns for user records, leaderboards and histograms, the transaction for an answer, and the stream
consumer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

from pydantic import Field

from keyplan import (
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Rate,
    WriteCall,
    each,
    item,
    pk,
    transaction,
)
from keyplan.streams import HandledChanges
from keyplan_systems.ask_a_human.design_questions import AnswerEffect, AtMostOne, count_response, end_errand, end_one
from keyplan_systems.ask_a_human.design_responses import add_flag, add_response, count_request
from keyplan_systems.ask_a_human.entities import BoardRow, Flag, Histogram, Partition, Response, UserStats, user_stats


@user_stats.get(UserStats, consistent=True, rate=Rate(average=120, peak=1_600), after=["answer_question"])
def stats_of_user(fingerprint_hash: str) -> ItemKey:
    """Get the points, streak and badges of a user."""
    return item(fingerprint_hash=fingerprint_hash)


@user_stats.create(UserStats)
def first_stats(stats: UserStats) -> ItemWrite:
    """Create the record of a user who answers for the first time."""
    return item(stats)


@user_stats.replace(UserStats)
def next_stats(stats: UserStats) -> ItemWrite:
    """Replace a user's record after an answer, if the record is unchanged since it was read."""
    return item(stats)


@user_stats.put(BoardRow)
def place_row(row: BoardRow) -> ItemWrite:
    """Store a user's row on a leaderboard."""
    return item(row)


@user_stats.get(BoardRow, consistent=True, rate=Rate(average=10, peak=100), after=["answer_question"])
def row_of(board: str, person: str) -> ItemKey:
    """Get a user's row on a leaderboard."""
    return item(board=board, person=person)


@user_stats.query(BoardRow, index="ByTotalPoints", rate=Rate(average=20, peak=100), expected_items=10)
def leaderboard(partitions: Annotated[list[Partition], Field(max_length=8)]) -> KeyCondition:
    """List the rows of a leaderboard, best first. The results from its eight partitions are merged."""
    return pk(leaderboard=each(partitions))


@user_stats.count(BoardRow, index="ByTotalPoints", rate=Rate(average=30, peak=200), expected_items=200)
def better_in_bucket(partitions: Annotated[list[Partition], Field(max_length=8)], low: str, high: str) -> KeyCondition:
    """Count the leaderboard rows with a `place` from `low` to `high`, to compute a rank within a score bucket."""
    return pk(leaderboard=each(partitions)).sk.between(place=(low, high))


@user_stats.batch_get(Histogram, rate=Rate(average=30, peak=200))
def histograms(partitions: Annotated[list[Partition], Field(max_length=8)]) -> ItemKey:
    """Get the number of users per score bucket, for all partitions of a leaderboard."""
    return item(leaderboard=each(partitions))


@user_stats.create(Histogram, rate=Rate.monthly(300))
def begin_histogram(histogram: Histogram) -> ItemWrite:
    """Create a histogram with an empty map of buckets, because ADD fails if the map does not exist."""
    return item(histogram)


@user_stats.update(Histogram, rate=Rate(average=150, peak=2_000))
def move_into(leaderboard: str, bucket: str) -> ItemWrite:
    """Add one to the user count of a score bucket, for a user who is new on the leaderboard."""
    return item(leaderboard=leaderboard).add(F.buckets[bucket], 1)


@user_stats.update(Histogram, rate=Rate(average=50, peak=500))
def move_between(leaderboard: str, old: str, new: str) -> ItemWrite:
    """Move one user from a score bucket to another bucket of the same histogram."""
    return item(leaderboard=leaderboard).add(F.buckets[old], -1).add(F.buckets[new], 1)


@transaction(rate=Rate(average=100, peak=1_500))
def answer_question(
    response: Response,
    effect: AnswerEffect,
    *,
    new_stats: AtMostOne[UserStats],
    changed_stats: AtMostOne[UserStats],
    rows: Annotated[list[BoardRow], Field(max_length=3)],
    flags: Annotated[list[Flag], Field(max_length=3)],
    closed_question_agents: AtMostOne[str],
    closed_questions: AtMostOne[str],
    windows: AtMostOne[str],
    allowed: int,
    windows_end: int,
) -> list[WriteCall[Any]]:
    """Store an answer, and update the question, the user's record, the leaderboard rows and the flags.

    `new_stats` contains the user's record if this is their first answer; otherwise `changed_stats` contains it. `flags`
    contains one flag per reason for suspicion. If the answer closes the question, `closed_question_agents` contains the
    ID of the agent that asked it, and `closed_questions` the ID of the question. If the number of answers per network
    address is limited, `windows` contains the key of the counter for the client's address and this question. The
    transaction fails if this counter has already reached `allowed`.
    """
    return [
        add_response(response),
        count_response(effect),
        first_stats(each(new_stats)),
        next_stats(each(changed_stats)),
        place_row(each(rows)),
        add_flag(each(flags)),
        end_one(each(closed_question_agents)),
        end_errand("EXPIRE", each(closed_questions)),
        count_request(each(windows), allowed, windows_end),
    ]


counted_changes = HandledChanges(user_stats)
"""Records of the stream changes that have already been counted in the histograms.

The transaction that counts a change also stores its record, because a stream can deliver a change more than once.
"""
FAILED_COUNTS = "failed-counts"
"""Dead-letter destination for changes that could not be counted."""
count_change: ContextVar[Callable[[Inserted[BoardRow] | Modified[BoardRow]], None]] = ContextVar("counting")
"""Function that `count_places` calls for each change to a leaderboard row.

The program that runs the consumer sets it, because a design has no database connection.
"""


@user_stats.on_change(BoardRow, retries=20, on_failure=FAILED_COUNTS, idempotent=True)
def count_places(change: Inserted[BoardRow] | Modified[BoardRow]) -> None:
    """Update the histograms, from which ranks are computed, when a leaderboard row changes."""
    count_change.get()(change)
