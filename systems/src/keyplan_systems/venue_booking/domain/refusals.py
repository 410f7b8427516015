"""The exceptions of the domain rules, one class for each error that a caller can handle.

    RefusalError
    ├── NotFoundError               no such booking, event, user or code
    ├── NotAllowedError             the actor may not do this
    ├── InvalidRequestError         the input breaks a rule; `details` names the fields
    │   └── DateNotBookableError    the date is outside the booking window
    ├── AlreadyDecidedError         the booking's status does not allow the action
    ├── StaleVersionError           it has changed since the caller read it
    ├── SlotTakenError              another event holds a slot of the date
    ├── EmailTakenError             another user has this email address
    ├── WrongCodeError              the code does not verify the address
    ├── TooManyLettersError         the daily limit of emails is reached
    ├── KeyReusedError              the idempotency key was used for another mutation
    └── TryAgainError               a concurrent write was faster

Messages are intended for users and contain no private data of other users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import ClassVar


class RefusalError(Exception):
    """Base class of all domain errors. `code` is a stable name for programs."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details or {}


class NotFoundError(RefusalError):
    """Raised if an item does not exist or this actor may not view it."""

    code = "not_found"


class NotAllowedError(RefusalError):
    """Raised if the actor's role or ownership does not allow an action."""

    code = "forbidden"


class InvalidRequestError(RefusalError):
    """Raised if the input violates a rule of the venue."""

    code = "invalid"


class DateNotBookableError(InvalidRequestError):
    """Raised if a date is too early, too late or in the past."""

    code = "date_not_bookable"


class AlreadyDecidedError(RefusalError):
    """Raised if the status of a booking does not allow an action."""

    code = "already_decided"

    def __init__(self, status: str) -> None:
        super().__init__(f"The booking is {status}, which does not allow this.", {"status": status})


class StaleVersionError(RefusalError):
    """Raised if the caller's version is not the current version."""

    code = "stale_version"

    def __init__(self, known: int, current: int) -> None:
        message = f"This has been changed: you know version {known}, the current version is {current}."
        super().__init__(message, {"known": known, "current": current})


class SlotTakenError(RefusalError):
    """Raised if another event holds at least one of the slots."""

    code = "slot_taken"

    def __init__(self, day: date, slots: Sequence[str]) -> None:
        message = f"Already taken on {day.isoformat()}: {', '.join(slots)}."
        super().__init__(message, {"date": day.isoformat(), "slots": list(slots)})


class EmailTakenError(RefusalError):
    """Raised if an email address belongs to another user. `owner` is their ID, which is not sent to callers."""

    code = "email_taken"

    def __init__(self, owner: str | None = None) -> None:
        super().__init__("Another user has this e-mail address.")
        self.owner = owner


class WrongCodeError(RefusalError):
    """Raised if a code is wrong or was tried too often."""

    code = "wrong_code"

    def __init__(self, tries_left: int) -> None:
        advice = f"You can try {tries_left} more times." if tries_left else "Request a new code."
        super().__init__(f"This is not the code of the letter. {advice}", {"triesLeft": tries_left})


class TooManyLettersError(RefusalError):
    """Raised if an email would exceed the daily limit of a user or an address."""

    code = "too_many_letters"

    def __init__(self, whose: str, allowed: int, day: date) -> None:
        message = f"At most {allowed} letters a day for one {whose}: try again tomorrow (UTC)."
        super().__init__(message, {"retryAt": f"{day + timedelta(days=1)}T00:00:00+00:00"})


class KeyReusedError(InvalidRequestError):
    """Raised if an idempotency key was used for another mutation or other arguments."""

    code = "idempotency_key_reused"


class TryAgainError(RefusalError):
    """Raised for a conflict with a concurrent write of the same items. The same call may succeed now."""

    code = "try_again"
