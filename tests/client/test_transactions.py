"""Transactions: all or nothing, once for each token, and a reason for each call when they fail."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.client import board
from tests.client.board import Comment, Counter, Profile, Task, TaskId, UserId
from tests.client.conftest import NOW

import keyplan
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    RequestRefusedError,
    TokenReusedError,
    TransactionFailedError,
    VersionConflictError,
)
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

UID, TID = UserId("u"), TaskId("t")


def a_task(task_id: str = "t", **fields: Any) -> Task:
    return Task(user_id=UID, task_id=TaskId(task_id), title="t", **fields)


def test_each_call_has_its_own_reason_and_nothing_is_applied(db: Any) -> None:
    db.run(board.add_task(a_task("there")))
    with pytest.raises(TransactionFailedError) as caught:
        db.transact(
            board.hit("c", 1),
            board.add_task(a_task("there")),
            board.finish(UID, TaskId("missing")),
            board.comment(Comment(user_id=UID, task_id=TID, number=1, text="")),
        )
    kinds = [type(reason) for reason in caught.value.reasons]
    assert kinds == [type(None), AlreadyExistsError, NotFoundError, type(None)]
    assert caught.value.reason.key == {"PK": "USER#u", "SK": "TASK#there"}
    assert caught.value.code == "TransactionCanceledException"
    first, second = str(caught.value).removeprefix("no write was applied: ").split("; ")
    assert first.startswith("step 2 add_task(new=Task(user_id='u', task_id='there', title='t', ")
    assert first.endswith("...): Task PK='USER#u' SK='TASK#there': create failed: item already exists")
    assert second == (
        "step 3 finish(user_id='u', task_id='missing'): Task PK='USER#u' SK='TASK#missing': "
        "update failed: item does not exist"
    )
    assert db.run(board.counter("c")) is None


def test_a_cancellation_without_reasons_is_raised() -> None:
    failed = TransactionFailedError("nothing was applied", reasons=[None, None])
    assert failed.reason is failed


def test_conditions_and_versions_are_distinguished(db: Any) -> None:
    db.run(board.add_task(a_task("a", points=1)))
    db.run(board.add_task(a_task("b")))
    with pytest.raises(TransactionFailedError) as caught:
        db.transact(
            board.finish_if(UID, TaskId("a"), 5), board.rename(UID, TaskId("b"), "x", 7), board.has_profile(UID)
        )
    condition, version, check = caught.value.reasons
    assert isinstance(condition, ConditionFailedError)
    assert condition.item.points == 1
    assert isinstance(version, VersionConflictError)
    assert (version.expected, version.found) == (7, 1)
    assert isinstance(check, NotFoundError)


def test_a_single_check_writes_nothing(db: Any) -> None:
    with pytest.raises(NotFoundError, match="Profile"):
        db.run(board.has_profile(UID))
    db.run(board.join(Profile(user_id=UID, email="e")))
    assert db.run(board.has_profile(UID)) is None


def test_a_transaction_is_applied_once_per_token(db: Any) -> None:
    for _ in range(3):
        db.transact(board.hit("c", 1), board.hit("d", 1), token="one")
    assert db.run(board.counter("c")).count == 1
    db.transact(board.hit("c", 1), board.hit("d", 1), token="two")
    assert db.run(board.counter("c")).count == 2
    with pytest.raises(TokenReusedError, match="its own token"):
        db.transact(board.hit("c", 5), token="one")


def test_a_token_stays_valid_as_time_passes_and_expiry_is_compared(db: Any, clock: ManualClock) -> None:
    new = a_task(expires_at=datetime.fromtimestamp(NOW, UTC) + timedelta(days=1))
    db.transact(board.add_task(new), token="add")
    clock.advance(30)
    db.transact(board.add_task(new), token="add")
    assert db.run(board.task(UID, TID)).version == 1


def test_transactions_that_the_service_rejects_keep_its_message(engine: Engine) -> None:
    db = keyplan.connect(engine=engine)
    with pytest.raises(RequestRefusedError, match="multiple operations on one item"):
        db.transact(board.hit("c", 1), board.hit("c", 2))
    with pytest.raises(RequestRefusedError, match="hit: the service refused the request") as caught:
        db.transact(*(board.hit(f"c{number}", 1) for number in range(101)))
    assert caught.value.code == "ValidationException"
    with pytest.raises(TypeError, match="does not write a single item"):
        db.transact(board.task(UID, TID))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(TypeError, match="is not a read of one item"):
        db.transact_get(board.hit("c", 1))
    db.transact()
    assert db.transact_get() == ()


def test_an_update_that_changes_nothing_is_a_check(db: Any) -> None:
    db.run(board.reset(Counter(name="c", count=1)))
    with pytest.raises(TransactionFailedError):
        db.transact(board.hit("d", 1), board.keep_email(UID, None))
    db.run(board.join(Profile(user_id=UID, email="e")))
    db.transact(board.hit("d", 1), board.keep_email(UID, None))
    assert db.run(board.counter("d")).count == 1


def test_a_counter_updated_at_its_version_loses_nothing() -> None:
    with Engine.memory() as engine:
        db = keyplan.connect(engine=engine)
        db.run(board.add_task(a_task(points=0)))

        def increase(_number: int) -> None:
            while True:
                task = db.run(board.task(UID, TID))
                assert task is not None
                try:
                    db.run(board.replace_task(task.model_copy(update={"points": (task.points or 0) + 1})))
                except VersionConflictError:
                    continue
                return

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(increase, range(60)))
        task = db.run(board.task(UID, TID))
        assert task is not None
        assert (task.points, task.version) == (60, 61)


def test_concurrent_transactions_never_overdraw_the_stock() -> None:
    with Engine.memory() as engine:
        db = keyplan.connect(engine=engine)
        db.run(board.join(Profile(user_id=UID, email="a@x.y", open_tasks=50)))

        def take(number: int) -> int:
            amount = 1 + number % 3
            try:
                db.run(board.count_done(UID, amount))
            except ConditionFailedError:
                return 0
            return amount

        with ThreadPoolExecutor(8) as pool:
            total = sum(pool.map(take, range(90)))
        profile = db.run(board.profile(UID))
        assert profile is not None
        assert total + profile.open_tasks == 50
        assert 0 <= profile.open_tasks < 3, "somebody was refused, who wanted three at most"
