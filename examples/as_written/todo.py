"""The to-do API's data model exactly as its decision record describes it, faults included.

Keys, attribute types, indexes, access patterns and cost claims are those of the document. It specifies no projection
for any index and no view type for the stream.
"""

from __future__ import annotations

from typing import Literal

from keyplan import (
    GSI,
    TTL,
    Bytes,
    Claim,
    Entity,
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Removed,
    Table,
    Volume,
    each,
    everything,
    item,
    key,
    pk,
    unique,
)

claims = [
    Claim("all access patterns in single-digit milliseconds", "positive consequences"),
    Claim("USER#{user_id} as index partition key ensures even distribution", "design trade-offs"),
    Claim("queries across tables raise read unit consumption", "multi-table design"),
    Claim("pagination has no additional cost", "access pattern table"),
]

app = Table(
    "todo-app-data",
    pk="PK",
    sk="SK",
    indexes=[
        GSI("GSI1", pk="GSI1PK", sk="GSI1SK", project=None),
        GSI("GSI2", pk="GSI2PK", sk="GSI2SK", project=None),
        GSI("GSI3", pk="GSI3PK", sk="GSI3SK", project=None),
        GSI("GSI4", pk="GSI4PK", sk="GSI4SK", project=None),
    ],
    ttl=[TTL("expiration_timestamp"), TTL("ttl", means="completed tasks older than N days go away")],
    stream="UNSTATED",
    literal=True,
)

Status = Literal["pending", "in_progress", "completed", "cancelled"]
Priority = Literal["low", "medium", "high", "urgent"]


@app.entity(key=key("USER#{user_id}", "METADATA"), unique=[unique("email", by="nothing")], store_key_fields=False)
class User(Entity):
    user_id: str
    email: str
    name: str
    created_at: int
    updated_at: int


@app.entity(
    key=key("TASK#{user_id}", "TASK#{task_id}"),
    indexes={
        "GSI1": key("USER#{user_id}", "STATUS#{status}#{task_id}"),
        "GSI2": key("USER#{user_id}", "DUEDATE#{due_date}#{task_id}"),
        "GSI3": key("USER#{user_id}", "PRIORITY#{priority}#{task_id}"),
        "GSI4": key("USER#{user_id}", "CATEGORY#{category}#{task_id}"),
    },
    store_key_fields=False,
    volume=Volume(
        count=1_000_000,
        bytes=Bytes(600),
        distinct={
            "user_id": 10_000,
            "status": {"pending": 0.2, "in_progress": 0.1, "completed": 0.6, "cancelled": 0.1},
            "priority": {"low": 0.2, "medium": 0.5, "high": 0.2, "urgent": 0.1},
            "category": 10,
        },
        present={"due_date": 0.5, "priority": 0.7, "category": 0.5},
    ),
)
class Task(Entity):
    user_id: str
    task_id: str
    title: str
    description: str | None = None
    status: Status
    priority: Priority | None = None
    category: str | None = None
    due_date: str | None = None
    created_at: int
    updated_at: int
    completed_at: int | None = None
    ttl: int | None = None


@app.entity(key=key("IDEMPOTENCY#{request_id}", "METADATA"), store_key_fields=False)
class Idempotency(Entity):
    request_id: str
    response_data: str
    target_task_pk: str
    target_task_sk: str
    http_status_code: int
    created_at: int
    expiration_timestamp: int


HALF = Claim("0.5 RCU", "access pattern table")
FEW = Claim("1-5 RCU", "access pattern table")
SCAN = Claim("50-200 RCU", "access pattern table")


@app.get(User, claims=HALF)
def fetch_user(user_id: str) -> ItemKey:
    """Fetch user by user_id."""
    return item(user_id=user_id)


@app.query(Task, claims=HALF)
def fetch_task_by_task_id(task_id: str) -> KeyCondition:
    """Fetch task by task_id."""
    return pk().sk(task_id=task_id)


@app.query(Task, claims=FEW)
def all_tasks(user_id: str) -> KeyCondition:
    """Fetch all tasks for user."""
    return pk(user_id=user_id).sk.text("begins_with", "TASK#")


@app.query(Task, index="GSI1", claims=FEW, ordered_by="status")
def tasks_by_status(user_id: str) -> KeyCondition:
    """Fetch tasks by status for user."""
    return pk(user_id=user_id).sk.text("begins_with", "STATUS#")


@app.query(Task, index="GSI1", claims=FEW)
def tasks_by_specific_status(user_id: str, status: Status) -> KeyCondition:
    """Fetch tasks by specific status for user."""
    return pk(user_id=user_id).sk.text("=", "STATUS#{status}#")


@app.query(Task, index="GSI2", claims=FEW, ordered_by="due_date")
def tasks_by_due_date(user_id: str) -> KeyCondition:
    """Fetch tasks by due date for user."""
    return pk(user_id=user_id).sk.text("begins_with", "DUEDATE#")


