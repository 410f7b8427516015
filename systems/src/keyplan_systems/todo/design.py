"""The design of the to-do system: one table with four indexes by user, its access patterns and its load.

The table, keys and key formats are those of the published design that the system implements. `TRACE.md` lists the
requirements of that design. The differences are:

* `expiration_timestamp` is the TTL attribute of all entities, because a table has only one TTL attribute.
* An email address is reserved by a uniqueness guard item, which is written and deleted in the same transaction as the
  user item.
* Idempotency records belong to a user, so that a user never gets another user's response. They contain the fingerprint
  of the request, and are written in one transaction with the request's effects.
* Users and tasks have a version, so that an item is replaced only if it is unchanged since it was read.
* An index key exists only while its field has a value. For example, a task without a due date is not in the lists by
  due date.
* Every sort key ends with the ID of the task. Therefore queries for an exact value use begins_with, and a range of
  due dates ends after all keys of its last day.
* Only pending or in-progress tasks can be overdue. Tasks are counted in an index instead of with a scan.
* Bulk changes are conditional writes of individual tasks, because a batch would overwrite concurrent changes.
* A deletion job is a separate item, so that an interrupted deletion continues.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any

from pydantic import Field

from keyplan import (
    Claim,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    WriteCall,
    each,
    everything,
    item,
    pk,
    suppress,
    transaction,
)
from keyplan_systems.todo.entities import Deletion, Idempotency, Priority, Status, Task, User, app

FEW = Claim("1-5 RCU", "access pattern table")
"""The cost that the published design states for several access patterns. The measurements confirm it.

The README compares the other published costs with measured costs.
"""

USER_WRITES = ("create_user", "replace_user", "remove_user")
TASK_WRITES = ("create_task", "replace_task", "change_status", "delete_task", "delete_completed_task", "remove_task")
"""Names of the access patterns that write tasks. Reads that list them in `after` must return the results of these
writes. Such reads are strongly consistent, because later writes depend on their results.
"""

UpTo50 = Annotated[list[str], Field(max_length=50)]
UpTo100 = Annotated[list[str], Field(max_length=100)]

# Reading users and tasks.


@app.get(User, consistent=True, after=USER_WRITES, rate=Rate(average=20, peak=200))
def user_by_id(user_id: str) -> ItemKey:
    """Fetch a user by user_id."""
    return item(user_id=user_id)


@app.scan(User, rate=Rate.monthly(30))
def all_users() -> KeyCondition:
    """List all users with a scan, for administration."""
    return everything()


@app.get(Task, consistent=True, after=TASK_WRITES, rate=Rate(average=20, peak=200))
def task_by_id(user_id: str, task_id: str) -> ItemKey:
    """Fetch a task by user and task_id."""
    return item(user_id=user_id, task_id=task_id)


@app.batch_get(Task, consistent=True, after=TASK_WRITES, rate=Rate(average=1), expected_items=10)
def tasks_by_id(user_id: str, task_ids: UpTo100) -> ItemKey:
    """Fetch several known tasks of a user."""
    return item(user_id=user_id, task_id=each(task_ids))


@app.query(Task, consistent=True, after=TASK_WRITES, rate=Rate(average=20, peak=200), expected_items=25)
def tasks_of_user(user_id: str) -> KeyCondition:
    """Fetch all tasks of a user, oldest first. The result reflects every acknowledged write."""
    return pk(user_id=user_id)


@app.query(Task, consistent=True, after=TASK_WRITES, expired=True, rate=Rate.monthly(200), expected_items=50)
def every_task_of_user(user_id: str) -> KeyCondition:
    """Fetch every task of a user who is being deleted, including expired tasks."""
    return pk(user_id=user_id)


@app.query(Task, index="GSI1", rate=Rate(average=1), expected_items=25)
def tasks_by_status(user_id: str) -> KeyCondition:
    """Fetch the tasks of a user, sorted alphabetically by status."""
    return pk(user_id=user_id)


@app.query(Task, index="GSI1", rate=Rate(average=10, peak=100), claims=FEW, expected_items=25)
def tasks_with_status(user_id: str, status: Status) -> KeyCondition:
    """Fetch a user's tasks with a given status, such as completed tasks."""
    return pk(user_id=user_id).sk(status=status)


@app.query(Task, index="GSI2", rate=Rate(average=5, peak=50), claims=FEW, expected_items=25)
def tasks_by_due_date(user_id: str) -> KeyCondition:
    """Fetch all of a user's tasks that have a due date, earliest first."""
    return pk(user_id=user_id)


@app.query(Task, index="GSI2", rate=Rate(average=5, peak=50), claims=FEW, expected_items=5)
def tasks_due_on(user_id: str, day: date) -> KeyCondition:
    """Fetch a user's tasks that are due on a given date."""
    return pk(user_id=user_id).sk(due_date=day)


