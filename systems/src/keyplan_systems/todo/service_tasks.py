"""Operations on single tasks and on several tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.todo import design
from keyplan_systems.todo.bodies import task_body
from keyplan_systems.todo.domain import Policy, changed_task, completion, new_task_id, utc_now
from keyplan_systems.todo.entities import Priority, Status, Task
from keyplan_systems.todo.idempotency import Answer, IdempotencyKeys, Request, WritePlan
from keyplan_systems.todo.refusals import ConflictError, MissingError
from keyplan_systems.todo.service_users import Person, Users
from keyplan_systems.web.request_context import omit_unreadable

MAX_BULK_TASKS = 100
"""Maximum number of tasks in a bulk request."""

_MISSING = "No such task."


class Tasks:
    """Operations on tasks."""

    def __init__(
        self, connection: Connection, clock: Clock, idempotency: IdempotencyKeys, users: Users, policy: Policy
    ) -> None:
        self._connection, self._clock, self._idempotency, self._users = connection, clock, idempotency, users
        self._policy = policy

    def read(self, user_id: str, task_id: str) -> Task:
        """Return a task. Raises MissingError if it does not exist."""
        task = self._connection.run(design.task_by_id(user_id, task_id))
        if task is None:
            raise MissingError(_MISSING)
        return task

    def read_several(self, user_id: str, task_ids: Sequence[str]) -> list[Task]:
        """Return the tasks with the given IDs, in the order of the IDs. Tasks that do not exist are omitted."""
        tasks = self._connection.run(design.tasks_by_id(user_id, list(task_ids)))
        return [task for task in tasks if task is not None]

    def create(self, request: Request, person: Person, fields: Mapping[str, Any]) -> Answer:
        """Create a task. If the caller does not have a user record yet, it is also created."""
        tried = False

        def make_plan() -> WritePlan:
            nonlocal tried
            if tried:  # the first attempt failed: the user is missing or is being deleted
                self._users.current(person)
            tried = True
            task = self._new_task(person.user_id, fields)
            return WritePlan([design.create_task_of_user(task)], 201, task_body(task), _item_key(task))

        return self._idempotency.answer(request, make_plan)

    def change(
        self, request: Request, user_id: str, task_id: str, changes: Mapping[str, Any], seen_version: int | None
    ) -> Answer:
        """Change some fields of a task. A field is cleared if its new value is None.

        If `seen_version` is given, the task is changed only if it still has this version.
        """

        def make_plan() -> WritePlan:
            task = self._read_at_version(user_id, task_id, seen_version)
            changed = changed_task(task, changes, utc_now(self._clock), self._policy)
            body = task_body(changed.model_copy(update={"version": task.version + 1}))
            return WritePlan([design.replace_task(changed)], 200, body, _item_key(task))

        return self._idempotency.answer(request, make_plan)

    def delete(self, request: Request, user_id: str, task_id: str, seen_version: int | None) -> Answer:
        """Delete a task. If `seen_version` is given, the task is deleted only if it still has this version."""

        def make_plan() -> WritePlan:
            task = self._read_at_version(user_id, task_id, seen_version)
            return WritePlan([design.delete_task(user_id, task_id, task.version)], 204, None, _item_key(task))

        return self._idempotency.answer(request, make_plan)

    # Bulk.

    def change_statuses(self, request: Request, user_id: str, task_ids: Sequence[str], status: Status) -> Answer:
        """Set the status of several tasks, one after another. The result for each task is `updated`, `unchanged` or
        `missing`.
        """
        answer = self._idempotency.begin(request)
        if answer is not None:
            return answer
        results = [
            self._part(request, task_id, partial(self._change_status, user_id, task_id, status))
            for task_id in dict.fromkeys(task_ids)
        ]
        return self._idempotency.finish(request, {"results": results})

    def delete_completed(self, request: Request, user_id: str) -> Answer:
        """Delete completed tasks, one after another.

        The result for each task is `deleted`, `kept` (because it was reopened concurrently) or `missing`. The selected
        task IDs are stored before the first deletion, so that a repeated request continues with the same tasks.
        """
        answer = self._idempotency.begin(request)
        if answer is not None:
            return answer
        chosen = self._part(request, "*", partial(self._completed, user_id))
        results = [
            self._part(request, task_id, partial(self._delete_completed, user_id, task_id))
            for task_id in chosen["task_ids"]
        ]
        return self._idempotency.finish(request, {"results": results, "more": chosen["more"]})

    def _part(self, request: Request, part: str, make_plan: Callable[[], WritePlan]) -> Any:
        """Return the result of one step of a bulk request. `make_plan` is executed only once for each step. A repeated
        request gets the stored result.

        The idempotency key of a step contains a space, which the key of a request cannot contain.
        """
        return orjson.loads(self._idempotency.execute(replace(request, key=f"{request.key} {part}"), make_plan).body)

    def _change_status(self, user_id: str, task_id: str, status: Status) -> WritePlan:
        task = self._connection.run(design.task_by_id(user_id, task_id))
        if task is None or task.status is status:
            return _result(task_id, "missing" if task is None else "unchanged")
        now = utc_now(self._clock)
        call = design.change_status(
            user_id,
            task_id,
            seen=task.version,
            status=status,
            updated_at=now,
            **completion(status, now, self._policy),
        )
        return replace(_result(task_id, "updated"), calls=[call], target=_item_key(task))

    def _completed(self, user_id: str) -> WritePlan:
        page = self._connection.run(
            design.tasks_with_status(user_id, Status.COMPLETED), limit=MAX_BULK_TASKS, unreadable=omit_unreadable
        )
        chosen = [task.task_id for task in page]
        return WritePlan([], 200, {"task_ids": chosen, "more": page.cursor is not None})

    def _delete_completed(self, user_id: str, task_id: str) -> WritePlan:
        task = self._connection.run(design.task_by_id(user_id, task_id))
        if task is None or task.status is not Status.COMPLETED:
            return _result(task_id, "missing" if task is None else "kept")
        call = design.delete_completed_task(user_id, task_id)
        return replace(_result(task_id, "deleted"), calls=[call], target=_item_key(task))

    def _new_task(self, user_id: str, fields: Mapping[str, Any]) -> Task:
        now = utc_now(self._clock)
        values = {"priority": Priority.MEDIUM, **fields, "user_id": user_id, "task_id": new_task_id(self._clock)}
        status = Status(values.setdefault("status", Status.PENDING))
        values.update(completion(status, now, self._policy), created_at=now, updated_at=now, version=1)
        return Task.model_validate(values)

    def _read_at_version(self, user_id: str, task_id: str, seen_version: int | None) -> Task:
        task = self.read(user_id, task_id)
        if seen_version not in {None, task.version}:
            raise ConflictError(f"The task has version {task.version}.")
        return task


def _result(task_id: str, outcome: str) -> WritePlan:
    return WritePlan([], 200, {"task_id": task_id, "outcome": outcome})


def _item_key(task: Task) -> tuple[str, str]:
    return f"TASK#{task.user_id}", f"TASK#{task.task_id}"
