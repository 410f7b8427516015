"""What has expired counts as gone, for reads, counts and conditions, though the service still has it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.client import board
from tests.client.board import Counter, Task, TaskId, UserId
from tests.client.conftest import NOW

from keyplan.client.errors import AlreadyExistsError, NotFoundError
from keyplan.clock import ManualClock

UID, TID = UserId("u"), TaskId("t")
AT = datetime.fromtimestamp(NOW, UTC)


@pytest.fixture
def expired(db: Any, clock: ManualClock) -> Task:
    """Return a task that expires at this second."""
    task: Task = db.run(
        board.add_task(Task(user_id=UID, task_id=TID, title="t", due_at=AT, expires_at=AT + timedelta(seconds=60)))
    )
    clock.advance(59)
    assert db.run(board.task(UID, TID)) == task
    clock.advance(1)
    return task


def test_reads_leave_out_expired_items_by_default(db: Any, expired: Task) -> None:
    assert db.run(board.task(UID, TID)) is None
    assert db.run(board.task_even_expired(UID, TID)) == expired
    assert len(db.run(board.tasks(UID))) == 0
    assert len(db.run(board.tasks_due(UID, AT + timedelta(1)))) == 0
    assert db.all(board.all_tasks()) == []
    assert db.run(board.some_tasks(UID, [TID])) == [None]
    assert db.run(board.task_count(UID)) == 0
    assert db.run(board.due_count([UID])) == 0
    assert db.transact_get(board.task(UID, TID)) == (None,)


def test_updates_and_replacements_fail_for_expired_items(db: Any, expired: Task) -> None:
    with pytest.raises(NotFoundError):
        db.run(board.finish(UID, TID))
    with pytest.raises(NotFoundError):
        db.run(board.replace_task(expired))
    assert db.run(board.drop(UID, TID)) is None


def test_a_create_replaces_an_expired_item(db: Any, expired: Task) -> None:
    again = db.run(board.add_task(expired.model_copy(update={"expires_at": None, "version": 0})))
    assert db.run(board.task(UID, TID)) == again
    with pytest.raises(AlreadyExistsError):
        db.run(board.add_task(again))


def test_an_upsert_replaces_an_expired_item(db: Any, clock: ManualClock) -> None:
    until = int(NOW) + 60
    db.run(board.hit_until("c", until))
    assert db.run(board.hit_until("c", until + 1)) == Counter(name="c", count=2, until=until)
    clock.advance(60)
    assert db.run(board.hit_until("c", until + 60)) == Counter(name="c", count=1, until=until + 60)


def test_an_upsert_in_a_transaction_replaces_an_expired_item(db: Any, clock: ManualClock) -> None:
    db.run(board.reset(Counter(name="c", count=9, until=int(NOW) + 60)))
    clock.advance(60)
    db.transact(board.hit_until("c", int(NOW) + 120), board.hit("d", 1))
    assert db.run(board.counter("c")) == Counter(name="c", count=1, until=int(NOW) + 120)
    assert db.run(board.counter("d")).count == 1
