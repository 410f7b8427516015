"""Failed requests: which are repeated, for how long, and that no write happens twice or is misreported."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.client import board
from tests.client.board import Comment, Counter, Task, TaskId, UserId
from tests.client.conftest import NOW

import keyplan
from keyplan import Entity, Table, key
from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    NoAnswerError,
    OutcomeUnknownError,
    ThrottledError,
    UnavailableError,
    WriteConflictError,
)
from keyplan.client.requests import Context, Retries, drive, is_transient
from keyplan.client.tables import create_tables
from keyplan.client.transports import AioTransport, BotoTransport
from keyplan.client.writes import write
from keyplan.clock import ManualClock
from keyplan.design.requests.writes import NOW as NOW_ARGUMENT
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import (
    InternalServerError,
    ProvisionedThroughputExceededError,
    ServiceError,
    ThrottlingError,
    UnknownOperationError,
)

UID, TID = UserId("u"), TaskId("t")
COMMENT = Comment(user_id=UID, task_id=TID, number=1, text="c")


class Unlucky:
    """Transport that loses a given number of requests or answers."""

    def __init__(self, engine: Engine, error: ServiceError, *, times: int, after: bool, only: str = "") -> None:
        self.engine, self.error, self.times, self.after, self.only = engine, error, times, after, only
        self.sent: list[str] = []

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation.startswith(("Describe", "Create", "UpdateTime")) or not operation.startswith(self.only):
            return self.engine.call(operation, request)
        self.sent.append(operation)
        if self.times > 0:
            self.times -= 1
            if self.after:
                self.engine.call(operation, request)
            raise self.error
        return self.engine.call(operation, request)

    def close(self) -> None:
        pass


def unlucky(engine: Engine, error: ServiceError, *, times: int = 1, after: bool = False, only: str = "") -> Connection:
    transport = Unlucky(engine, error, times=times, after=after, only=only)
    return Connection(transport, Context(engine.clock, b"key", Retries(attempts=4), creates_tables=True))


LOST = [InternalServerError("oh"), NoAnswerError("read timeout", sent=True)]


@pytest.mark.parametrize("error", LOST, ids=["failure", "no answer"])
def test_a_create_retried_after_a_lost_response_does_not_conflict_with_itself(
    engine: Engine, error: ServiceError
) -> None:
    db = unlucky(engine, error, after=True)
    assert db.run(board.comment(COMMENT)) == COMMENT
    assert db.transport.sent == ["PutItem", "PutItem"]  # type: ignore[attr-defined]
    with pytest.raises(AlreadyExistsError):
        db.run(board.comment(COMMENT))


def test_a_retried_create_recognizes_its_own_item_in_any_spelling(engine: Engine) -> None:
    retrying = unlucky(engine, LOST[0], after=True, only="PutItem")
    spelled = board.Sample(name="s", weight=Decimal("1.500"), ratio=1e20, marks={"b", "a", "c"}, counts={3, 20, 100})
    assert retrying.run(board.take_sample(spelled)) == spelled


def test_a_retried_create_that_meets_a_different_item_has_an_unknown_outcome(engine: Engine) -> None:
    unlucky(engine, LOST[0], times=0).run(board.comment(COMMENT.model_copy(update={"text": "another's"})))
    with pytest.raises(OutcomeUnknownError, match="an earlier attempt received no response") as caught:
        unlucky(engine, LOST[0]).run(board.comment(COMMENT))
    assert caught.value.key == {"PK": "USER#u", "SK": "TASK#t#COMMENT#0001"}


def test_an_increment_without_a_response_is_not_retried(engine: Engine) -> None:
    db = unlucky(engine, LOST[1], after=True)
    with pytest.raises(OutcomeUnknownError, match="could apply it twice"):
        db.run(board.hit("c", 1))
    assert db.run(board.counter("c")) == Counter(name="c", count=1)


def test_an_increment_in_a_transaction_is_retried_with_its_token(engine: Engine) -> None:
    db = unlucky(engine, LOST[1], after=True)
    db.transact(board.hit("c", 1), board.hit("d", 1))
    assert db.run(board.counter("c")) == Counter(name="c", count=1)


def test_a_set_without_a_response_is_retried(engine: Engine) -> None:
    db = unlucky(engine, LOST[0], after=True, only="UpdateItem")
    db.run(board.add_task(Task(user_id=UID, task_id=TID, title="t")))
    assert db.run(board.finish(UID, TID)).status == "done"


def test_a_version_conflict_after_a_lost_response_has_an_unknown_outcome(engine: Engine) -> None:
    db = unlucky(engine, LOST[0], after=True, only="UpdateItem")
    db.run(board.add_task(Task(user_id=UID, task_id=TID, title="t")))
    with pytest.raises(OutcomeUnknownError, match=r"version check failed: version == 1 \(item has version 2\)"):
        db.run(board.rename(UID, TID, "new", 1))


def test_a_delete_with_a_lost_response_succeeds(engine: Engine) -> None:
    db = unlucky(engine, LOST[0], after=True, only="DeleteItem")
    db.run(board.reset(Counter(name="c")))
    assert db.run(board.forget("c")) is None
    assert db.run(board.counter("c")) is None


def test_a_request_that_was_not_sent_is_always_retried(engine: Engine) -> None:
    db = unlucky(engine, NoAnswerError("connect timeout", sent=False), times=2)
    assert db.run(board.hit("c", 1)) == Counter(name="c", count=1)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ThrottlingError("slow down"), ThrottledError),
        (ProvisionedThroughputExceededError("slow down"), ThrottledError),
        (InternalServerError("oh"), UnavailableError),
    ],
)
def test_a_read_fails_with_the_services_code_after_its_attempts(
    engine: Engine, error: ServiceError, kind: type[Exception]
) -> None:
    db = unlucky(engine, error, times=3)
    assert db.run(board.counter("c")) is None
    db = unlucky(engine, error, times=4)
    with pytest.raises(kind, match="after 4 attempts") as caught:
        db.run(board.counter("c"))
    assert caught.value.code == error.code  # type: ignore[attr-defined]  # every RunError has one
    assert caught.value.__cause__ is error


def test_a_write_without_a_response_has_an_unknown_outcome(engine: Engine) -> None:
    calls: list[Callable[[Connection], object]] = [
        lambda db: db.run(board.comment(COMMENT)),
        lambda db: db.transact(board.hit("a", 1), board.hit("b", 1)),
    ]
    for call in calls:
        db = unlucky(engine, LOST[1], times=4)
        with pytest.raises(OutcomeUnknownError, match="the write may or may not have been applied, after 4 attempts"):
            call(db)


@pytest.mark.parametrize(
    "input_value", [{"attempts": 0}, {"attempts": -1}, {"first_s": -0.1}, {"most_s": math.inf}, {"most_s": math.nan}]
)
def test_invalid_retries_are_rejected_with_the_given_value(input_value: dict[str, Any]) -> None:
    ((name, value),) = input_value.items()
    with pytest.raises(ValueError, match=f"^{name} must be .*, not {value!r}$"):
        Retries(**input_value)


def test_retry_delays_grow_and_are_drawn_from_zero_to_their_bound() -> None:
    retries, clock = Retries(first_s=0.1, most_s=1.0), ManualClock(seed=3)
    for attempt, bound in ((1, 0.1), (2, 0.2), (4, 0.8), (5, 1.0), (9, 1.0)):
        delays = [retries.wait_s(attempt, clock) for _ in range(300)]
        assert 0 <= min(delays) < bound * 0.1
        assert bound * 0.9 < max(delays) <= bound


def test_calls_wait_between_attempts_and_not_before_the_first(engine: Engine) -> None:
    waits: list[float] = []
    transport = Unlucky(engine, ThrottlingError("slow"), times=2, after=False)
    keyplan.connect(engine=engine).create_tables(board.counters)
    call = board.hit("c", 1)
    context = Context(engine.clock, b"key")
    drive(write(context, call, {**call.arguments, NOW_ARGUMENT: int(NOW)}), transport.call, waits.append)
    assert len(waits) == 2
    assert all(0 <= wait <= 0.05 for wait in waits)


class NotYetError(ServiceError):
    """Return the service's description of backups of a new table."""

    code = "ContinuousBackupsUnavailableException"


