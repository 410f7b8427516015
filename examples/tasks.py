"""Tasks of users: one entity, one index, and an update that leaves the index out of date."""

from datetime import date
from typing import Literal

from keyplan import GSI, Entity, F, Rate, Table, item, key, pk

app = Table(
    "app",
    pk="PK",
    sk="SK",
    indexes=[GSI("open", pk="GSI1PK", sk="GSI1SK")],
    point_in_time_recovery=True,
    deletion_protection=True,
)


@app.entity(
    key=key("USER#{user_id}", "TASK#{task_id}"),
    indexes={"open": key("OPEN#{user_id}", "{due}", only_if=F.status == "open")},
)
class Task(Entity):
    user_id: str
    task_id: str
    title: str
    due: date
    status: Literal["open", "done"] = "open"


@app.create(Task, rate=Rate(average=5))
def add(task: Task):
    """Add a task."""
    return item(task)


@app.query(Task, index="open", rate=Rate(average=20), expected_items=10)
def tasks_due(user_id: str, before: date):
    """List a user's open tasks that are due before a date."""
    return pk(user_id=user_id).sk < before


@app.update(Task, rate=Rate(average=4))
def finish(user_id: str, task_id: str):
    """Finish a task, which removes it from the index."""
    return item(user_id=user_id, task_id=task_id).set(status="done")


@app.update(Task, rate=Rate(average=1))
def postpone(user_id: str, task_id: str, due: date):
    """Postpone a task. `keyplan check` reports that the update does not change the index key."""
    return item(user_id=user_id, task_id=task_id).set(due=due)
