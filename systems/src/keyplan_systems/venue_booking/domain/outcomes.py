"""Converts failed transactions to domain errors.

A transaction consists of several actions. If a transaction fails, DynamoDB reports for each action whether its
condition failed. The caller passes a guard for each action: an object that describes the action's condition. `explain`
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
    """The condition that a booking still has the given status and version."""

    status: Status
    version: int


@dataclass(frozen=True)
class SlotFreeGuard:
    """The condition that a slot is free on a date."""

    date: date
    slot: str


@dataclass(frozen=True)
class SlotHeldGuard:
    """The condition that a booking or event still holds a slot on a date."""

    date: date
    slot: str


@dataclass(frozen=True)
class VersionGuard:
    """The condition that an item exists and has the given version. `name` is the type of the item, such as user or
    event.
    """

    name: str
    version: int


@dataclass(frozen=True)
class EmailGuard:
    """The condition that an email address does not belong to another user."""


@dataclass(frozen=True)
class LetterGuard:
    """The condition that fewer than `allowed` emails were counted on a day.

    `scope` is "user" for emails that a user triggered, or "address" for emails to an address.
    """

    scope: str
    allowed: int
    day: date


@dataclass(frozen=True)
class NoGuard:
    """The guard of a write that has no condition, or whose conditions never fail as a result of the caller's request.

    `name` is used in log messages.
    """

    name: str


Guard: TypeAlias = BookingGuard | SlotFreeGuard | SlotHeldGuard | VersionGuard | EmailGuard | LetterGuard | NoGuard


@dataclass(frozen=True)
class CurrentItem:
    """The current status and version of the item whose condition failed. An unknown value is None."""

    status: Status | None = None
    version: int | None = None


@dataclass(frozen=True)
class Reason:
    """DynamoDB's cancellation reason for an action: the code and, if it is known, the state of the current item."""

    code: str
    current_item: CurrentItem | None = None


class UnexplainedCancellationError(Exception):
    """Raised if a transaction failed for a reason that `explain` does not expect. This indicates a bug in
    the program.
    """


def explain(guards: Sequence[Guard], reasons: Sequence[Reason]) -> RefusalError:
    """Return the domain error for a failed transaction, given the guard and the cancellation reason of each action.

    If several conditions failed, the error is chosen in this order: booking, slots (all of them in one error), email
    address, email limits, versions. The booking comes first, because the slots do not matter if the booking was already
    decided. If the only reasons are throttling or conflicts with concurrent writes, TryAgainError is returned. Raises
    UnexplainedCancellationError for any other reason.
    """
    if len(guards) != len(reasons):
        raise UnexplainedCancellationError(f"{len(guards)} actions, but {len(reasons)} reasons")
    failures = [
        (guard, reason) for guard, reason in zip(guards, reasons, strict=True) if reason.code == CONDITION_FAILED
    ]
    refusal = (
        _find_booking_refusal(failures)
        or _find_slot_refusal(failures)
        or _find_email_refusal(failures)
        or _find_letter_refusal(failures)
        or _find_version_refusal(failures)
    )
    if refusal is not None:
        return refusal
    codes = {reason.code for reason in reasons} - NO_REASON
    if codes and codes <= RETRYABLE:
        return TryAgainError("A concurrent write changed the same items. Please try again.")
    raise UnexplainedCancellationError(f"cancelled with {sorted(codes)} at {[guard for guard, _ in failures]}")


_Failures: TypeAlias = Sequence[tuple[Guard, Reason]]


def _find_booking_refusal(failures: _Failures) -> RefusalError | None:
    for guard, reason in failures:
        if isinstance(guard, BookingGuard):
            return _booking_refusal(guard, reason.current_item)
    return None


def _booking_refusal(guard: BookingGuard, current: CurrentItem | None) -> RefusalError:
    if current is None:
        return NotFoundError("The booking no longer exists.")
    if current.status is not None and current.status is not guard.status:
        return AlreadyDecidedError(current.status.value)
    return StaleVersionError(guard.version, guard.version if current.version is None else current.version)


def _find_slot_refusal(failures: _Failures) -> RefusalError | None:
    slot_guards = [guard for guard, _ in failures if isinstance(guard, SlotFreeGuard)]
    if slot_guards:
        return SlotTakenError(slot_guards[0].date, [guard.slot for guard in slot_guards])
    if any(isinstance(guard, SlotHeldGuard) for guard, _ in failures):
        return TryAgainError("The slots of this booking have changed. Reload it and try again.")
    return None


def _find_email_refusal(failures: _Failures) -> RefusalError | None:
    if any(isinstance(guard, EmailGuard) for guard, _ in failures):
        return EmailTakenError()
    return None


def _find_letter_refusal(failures: _Failures) -> RefusalError | None:
    for guard, _ in failures:
        if isinstance(guard, LetterGuard):
            return TooManyLettersError(guard.scope, guard.allowed, guard.day)
    return None


def _find_version_refusal(failures: _Failures) -> RefusalError | None:
    for guard, reason in failures:
        if isinstance(guard, VersionGuard):
            if reason.current_item is None:
                return NotFoundError(f"The {guard.name} no longer exists.")
            current = guard.version if reason.current_item.version is None else reason.current_item.version
            return StaleVersionError(guard.version, current)
    return None
