"""Why the rules refuse something: one exception class per answer that a caller can act on.

    RefusalError
    ├── NotFoundError               no such booking, event, user or code
    ├── NotAllowedError             the actor may not do this
    ├── InvalidRequestError         the input breaks a rule; `details` names the fields
    │   └── DateNotBookableError    the date lies outside of what can be booked
    ├── AlreadyDecidedError         the booking's status does not allow the action (any more)
    ├── StaleVersionError           somebody changed it since the caller read it
    ├── SlotTakenError              another event holds a slot of the date
    ├── EmailTakenError             another user has this e-mail address
    ├── WrongCodeError              the code does not verify the address
    ├── TooManyLettersError         a user or an address had as many letters as are allowed in a day
    ├── KeyReusedError              the idempotency key was sent with another mutation before
    └── TryAgainError               nothing is wrong, another write was just faster

Messages are for people and hold no private data of others.
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
    """What was asked for does not exist, or not for this actor."""

    code = "not_found"


class NotAllowedError(RefusalError):
    """The actor's role or ownership does not cover the action."""

    code = "forbidden"


class InvalidRequestError(RefusalError):
    """Input that breaks a rule of the venue."""

    code = "invalid"


class DateNotBookableError(InvalidRequestError):
    """A date that is too early, too late or over."""

    code = "date_not_bookable"


class AlreadyDecidedError(RefusalError):
    """The booking's status does not allow the action."""

    code = "already_decided"

    def __init__(self, status: str) -> None:
        super().__init__(f"The booking is {status}, which does not allow this.", {"status": status})


class StaleVersionError(RefusalError):
    """The version that the caller knows is not the current one."""

    code = "stale_version"

    def __init__(self, known: int, current: int) -> None:
        message = f"This was changed meanwhile: you know version {known}, the current one is {current}."
        super().__init__(message, {"known": known, "current": current})


class SlotTakenError(RefusalError):
    """Another event holds at least one of the slots."""

    code = "slot_taken"

    def __init__(self, day: date, slots: Sequence[str]) -> None:
        message = f"Already taken on {day.isoformat()}: {', '.join(slots)}."
        super().__init__(message, {"date": day.isoformat(), "slots": list(slots)})


class EmailTakenError(RefusalError):
    """Another user has this e-mail address. `owner` is their id, which callers are not told."""

    code = "email_taken"

    def __init__(self, owner: str | None = None) -> None:
        super().__init__("Another user has this e-mail address.")
        self.owner = owner


class WrongCodeError(RefusalError):
    """The code is not the one of the letter, or was tried too often."""

    code = "wrong_code"

    def __init__(self, tries_left: int) -> None:
        told = f"You can try {tries_left} more times." if tries_left else "Request a new code."
        super().__init__(f"This is not the code of the letter. {told}", {"triesLeft": tries_left})


class TooManyLettersError(RefusalError):
    """The request would send a letter beyond what one user, or one address, has in a day."""

    code = "too_many_letters"

    def __init__(self, whose: str, allowed: int, day: date) -> None:
        message = f"At most {allowed} letters a day for one {whose}: try again tomorrow (UTC)."
        super().__init__(message, {"retryAt": f"{day + timedelta(days=1)}T00:00:00+00:00"})


class KeyReusedError(InvalidRequestError):
    """An idempotency key came with another mutation, or other arguments, than it was first sent with."""

    code = "idempotency_key_reused"


class TryAgainError(RefusalError):
    """Another write touched the same items at the same moment; the same call may succeed now."""

    code = "try_again"
