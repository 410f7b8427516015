"""What calls use, by pattern: the service's receipts of every request that was sent for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.client import board
from tests.client.board import Profile, Task, TaskId, UserId

import keyplan
from keyplan.client.errors import AlreadyExistsError, ThrottledError
from keyplan.client.requests import Context, Meter, Usage
from keyplan.clock import ManualClock
from keyplan.cost.units import ConsumedUnits
from keyplan.engine.engine import Engine
from keyplan.errors import ProvisionedThroughputExceededError

UID, TID = UserId("u"), TaskId("t1")


def context_of(db: Any) -> Context:
    context: Context = getattr(db, "_connection", db).context
    return context


@pytest.fixture
def meter(db: Any) -> Meter:
    meter = context_of(db).meter = Meter()
    return meter


def a_task(task_id: str = "t1", **fields: Any) -> Task:
    return Task(user_id=UID, task_id=TaskId(task_id), title="t", **fields)


def test_each_pattern_has_its_calls_requests_and_units(db: Any, meter: Meter) -> None:
    app = db.table_name(board.app)
    for number in range(5):
        db.run(board.add_task(a_task(f"t{number}", notes=["x" * 900])))
    assert len(db.run(board.tasks(UID))) == 5
    assert db.run(board.task(UID, TID)) is not None
    assert db.run(board.task(UID, TaskId("none"))) is None
    used = meter.read()
    assert used["tasks"] == Usage(1, 1, 0, ConsumedUnits(read={app: 1.0}))  # five KB, each half of four
    assert (used["task"].calls, used["task"].requests) == (2, 2)
    assert used["task"].consumed.reads == 2 * used["task"].per_call.reads
    assert (used["add_task"].calls, used["add_task"].requests) == (5, 5)
    assert used["add_task"].consumed.writes >= 5


def test_pages_and_reads_before_a_write_count(db: Any, meter: Meter) -> None:
    db.run(board.add_task(a_task("t1", external_ref="x")))
    db.run(board.refer(UID, TID, "y"))
    unique = meter.take()["refer"]
    assert unique.calls == 1
    assert unique.requests > 1
    assert unique.consumed.reads > 0 < unique.consumed.writes
    for number in range(2, 6):
        db.run(board.add_task(a_task(f"t{number}")))
    list(db.iterate(board.tasks(UID), page_size=2))
    assert meter.take()["tasks"].calls == 3
    assert meter.read() == {}


def test_undeclared_transactions_are_named_by_their_calls(db: Any, meter: Meter) -> None:
    db.transact(board.add_task(a_task("t1")), board.hit("page", 1), board.hit("other", 1))
    db.transact_get(board.task(UID, TID), board.profile(UID))
    used = meter.read()
    assert set(used) == {"transact(add_task, hit)", "transact_get(task, profile)"}
    assert used["transact(add_task, hit)"].consumed.writes >= 6
    assert used["transact_get(task, profile)"].consumed.reads == 4


def test_a_rejected_call_counts_as_one(db: Any, meter: Meter) -> None:
    db.run(board.add_task(a_task("t1")))
    before = meter.take()["add_task"]
    with pytest.raises(AlreadyExistsError):
        db.run(board.add_task(a_task("t1")))
    assert meter.take()["add_task"].calls == before.calls == 1


class Busy:
    """A transport whose table takes nothing for a while."""

    def __init__(self, engine: Engine, times: int) -> None:
        self.engine, self.times = engine, times
        self.sent: list[dict[str, Any]] = []

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "GetItem":
            self.sent.append(request)
            if self.times:
                self.times -= 1
                raise ProvisionedThroughputExceededError("slowly")
        return self.engine.call(operation, request)

    def close(self) -> None:
        pass


def test_throttles_are_counted_for_successful_and_failed_calls(engine: Engine, clock: ManualClock) -> None:
    meter = Meter()
    db = keyplan.connect(engine=engine, meter=meter, clock=clock)
    db.run(board.add_task(a_task("t1")))
    meter.take()
    db.transport = Busy(engine, times=3)
    db._call = db.transport.call
    assert db.run(board.task(UID, TID)) is not None
    used = meter.take()["task"]
    assert (used.calls, used.requests, used.throttled, used.consumed.reads) == (1, 4, 3, 0.5)
    db.transport.times = 100
    with pytest.raises(ThrottledError):
        db.run(board.task(UID, TID))
    assert meter.take() == {"task": Usage(1, 10, 10)}


def test_without_a_meter_no_capacity_is_requested(engine: Engine) -> None:
    db = keyplan.connect(engine=engine)
    db.run(board.add_task(a_task("t1")))
    busy = Busy(engine, times=0)
    db._call = busy.call
    db.run(board.task(UID, TID))
    assert [list(request) for request in busy.sent] == [["TableName", "Key"]]


def test_no_use_is_lost_among_threads(engine: Engine) -> None:
    meter = Meter()
    db = keyplan.connect(engine=engine, meter=meter)
    db.run(board.join(Profile(user_id=UID, email="a@x.y")))
    meter.take()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: db.run(board.count_task(UID, 1)), range(400)))
        list(pool.map(lambda _: db.run(board.profile(UID)), range(400)))
    used = meter.read()
    assert used["count_task"].calls == used["count_task"].consumed.writes == 400
    assert used["profile"].calls == used["profile"].requests == 400
