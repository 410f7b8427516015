"""Translation of cancelled transactions to domain errors.

A booking step writes several items, each with a condition. If the transaction is cancelled, DynamoDB reports for each
action whether its condition failed. The writer labels its actions with guards in the same order, and `explain` selects
the most helpful error for the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from keyplan_systems.venue_booking.domain.refusals import (
    AlreadyDecidedError,
    EmailTakenError,
    NotFoundError,
    RefusalError,
    SlotTakenError,
    StaleVersionError,
    TooManyLettersError,
    TryAgainError,
)
from keyplan_systems.venue_booking.domain.users import Status

CONDITION_FAILED: Final = "ConditionalCheckFailed"
NO_REASON: Final = frozenset({"None", ""})
RETRYABLE: Final = frozenset({"TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"})


@dataclass(frozen=True)
class BookingGuard:
    """Guard of a booking that must have this status and version."""

    status: Status
    version: int


@dataclass(frozen=True)
class SlotFreeGuard:
    """Guard of a slot that must be free."""

    date: date
    slot: str


@dataclass(frozen=True)
class SlotHeldGuard:
    """Guard of a slot that this booking must hold."""

    date: date
    slot: str


@dataclass(frozen=True)
class VersionGuard:
    """Guard of an item that must have this version. `name` is its kind (user or event)."""

    name: str
    version: int


@dataclass(frozen=True)
class EmailGuard:
    """Guard of an email address that must be unused."""


@dataclass(frozen=True)
class LetterGuard:
    """Guard of the daily number of emails from a user or to an address (`whose`), which is at most `allowed`."""

    whose: str
    allowed: int
    day: date


@dataclass(frozen=True)
class Unguarded:
    """An action without a condition that is relevant to callers. `name` appears in the log."""

    name: str


Guard: TypeAlias = BookingGuard | SlotFreeGuard | SlotHeldGuard | VersionGuard | EmailGuard | LetterGuard | Unguarded


@dataclass(frozen=True)
class CurrentItem:
    """The known attributes of the item that made the condition fail."""

    status: Status | None = None
    version: int | None = None


@dataclass(frozen=True)
class Reason:
    """The reason that DynamoDB reports for one action: its code, and the existing item, if any."""

    code: str
    found: CurrentItem | None = None


class UnexplainedCancellationError(Exception):
    """Raised for a cancellation that no rule covers. This is a bug in the program and not an error of the caller."""


def explain(guards: Sequence[Guard], reasons: Sequence[Reason]) -> RefusalError:
    """Return the error for a cancelled transaction.

    The state of the booking takes precedence, because the slots of a decided booking are irrelevant. Then come held
    slots (all of them in one error), the email address, limits on emails, and versions. If the only failures are
    conflicts with concurrent writes, another attempt may succeed. Raises UnexplainedCancellationError for other
    reasons.
    """
    if len(guards) != len(reasons):
        raise UnexplainedCancellationError(f"{len(guards)} actions, but {len(reasons)} reasons")
    failed = [(guard, reason) for guard, reason in zip(guards, reasons, strict=True) if reason.code == CONDITION_FAILED]
    refusal = (
        _of_booking(failed) or _of_slots(failed) or _of_email(failed) or _of_letters(failed) or _of_version(failed)
    )
    if refusal is not None:
        return refusal
    codes = {reason.code for reason in reasons} - NO_REASON
    if codes and codes <= RETRYABLE:
        return TryAgainError("A concurrent write changed the same items. Please try again.")
    raise UnexplainedCancellationError(f"cancelled with {sorted(codes)} at {[guard for guard, _ in failed]}")


_Failed: TypeAlias = Sequence[tuple[Guard, Reason]]


def _of_booking(failed: _Failed) -> RefusalError | None:
    for guard, reason in failed:
        if isinstance(guard, BookingGuard):
            return _booking_refusal(guard, reason.found)
    return None


def _booking_refusal(guard: BookingGuard, found: CurrentItem | None) -> RefusalError:
    if found is None:
        return NotFoundError("The booking does not exist any more.")
    if found.status is not None and found.status is not guard.status:
        return AlreadyDecidedError(found.status.value)
    return StaleVersionError(guard.version, guard.version if found.version is None else found.version)


def _of_slots(failed: _Failed) -> RefusalError | None:
    slot_guards = [guard for guard, _ in failed if isinstance(guard, SlotFreeGuard)]
    if slot_guards:
        return SlotTakenError(slot_guards[0].date, [guard.slot for guard in slot_guards])
    if any(isinstance(guard, SlotHeldGuard) for guard, _ in failed):
        return TryAgainError("The slots of this booking have changed. Reload it and try again.")
    return None


def _of_email(failed: _Failed) -> RefusalError | None:
    if any(isinstance(guard, EmailGuard) for guard, _ in failed):
        return EmailTakenError()
    return None


def _of_letters(failed: _Failed) -> RefusalError | None:
    for guard, _ in failed:
        if isinstance(guard, LetterGuard):
            return TooManyLettersError(guard.whose, guard.allowed, guard.day)
    return None


def _of_version(failed: _Failed) -> RefusalError | None:
    for guard, reason in failed:
        if isinstance(guard, VersionGuard):
            if reason.found is None:
                return NotFoundError(f"The {guard.name} does not exist any more.")
            current = guard.version if reason.found.version is None else reason.found.version
            return StaleVersionError(guard.version, current)
    return None
