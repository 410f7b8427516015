"""Refusals of the rules: one exception class per answer that a caller can act on.

    RefusalError
    ├── NotFoundError               no such booking, event, user or code
    ├── NotAllowedError             the actor may not do this
    ├── InvalidRequestError         the input breaks a rule; `details` names the fields
    │   └── DateNotBookableError    the date is outside the booking window
    ├── AlreadyDecidedError         the booking's status does not allow the action
    ├── StaleVersionError           somebody changed it since the caller read it
    ├── SlotTakenError              another event holds a slot of the date
    ├── EmailTakenError             another user has this e-mail address
    ├── WrongCodeError              the code does not verify the address
    ├── TooManyLettersError         a user or an address reached the daily limit of letters
    ├── KeyReusedError              the idempotency key was sent with another mutation before
    └── TryAgainError               a concurrent write was faster

Messages are for people and contain no private data of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import ClassVar


class RefusalError(Exception):
    """Root of all refusals; `code` is the stable name for programs."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details or {}


class NotFoundError(RefusalError):
    """Item that does not exist, or not for this actor."""

    code = "not_found"


class NotAllowedError(RefusalError):
    """Action that the actor's role or ownership does not cover."""

    code = "forbidden"


class InvalidRequestError(RefusalError):
    """Input that violates a rule of the venue."""

    code = "invalid"


class DateNotBookableError(InvalidRequestError):
    """Date that is too early, too late or over."""

    code = "date_not_bookable"


class AlreadyDecidedError(RefusalError):
    """Action that the booking's status does not allow."""

    code = "already_decided"

    def __init__(self, status: str) -> None:
        super().__init__(f"The booking is {status}, which does not allow this.", {"status": status})


class StaleVersionError(RefusalError):
    """Version of the caller that is not the current version."""

    code = "stale_version"

    def __init__(self, known: int, current: int) -> None:
        message = f"This has been changed: you know version {known}, the current version is {current}."
        super().__init__(message, {"known": known, "current": current})


class SlotTakenError(RefusalError):
    """Slots of which another event holds at least one."""

    code = "slot_taken"

    def __init__(self, day: date, slots: Sequence[str]) -> None:
        message = f"Already taken on {day.isoformat()}: {', '.join(slots)}."
        super().__init__(message, {"date": day.isoformat(), "slots": list(slots)})


class EmailTakenError(RefusalError):
    """E-mail address of another user. `owner` is their ID, which is not sent to callers."""

    code = "email_taken"

    def __init__(self, owner: str | None = None) -> None:
        super().__init__("Another user has this e-mail address.")
        self.owner = owner


class WrongCodeError(RefusalError):
    """Code that is not the code of the letter, or was tried too often."""

    code = "wrong_code"

    def __init__(self, tries_left: int) -> None:
        advice = f"You can try {tries_left} more times." if tries_left else "Request a new code."
        super().__init__(f"This is not the code of the letter. {advice}", {"triesLeft": tries_left})


class TooManyLettersError(RefusalError):
    """Letter beyond the daily limit of one user or one address."""

    code = "too_many_letters"

    def __init__(self, whose: str, allowed: int, day: date) -> None:
        message = f"At most {allowed} letters a day for one {whose}: try again tomorrow (UTC)."
        super().__init__(message, {"retryAt": f"{day + timedelta(days=1)}T00:00:00+00:00"})


class KeyReusedError(InvalidRequestError):
    """Idempotency key of another mutation, or of other arguments."""

    code = "idempotency_key_reused"


class TryAgainError(RefusalError):
    """Conflict with a concurrent write of the same items; the same call may succeed now."""

    code = "try_again"
