"""Small design for tests of the Load pages."""

from __future__ import annotations

from typing import Literal

from keyplan import (
    GSI,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    WriteCall,
    item,
    key,
    pk,
    transaction,
)

app = Table("app", pk="PK", sk="SK", indexes=[GSI("open", pk="GSI1PK", sk="GSI1SK")])


@app.entity(
    key=key("USER#{user_id}", "TASK#{task_id}"),
    indexes={"open": key("OPEN#{user_id}", "{due}", only_if=F.status == "open")},
)
class Task(Entity):
    user_id: str
    task_id: str
    due: str
    status: Literal["open", "done"] = "open"
    title: str = ""


@app.entity(key=key("USER#{user_id}", "PROFILE"))
class Profile(Entity):
    user_id: str
    name: str = ""


@app.create(Task, rate=Rate(average=10, peak=20))
def add_task(task: Task) -> ItemWrite:
    """Add a task."""
    return item(task)


@app.put(Profile)
def put_profile(profile: Profile) -> ItemWrite:
    """Store a profile."""
    return item(profile)


@app.get(Task)
def task_by_id(user_id: str, task_id: str) -> ItemKey:
    """Read a task."""
    return item(user_id=user_id, task_id=task_id)


@app.get(Profile)
def profile_of(user_id: str) -> ItemKey:
    """Read a profile."""
    return item(user_id=user_id)


@app.query(Task, index="open", rate=Rate(average=1))
def open_tasks(user_id: str, before: str) -> KeyCondition:
    """Read the open tasks that are due before a time."""
    return pk(user_id=user_id).sk < before


@app.query(Task)
def tasks(user_id: str) -> KeyCondition:
    """Read all tasks of a user."""
    return pk(user_id=user_id)


@app.update(Task)
def finish(user_id: str, task_id: str, due: str) -> ItemWrite:
    """Finish an open task."""
    return item(user_id=user_id, task_id=task_id).set(status="done").condition(F.status == "open").assuming(due=due)


@app.update(Task)
def rename(user_id: str, task_id: str, title: str) -> ItemWrite:
    """Change the title of a task."""
    return item(user_id=user_id, task_id=task_id).set(title=title)


@transaction()
def add_with_profile(task: Task, profile: Profile) -> list[WriteCall[Task] | WriteCall[Profile]]:
    """Add a task and store its user's profile."""
    return [add_task(task), put_profile(profile)]
