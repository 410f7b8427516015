"""The job that deletes users: piece by piece, in transactions that only hold while the user is the one who leaves.

It may be killed anywhere and run several times at once. What it has not done is found again from the table.
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

TASKS_AT_ONCE = 50
"""Tasks of one transaction, as long as nobody else writes them: fewer where that goes on."""

_OF_ONE_USER = (KeyValueError, WriteConflictError, TransactionFailedError, UnreadableItemError)
"""What holds up one user's deletion, and not those of others."""


class Deletions:
    """Finishes the deletions that have begun."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run_once(self) -> int:
        """Finish every deletion under way; how many.

        Raises RunError where the table cannot be reached, and, once the others are finished, the first of what held
        one up.
        """
        finished, held_up = 0, list[Exception]()
        for deletion in self._connection.all(design.deletions()):
            try:
                finished += self._finish(deletion)
            except _OF_ONE_USER as error:
                held_up.append(error)
        if held_up:
            raise held_up[0]
        return finished

    def _finish(self, deletion: Deletion) -> int:
        """Remove the user's tasks, then user, guard and job; 0 where another worker has done so, or is about it."""
        try:
            self._remove_tasks(deletion)
            self._connection.run(design.finish_deletion(deletion.user_id, deletion.since))
        except TransactionFailedError as failed:
            if any(isinstance(reason, (ConditionFailedError, NotFoundError)) for reason in failed.reasons):
                return 0
            raise
        return 1

    def _remove_tasks(self, deletion: Deletion) -> None:
        """Remove every task, in smaller and smaller transactions where others keep writing some of them.

        One that meets a conflict is repeated, later and later, by the connection; the more items it has, the less
        likely it ever is to meet none.
        """
        at_once = TASKS_AT_ONCE
        while task_ids := self._some_tasks(deletion.user_id, at_once):
            try:
                self._connection.run(design.remove_tasks(deletion.user_id, deletion.since, task_ids))
            except (WriteConflictError, ThrottledError):
                if len(task_ids) == 1:
                    raise
                at_once = len(task_ids) // 2

    def _some_tasks(self, user_id: str, at_once: int) -> list[str]:
        """Ids of tasks that are left; where one cannot be read, which only another writer can have made, its own."""
        try:
            page = self._connection.run(design.every_task_of_user(user_id), limit=at_once)
        except UnreadableItemError as error:
            if error.key is None:
                raise
            return [str(error.key["SK"]).removeprefix("TASK#")]
        return [task.task_id for task in page]
