"""The profile consumer, which adds each completed attempt exactly once to its user's ledger and snapshots.

One transaction marks the attempt as included, and writes the ledger and the snapshots. Because of the mark, a repeated
delivery changes nothing. The version of the ledger serializes concurrent handlers, so each of them includes the
attempts that the others have added.
"""

from __future__ import annotations

from dataclasses import dataclass

from keyplan import Inserted, Modified
from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    RunError,
    TransactionFailedError,
    VersionConflictError,
    WriteConflictError,
)
from keyplan.clock import Clock
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.design import StoredAttempt, StoredLedger, StoredProfile
from keyplan_systems.thinking_trainer.domain.attempts import Attempt
from keyplan_systems.thinking_trainer.domain.ledger import Ledger, snapshots, with_attempt
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.domain.records import instant_of, values_of

MAX_ATTEMPTS = 50


class BusyLedgerError(Exception):
    """Raised if a user's ledger is changed concurrently too often. The stream then delivers the attempt again."""


@dataclass(frozen=True)
class ProfileConsumer:
    """Stream handler that adds completed attempts to the profiles of their users."""

    db: Connection
    clock: Clock

    def follow(self, change: Inserted[StoredAttempt] | Modified[StoredAttempt]) -> None:
        """Add the attempt in a stream record to its user's profile."""
        self.add(change.new)

    def add(self, attempt: Attempt) -> bool:
        """Add an attempt to its user's profile. Return False if it was already added or was deleted.

        Raises BusyLedgerError if the user's ledger is changed concurrently too often.
        """
        for _ in range(MAX_ATTEMPTS):
            ledger = self.db.run(design.ledger_of(attempt.user_id))
            try:
                self._write(attempt, ledger)
            except TransactionFailedError as error:
                if _is_already_counted(error):
                    return False
                if not _is_retryable(error):
                    raise
            except WriteConflictError:
                continue
            else:
                return True
        raise BusyLedgerError(f"the ledger of {attempt.user_id} has too many concurrent writes")

    def _write(self, attempt: Attempt, ledger: StoredLedger | None) -> None:
        ledger_before = Ledger(user_id=attempt.user_id) if ledger is None else Ledger(**values_of(Ledger, ledger))
        new_ledger = with_attempt(ledger_before, attempt)
        version = 0 if ledger is None else ledger.version
        stored = StoredLedger(**values_of(Ledger, new_ledger), version=version)
        new_snapshots = snapshots(new_ledger, attempt.attempt_id)
        profiles = [StoredProfile(**values_of(Profile, profile)) for profile in new_snapshots]
        now = instant_of(self.clock.now())
        write = design.begin_profile if ledger is None else design.extend_profile
        self.db.run(write(attempt.attempt_id, now, stored, profiles))


def _is_already_counted(error: TransactionFailedError) -> bool:
    """Return True if the transaction failed because the attempt is already marked as included in the profile or was
    deleted.
    """
    return isinstance(error.reasons[0], (ConditionFailedError, NotFoundError))


def _is_retryable(error: TransactionFailedError) -> bool:
    """Return True if the transaction failed because of the writes of another handler. In this case, it may succeed
    after the ledger is read again.
    """
    retryable: tuple[type[RunError], ...] = (AlreadyExistsError, VersionConflictError, WriteConflictError)
    return all(reason is None or isinstance(reason, retryable) for reason in error.reasons)