@app.query(Task, index="GSI2", rate=Rate(average=5, peak=50), claims=FEW, expected_items=25)
def tasks_due_between(user_id: str, first: date, last: date) -> KeyCondition:
    """Fetch a user's tasks that are due in a range of dates, including the first and the last date."""
    return pk(user_id=user_id).sk.between(due_date=(first, last))


@app.query(Task, index="GSI2", rate=Rate(average=5, peak=50), claims=FEW, expected_items=5, expected_scanned=40)
def overdue_tasks(user_id: str, today: date) -> KeyCondition:
    """Fetch a user's overdue tasks, which are due before today and pending or in progress."""
    is_open = F.status.is_in(Status.PENDING, Status.IN_PROGRESS)
    return pk(user_id=user_id).sk.lt(due_date=today).filter(is_open)


@app.query(Task, index="GSI3", rate=Rate(average=1), expected_items=25)
def tasks_by_priority(user_id: str) -> KeyCondition:
    """Fetch the tasks of a user, sorted alphabetically by priority."""
    return pk(user_id=user_id)


@app.query(Task, index="GSI3", rate=Rate(average=5, peak=50), claims=FEW, expected_items=25)
def tasks_with_priority(user_id: str, priority: Priority) -> KeyCondition:
    """Fetch a user's tasks with a given priority. To list all tasks by urgency, run one query for each priority."""
    return pk(user_id=user_id).sk(priority=priority)


@app.query(Task, index="GSI4", rate=Rate(average=1), claims=FEW, expected_items=25)
def tasks_by_category(user_id: str) -> KeyCondition:
    """Fetch the tasks of a user, sorted by category in byte order."""
    return pk(user_id=user_id)


@app.query(Task, index="GSI4", rate=Rate(average=5, peak=50), claims=FEW, expected_items=10)
def tasks_in_category(user_id: str, category: str) -> KeyCondition:
    """Fetch a user's tasks in a given category."""
    return pk(user_id=user_id).sk(category=category)


@app.count(Task, index="GSI1", rate=Rate(average=1), expected_items=25)
def count_with_status(user_id: str, status: Status) -> KeyCondition:
    """Count a user's tasks with a given status."""
    return pk(user_id=user_id).sk(status=status)


@app.count(Task, index="GSI3", rate=Rate(average=1), expected_items=25)
def count_with_priority(user_id: str, priority: Priority) -> KeyCondition:
    """Count a user's tasks with a given priority."""
    return pk(user_id=user_id).sk(priority=priority)


@app.query(Task, rate=Rate(average=0.5), expected_items=5, expected_scanned=100)
def search_of_user(user_id: str, text: str) -> KeyCondition:
    """Search a user's tasks by title or description with a case-sensitive filter on all tasks of the user."""
    return pk(user_id=user_id).filter(F.title.contains(text) | F.description.contains(text))


@app.scan(Task, rate=Rate.monthly(30), expected_items=50, expected_scanned=1_000_000)
def search_of_all(text: str) -> KeyCondition:
    """Search the tasks of all users by title or description, with a scan of the whole table.

    The published design that the to-do system implements contains this scan. Querying the lake is cheaper.
    """
    return everything().filter(F.title.contains(text) | F.description.contains(text))


@app.scan(Task, rate=Rate.monthly(4), expected_items=1_000_000)
def all_tasks() -> KeyCondition:
    """Read the tasks of all users by reading the whole table.

    The published design that the to-do system implements contains this scan. Querying the lake is cheaper.
    """
    return everything()


# Writing users.


@app.create(User, rate=Rate(average=0.1))
def create_user(user: User) -> ItemWrite:
    """Create a user, together with the uniqueness guard item for the email address."""
    return item(user)


@app.replace(User, rate=Rate(average=0.1))
def replace_user(user: User) -> ItemWrite:
    """Update a user and the uniqueness guard item for the email address if the user is unchanged since it was read."""
    return item(user)


@app.check(User)
def user_is_active(user_id: str) -> ItemWrite:
    """Check that the user exists and is not being deleted, as a condition for creating a task."""
    return item(user_id=user_id).condition(F.deleting_since.missing())


# Writing tasks.


@app.create(Task, rate=Rate(average=5, peak=50))
def create_task(task: Task) -> ItemWrite:
    """Create a task."""
    return item(task)


@transaction(rate=Rate(average=5, peak=50))
def create_task_of_user(task: Task) -> list[WriteCall[Any]]:
    """Create a task for a user who exists and is not being deleted."""
    return [user_is_active(task.user_id), create_task(task)]


