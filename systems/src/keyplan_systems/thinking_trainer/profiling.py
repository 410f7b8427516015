"""The profile consumer: each completed attempt is taken into its user's ledger and snapshots, once.

Attempt mark, ledger and snapshots are written in one transaction. The mark makes a repeated delivery change
nothing; the ledger's version makes two handlers at once take turns, so that neither misses the other's attempt.
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
from keyplan_systems.thinking_trainer.domain.ledger import Ledger, noted, snapshots
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.domain.records import instant_of, values_of

MOST_TRIES = 50


class BusyLedgerError(Exception):
    """Others kept writing the same user's ledger; the stream delivers the attempt again."""


@dataclass(frozen=True)
class Profiler:
    """Takes completed attempts into profiles."""

    db: Connection
    clock: Clock

    def follow(self, change: Inserted[StoredAttempt] | Modified[StoredAttempt]) -> None:
        """A change that made an attempt completed."""
        self.take_in(change.new)

    def take_in(self, attempt: Attempt) -> bool:
        """Take an attempt in; False where it was before, or is gone. Raises BusyLedgerError."""
        for _ in range(MOST_TRIES):
            ledger = self.db.run(design.ledger_of(attempt.user_id))
            try:
                self._write(attempt, ledger)
            except TransactionFailedError as error:
                if _is_noted(error):
                    return False
                if not _may_pass(error):
                    raise
            except WriteConflictError:
                continue
            else:
                return True
        raise BusyLedgerError(f"the ledger of {attempt.user_id} is written by others all the time")

    def _write(self, attempt: Attempt, ledger: StoredLedger | None) -> None:
        known = Ledger(user_id=attempt.user_id) if ledger is None else Ledger(**values_of(Ledger, ledger))
        after = noted(known, attempt)
        version = 0 if ledger is None else ledger.version
        made = StoredLedger(**values_of(Ledger, after), version=version)
        found = snapshots(after, attempt.attempt_id)
        profiles = [StoredProfile(**values_of(Profile, profile)) for profile in found]
        now = instant_of(self.clock.now())
        write = design.begin_profile if ledger is None else design.extend_profile
        self.db.run(write(attempt.attempt_id, now, made, profiles))


def _is_noted(error: TransactionFailedError) -> bool:
    """Whether the attempt's mark was there, or the attempt is gone."""
    return isinstance(error.reasons[0], (ConditionFailedError, NotFoundError))


def _may_pass(error: TransactionFailedError) -> bool:
    """Whether another handler was quicker: with the ledger read anew it may go through."""
    passing: tuple[type[RunError], ...] = (AlreadyExistsError, VersionConflictError, WriteConflictError)
    return all(reason is None or isinstance(reason, passing) for reason in error.reasons)
