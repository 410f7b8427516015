"""Consumers and transactions as they are declared."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan import (
    Entity,
    Expired,
    F,
    Inserted,
    ItemWrite,
    Modified,
    Removed,
    Table,
    WriteCall,
    changed,
    each,
    item,
    key,
    transaction,
)
from keyplan.design.declaring.consumers import Changed
from keyplan.design.declaring.transactions import Transaction

app = Table("app", pk="PK", stream="NEW_AND_OLD_IMAGES")
other = Table("other", pk="name")


@app.entity(key=key("TASK#{task_id}"))
class Task(Entity):
    task_id: str
    status: str = "open"


@app.entity(key=key("USER#{user_id}"))
class User(Entity):
    user_id: str


@other.entity()
class Count(Entity):
    name: str
    count: int = 0


@app.on_change(Task, filter=changed("status", becomes="done"), batch=10, retries=5, on_failure="dlq", idempotent=True)
def notify(change: Modified[Task]) -> None:
    """Tell."""


@app.on_change(Task, User, filter=None, bisect=False)
def mirror(changes: list[Inserted[Task] | Removed[Task] | Expired[User]]) -> None:
    """Copy."""


@app.on_change(Task, filter=F.status == "open")
def greet(change: Inserted[Task] | Modified[Task]) -> None:
    """Greet."""


def test_the_annotation_determines_the_accepted_changes() -> None:
    first, second, third = app.consumers
    assert (first.name, first.events, first.takes_list) == ("notify", frozenset({"modified"}), False)
    assert first.filter == Changed("status", "done")
    assert (first.batch, first.retries, first.on_failure, first.bisect, first.idempotent) == (10, 5, "dlq", True, True)
    assert (second.events, second.takes_list, second.bisect) == (
        frozenset({"inserted", "removed", "expired"}),
        True,
        False,
    )
    assert [entity.name for entity in second.entities] == ["Task", "User"]
    assert third.events == {"inserted", "modified"}


@pytest.mark.parametrize(("number", "needs"), [(0, {"old", "new"}), (1, {"old", "new"}), (2, {"old", "new"})])
def test_events_determine_the_required_images(number: int, needs: set[str]) -> None:
    assert app.consumers[number].needed_images == needs


def test_inserts_need_the_new_image_only() -> None:
    table = Table("table", pk="id", stream="NEW_IMAGE")

    @table.entity()
    class Thing(Entity):
        id: str

    @table.on_change(Thing)
    def added(change: Inserted[Thing]) -> None:
        """Take it."""

    @table.on_change(Thing)
    def gone(change: Removed[Thing] | Expired[Thing]) -> None:
        """Take it."""

    assert [consumer.needed_images for consumer in table.consumers] == [{"new"}, {"old"}]


def test_a_consumer_remains_a_callable_function() -> None:
    event: Any = object()
    assert notify(event) is None


@app.create(Task)
def add_task(task: Task) -> ItemWrite:
    """Store a new task."""
    return item(task)


@app.update(Task)
def finish(task_id: str, status: str) -> ItemWrite:
    """Done."""
    return item(task_id=task_id).set(status=status)


@other.put(Count)
def store(count: Count) -> ItemWrite:
    """Store a count."""
    return item(count)


@transaction(retried=True, expected_items=3)
def add_and_finish(
    task: Task, counts: list[Count], task_ids: list[str], status: str = "done"
) -> list[WriteCall[Task] | WriteCall[Count]]:
    """All at once, in two tables."""
    return [add_task(task), store(each(counts)), finish(each(task_ids), status)]


def test_a_transaction_is_a_pattern_with_steps() -> None:
    assert isinstance(add_and_finish, Transaction)
    plan = add_and_finish.plan
    assert (plan.operation, [step.pattern for step in plan.steps]) == (
        "TransactWriteItems",
        ["add_task", "store", "finish"],
    )
    assert [repr(source) for source in plan.repeats] == ["None", "each(counts)", "each(task_ids)"]
    assert [entity.name for entity in plan.entities] == ["Task", "Count"]
    assert (add_and_finish.facts.retried, add_and_finish.facts.expected_items) == (True, 3)


def test_a_call_of_a_transaction_returns_its_writes_in_order() -> None:
    task, counts = Task(task_id="1"), [Count(name="a"), Count(name="b")]
    call = add_and_finish(task, counts, ["2", "3"])
    assert [repr(write) for write in add_and_finish.calls(call.arguments)] == [
        "add_task(task=Task(task_id='1', status='open'))",
        "store(count=Count(name='a', count=0))",
        "store(count=Count(name='b', count=0))",
        "finish(task_id='2', status='done')",
        "finish(task_id='3', status='done')",
    ]


def test_a_transaction_may_use_fields_of_a_parameter() -> None:
    @transaction()
    def both(task: Task) -> list[WriteCall[Task]]:
        """Write the same task twice."""
        return [finish(task.task_id, task.status)]

    (call,) = both.calls(both(Task(task_id="7", status="x")).arguments)
    assert call.arguments == {"task_id": "7", "status": "x"}
