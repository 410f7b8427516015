"""Auditor: a plain model of tasks that knows only acknowledged results.

Every change of a task increments its version, and every acknowledged answer contains the version that it created. So
for each task the acknowledged versions must be 1, 2, 3 ... without a gap or a duplicate, each derived from the previous
one by exactly the fields that the request changed; and the table must finally contain the last of them.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from keyplan.client.connection import Connection
from keyplan_systems.todo import design

NAMES = ("u0", "u1", "u2", "u3")
"""Users of the traffic."""
_FOLLOW = ("updated_at", "completed_at", "version")
"""Members of a task that a change sets implicitly."""


@dataclass
class History:
    """Acknowledged changes of one task."""

    user: str
    created: dict[str, Any]
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    """Requested changes, and the task as it was answered."""
    bulk_statuses: list[str] = field(default_factory=list)
    """Statuses set in bulk, whose answers do not contain the task."""
    deletions: int = 0


class Auditor:
    """Plain model, fed by acknowledged answers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.histories: dict[str, History] = {}
        self._updated: list[tuple[str, str]] = []
        """Tasks and their statuses set in bulk: possibly recorded before the answer that they were created."""
        self._deletion_counts: Counter[str] = Counter()
        """Deleted tasks, and how often each was deleted."""
        self.answers: Counter[str] = Counter()
        self.complaints: list[str] = []

    def task_ids_of(self, user: str) -> list[str]:
        """Return the known existing tasks of a user."""
        with self.lock:
            return [
                task_id
                for task_id, history in self.histories.items()
                if history.user == user and task_id not in self._deletion_counts
            ]

    def record_created(self, user: str, task: dict[str, Any]) -> None:
        """Record a created task."""
        with self.lock:
            if task["task_id"] in self.histories:
                self.complaints.append(f"{task['task_id']} was created twice")
            self.histories[task["task_id"]] = History(user, task)

    def record_changed(self, request: dict[str, Any], task: dict[str, Any]) -> None:
        """Record a changed task."""
        with self.lock:
            self.histories[task["task_id"]].changes.append((request, task))

    def record_results(self, results: list[dict[str, str]], status: str) -> None:
        """Record the answer to a bulk request."""
        with self.lock:
            for result in results:
                if result["outcome"] == "updated":
                    self._updated.append((result["task_id"], status))
                elif result["outcome"] == "deleted":
                    self._deletion_counts[result["task_id"]] += 1

    def record_deleted(self, task_id: str) -> None:
        """Record a deleted task."""
        with self.lock:
            self._deletion_counts[task_id] += 1

    def has_recorded(self, count: int) -> bool:
        """Return True if this number of tasks were created, and of changes made."""
        with self.lock:
            changes = sum(len(history.changes) for history in self.histories.values())
            return min(len(self.histories), changes) >= count

    # Final comparison.

    def verify(self, connection: Connection) -> None:
        """Compare the table with the model. Raises AssertionError with the first contradictions."""
        touched = {task_id for task_id, _ in self._updated} | set(self._deletion_counts)
        self.complaints += [
            f"{touched_id} was changed without an acknowledged request" for touched_id in touched - set(self.histories)
        ]
        assert not self.complaints, "\n".join(self.complaints[:20])
        for task_id, status in self._updated:
            self.histories[task_id].bulk_statuses.append(status)
        for task_id, times in self._deletion_counts.items():
            self.histories[task_id].deletions = times
        # By user, because these reads are consistent: a scan may be stale.
        stored = {task.task_id: task for name in NAMES for task in connection.all(design.every_task_of_user(name))}
        for task_id, history in self.histories.items():
            self._check_versions(task_id, history)
            self._check_final_state(task_id, history, stored.pop(task_id, None))
        self.complaints += [
            f"{task_id} ({task.title}) exists without an acknowledged request" for task_id, task in stored.items()
        ]
        assert not self.complaints, "\n".join(self.complaints[:20])

    def _check_versions(self, task_id: str, history: History) -> None:
        result = {task["version"]: (change, task) for change, task in history.changes}
        if len(result) != len(history.changes) or 1 in result:
            self.complaints.append(f"{task_id}: a version was acknowledged twice: an update was lost")
        last = 1 + len(history.changes) + len(history.bulk_statuses)
        missing_versions = [version for version in range(2, last + 1) if version not in result]
        if len(missing_versions) != len(history.bulk_statuses) or any(version > last for version in result):
            self.complaints.append(
                f"{task_id}: versions {sorted(result)} of 1 to {last}: an effect came twice or was lost"
            )
        before: dict[str, Any] | None = history.created
        for version in range(2, last + 1):
            if version not in result:
                before = None  # a bulk change: its effect on the task is unknown, except that it was a change
                continue
            change, task = result[version]
            if before is not None:
                expected = {**before, **change, **{name: task[name] for name in _FOLLOW}}
                if expected != task:
                    self.complaints.append(f"{task_id}: version {version} is {task}, and should be {expected}")
            before = task

    def _check_final_state(self, task_id: str, history: History, task: Any) -> None:
        if history.deletions > 1:
            self.complaints.append(f"{task_id} was deleted {history.deletions} times")
        if (task is None) != bool(history.deletions):
            self.complaints.append(
                f"{task_id} is {'gone' if task is None else 'there'}, deletions: {history.deletions}"
            )
        if task is None:
            return
        last = 1 + len(history.changes) + len(history.bulk_statuses)
        if task.version != last:
            self.complaints.append(f"{task_id} has version {task.version}, and {last} were acknowledged")
        if (task.status.value == "completed") != (task.completed_at is not None):
            self.complaints.append(f"{task_id} is {task.status.value}, completed at {task.completed_at}")
