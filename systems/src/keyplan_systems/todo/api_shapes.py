"""Request and response models of the API for validation and for the OpenAPI document, with examples."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, EmailStr, Field, StringConstraints

from keyplan_systems.todo.entities import EMAIL_CHARACTERS, Priority, Status, TaskId

_NO_CONTROLS = r"^[^\x00-\x1f\x7f]*$"
# Entities keep their looser rules, so that older items remain readable.
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=_NO_CONTROLS)]
Description = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$")]
CategoryInput = Annotated[str, Field(min_length=1, max_length=50, pattern=r"^[^#\x00-\x1f\x7f]+$")]


def _require_iso_date(value: object) -> object:
    """Return the value unchanged if it is a string in the format YYYY-MM-DD. Otherwise, raise ValueError.

    Without this check, pydantic would also accept numbers and timestamps as dates.
    """
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return value
    raise ValueError("write a date as 2025-11-30")


Day = Annotated[date, BeforeValidator(_require_iso_date)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=_NO_CONTROLS)]

TASK_EXAMPLE: dict[str, Any] = {
    "task_id": "019aa1f0-5c1e-7b3a-9f52-0c1d2e3f4a5b",
    "title": "Water the plants",
    "description": "Not the cactus.",
    "status": "pending",
    "priority": "high",
    "category": "home",
    "due_date": "2025-11-30",
    "created_at": 1763640000,
    "updated_at": 1763640000,
    "completed_at": None,
    "version": 1,
}
USER_EXAMPLE: dict[str, Any] = {
    "user_id": "ada",
    "email": "ada@example.org",
    "name": "Ada",
    "created_at": 1763640000,
    "updated_at": 1763640000,
    "version": 1,
}


def _example(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


class NewTask(BaseModel):
    """A task to create. By default, its status is pending and its priority is medium."""

    model_config = _example({"title": "Water the plants", "priority": "high", "due_date": "2025-11-30"})

    title: Title
    description: Description | None = None
    status: Status = Status.PENDING
    priority: Priority | None = None
    category: CategoryInput | None = None
    due_date: Day | None = None


class TaskChanges(BaseModel):
    """Changes to a task. Null clears a field, and omitted fields stay unchanged."""

    model_config = _example({"status": "completed"}, {"due_date": None, "category": "garden"})

    title: Title = ""
    description: Description | None = None
    status: Status = Status.PENDING
    priority: Priority | None = None
    category: CategoryInput | None = None
    due_date: Day | None = None


class BulkStatus(BaseModel):
    """A request to set the status of several tasks."""

    model_config = _example({"task_ids": [TASK_EXAMPLE["task_id"]], "status": "completed"})

    task_ids: Annotated[list[TaskId], Field(min_length=1, max_length=100)]
    status: Status


class NewUser(BaseModel):
    """A request to create a user record for the caller. Omitted fields are copied from the token."""

    model_config = _example({"email": "ada@example.org", "name": "Ada"})

    email: Annotated[EmailStr, Field(max_length=EMAIL_CHARACTERS)] | None = None
    name: Name | None = None


class UserChanges(BaseModel):
    """Changes to the caller's user record. Omitted fields stay unchanged."""

    model_config = _example({"name": "Ada Lovelace"})

    email: Annotated[EmailStr, Field(max_length=EMAIL_CHARACTERS)] = ""
    name: Name = ""


class TaskAnswer(BaseModel):
    """A task in a response. Times are in Unix seconds."""

    model_config = _example(TASK_EXAMPLE)

    task_id: str
    title: str
    description: str | None
    status: Status
    priority: Priority | None
    category: str | None
    due_date: date | None
    created_at: int
    updated_at: int
    completed_at: int | None
    version: int


class TaskPage(BaseModel):
    """A page of tasks.

    `cursor` is the parameter for requesting the next page, and is null on the last page. A page can be shorter than
    requested. If unreadable items were omitted, `unreadable` is their number.
    """

    model_config = _example({"tasks": [TASK_EXAMPLE], "cursor": None})

    tasks: list[TaskAnswer]
    cursor: str | None
    unreadable: int | None = None


class TaskList(BaseModel):
    """The response to a request for several tasks by ID. Tasks that do not exist are omitted."""

    model_config = _example({"tasks": [TASK_EXAMPLE]})

    tasks: list[TaskAnswer]


class Counts(BaseModel):
    """The number of tasks per status and per priority. If unreadable items were not counted, `unreadable` is their
    number.
    """

    model_config = _example({"status": {"pending": 3}, "priority": {"urgent": 1}})

    status: dict[Status, int]
    priority: dict[Priority, int]
    unreadable: int | None = None


class Result(BaseModel):
    """The result for one task of a bulk request."""

    task_id: str
    outcome: Literal["updated", "unchanged", "deleted", "kept", "missing"]


class BulkAnswer(BaseModel):
    """The results for all tasks of a bulk request."""

    model_config = _example({"results": [{"task_id": TASK_EXAMPLE["task_id"], "outcome": "updated"}]})

    results: list[Result]


class DeletedCompleted(BaseModel):
    """The response to a request to delete completed tasks, with one result per selected task. `more` is True if further
    completed tasks exist, which another request can delete.
    """

    model_config = _example({"results": [{"task_id": TASK_EXAMPLE["task_id"], "outcome": "deleted"}], "more": False})

    results: list[Result]
    more: bool


class UserAnswer(BaseModel):
    """A user in a response. Times are in Unix seconds."""

    model_config = _example(USER_EXAMPLE)

    user_id: str
    email: str | None
    email_verified: Annotated[
        bool, Field(description="False while the address is unverified and therefore not reserved. Absent otherwise.")
    ] = True
    name: str
    created_at: int
    updated_at: int
    version: int


class UserPage(BaseModel):
    """A page of users. If unreadable items were omitted, `unreadable` is their number."""

    model_config = _example({"users": [USER_EXAMPLE], "cursor": None})

    users: list[UserAnswer]
    cursor: str | None
    unreadable: int | None = None


class UserDeletion(BaseModel):
    """The response to a request that starts the deletion of a user."""

    model_config = _example({"user_id": "ada", "status": "deleting"})

    user_id: str
    status: Literal["deleting"]
