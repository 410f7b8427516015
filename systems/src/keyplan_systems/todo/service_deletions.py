"""The job that deletes users in steps. Each transaction checks that the user is still being deleted.

The job can be killed at any point and can run several times concurrently. The remaining work is determined from the
table.
"""

from __future__ import annotations

from keyplan.client.connection import Connection
from keyplan.client.errors import (
    ConditionFailedError,
    KeyValueError,
    NotFoundError,
    ThrottledError,
    TransactionFailedError,
    UnreadableItemError,
    WriteConflictError,
)
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Deletion

TASKS_PER_TRANSACTION = 50
"""Maximum number of tasks per transaction. The number is reduced if conflicts with other writers occur."""

_SINGLE_USER_ERRORS = (KeyValueError, WriteConflictError, TransactionFailedError, UnreadableItemError)
"""Errors that delay the deletion of one user. The deletions of other users continue."""


class Deletions:
    """Worker that completes the deletion of users."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run_once(self) -> int:
        """Complete all pending deletions, and return the number of deleted users.

        Raises RunError if the table is unavailable. If the deletion of a user fails, the other deletions are completed
        first, and then the first error is raised.
        """
        finished, errors = 0, list[Exception]()
        for deletion in self._connection.all(design.deletions()):
            try:
                finished += self._finish(deletion)
            except _SINGLE_USER_ERRORS as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return finished

    def _finish(self, deletion: Deletion) -> int:
        """Delete the user's tasks, then the user, the item that reserves the email address, and the job. Return 1, or 0
        if another worker has completed the deletion.
        """
        try:
            self._remove_tasks(deletion)
            self._connection.run(design.finish_deletion(deletion.user_id, deletion.since))
        except TransactionFailedError as error:
            if any(isinstance(reason, (ConditionFailedError, NotFoundError)) for reason in error.reasons):
                return 0
            raise
        return 1

    def _remove_tasks(self, deletion: Deletion) -> None:
        """Delete all tasks of the user. If other writers cause conflicts, the number of tasks per transaction is
        reduced.

        The connection retries a conflicting transaction with increasing delays. The more items a transaction has, the
        more likely a conflict is.
        """
        limit = TASKS_PER_TRANSACTION
        while task_ids := self._next_task_ids(deletion.user_id, limit):
            try:
                self._connection.run(design.remove_tasks(deletion.user_id, deletion.since, task_ids))
            except (WriteConflictError, ThrottledError):
                if len(task_ids) == 1:
                    raise
                limit = len(task_ids) // 2

    def _next_task_ids(self, user_id: str, limit: int) -> list[str]:
        """Return the IDs of up to `limit` remaining tasks of a user.

        If an unreadable task is encountered, only the ID of this task is returned. It is read from the key.
        """
        try:
            page = self._connection.run(design.every_task_of_user(user_id), limit=limit)
        except UnreadableItemError as error:
            if error.key is None:
                raise
            return [str(error.key["SK"]).removeprefix("TASK#")]
        return [task.task_id for task in page]
