"""A design as users write it: clean under mypy --strict and pyright's strict mode."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, NewType, assert_type

from pydantic import Field

from keyplan import (
    GSI,
    UNSET,
    Attribute,
    Created,
    Entity,
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    OnDemand,
    Page,
    Rate,
    Table,
    Unset,
    Updated,
    View,
    WriteCall,
    changed,
    each,
    item,
    key,
    pk,
    transaction,
)
from keyplan.client.errors import ConditionFailedError, FailedPart, Origin

TenantId = NewType("TenantId", str)
UserId = NewType("UserId", str)
TaskId = NewType("TaskId", str)

app = Table(
    "app",
    pk="PK",
    sk="SK",
    ttl="expires_at",
    stream="NEW_AND_OLD_IMAGES",
    billing=OnDemand(),
    indexes=[
        GSI("due", pk="GSI1PK", sk="GSI1SK"),
        GSI("by_status", pk=("tenant_id", "status"), sk=("due_at",), project=["title"]),
    ],
)


@app.entity(key=key("USER#{user_id}", "PROFILE"))
class User(Entity):
    user_id: UserId
    name: str
    tasks: int = 0
    created_at: datetime = Created()
    updated_at: Annotated[datetime, Attribute("changed", stored="epoch_ms")] = Updated()


@app.entity(
    key=key("USER#{user_id}", "TASK#{task_id}"),
    version="version",
    unique=("external_ref",),
    indexes={"due": key("DUE#{user_id}", "{due_at:utc_ms}", only_if=F.status == "open")},
)
class Task(Entity):
    tenant_id: TenantId
    user_id: UserId
    task_id: TaskId
    title: Annotated[str, Field(min_length=1, max_length=200)]
    external_ref: str | None = None
    status: Literal["open", "done"] = "open"
    due_at: datetime | None = None
    expires_at: datetime | None = None
    version: int = 0


@app.entity(key=key("USER#{user_id}", "TEAM#{name}"))
class Team(Entity):
    user_id: UserId
    name: str


@app.entity(key=key("USER#{user_id}", "NOTE#{name}"))
class Note(Entity):
    user_id: UserId
    name: str


@app.entity(key=key("USER#{user_id}", "BADGE#{name}"))
class Badge(Entity):
    user_id: UserId
    name: str


@app.entity(key=key("USER#{user_id}", "VISIT#{name}"))
class Visit(Entity):
    user_id: UserId
    name: str


@app.query(User, Task, Team, Note, Badge, Visit)
def six_entities(user_id: UserId) -> KeyCondition:
    """Everything of a user."""
    return pk(user_id=user_id)


@app.query(Task, index="due", rate=Rate(average=20, peak=200))
def tasks_due(user_id: UserId, before: datetime) -> KeyCondition:
    """Return open tasks of a user that are due before a time."""
    return pk(user_id=user_id).sk.lt(due_at=before)


@app.query(User, Task)
def everything_of(user_id: UserId) -> KeyCondition:
    """Return a user and their tasks."""
    return pk(user_id=user_id)


@app.count(Task)
def open_tasks(user_id: UserId) -> KeyCondition:
    """How many are open."""
    return pk(user_id=user_id).filter(F.status == "open")


@app.get(Task, consistent=True)
def task(user_id: UserId, task_id: TaskId) -> ItemKey:
    """One task."""
    return item(user_id=user_id, task_id=task_id)


@app.get(User, consistent=True, decides="quota", guards="add_counted")
def user(user_id: UserId) -> ItemKey:
    """Return a user; their number of tasks decides whether another task is added."""
    return item(user_id=user_id)


@app.batch_get(Task)
def some_tasks(user_id: UserId, task_ids: list[TaskId]) -> ItemKey:
    """Several tasks."""
    return item(user_id=user_id, task_id=each(task_ids))


@app.create(Task)
def add_task(task: Task) -> ItemWrite:
    """Store a new task."""
    return item(task)


@app.update(Task, rate=Rate(average=10))
def finish(user_id: UserId, task_id: TaskId) -> ItemWrite:
    """Mark a task done."""
    return item(user_id=user_id, task_id=task_id).set(status="done")


@app.update(User)
def count_task(user_id: UserId, by: int) -> ItemWrite:
    """Count tasks."""
    return item(user_id=user_id).add(tasks=by).condition(F.tasks < 100)


@app.update(Task)
def edit(
    user_id: UserId, task_id: TaskId, title: str | Unset = UNSET, due_at: datetime | Unset | None = UNSET
) -> ItemWrite:
    """Change the given fields."""
    return item(user_id=user_id, task_id=task_id).patch(title=title, due_at=due_at).assuming(status="open")


@app.delete(Task)
def drop(user_id: UserId, task_id: TaskId) -> ItemWrite:
    """Delete a task."""
    return item(user_id=user_id, task_id=task_id)


class TaskTitle(View[Task]):
    user_id: UserId
    task_id: TaskId
    title: Annotated[str, Field(min_length=1, max_length=200)]


@app.query(TaskTitle, index="due")
def titles_due(user_id: UserId, before: datetime) -> KeyCondition:
    """Return titles of tasks that are due before a time."""
    return pk(user_id=user_id).sk.lt(due_at=before)


@app.query(Task, index="by_status", hydrate=True)
def tasks_with(tenant_id: TenantId, status: Literal["open", "done"]) -> KeyCondition:
    """Whole tasks of an index that projects titles."""
    return pk(tenant_id=tenant_id, status=status)


@app.get(TaskTitle)
def task_title(user_id: UserId, task_id: TaskId) -> ItemKey:
    """One title."""
    return item(user_id=user_id, task_id=task_id)


@app.batch_get(TaskTitle)
def task_titles(user_id: UserId, task_ids: list[TaskId]) -> ItemKey:
    """Several titles."""
    return item(user_id=user_id, task_id=each(task_ids))


@transaction()
def add_counted(task: Task, user_id: UserId) -> list[WriteCall[Task] | WriteCall[User]]:
    """Store a new task and count it."""
    return [add_task(task), count_task(user_id, 1)]


@app.on_change(Task, filter=changed("status"), batch=100, retries=5, on_failure="dlq")
def notify(change: Modified[Task]) -> None:
    """Tell somebody."""
    assert_type(change.new, Task)


@app.on_change(Task, User)
def mirror(changes: list[Inserted[Task] | Inserted[User]]) -> None:
    """Copy."""


def text_of(value: str | Unset) -> str:
    """Return the value, or an empty text."""
    return "" if isinstance(value, Unset) else assert_type(value, str)


def typed(user_id: UserId, task_id: TaskId, now: datetime) -> None:
    """Check the types of calls."""
    from keyplan import connect, connect_async  # noqa: PLC0415 - only what uses it pays for it

    db = connect(":memory:")
    assert_type(User(user_id=user_id, name="Ann").created_at, datetime)
    assert_type(db.run(tasks_due(user_id, before=now)), Page[Task])
    assert_type(db.run(tasks_due(user_id, now), limit=3, cursor=None), Page[Task])
    assert_type(db.run(everything_of(user_id)), Page[User | Task])
    assert_type(db.run(titles_due(user_id, now)), Page[TaskTitle])
    assert_type(db.query(TaskTitle, pk(user_id=user_id)), Page[TaskTitle])
    assert_type(db.get(TaskTitle, user_id=user_id, task_id=task_id), TaskTitle | None)
    assert_type(db.run(tasks_with(TenantId("t"), "open")), Page[Task])
    assert_type(db.run(task_title(user_id, task_id)), TaskTitle | None)
    assert_type(db.run(task_titles(user_id, [task_id])), list[TaskTitle | None])
    assert_type(db.run(open_tasks(user_id)), int)
    assert_type(db.run(task(user_id, task_id)), Task | None)
    assert_type(db.run(some_tasks(user_id, [task_id])), list[Task | None])
    assert_type(db.run(finish(user_id, task_id=task_id)), Task)
    assert_type(db.run(edit(user_id, task_id, due_at=None)), Task)
    assert_type(db.run(drop(user_id, task_id)), Task | None)
    assert_type(db.batch_get(task(user_id, task_id), task(user_id, task_id)), tuple[Task | None, Task | None])
    for found_task in db.iterate(tasks_due(user_id, now)):
        assert_type(found_task, Task)
    db.transact(finish(user_id, task_id), count_task(user_id, by=-1))
    page = db.run(everything_of(user_id))
    assert_type(page.of(Task), list[Task])
    assert_type(page[0], User | Task)
    assert_type(page[1:], list[User | Task])

    try:
        db.run(edit(user_id, task_id, title="New"))
    except ConditionFailedError as error:
        assert_type(error.failed, tuple[FailedPart, ...])
        assert_type(error.failed[0].origin, Origin)

    new = User(user_id=user_id, name="Ada")
    assert_type(db.create(new), User)
    assert_type(db.put(new), User)
    assert_type(db.get(Task, user_id=user_id, task_id=task_id), Task | None)
    assert_type(db.get(Task, user_id=user_id, task_id=task_id, consistent=True, expired=True), Task | None)
    assert_type(db.delete(User, user_id=user_id), User | None)
    assert_type(db.query(Task, pk(user_id=user_id).sk < now, index="due", limit=3, descending=True), Page[Task])
    assert_type(db.query(User, Task, pk(user_id=user_id), cursor=page.cursor), Page[User | Task])
    assert_type(db.query(User, Task, Team, Note, pk(user_id=user_id)), Page[User | Task | Team | Note])
    assert_type(db.all(Task, pk(user_id=user_id).sk < now, index="due", at_most=9), list[Task])
    assert_type(db.all(TaskTitle, pk(user_id=user_id)), list[TaskTitle])
    assert_type(db.all(tasks_due(user_id, now)), list[Task])
    assert_type(db.count(User, Task, pk(user_id=user_id), consistent=True), int)
    for each_task in db.iterate(Task, pk(user_id=user_id), page_size=9):
        assert_type(each_task, Task)
    for title in db.iterate(TaskTitle, pk(user_id=user_id)):
        assert_type(title, TaskTitle)
    six = db.query(User, Task, Team, Note, Badge, Visit, pk(user_id=user_id))
    assert_type(six, Page[User | Task | Team | Note | Badge | Visit])
    assert_type(db.run(six_entities(user_id)), Page[User | Task | Team | Note | Badge | Visit])

    async def twin() -> None:
        other = await connect_async(":memory:")
        assert_type(await other.create(new), User)
        assert_type(await other.put(new), User)
        assert_type(await other.get(Task, user_id=user_id, task_id=task_id), Task | None)
        assert_type(await other.delete(User, user_id=user_id), User | None)
        assert_type(await other.query(Task, pk(user_id=user_id), index="due"), Page[Task])
        assert_type(await other.query(User, Task, pk(user_id=user_id)), Page[User | Task])
        assert_type(await other.run(tasks_due(user_id, before=now)), Page[Task])
        assert_type(await other.run(task(user_id, task_id)), Task | None)
        assert_type(await other.batch_get(task(user_id, task_id)), tuple[Task | None])
        assert_type(await other.all(Task, pk(user_id=user_id)), list[Task])
        assert_type(await other.all(TaskTitle, pk(user_id=user_id)), list[TaskTitle])
        assert_type(await other.count(Task, pk(user_id=user_id), index="due"), int)
        async for found_task in other.iterate(tasks_due(user_id, now)):
            assert_type(found_task, Task)
        async for each_task in other.iterate(Task, pk(user_id=user_id)):
            assert_type(each_task, Task)
        await other.transact(finish(user_id, task_id))

    del twin
