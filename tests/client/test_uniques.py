"""Unique values: one owner each, given up when they change or their item goes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import StringConstraints
from tests.client import board
from tests.client.board import Profile, Task, TaskId, UserId
from tests.client.conftest import NOW

import keyplan
from keyplan import Entity, F, ItemWrite, Table, item, unique
from keyplan.client.connection import Connection
from keyplan.client.errors import NotFoundError, TransactionFailedError, UniqueTakenError
from keyplan.clock import ManualClock
from keyplan.design.entities import OWNER
from keyplan.engine.engine import Engine

UID = UserId("u")
T1, T2 = TaskId("t1"), TaskId("t2")
AT = datetime.fromtimestamp(NOW, UTC)


def a_task(task_id: str, external_ref: str | None = None, **fields: Any) -> Task:
    return Task(user_id=UID, task_id=TaskId(task_id), title="t", external_ref=external_ref, **fields)


def sentinels(db: Any, raw: Any) -> dict[str, str]:
    """By the key of each sentinel: the sort key of its owner."""
    items = raw(db)("Scan", {"TableName": db.table_name(board.app)})["Items"]
    return {item["PK"]["S"]: item[OWNER]["M"]["SK"]["S"] for item in items if OWNER in item}


def test_a_duplicate_value_is_rejected_with_its_owner(db: Any) -> None:
    db.run(board.add_task(a_task("t1", "x")))
    with pytest.raises(
        UniqueTakenError, match="external_ref='x' of Task is already taken by Task PK='USER#u' SK='TASK#t1'"
    ) as e:
        db.run(board.add_task(a_task("t2", "x")))
    assert (e.value.fields, e.value.values) == (("external_ref",), ("x",))
    assert e.value.owner == {"PK": "USER#u", "SK": "TASK#t1"}
    assert e.value.key == {"PK": "USER#u", "SK": "TASK#t2"}
    assert db.run(board.task(UID, T2)) is None


def test_any_number_of_items_never_share_a_value(db: Any, raw: Any) -> None:
    db.run(board.add_task(a_task("t1")))
    db.run(board.add_task(a_task("t2")))
    assert sentinels(db, raw) == {}


def test_a_value_is_released_when_it_changes_or_its_item_is_deleted(db: Any, raw: Any) -> None:
    db.run(board.add_task(a_task("t1", "x")))
    assert db.run(board.refer(UID, T1, "y")).external_ref == "y"
    db.run(board.add_task(a_task("t2", "x")))
    assert sentinels(db, raw) == {"UNIQUE#Task#external_ref#x": "TASK#t2", "UNIQUE#Task#external_ref#y": "TASK#t1"}
    db.run(board.refer(UID, T1, None))
    deleted = db.run(board.drop(UID, T2))
    assert deleted.external_ref == "x"
    assert sentinels(db, raw) == {}


def test_a_put_over_an_item_moves_its_values(db: Any, raw: Any) -> None:
    db.run(board.save_task(a_task("t1", "x")))
    db.run(board.save_task(a_task("t1", "y", version=1)))
    assert sentinels(db, raw) == {"UNIQUE#Task#external_ref#y": "TASK#t1"}
    replaced = db.run(board.replace_task(a_task("t1", "z", version=2)))
    assert replaced.version == 3
    assert sentinels(db, raw) == {"UNIQUE#Task#external_ref#z": "TASK#t1"}


def test_a_transaction_can_transfer_a_value(db: Any, raw: Any) -> None:
    db.run(board.add_task(a_task("t1", "x")))
    db.transact(board.refer(UID, T1, None), board.add_task(a_task("t2", "x")))
    assert sentinels(db, raw) == {"UNIQUE#Task#external_ref#x": "TASK#t2"}
    with pytest.raises(TransactionFailedError) as caught:
        db.transact(board.refer(UID, T1, "x"), board.hit("other", 1))
    assert [type(reason) for reason in caught.value.reasons] == [UniqueTakenError, type(None)]


def test_sentinels_expire_with_their_item_even_if_its_expiry_changes(db: Any, raw: Any) -> None:
    db.run(board.add_task(a_task("t1", "x", expires_at=AT + timedelta(hours=1))))
    db.run(board.expire(UID, T1, AT + timedelta(hours=5)))
    key = {"PK": {"S": "UNIQUE#Task#external_ref#x"}, "SK": {"S": "UNIQUE"}}
    request = {"TableName": db.table_name(board.app), "Key": key}
    assert raw(db)("GetItem", request)["Item"]["expires_at"] == {"N": str(int(NOW) + 5 * 3600)}
    db.run(board.expire(UID, T1, None))
    assert "expires_at" not in raw(db)("GetItem", request)["Item"]


def test_values_of_an_expired_item_can_be_claimed_and_stay_with_their_new_owner(
    db: Any, clock: ManualClock, raw: Any
) -> None:
    db.run(board.add_task(a_task("t1", "x", expires_at=AT + timedelta(hours=1))))
    clock.advance(3600)
    db.run(board.add_task(a_task("t2", "x")))
    assert db.run(board.drop(UID, T1)) is None  # it had expired
    assert sentinels(db, raw) == {"UNIQUE#Task#external_ref#x": "TASK#t2"}


def test_exactly_one_of_many_threads_claims_a_value() -> None:
    with Engine.memory() as engine:
        db = keyplan.connect(engine=engine)

        def want(number: int) -> str | None:
            try:
                db.run(board.join(Profile(user_id=UserId(f"u{number}"), email="same@x.y")))
            except UniqueTakenError:
                return None
            return f"u{number}"

        with ThreadPoolExecutor(8) as pool:
            got = [profile for profile in pool.map(want, range(24)) if profile is not None]
        assert len(got) == 1
        assert [profile.user_id for profile in db.iterate(board.all_profiles())] == got


def test_threads_that_change_the_same_value_leave_one_sentinel(raw: Any) -> None:
    with Engine.memory() as engine:
        db = keyplan.connect(engine=engine)
        db.run(board.join(Profile(user_id=UID, email="0@x.y")))
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda n: db.run(board.change_email(UID, f"{n}@x.y")), range(1, 25)))
        profile = db.run(board.profile(UID))
        assert profile is not None
        assert list(sentinels(db, raw)) == [f"UNIQUE#Profile#email#{profile.email}"]


class Interposed:
    """A transport that lets something happen just before the first transaction is sent."""

    def __init__(self, engine: Engine, meanwhile: Callable[[], object]) -> None:
        self._engine, self._meanwhile = engine, meanwhile
        self.transactions = 0

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems":
            self.transactions += 1
            if self.transactions == 1:
                self._meanwhile()
        return self._engine.call(operation, request)

    def close(self) -> None:
        pass


def test_a_change_between_reading_and_writing_restarts_the_write(engine: Engine, raw: Any) -> None:
    other = keyplan.connect(engine=engine)
    other.run(board.join(Profile(user_id=UID, email="0@x.y")))
    transport = Interposed(engine, lambda: other.run(board.change_email(UID, "1@x.y")))
    assert Connection(transport, other.context).run(board.change_email(UID, "2@x.y")).email == "2@x.y"
    assert transport.transactions == 2
    assert sentinels(other, raw) == {"UNIQUE#Profile#email#2@x.y": "PROFILE"}


def test_an_item_deleted_between_reading_and_writing_is_not_found(engine: Engine, raw: Any) -> None:
    other = keyplan.connect(engine=engine)
    other.run(board.add_task(a_task("t1", "x")))
    transport = Interposed(engine, lambda: other.run(board.drop(UID, T1)))
    with pytest.raises(NotFoundError):
        Connection(transport, other.context).run(board.refer(UID, T1, "y"))
    assert sentinels(other, raw) == {}


def test_a_unique_number_is_moved_by_additions_and_subtractions() -> None:
    seats = Table("seats", pk="guest")

    @seats.entity(unique=["seat"])
    class Guest(Entity):
        guest: str
        seat: int

    @seats.create(Guest)
    def sit(guest: Guest) -> ItemWrite:
        return item(guest)

    @seats.update(Guest)
    def right(guest: str, by: int) -> ItemWrite:
        return item(guest=guest).add(seat=by)

    @seats.update(Guest)
    def left(guest: str, by: int) -> ItemWrite:
        return item(guest=guest).subtract(seat=by).condition(F.seat > by)

    with keyplan.connect(":memory:") as db:
        for number, guest in enumerate("abc", start=1):
            db.run(sit(Guest(guest=guest, seat=number)))
        assert db.run(right("c", 4)).seat == 7
        assert db.run(left("c", 3)).seat == 4
        with pytest.raises(UniqueTakenError, match="seat=2"):
            db.run(left("c", 2))
        db.run(sit(Guest(guest="d", seat=3)))
        with pytest.raises(UniqueTakenError, match="seat=4"):
            db.run(right("d", 1))


@pytest.mark.parametrize("argument", ["ann@x.org", "ANN@x.org"])
def test_an_update_claims_the_value_that_validation_returns(argument: str) -> None:
    accounts = Table("accounts", pk="id")

    @accounts.entity(unique=["email"])
    class Account(Entity):
        id: str
        email: Annotated[str, StringConstraints(to_lower=True)]

    @accounts.create(Account)
    def sign_up(account: Account) -> ItemWrite:
        return item(account)

    @accounts.update(Account)
    def change(id: str, email: str) -> ItemWrite:
        return item(id=id).set(email=email)

    with keyplan.connect(":memory:") as db:
        db.run(sign_up(Account(id="1", email="ann@x.org")))
        db.run(sign_up(Account(id="2", email="bob@x.org")))
        with pytest.raises(UniqueTakenError, match=r"email='ann@x\.org'"):
            db.run(change("2", argument))
        assert db.run(change("1", argument)).email == "ann@x.org"


@pytest.mark.parametrize(("kind", "value"), [(UUID, UUID(int=7)), (int, -7), (date, date(2026, 5, 4))])
def test_leading_unique_fields_need_not_be_text(kind: type, value: Any) -> None:
    table = Table("places", pk="id")
    model: Any = type("Place", (Entity,), {"__annotations__": {"id": str, "house": kind, "name": str}})
    table.entity(unique=[unique("house", "name")])(model)

    @table.create(model)
    def add(place: Any) -> ItemWrite:
        return item(place)

    with keyplan.connect(":memory:") as db:
        db.run(add(model(id="1", house=value, name="a#b")))
        with pytest.raises(UniqueTakenError):
            db.run(add(model(id="2", house=value, name="a#b")))
