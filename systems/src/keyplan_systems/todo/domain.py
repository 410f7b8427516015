"""The rules of tasks and users as plain functions: what a change does, what is overdue, ids, e-mail addresses."""

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
from keyplan_systems.web.once import fingerprint as fingerprint  # noqa: PLC0414 - a rule of requests, kept with the others

URGENCY = (Priority.URGENT, Priority.HIGH, Priority.MEDIUM, Priority.LOW)
"""Priorities in order of urgency; the index sorts them by their letters."""

MOST_DAYS_KEPT = 36_500
"""The longest retention that is not for ever: a hundred years, well within the dates that there are."""


@dataclass(frozen=True)
class Policy:
    """What an operator decides."""

    completed_retention_days: int | None = None
    """After how many days completed tasks are deleted from the table; None: never. The lake keeps them."""

    def __post_init__(self) -> None:
        if self.completed_retention_days is not None and not 1 <= self.completed_retention_days <= MOST_DAYS_KEPT:
            raise ValueError(
                f"completed tasks are kept for at least 1 day and at most {MOST_DAYS_KEPT}, or for ever,"
                f" not for {self.completed_retention_days} days"
            )


def moment(clock: Clock) -> datetime:
    """The present moment in whole seconds, as it is stored."""
    return datetime.fromtimestamp(int(clock.now()), UTC)


def new_task_id(clock: Clock) -> str:
    """A UUID of version 7 (RFC 9562): the first 48 bits are the moment in ms, so that ids sort by their making."""
    value = (int(clock.now() * 1000) & (1 << 48) - 1) << 80 | clock.random.getrandbits(80)
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


def stored_email(address: str) -> str:
    """The form in which addresses are stored and compared: one spelling of its domain, no differences of case.

    The domain is in small letters as it is, and is not folded: faß.example and fass.example are two domains.
    Raises InvalidError for what is no address, or is too long in that form: some letters become several.
    """
    try:
        found = validate_email(address.strip(), check_deliverability=False)
    except EmailNotValidError as error:
        raise InvalidError("This can be no user's e-mail address.") from error
    folded = f"{found.local_part.casefold()}@{found.domain}"
    if len(folded) > EMAIL_CHARACTERS:
        raise InvalidError(f"An e-mail address has at most {EMAIL_CHARACTERS} characters, without capital letters.")
    return folded


def changed_task(task: Task, changes: Mapping[str, Any], now: datetime, policy: Policy) -> Task:
    """The task with some fields changed; completion sets when that was and how long it is kept, reopening undoes it."""
    values = {**task.model_dump(), **changes, "updated_at": now}
    status = Status(values["status"])
    if status is not task.status:
        values.update(completion(status, now, policy))
    return Task.model_validate(values)


def completion(status: Status, now: datetime, policy: Policy) -> dict[str, datetime | None]:
    """The fields that follow from a status that is new to a task."""
    if status is not Status.COMPLETED:
        return {"completed_at": None, "expiration_timestamp": None}
    days = policy.completed_retention_days
    return {"completed_at": now, "expiration_timestamp": None if days is None else now + timedelta(days=days)}


def today(clock: Clock, zone: str = "UTC") -> date:
    """Return the present day in a zone of the IANA data base. Raises InvalidError for an unknown zone."""
    if zone not in _zones():
        raise InvalidError(f"There is no time zone {zone!r}.")
    return datetime.fromtimestamp(clock.now(), ZoneInfo(zone)).date()


@cache
def _zones() -> frozenset[str]:
    """Return the names of the data base. The folder that holds it also has the machine's own zone, and placeholders."""
    return frozenset(available_timezones()) - {"localtime", "posixrules", "Factory"}
