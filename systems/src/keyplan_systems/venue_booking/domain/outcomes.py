"""Conversion of failed transactions to domain errors.

A transaction writes several items, each with a condition. If it fails, DynamoDB reports for each action whether the
condition failed. The writer passes a guard for each action: an object that describes the action's condition. `explain`
returns the error that is most helpful to the caller.
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
    """The condition of a write: the booking must still have this status and version."""

    status: Status
    version: int


@dataclass(frozen=True)
class SlotFreeGuard:
    """The condition of a write: the slot must be free on this date."""

    date: date
    slot: str


@dataclass(frozen=True)
class SlotHeldGuard:
    """The condition of a write: this booking or event must still hold the slot on this date."""

    date: date
    slot: str


@dataclass(frozen=True)
class VersionGuard:
    """The condition of a write: the item must exist and have this version. `name` is the kind of item, such as user or
    event.
    """

    name: str
    version: int


@dataclass(frozen=True)
class EmailGuard:
    """The condition of a write: the email address must not belong to another user."""


@dataclass(frozen=True)
class LetterGuard:
    """The condition of a write: fewer than `allowed` emails must have been counted on this day. `whose` is "user" or
    "address".
    """

    whose: str
    allowed: int
    day: date


@dataclass(frozen=True)
class Unguarded:
    """A write that has no condition, or only conditions that cannot fail because of the caller's request. `name` is
    used in log messages.
    """

    name: str


Guard: TypeAlias = BookingGuard | SlotFreeGuard | SlotHeldGuard | VersionGuard | EmailGuard | LetterGuard | Unguarded


@dataclass(frozen=True)
class CurrentItem:
    """The status and version of the item whose condition failed, as far as they are known."""

    status: Status | None = None
    version: int | None = None


@dataclass(frozen=True)
class Reason:
    """DynamoDB's cancellation reason for one action: its code, and the current item if it exists."""

    code: str
    found: CurrentItem | None = None


class UnexplainedCancellationError(Exception):
    """Raised if a transaction failed for a reason that `explain` does not expect. This is a bug and not an error of the
    caller.
    """


def explain(guards: Sequence[Guard], reasons: Sequence[Reason]) -> RefusalError:
    """Return the domain error for a failed transaction, given the guard and the cancellation reason of each action.

    If several conditions failed, the state of the booking takes precedence, because the slots of a decided booking are
    irrelevant. The order is: booking, slots (all of them in one error), email address, email limits, versions. If only
    conflicts with concurrent writes occurred, TryAgainError is returned. Raises UnexplainedCancellationError for any
    other reason.
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


def _booking_refusal(guard: BookingGuard, current: CurrentItem | None) -> RefusalError:
    if current is None:
        return NotFoundError("The booking does not exist any more.")
    if current.status is not None and current.status is not guard.status:
        return AlreadyDecidedError(current.status.value)
    return StaleVersionError(guard.version, guard.version if current.version is None else current.version)


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
