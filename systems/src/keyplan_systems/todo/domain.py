"""Rules for tasks and users as pure functions: changes, overdue tasks, IDs and email addresses."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from email_validator import EmailNotValidError, validate_email

from keyplan.clock import Clock
from keyplan_systems.todo.entities import EMAIL_CHARACTERS, Priority, Status, Task
from keyplan_systems.todo.refusals import InvalidError
from keyplan_systems.web.idempotency import fingerprint as fingerprint  # noqa: PLC0414 - exported with the other rules of requests

URGENCY = (Priority.URGENT, Priority.HIGH, Priority.MEDIUM, Priority.LOW)
"""Priorities, most urgent first. In the index, priorities are sorted alphabetically instead."""

MAX_RETENTION_DAYS = 36_500
"""Maximum number of days for which completed tasks can be kept. The limit of 100 years ensures that all expiry dates
are valid.
"""


@dataclass(frozen=True)
class Policy:
    """The operator's settings for the storage of tasks."""

    completed_retention_days: int | None = None
    """Number of days after which completed tasks are deleted from the table, or None to keep them. The lake always
    keeps them.
    """

    def __post_init__(self) -> None:
        if self.completed_retention_days is not None and not 1 <= self.completed_retention_days <= MAX_RETENTION_DAYS:
            raise ValueError(
                f"completed tasks are kept for 1 to {MAX_RETENTION_DAYS}, or permanently,"
                f" not for {self.completed_retention_days} days"
            )


def utc_now(clock: Clock) -> datetime:
    """Return the current time, truncated to whole seconds, which is the precision of stored times."""
    return datetime.fromtimestamp(int(clock.now()), UTC)


def new_task_id(clock: Clock) -> str:
    """Return a new version 7 UUID (RFC 9562). It starts with the current time in milliseconds, so IDs sort by creation
    time.
    """
    value = (int(clock.now() * 1000) & (1 << 48) - 1) << 80 | clock.random.getrandbits(80)
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


def stored_email(address: str) -> str:
    """Return the normalized form of an email address. Addresses are stored and compared in this form.

    The normalized address is in lower case, and an internationalized domain has only one spelling. The domain is
    lowercased without case folding, because faß.example and fass.example are two different domains. Raises InvalidError
    if the address is invalid or its normalized form is too long. The normalized form can be longer than the address,
    because some letters are converted to several letters.
    """
    try:
        validated = validate_email(address.strip(), check_deliverability=False)
    except EmailNotValidError as error:
        raise InvalidError("This is not a valid email address.") from error
    normalized = f"{validated.local_part.casefold()}@{validated.domain}"
    if len(normalized) > EMAIL_CHARACTERS:
        raise InvalidError(f"In lower case, an email address can have at most {EMAIL_CHARACTERS} characters.")
    return normalized


def changed_task(task: Task, changes: Mapping[str, Any], now: datetime, policy: Policy) -> Task:
    """Return a copy of the task with the changes applied. Completing the task sets the completion and expiry times, and
    reopening it clears both.
    """
    values = {**task.model_dump(), **changes, "updated_at": now}
    status = Status(values["status"])
    if status is not task.status:
        values.update(completion(status, now, policy))
    return Task.model_validate(values)


def completion(status: Status, now: datetime, policy: Policy) -> dict[str, datetime | None]:
    """Return the fields with the completion time and the expiry time of a task whose status changes to `status`."""
    if status is not Status.COMPLETED:
        return {"completed_at": None, "expiration_timestamp": None}
    days = policy.completed_retention_days
    return {"completed_at": now, "expiration_timestamp": None if days is None else now + timedelta(days=days)}


def today(clock: Clock, zone: str = "UTC") -> date:
    """Return the current date in an IANA time zone. Raises InvalidError if the zone is unknown."""
    if zone not in _zones():
        raise InvalidError(f"Unknown time zone {zone!r}.")
    return datetime.fromtimestamp(clock.now(), ZoneInfo(zone)).date()


@cache
def _zones() -> frozenset[str]:
    """Return the names of the IANA time zones, except for `Factory`, `localtime` and `posixrules`."""
    return frozenset(available_timezones()) - {"localtime", "posixrules", "Factory"}
