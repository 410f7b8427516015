"""The ledger of a user, which is one small item with the scores of the newest completed attempts and the total number
of completed attempts.

A profile could be computed from a query for the ten newest attempts, but that query uses an index, which can lag. If
two attempts are submitted concurrently, each handler could see its own attempt and miss the other, and no later event
would correct this. The ledger is a single item of the table. It is read with strong consistency, and written only if it
is unchanged since it was read. If the write of a handler fails because the ledger has changed, the handler reads the
ledger again and finds the other attempt. In addition, a profile is computed from eighty small numbers, instead of
reading ten attempts of up to 300,000 bytes each.

The ledger contains more attempts than the window of a profile, because attempts can arrive late. A late attempt changes
the snapshots of all attempts that were submitted after it, so `snapshots` returns these snapshots again. Therefore the
snapshots do not depend on the order of arrival, as long as no attempt arrives after more than `MAX_WINDOW_ATTEMPTS -
WINDOW` newer ones.

Attempts can be added with `with_attempt` in any order. If an attempt is delivered again, it is recognized only while it
is in the ledger. Therefore a consumer updates the ledger and marks the attempt as included in one transaction, on the
condition that the attempt is not marked yet.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .attempts import Attempt, UserId
from .errors import AttemptConflict
from .profiles import WINDOW, Profile, ScoredAttempt, profile_of, scored_attempt
from .records import SCHEMA_VERSION, Record

MAX_WINDOW_ATTEMPTS = 40
"""Maximum number of attempts in a ledger, which contains a user's newest attempts. A profile is computed from the ten
newest of them.
"""


class Ledger(Record):
    """The completed attempts of a user. `window` contains the scores of the newest attempts, sorted oldest first."""

    user_id: UserId
    attempt_count: int = Field(default=0, ge=0)
    window: tuple[ScoredAttempt, ...] = Field(default=(), max_length=MAX_WINDOW_ATTEMPTS)
    schema_version: Literal["1.0"] = SCHEMA_VERSION


def with_attempt(ledger: Ledger, attempt: Attempt) -> Ledger:
    """Return the ledger with another completed attempt, or the same ledger if it already contains the attempt.

    Raises ValueError for an attempt that is not completed or belongs to another user, and AttemptConflict if the window
    contains different scores for the same attempt ID.
    """
    if attempt.user_id != ledger.user_id:
        raise ValueError(f"attempt {attempt.attempt_id} does not belong to the user of this ledger")
    entry = scored_attempt(attempt)
    for stored_attempt in ledger.window:
        if stored_attempt.attempt_id == entry.attempt_id:
            if stored_attempt != entry:
                raise AttemptConflict(f"attempt {entry.attempt_id} was already recorded with different scores")
            return ledger
    return Ledger(
        user_id=ledger.user_id,
        attempt_count=ledger.attempt_count + 1,
        window=tuple(sorted((*ledger.window, entry), key=lambda attempt: attempt.scored_key)[-MAX_WINDOW_ATTEMPTS:]),
    )


def snapshots(ledger: Ledger, attempt_id: str) -> list[Profile]:
    """Return the profile as of the given attempt, followed by the profiles as of each newer attempt, oldest first.

    The list is empty if the ledger does not contain the attempt. A profile is computed from its attempt and the nine
    attempts before it. Profiles for which the ledger no longer contains some of these attempts are omitted.
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
            ledger.window[max(0, index + 1 - WINDOW) : index + 1],
            ledger.attempt_count - (len(ids) - 1 - index),
        )
        for index in newer
    ]
