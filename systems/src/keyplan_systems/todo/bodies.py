"""Converts users and tasks to the JSON objects that the API returns. Times are in Unix seconds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from keyplan_systems.todo.entities import Task, User


def task_body(task: Task) -> dict[str, Any]:
    """Return the JSON representation of a task. Missing values are null."""
    return {
        "task_id": task.task_id,
        "title": task.title,
        "description": task.description,
        "status": task.status.value,
        "priority": None if task.priority is None else task.priority.value,
        "category": task.category,
        "due_date": None if task.due_date is None else task.due_date.isoformat(),
        "created_at": _seconds(task.created_at),
        "updated_at": _seconds(task.updated_at),
        "completed_at": _seconds(task.completed_at),
        "version": task.version,
    }


def user_body(user: User) -> dict[str, Any]:
    """Return the JSON representation of a user.

    The member `email_verified` is false if the user does not have a verified email address, and absent otherwise.
    """
    verified = {} if user.email is not None else {"email_verified": False}
    return {
        "user_id": user.user_id,
        "email": user.email if user.email is not None else user.claimed_email,
        **verified,
        "name": user.name,
        "created_at": _seconds(user.created_at),
        "updated_at": _seconds(user.updated_at),
        "version": user.version,
    }


def _seconds(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp())
