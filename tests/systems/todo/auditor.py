"""The auditor: a plain model of tasks that knows only what was acknowledged.

Every change of a task raises its version by one, and every acknowledged answer tells the version that it made. So of
each task the versions that were told must be 1, 2, 3 ... without a hole and without one told twice, each made of the
one before by just the fields that the request changed; and what the table holds in the end must be the last of them.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from keyplan.client.connection import Connection
from keyplan_systems.todo import design

NAMES = ("u0", "u1", "u2", "u3")
"""The users of the traffic."""
_FOLLOW = ("updated_at", "completed_at", "version")
"""Members of a task that follow from a change instead of being said by it."""


@dataclass
class History:
    """What was acknowledged of one task."""

    user: str
    made: dict[str, Any]
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    """What was said, and the task as it was answered."""
    unseen: list[str] = field(default_factory=list)
    """Statuses given in bulk, whose answers do not show the task."""
    deletions: int = 0


class Auditor:
    """A plain model, fed by acknowledged answers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.histories: dict[str, History] = {}
        self._updated: list[tuple[str, str]] = []
        """Tasks and the statuses they got in bulk: perhaps told before the answer that they were made."""
        self._gone: Counter[str] = Counter()
        """Tasks that were deleted, and how often."""
        self.answers: Counter[str] = Counter()
        self.complaints: list[str] = []

    def known(self, user: str) -> list[str]:
        """Tasks of a user that are there, as far as is known."""
        with self.lock:
            return [one for one, history in self.histories.items() if history.user == user and one not in self._gone]

    def made(self, user: str, task: dict[str, Any]) -> None:
        """A task was made."""
        with self.lock:
            if task["task_id"] in self.histories:
                self.complaints.append(f"{task['task_id']} was made twice")
            self.histories[task["task_id"]] = History(user, task)

    def changed(self, said: dict[str, Any], task: dict[str, Any]) -> None:
        """A task was changed."""
        with self.lock:
            self.histories[task["task_id"]].changes.append((said, task))

    def told(self, results: list[dict[str, str]], status: str) -> None:
        """A bulk request was answered."""
        with self.lock:
            for one in results:
                if one["outcome"] == "updated":
                    self._updated.append((one["task_id"], status))
                elif one["outcome"] == "deleted":
                    self._gone[one["task_id"]] += 1

    def deleted(self, task_id: str) -> None:
        """A task was deleted."""
        with self.lock:
            self._gone[task_id] += 1

    def has_seen(self, count: int) -> bool:
        """Whether so many tasks were made, and so many changes."""
        with self.lock:
            changes = sum(len(history.changes) for history in self.histories.values())
            return min(len(self.histories), changes) >= count

    # In the end.

    def verify(self, connection: Connection) -> None:
        """Hold the table to the model. Raises AssertionError with the first contradictions."""
        touched = {task_id for task_id, _ in self._updated} | set(self._gone)
        self.complaints += [f"{one} was touched, and nobody was told of it" for one in touched - set(self.histories)]
        assert not self.complaints, "\n".join(self.complaints[:20])
        for task_id, status in self._updated:
            self.histories[task_id].unseen.append(status)
        for task_id, times in self._gone.items():
            self.histories[task_id].deletions = times
        # By user, since these reads are consistent: a scan may be as old as any read.
        stored = {task.task_id: task for name in NAMES for task in connection.all(design.every_task_of_user(name))}
        for task_id, history in self.histories.items():
            self._chain(task_id, history)
            self._end(task_id, history, stored.pop(task_id, None))
        self.complaints += [
            f"{task_id} ({task.title}) is there, and nobody was told" for task_id, task in stored.items()
        ]
        assert not self.complaints, "\n".join(self.complaints[:20])

    def _chain(self, task_id: str, history: History) -> None:
        told = {task["version"]: (said, task) for said, task in history.changes}
        if len(told) != len(history.changes) or 1 in told:
            self.complaints.append(f"{task_id}: a version was told twice: an effect was lost")
        last = 1 + len(history.changes) + len(history.unseen)
        holes = [version for version in range(2, last + 1) if version not in told]
        if len(holes) != len(history.unseen) or any(version > last for version in told):
            self.complaints.append(
                f"{task_id}: versions {sorted(told)} of 1 to {last}: an effect came twice or was lost"
            )
        before: dict[str, Any] | None = history.made
        for version in range(2, last + 1):
            if version not in told:
                before = None  # a bulk change: what it said of the task is not known, only that it was one
                continue
            said, task = told[version]
            if before is not None:
                expected = {**before, **said, **{name: task[name] for name in _FOLLOW}}
                if expected != task:
                    self.complaints.append(f"{task_id}: version {version} is {task}, and should be {expected}")
            before = task

    def _end(self, task_id: str, history: History, task: Any) -> None:
        if history.deletions > 1:
            self.complaints.append(f"{task_id} was deleted {history.deletions} times")
        if (task is None) != bool(history.deletions):
            self.complaints.append(
                f"{task_id} is {'gone' if task is None else 'there'}, deletions: {history.deletions}"
            )
        if task is None:
            return
        last = 1 + len(history.changes) + len(history.unseen)
        if task.version != last:
            self.complaints.append(f"{task_id} has version {task.version}, and {last} were acknowledged")
        if (task.status.value == "completed") != (task.completed_at is not None):
            self.complaints.append(f"{task_id} is {task.status.value}, completed at {task.completed_at}")