@app.replace(Task, rate=Rate(average=5, peak=50))
def replace_task(task: Task) -> ItemWrite:
    """Update a task, including all its index keys, if the task is unchanged since it was read."""
    return item(task)


@app.update(Task, rate=Rate(average=1, peak=100))
def change_status(
    user_id: str,
    task_id: str,
    *,
    seen: int,
    status: Status,
    updated_at: datetime,
    completed_at: datetime | None,
    expiration_timestamp: datetime | None,
) -> ItemWrite:
    """Update the status of a task in a bulk request if the task still has the version `seen`."""
    return (
        item(user_id=user_id, task_id=task_id)
        .if_version(seen)
        .set(
            status=status,
            updated_at=updated_at,
            completed_at=completed_at,
            expiration_timestamp=expiration_timestamp,
        )
    )


@app.delete(Task, rate=Rate(average=2, peak=20))
def delete_task(user_id: str, task_id: str, seen: int) -> ItemWrite:
    """Delete a task if it still has the version `seen`."""
    return item(user_id=user_id, task_id=task_id).if_version(seen)


@app.delete(Task, rate=Rate(average=1, peak=100))
def delete_completed_task(user_id: str, task_id: str) -> ItemWrite:
    """Delete a task in a bulk request if the task is still completed."""
    return item(user_id=user_id, task_id=task_id).condition(F.status == Status.COMPLETED)


# Stored answers.


@app.get(Idempotency, consistent=True, after=["remember_answer"], rate=Rate(average=15, peak=150))
def answer_given(user_id: str, request_key: str) -> ItemKey:
    """Fetch the response to a request by its idempotency key, unless it is older than 24 hours."""
    return item(user_id=user_id, request_key=request_key)


@app.create(Idempotency, rate=Rate(average=13, peak=170))
def remember_answer(record: Idempotency) -> ItemWrite:
    """Store the response to a request unless a response is already stored. An expired response is overwritten.

    The response to the first of two identical requests is therefore kept.
    """
    return item(record)


@app.create(Idempotency, rate=Rate(average=0.5))
def finish_answer(record: Idempotency) -> ItemWrite:
    """Store the response to a request with several steps.

    The response replaces the record that marks the request as in progress (status 102).
    """
    return item(record).replace_if(F.http_status_code == 102)


# Deleting users.


@app.create(Deletion, rate=Rate.monthly(100))
def begin_deletion(deletion: Deletion) -> ItemWrite:
    """Store the job that deletes a user."""
    return item(deletion)


@app.query(
    Deletion, consistent=True, after=["begin_deletion", "end_deletion"], rate=Rate(average=0.1), expected_items=1
)
def deletions() -> KeyCondition:
    """List the deletions in progress."""
    return pk.text("JOB#DELETE_USER")


@app.check(User)
def user_is_leaving(user_id: str, since: datetime) -> ItemWrite:
    """Check that the user's deletion started at the time `since`.

    A user who was created again is therefore not affected.
    """
    return item(user_id=user_id).condition(F.deleting_since == since)


@app.delete(Task)
def remove_task(user_id: str, task_id: str) -> ItemWrite:
    """Unconditionally delete a task of a user who is being deleted."""
    return item(user_id=user_id, task_id=task_id)


@transaction(rate=Rate.monthly(200), expected_items=51)
def remove_tasks(user_id: str, since: datetime, task_ids: UpTo50) -> list[WriteCall[Any]]:
    """Delete up to 50 tasks of a user who is being deleted."""
    return [user_is_leaving(user_id, since), remove_task(user_id, each(task_ids))]


@app.delete(User, rate=Rate.monthly(100))
def remove_user(user_id: str, since: datetime) -> ItemWrite:
    """Delete a user and the uniqueness guard item for the email address, if the deletion started at `since`."""
    return item(user_id=user_id).condition(F.deleting_since == since)


@app.delete(Deletion, rate=Rate.monthly(100))
def end_deletion(user_id: str, since: datetime) -> ItemWrite:
    """Delete the job that deletes a user, if the deletion started at `since`."""
    return item(user_id=user_id).condition(F.since == since)


@transaction(rate=Rate.monthly(100))
def finish_deletion(user_id: str, since: datetime) -> list[WriteCall[Any]]:
    """Delete a user, the guard item for the email address and the deletion job, after all tasks were deleted."""
    return [remove_user(user_id, since), end_deletion(user_id, since)]


suppressed = [
    suppress("KP206", on="tasks_by_priority", reason="the list is grouped by priority, not ordered by urgency"),
    suppress(
        "KP406",
        on="replace_task",
        reason="the specification requires four indexes that answer lists without further reads",
    ),
    suppress("KP717", on="todo-app-data", reason="the data lake's feed reads the raw stream itself"),
]
