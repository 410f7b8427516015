"""The job that deletes users: piece by piece, in transactions that only hold while the user is the one who leaves.

It may be killed anywhere and run several times at once. What it has not done is found again from the table.
"""

from __future__ import annotations

from keyplan.connections.connection import Connection
from keyplan.connections.errors import ConditionFailedError, NotFoundError, TransactionFailedError
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Deletion

TASKS_AT_ONCE = 50
"""Tasks of one transaction: few enough to be retried soon when somebody writes one of them."""


class Deletions:
    """Finishes the deletions that have begun."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run_once(self) -> int:
        """Finish every deletion under way; how many. Raises RunError where the table cannot be reached."""
        return sum(self._finish(deletion) for deletion in self._connection.all(design.deletions()))

    def _finish(self, deletion: Deletion) -> int:
        """Remove the user's tasks, then user, guard and job; 0 where another worker has done so."""
        user_id, since = deletion.user_id, deletion.since
        try:
            while task_ids := self._some_tasks(user_id):
                self._connection.run(design.remove_tasks(user_id, since, task_ids))
            self._connection.run(design.finish_deletion(user_id, since))
        except TransactionFailedError as failed:
            if all(isinstance(reason, (ConditionFailedError, NotFoundError, type(None))) for reason in failed.reasons):
                return 0
            raise
        return 1

    def _some_tasks(self, user_id: str) -> list[str]:
        page = self._connection.run(design.every_task_of_user(user_id), limit=TASKS_AT_ONCE)
        return [task.task_id for task in page]
