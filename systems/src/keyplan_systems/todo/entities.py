"""The table of the to-do system and its entities: users, tasks, idempotency records and deletion jobs."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from keyplan import GSI, Attribute, Bytes, Distinct, Entity, Table, Volume, key, unique

app = Table(
    "todo-app-data",
    pk="PK",
    sk="SK",
    indexes=[
        GSI("GSI1", pk="GSI1PK", sk="GSI1SK"),
        GSI("GSI2", pk="GSI2PK", sk="GSI2SK"),
        GSI("GSI3", pk="GSI3PK", sk="GSI3SK"),
        GSI("GSI4", pk="GSI4PK", sk="GSI4SK"),
    ],
    ttl="expiration_timestamp",
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    deletion_protection=True,
)

Timestamp = Annotated[datetime, Attribute(stored="epoch_s")]
"""Timestamp that is stored in Unix seconds, as the published design of the to-do system specifies."""
UserId = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[0-9A-Za-z._|:@+-]+$")]
TaskId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z-]+$")]
Category = Annotated[str, Field(min_length=1, max_length=50, pattern=r"^[^#]+$")]
EMAIL_CHARACTERS = 254
Address = Annotated[str, Field(min_length=3, max_length=EMAIL_CHARACTERS)]
RequestKey = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[ -~]+$")]


class Status(StrEnum):
    """The status of a task."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class Priority(StrEnum):
    """The priority of a task."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    URGENT = "urgent"


@app.entity(
    key=key("USER#{user_id}", "METADATA"),
    version="version",
    unique=[unique("email", key=key("EMAIL#{email}", "METADATA"))],
    volume=Volume(count=10_000, bytes=Bytes(250, p99=400)),
    store_key_fields=False,
)
class User(Entity):
    """A user. The item is created when the user first sends a request."""

    user_id: UserId
    email: Address | None = None
    """Normalized email address that is reserved for this user, or None if no address is verified."""
    email_verified_at: Timestamp | None = None
    """Time at which the system received a token that verifies `email`. None for items that were stored before the
    system verified addresses.
    """
    claimed_email: Address | None = None
    """Unverified email address that the user has entered.

    It is not reserved: other users can enter the same address, and its owner can verify it.
    """
    name: Annotated[str, Field(min_length=1, max_length=100)]
    created_at: Timestamp
    updated_at: Timestamp
    deleting_since: Timestamp | None = None
    """Time at which the user's deletion started, or None if the user is not being deleted."""
    version: int = 0


@app.entity(
    key=key("TASK#{user_id}", "TASK#{task_id}"),
    indexes={
        "GSI1": key("USER#{user_id}", "STATUS#{status}#{task_id}"),
        "GSI2": key("USER#{user_id}", "DUEDATE#{due_date}#{task_id}"),
        "GSI3": key("USER#{user_id}", "PRIORITY#{priority}#{task_id}"),
        "GSI4": key("USER#{user_id}", "CATEGORY#{category}#{task_id}"),
    },
    version="version",
    volume=Volume(
        count=1_000_000,
        bytes=Bytes(600, p99=1_600),
        distinct={
            "user_id": Distinct(10_000, hottest=0.01),
            "status": {Status.PENDING: 0.2, Status.IN_PROGRESS: 0.1, Status.COMPLETED: 0.6, Status.CANCELLED: 0.1},
            "priority": {Priority.LOW: 0.2, Priority.MEDIUM: 0.5, Priority.HIGH: 0.2, Priority.URGENT: 0.1},
            "category": 10,
            "due_date": 365,
        },
        present={"due_date": 0.5, "priority": 0.9, "category": 0.5},
    ),
    store_key_fields=False,
)
class Task(Entity):
    """A user's task."""

    user_id: UserId
    task_id: TaskId
    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=1000)] | None = None
    status: Status = Status.PENDING
    priority: Priority | None = None
    category: Category | None = None
    due_date: date | None = None
    created_at: Timestamp
    updated_at: Timestamp
    completed_at: Timestamp | None = None
    expiration_timestamp: Timestamp | None = None
    """Time at which the task expires. It is set when the task is completed, if completed tasks are kept for a limited
    time.
    """
    version: int = 0


@app.entity(
    key=key("IDEMPOTENCY#{user_id:quote}:{request_key}", "METADATA"),
    volume=Volume(count=200_000, bytes=Bytes(900, p99=2_500)),
    store_key_fields=False,
)
class Idempotency(Entity):
    """The stored response to a request, kept for 24 hours. The response to a bulk request includes the result for each
    task.
    """

    user_id: UserId
    request_key: RequestKey
    fingerprint: str
    """Hash of the method, path, body and expected version of the request. A different request with the same key is
    rejected.
    """
    response_data: str
    target_task_pk: str | None = None
    target_task_sk: str | None = None
    http_status_code: int
    created_at: Timestamp
    expiration_timestamp: Timestamp


@app.entity(
    key=key("JOB#DELETE_USER", "USER#{user_id}"), volume=Volume(count=5, bytes=Bytes(90)), store_key_fields=False
)
class Deletion(Entity):
    """A job that deletes a user. A worker completes the job even if it is interrupted repeatedly."""

    user_id: UserId
    since: Timestamp