def test_point_in_time_recovery_is_requested_until_a_new_table_supports_it(engine: Engine) -> None:
    table = keeping_backups()
    waits: list[float] = []
    transport = Unlucky(engine, NotYetError("not yet"), times=3, after=False, only="UpdateContinuousBackups")
    drive(create_tables(Context(engine.clock, b"key"), [table], wait=True), transport.call, waits.append)
    assert transport.sent == ["UpdateContinuousBackups"] * 4
    assert waits == sorted(waits)
    assert len(waits) == 3
    response = engine.call("DescribeContinuousBackups", {"TableName": "kept"})["ContinuousBackupsDescription"]
    assert response["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def keeping_backups() -> Table:
    table = Table("kept", pk="PK", point_in_time_recovery=True)

    @table.entity(key=key("ROW#{row_id}"))
    class Row(Entity):
        row_id: str

    return table


def test_enabled_point_in_time_recovery_is_not_enabled_again(engine: Engine) -> None:
    # Source: API reference, DescribeContinuousBackups: PointInTimeRecoveryStatus is ENABLED or DISABLED.
    sent: list[str] = []

    def call(operation: str, request: dict[str, Any]) -> Any:
        sent.append(operation)
        return engine.call(operation, request)

    for _ in range(2):
        drive(create_tables(Context(engine.clock, b"key"), [keeping_backups()], wait=True), call, lambda _: None)
    looked = ["DescribeContinuousBackups", "UpdateContinuousBackups", "DescribeContinuousBackups"]
    assert [operation for operation in sent if "Backups" in operation] == looked


def test_point_in_time_recovery_is_skipped_on_a_service_without_it(engine: Engine) -> None:
    operations: list[str] = []

    def call(operation: str, request: dict[str, Any]) -> Any:
        if "Backups" not in operation:
            return engine.call(operation, request)
        operations.append(operation)
        raise UnknownOperationError

    drive(create_tables(Context(engine.clock, b"key"), [keeping_backups()], wait=True), call, lambda _: None)
    assert operations == ["DescribeContinuousBackups"]


def faulty(clock: ManualClock, **faults: Any) -> Engine:
    return Engine.memory(clock=clock, ttl_sweep_s=None, faults=Faults(**faults))


def test_batches_are_sent_until_no_item_is_unprocessed(clock: ManualClock) -> None:
    with faulty(clock, unprocessed=0.5, seed=1) as engine:
        db = keyplan.connect(engine=engine)
        new = [Comment(user_id=UID, task_id=TID, number=number, text="") for number in range(120)]
        db.run(board.add_comments(new))
        assert db.all(board.comments(UID, TID)) == new
        tasks = [Task(user_id=UID, task_id=TaskId(f"t{n}"), title="t") for n in range(120)]
        for task in tasks:
            db.run(board.save_task(task))
        actual_tasks = db.run(board.some_tasks(UID, [task.task_id for task in tasks]))
        assert [entity and entity.task_id for entity in actual_tasks] == [task.task_id for task in tasks]
        several = db.batch_get(*[board.task(UID, task.task_id) for task in tasks])
        assert list(several) == actual_tasks


def test_conflicts_are_retried(clock: ManualClock) -> None:
    with faulty(clock, conflicts=0.2, seed=2) as engine:
        db = keyplan.connect(engine=engine)
        for number in range(40):
            db.transact(board.hit("a", 1), board.hit("b", number))
            db.run(board.hit("a", 1))
            db.transact_get(board.counter("a"), board.counter("b"))
        result = db.run(board.counter("a"))
        assert result is not None
        assert result.count == 80


def test_permanent_conflicts_are_raised(clock: ManualClock) -> None:
    with faulty(clock, conflicts=1.0) as engine:
        db = keyplan.connect(engine=engine, retries=Retries(attempts=3))
        for call in (lambda: db.run(board.hit("a", 1)), lambda: db.transact(board.hit("a", 1), board.hit("b", 1))):
            with pytest.raises(WriteConflictError, match="after 3 attempts"):
                call()


def test_a_failing_service_loses_and_repeats_no_write(clock: ManualClock) -> None:
    with faulty(clock, internal_errors=0.3, seed=5) as engine:
        db = keyplan.connect(engine=engine)
        completed, unknown = 0, 0
        for number in range(60):
            db.transact(board.hit("sure", 1), board.hit(f"other{number}", 1))
            try:
                db.run(board.hit("alone", 1))
                completed += 1
            except OutcomeUnknownError:
                unknown += 1
            db.run(board.comment(Comment(user_id=UID, task_id=TID, number=number, text=str(number))))
        sure, alone = db.run(board.counter("sure")), db.run(board.counter("alone"))
        assert sure is not None
        assert alone is not None
        assert sure.count == 60
        assert completed <= alone.count <= completed + unknown
        assert len(db.all(board.comments(UID, TID))) == 60


class Refusing:
    """A client of an endpoint that refuses an operation by this code and status."""

    def __init__(self, code: str, status: int, message: str) -> None:
        self.meta = SimpleNamespace(endpoint_url="http://there:8000")
        response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
        self.error = ClientError(response, "UpdateTimeToLive")  # type: ignore[arg-type]

    def update_time_to_live(self, **_request: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("UnknownOperationException", 400, ""),  # the service, DynamoDB Local and dynalite
        ("UnknownOperation", 400, "Unsupported operation"),
        ("InternalFailure", 501, "not yet implemented"),  # LocalStack
        ("NotImplemented", 501, ""),
    ],
)
@pytest.mark.parametrize("awaited", [False, True])
def test_an_unsupported_operation_is_named_with_endpoint_and_purpose(
    code: str, status: int, message: str, awaited: bool
) -> None:
    client = Refusing(code, status, message)
    transport: Any = AioTransport(client, None) if awaited else BotoTransport(client)
    with pytest.raises(UnknownOperationError) as refused:
        asyncio.run(transport.call("UpdateTimeToLive", {"TableName": "notes", "TimeToLiveSpecification": {}}))
    assert str(refused.value) == (
        "the endpoint http://there:8000 does not support UpdateTimeToLive, which is needed for the expiry (ttl=...) "
        f"(table notes){': ' + message if message else ''}"
    )
    assert not is_transient(refused.value)


def test_a_call_sends_the_same_requests_on_every_driver() -> None:
    """A program only yields requests and waits: it can be stepped by hand."""
    context = Context(ManualClock(NOW), b"key")
    call = board.hit("c", 1)
    program = write(context, call, {**call.arguments, NOW_ARGUMENT: int(NOW)})
    step = next(program)
    assert isinstance(step, tuple)
    operation, request = step
    assert operation == "UpdateItem"
    assert request["Key"] == {"name": {"S": "c"}}
    finish: Callable[[], Any] = lambda: program.send({"Attributes": {"name": {"S": "c"}, "count": {"N": "1"}}})  # noqa: E731
    with pytest.raises(StopIteration) as stopped:
        finish()
    assert stopped.value.value == Counter(name="c", count=1)
