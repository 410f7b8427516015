"""Ledger of a user: the scores of the newest completed attempts and the number of all, in one small item.

A profile could be computed from a query for the ten newest attempts, but that query uses an index, which may lag: with
two attempts submitted concurrently, each handler may see its own and miss the other, and no later event would correct
that. The ledger is an item of a table, read with strong consistency and written on the condition that it is unchanged
since. The second writer reads again, and then knows both. It also saves reading ten whole attempts, up to 300,000 bytes
each, for eighty small numbers.

It keeps more than a profile's window, because attempts may arrive late: an attempt that is older than known ones
changes the snapshots of those after it, and `snapshots` returns all of them again. So the snapshots do not depend on
the order of arrival, as long as no attempt arrives after more than `KEPT - WINDOW` newer ones.

`noted` accepts the attempts in any order. An attempt that is kept is recognized when it is delivered again; an attempt
that has left the ledger is not, so a consumer marks each attempt as noted in the same transaction, on the condition
that it is not marked.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .attempts import Attempt, UserId
from .errors import AttemptConflict
from .profiles import WINDOW, Profile, ScoredAttempt, profile_of, scored
from .records import SCHEMA_VERSION, Record

KEPT = 40
"""Number of newest attempts that are kept; the last ten are the window of a profile."""


class Ledger(Record):
    """Known completed attempts of one user; `window` is the newest of them, oldest first."""

    user_id: UserId
    attempt_count: int = Field(default=0, ge=0)
    window: tuple[ScoredAttempt, ...] = Field(default=(), max_length=KEPT)
    schema_version: Literal["1.0"] = SCHEMA_VERSION


def noted(ledger: Ledger, attempt: Attempt) -> Ledger:
    """Return the ledger with another completed attempt; the same ledger if the window contains it already.

    Raises ValueError for an attempt that is not completed or belongs to another user, AttemptConflict if the window
    contains other scores under its ID.
    """
    if attempt.user_id != ledger.user_id:
        raise ValueError(f"attempt {attempt.attempt_id} belongs to another user than this ledger")
    entry = scored(attempt)
    for known in ledger.window:
        if known.attempt_id == entry.attempt_id:
            if known != entry:
                raise AttemptConflict(f"attempt {entry.attempt_id} was noted before with other scores")
            return ledger
    return Ledger(
        user_id=ledger.user_id,
        attempt_count=ledger.attempt_count + 1,
        window=tuple(sorted((*ledger.window, entry), key=lambda attempt: attempt.scored_key)[-KEPT:]),
    )


def snapshots(ledger: Ledger, attempt_id: str) -> list[Profile]:
    """Return the snapshot as of this attempt, and those of all newer ones, oldest first; none if it was dropped.

    A snapshot needs the nine attempts before its own: for the oldest kept attempts, some may be missing.
    """
    ids = [entry.attempt_id for entry in ledger.window]
    if attempt_id not in ids:
        return []
    first = ids.index(attempt_id)
    if ledger.attempt_count > len(ids):
        first = max(first, WINDOW - 1)
    newer = range(first, len(ids))
    return [
        profile_of(
            ledger.user_id,
            ledger.window[max(0, place + 1 - WINDOW) : place + 1],
            ledger.attempt_count - (len(ids) - 1 - place),
        )
        for place in newer
    ]