@app.query(Task, index="GSI2", claims=FEW)
def tasks_by_specific_due_date(user_id: str, date: str) -> KeyCondition:
    """Fetch tasks by specific due date for user."""
    return pk(user_id=user_id).sk.text("=", "DUEDATE#{date}#")


@app.query(Task, index="GSI2", claims=FEW)
def tasks_by_date_range(user_id: str, start_date: str, end_date: str) -> KeyCondition:
    """Fetch tasks by date range for user."""
    return pk(user_id=user_id).sk.text("between", "DUEDATE#{start_date}#", "DUEDATE#{end_date}#")


@app.query(Task, index="GSI3", claims=FEW, ordered_by="priority")
def tasks_by_priority(user_id: str) -> KeyCondition:
    """Fetch tasks by priority for user."""
    return pk(user_id=user_id).sk.text("begins_with", "PRIORITY#")


@app.query(Task, index="GSI3", claims=FEW)
def tasks_by_specific_priority(user_id: str, priority: Priority) -> KeyCondition:
    """Fetch tasks by specific priority for user."""
    return pk(user_id=user_id).sk.text("=", "PRIORITY#{priority}#")


@app.query(Task, index="GSI4", claims=FEW)
def tasks_by_category(user_id: str) -> KeyCondition:
    """Fetch tasks by category for user."""
    return pk(user_id=user_id).sk.text("begins_with", "CATEGORY#")


@app.query(Task, index="GSI4", claims=FEW)
def tasks_by_specific_category(user_id: str, category: str) -> KeyCondition:
    """Fetch tasks by specific category for user."""
    return pk(user_id=user_id).sk.text("=", "CATEGORY#{category}#")


@app.query(Task, claims=FEW)
def completed_tasks(user_id: str) -> KeyCondition:
    """Fetch completed tasks by user."""
    return pk(user_id=user_id).sk.text("begins_with", "TASK#").filter(F.status == "completed")


@app.query(Task, index="GSI2", claims=FEW)
def overdue_tasks(user_id: str, today: str) -> KeyCondition:
    """Fetch overdue tasks for user."""
    return pk(user_id=user_id).sk.text("<", "DUEDATE#{today}#").filter(F.status != "completed")


@app.query(Task, index="GSI2", claims=FEW)
def all_tasks_with_due_dates(user_id: str) -> KeyCondition:
    """Fetch all tasks with due dates for user."""
    return pk(user_id=user_id).sk.text("begins_with", "DUEDATE#")


@app.scan(Task, claims=SCAN)
def count_by_status() -> KeyCondition:
    """Task analytics: count by status."""
    return everything()


@app.scan(Task, claims=SCAN)
def count_by_priority() -> KeyCondition:
    """Task analytics: count by priority."""
    return everything()


@app.batch_put(Task, claims=Claim("1.5 WCU per item", "access pattern table"))
def bulk_update_status(tasks: list[Task]) -> ItemWrite:
    """Bulk update task status: BatchWriteItem for multiple tasks."""
    return item(tasks)


@app.batch_delete(Task, claims=Claim("0.5 WCU per item", "access pattern table"))
def bulk_delete_completed(user_id: str, task_ids: list[str]) -> ItemWrite:
    """Bulk delete completed tasks."""
    return item(user_id=user_id, task_id=each(task_ids))


@app.scan(Task, claims=Claim("50-500 RCU", "access pattern table"))
def search(text: str) -> KeyCondition:
    """Search tasks by title/description."""
    return everything().filter(F.title.contains(text) | F.description.contains(text))


@app.put(Task, claims=Claim("1 WCU", "access pattern table"))
def create_task(task: Task) -> ItemWrite:
    """Create task."""
    return item(task)


@app.update(Task, claims=Claim("1 WCU", "access pattern table"))
def update_task_status(user_id: str, task_id: str, status: Status, updated_at: int) -> ItemWrite:
    """Update task."""
    return item(user_id=user_id, task_id=task_id).set(status=status, updated_at=updated_at)


@app.delete(Task, claims=Claim("0.5 WCU", "access pattern table"))
def delete_task(user_id: str, task_id: str) -> ItemWrite:
    """Delete task."""
    return item(user_id=user_id, task_id=task_id)


@app.query(Idempotency, claims=HALF, decides="uniqueness", guards="remember_request")
def idempotency_check(request_id: str) -> KeyCondition:
    """Idempotency check: single item lookup by PK alone."""
    return pk(request_id=request_id)


@app.put(Idempotency, claims=Claim("1 WCU"))
def remember_request(record: Idempotency) -> ItemWrite:
    """Store the response to a request."""
    return item(record)


@app.on_change(User, Task, Idempotency)
def change_data_capture(
    changes: list[
        Inserted[User]
        | Modified[User]
        | Removed[User]
        | Inserted[Task]
        | Modified[Task]
        | Removed[Task]
        | Inserted[Idempotency]
        | Modified[Idempotency]
        | Removed[Idempotency]
    ],
) -> None:
    """One stream feeds the pipeline to the data lake."""
