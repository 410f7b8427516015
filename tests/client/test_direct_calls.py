"""Calls that one request answers run without a program: where they run, and what happens if the request fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.client import board
from tests.client.board import Comment, Priority, Task, TaskId, UserId

from keyplan.client.async_connection import AsyncConnection
from keyplan.client.connection import Connection
from keyplan.client.errors import KeyValueError, ThrottledError
from keyplan.client.requests import Context, Request, Response, Retries
from keyplan.client.transports import AioTransport, AsyncEngineTransport
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import ProvisionedThroughputExceededError

UID, TID = UserId("u"), TaskId("t")
COMMENT = Comment(user_id=UID, task_id=TID, number=1, text="c")
KEY: dict[str, Any] = {"user_id": "u", "task_id": "t", "number": 1}


class Recorded:
    """An engine that records the thread of each call, and throttles some of them."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.waits_for_disk = engine, engine.waits_for_disk
        self.threads: list[tuple[str, str]] = []
        self.throttles = 0

    def call(self, operation: str, request: Request) -> Response:
        thread = "loop" if threading.current_thread() is threading.main_thread() else "other"
        self.threads.append((operation, thread))
        if self.throttles:
            self.throttles -= 1
            raise ProvisionedThroughputExceededError("slow down")
        return self.engine.call(operation, request)

    def close(self) -> None:
        self.engine.close()


def context(engine: Engine) -> Context:
    return Context(engine.clock, b"key", Retries(attempts=3), creates_tables=True)


async def read_and_write_twice(db: AsyncConnection) -> None:
    """Run each call twice: the first one prepares the pattern."""
    for _ in range(2):
        await db.put(COMMENT)
        await db.get(Comment, **KEY)


def test_calls_of_an_embedded_engine_run_on_the_event_loop_thread(engine: Engine) -> None:
    recorded = Recorded(engine)
    asyncio.run(read_and_write_twice(AsyncConnection(AsyncEngineTransport(recorded, owned=False), context(engine))))
    assert {thread for _, thread in recorded.threads} == {"loop"}


def test_writes_that_wait_for_the_disk_run_in_another_thread(tmp_path: Path, clock: ManualClock) -> None:
    with Engine.open(tmp_path / "full.db", durability="full", clock=clock) as engine:
        recorded = Recorded(engine)
        assert recorded.waits_for_disk
        asyncio.run(read_and_write_twice(AsyncConnection(AsyncEngineTransport(recorded, owned=False), context(engine))))
    threads = {(operation, thread) for operation, thread in recorded.threads if operation in {"PutItem", "GetItem"}}
    assert threads == {("PutItem", "other"), ("GetItem", "loop")}


def test_every_call_over_a_network_is_awaited() -> None:
    assert AioTransport(None, None).immediate("GetItem") is None


def test_a_throttled_call_is_retried(engine: Engine) -> None:
    recorded = Recorded(engine)
    db = Connection(recorded, context(engine))
    db.put(Task(user_id=UID, task_id=TID, title="t"))
    for run in (
        lambda: db.put(COMMENT),
        lambda: db.get(Comment, **KEY),
        lambda: db.run(board.set_priority(UID, TID, Priority.high, None)),
    ):
        _check_repetitions(run, recorded)


def test_a_throttled_awaited_call_is_retried(engine: Engine) -> None:
    recorded = Recorded(engine)
    with asyncio.Runner() as runner:
        db = AsyncConnection(AsyncEngineTransport(recorded, owned=False), context(engine))
        runner.run(db.put(Task(user_id=UID, task_id=TID, title="t")))
        for run in (
            lambda: runner.run(db.put(COMMENT)),
            lambda: runner.run(db.get(Comment, **KEY)),
            lambda: runner.run(db.run(board.set_priority(UID, TID, Priority.high, None))),
        ):
            _check_repetitions(run, recorded)


def _check_repetitions(run: Callable[[], Any], recorded: Recorded) -> None:
    """Check that a call is sent up to three times in all."""
    run()  # the first call of a pattern prepares it
    recorded.threads.clear()
    recorded.throttles = 2
    run()
    assert len(recorded.threads) == 3
    recorded.throttles = 3
    with pytest.raises(ThrottledError, match="after 3 attempts"):
        run()
    recorded.throttles = 0


def test_a_value_not_allowed_in_a_key_is_rejected_each_time(db: Any) -> None:
    for _ in range(3):
        with pytest.raises(KeyValueError, match="it is empty"):
            db.get(Task, user_id="u", task_id="")


def test_an_unknown_option_raises_type_error(db: Any) -> None:
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'limt'"):
        db.run(board.tasks(UID), limt=3)
    with pytest.raises(TypeError, match="expected a pattern call"):
        db.run(None)
