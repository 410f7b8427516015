"""The exceptions for requests that the domain rules reject.

    RefusalError
    ├── NotFoundError               no such booking, event, user or code
    ├── NotAllowedError             the actor may not do this
    ├── InvalidRequestError         the input breaks a rule; `details` names the fields
    │   └── DateNotBookableError    the date is outside the booking window
    ├── AlreadyDecidedError         the booking's status does not allow the action
    ├── StaleVersionError           the item has changed since the caller read it
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
    """Base class of the exceptions for rejected requests. `code` is a stable identifier for programs."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details or {}


class NotFoundError(RefusalError):
    """Raised if an item does not exist or the actor may not view it."""

    code = "not_found"


class NotAllowedError(RefusalError):
    """Raised if the actor is not allowed to perform an action."""

    code = "forbidden"


class InvalidRequestError(RefusalError):
    """Raised if the input violates a rule."""

    code = "invalid"


class DateNotBookableError(InvalidRequestError):
    """Raised if a date is in the past or outside the booking window."""

    code = "date_not_bookable"


class AlreadyDecidedError(RefusalError):
    """Raised if the status of a booking does not allow an action."""

    code = "already_decided"

    def __init__(self, status: str) -> None:
        super().__init__(f"The booking is {status}, which does not allow this.", {"status": status})


class StaleVersionError(RefusalError):
    """Raised if an item's version differs from the version that the caller has read."""

    code = "stale_version"

    def __init__(self, known_version: int, current_version: int) -> None:
        message = f"This was changed: you sent version {known_version}, but the current version is {current_version}."
        super().__init__(message, {"known": known_version, "current": current_version})


class SlotTakenError(RefusalError):
    """Raised if another event already holds one of the requested slots."""

    code = "slot_taken"

    def __init__(self, day: date, slots: Sequence[str]) -> None:
        message = f"Already taken on {day.isoformat()}: {', '.join(slots)}."
        super().__init__(message, {"date": day.isoformat(), "slots": list(slots)})


class EmailTakenError(RefusalError):
    """Raised if an email address belongs to another user.

    `owner` is the ID of that user. The ID is not returned to callers of the API.
    """

    code = "email_taken"

    def __init__(self, owner: str | None = None) -> None:
        super().__init__("Another user has this email address.")
        self.owner = owner


class WrongCodeError(RefusalError):
    """Raised if a verification code is wrong or the maximum number of attempts is reached."""

    code = "wrong_code"

    def __init__(self, tries_left: int) -> None:
        advice = f"Attempts left: {tries_left}." if tries_left else "Request a new code."
        super().__init__(f"This is not the code from the email. {advice}", {"triesLeft": tries_left})


class TooManyLettersError(RefusalError):
    """Raised if an email would exceed the daily limit on emails that a user triggers or on emails to an address."""

    code = "too_many_letters"

    def __init__(self, scope: str, allowed: int, day: date) -> None:
        message = f"At most {allowed} emails a day for one {scope}: try again tomorrow (UTC)."
        super().__init__(message, {"retryAt": f"{day + timedelta(days=1)}T00:00:00+00:00"})


class KeyReusedError(InvalidRequestError):
    """Raised if an idempotency key was already used for another mutation or with different arguments."""

    code = "idempotency_key_reused"


class TryAgainError(RefusalError):
    """Raised if concurrent writes changed the same items. The caller can retry the request."""

    code = "try_again"
