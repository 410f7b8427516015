"""Errors of failed conditions: the failed parts, their origin, and the stored values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tests.client.conftest import NOW

import keyplan
from keyplan import Attribute, Entity, F, ItemKey, ItemWrite, Table, WriteCall, item, key, transaction
from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    FailedPart,
    NotFoundError,
    RequestRefusedError,
    RunError,
    ThrottledError,
    TransactionFailedError,
    UniqueTakenError,
    VersionConflictError,
    WriteConflictError,
)
from keyplan.client.requests import Context, Retries
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import TransactionCanceledError

shop = Table("shop", pk="PK", sk="SK", ttl="expires_at")
AT = datetime.fromtimestamp(NOW, UTC)
KEY = "Order PK='ORDER#1' SK='ORDER'"


class Address(BaseModel):
    city: str
    zip_code: Annotated[str | None, Attribute("z")] = None


@shop.entity(key=key("ORDER#{order}", "ORDER"), version="version", unique=("number",))
class Order(Entity):
    order: str
    status: Literal["open", "paid", "sent"] = "open"
    number: str | None = None
    total: int = 0
    note: str | None = None
    tags: set[str] = Field(default_factory=set)
    address: Address | None = None
    at: Annotated[datetime | None, Attribute(stored="epoch_s")] = None
    expires_at: datetime | None = None
    version: int = 0


@shop.create(Order)
def place(new: Order) -> ItemWrite:
    return item(new)


@shop.get(Order)
def order(order: str) -> ItemKey:
    return item(order=order)


@shop.put(Order)
def put(new: Order) -> ItemWrite:
    return item(new)


@shop.create(Order)
def place_again(new: Order) -> ItemWrite:
    return item(new).replace_if(F.status == "sent")


@shop.replace(Order)
def change(new: Order) -> ItemWrite:
    return item(new)


@shop.update(Order)
def pay(order: str, least: int) -> ItemWrite:
    return item(order=order).set(status="paid").condition((F.status == "open") & (F.total >= least) & F.note.missing())


@shop.update(Order)
def ship(order: str, city: str, tag: str) -> ItemWrite:
    return (
        item(order=order)
        .set(status="sent")
        .condition((F.address["city"] == city) | F.tags.contains(tag) | ~((F.total < 5) | (F.tags.size() > 3)))
    )


@shop.update(Order)
def annotate(order: str, note: str, status: str, at: datetime | None) -> ItemWrite:
    return item(order=order).set(note=note).assuming(status=status, at=at)


@shop.update(Order)
def rename(order: str, note: str, version: int, status: str) -> ItemWrite:
    return item(order=order).set(note=note).if_version(version).condition(F.status == status)


@shop.update(Order)
def stamp(order: str, at: datetime, total: int) -> ItemWrite:
    return item(order=order).set(note="x").condition((F.at == at) & F.at.is_in(at) & (F.total == total))


@shop.delete(Order)
def drop(order: str, note: str) -> ItemWrite:
    return item(order=order).condition(F.note == note)


@shop.check(Order)
def is_paid(order: str) -> ItemWrite:
    return item(order=order).condition(F.status == "paid")


@shop.check(Order, exists="must_not")
def is_new(order: str) -> ItemWrite:
    return item(order=order)


@transaction()
def pay_and_ship(order: str, city: str) -> list[WriteCall[Any]]:
    return [pay(order, 1), is_paid("2"), ship("3", city, "t")]


@pytest.fixture
def store(engine: Engine) -> Iterator[Any]:
    with keyplan.connect(engine=engine) as db:
        yield db


def failure(store: Any, call: Any, kind: type[RunError] = ConditionFailedError) -> Any:
    with pytest.raises(kind) as caught:
        store.run(call)
    return caught.value


def test_each_failed_part_is_named_with_the_stored_value(store: Any) -> None:
    stored = store.run(place(Order(order="1", status="sent", total=9)))
    error = failure(store, pay("1", 10))
    assert str(error) == (
        f"{KEY}: condition failed: status == 'open' (item has status 'sent');"
        " condition failed: total >= 10 (item has total 9)"
    )
    assert error.failed[0] == FailedPart(
        "condition",
        "status == 'open'",
        {"status": "sent"},
        "condition failed: status == 'open' (item has status 'sent')",
    )
    assert error.item == stored
    assert error.key == {"PK": "ORDER#1", "SK": "ORDER"}


def test_a_true_condition_is_left_out(store: Any) -> None:
    store.run(place(Order(order="1", total=9, note="late")))
    assert [part.text for part in failure(store, pay("1", 9)).failed] == ["note.missing()"]


def test_nested_conditions_have_python_operators_and_parentheses(store: Any) -> None:
    store.run(place(Order(order="1", total=3, tags={"a"}, address=Address(city="Bern"))))
    (part,) = failure(store, ship("1", "Basel", "b")).failed
    assert part.text == ("(address['city'] == 'Basel') | tags.contains('b') | ~((total < 5) | (tags.size() > 3))")
    assert part.stored == {"address['city']": "Bern", "tags": {"a"}, "total": 3, "tags.size()": 1}
    assert part.message.endswith("(item has address['city'] 'Bern', tags {'a'}, total 3, tags.size() 1)")


def test_absent_attributes_are_named_even_if_their_field_has_a_default(store: Any, engine: Engine) -> None:
    store.create_tables(shop)
    engine.call("PutItem", {"TableName": "shop", "Item": _item(total={"N": "9"})})
    (part,) = failure(store, pay("1", 9)).failed
    assert part.message == "condition failed: status == 'open' (item has no status)"
    assert part.stored == {"status": None}


def test_an_unreadable_item_is_compared_field_by_field(store: Any, engine: Engine) -> None:
    store.create_tables(shop)
    broken = _item(status={"S": "open"}, total={"N": "9"}, note={"S": "n"}, tags={"N": "5"})
    engine.call("PutItem", {"TableName": "shop", "Item": broken})
    error = failure(store, pay("1", 10))
    assert [part.text for part in error.failed] == ["total >= 10", "note.missing()"]
    assert error.item is None


def _item(**attributes: Any) -> dict[str, Any]:
    return {"PK": {"S": "ORDER#1"}, "SK": {"S": "ORDER"}, "order": {"S": "1"}, **attributes}


def test_assumptions_and_versions_are_distinguished_from_conditions(store: Any) -> None:
    store.run(place(Order(order="1")))
    error = failure(store, annotate("1", "n", "paid", AT))
    assert [part.origin for part in error.failed] == ["assuming", "assuming"]
    assert str(error) == (
        f"{KEY}: assumption failed: status == 'paid' (item has status 'open');"
        f" assumption failed: at == 2027-01-15T08:00:00+00:00 (item has no at)"
    )
    conflict = failure(store, rename("1", "n", 7, "paid"), VersionConflictError)
    assert (conflict.expected, conflict.found) == (7, 1)
    assert [part.origin for part in conflict.failed] == ["if_version", "condition"]
    assert str(conflict).startswith(f"{KEY}: version check failed: version == 7 (item has version 1); condition")


def test_timestamps_are_compared_in_their_stored_unit(store: Any) -> None:
    store.run(place(Order(order="1", at=AT)))
    finer = AT + timedelta(microseconds=3)
    (part,) = failure(store, annotate("1", "n", "paid", finer)).failed
    assert part.text == "status == 'paid'"
    (part,) = failure(store, stamp("1", finer, 1)).failed
    assert part.text == "total == 1"


def test_a_rejected_write_names_its_kind(store: Any) -> None:
    for call, kind in ((pay("1", 1), "update"), (change(Order(order="1")), "replace"), (is_paid("1"), "check")):
        error = failure(store, call, NotFoundError)
        assert str(error) == f"{KEY}: {kind} failed: item does not exist"
        assert [part.origin for part in error.failed] == [kind]
    store.run(place(Order(order="1")))
    assert str(failure(store, place(Order(order="1")), AlreadyExistsError)) == (
        f"{KEY}: create failed: item already exists"
    )
    assert str(failure(store, is_new("1"), AlreadyExistsError)) == f"{KEY}: check failed: item already exists"
    error = failure(store, place_again(Order(order="1")), AlreadyExistsError)
    assert str(error) == (
        f"{KEY}: create failed: item already exists; replace_if failed: status == 'sent' (item has status 'open')"
    )


def test_missing_and_expired_items_are_named(store: Any) -> None:
    error = failure(store, drop("1", "n"))
    assert str(error) == f"{KEY}: condition failed: note == 'n' (item does not exist)"
    assert (error.item, error.failed[0].stored) == (None, {})
    store.run(place(Order(order="1", note="m", expires_at=AT - timedelta(days=1))))
    assert str(failure(store, drop("1", "n"))) == (f"{KEY}: condition failed: note == 'n' (expired item has note 'm')")
    assert str(failure(store, pay("1", 1), NotFoundError)) == f"{KEY}: update failed: item has expired"


def test_long_values_are_shortened(store: Any) -> None:
    store.run(place(Order(order="1", note="m" * 5000)))
    error = failure(store, drop("1", "n" * 5000))
    assert len(str(error)) < 300
    assert error.failed[0].stored == {"note": "m" * 5000}


def test_a_failed_condition_needs_no_second_read(engine: Engine) -> None:
    sent: list[str] = []

    class Counting:
        def call(self, operation: str, request: dict[str, Any]) -> Any:
            sent.append(operation)
            return engine.call(operation, request)

        def close(self) -> None: ...

    with keyplan.connect(engine=engine) as store:
        store.run(place(Order(order="1", status="sent")))
        store.transport = Counting()
        store._call = store.transport.call
        failure(store, pay("1", 1))
    assert sent == ["UpdateItem"]


def test_a_declared_transaction_names_its_steps(store: Any) -> None:
    for number in ("1", "2", "3"):
        store.run(place(Order(order=number, total=8)))
    error = failure(store, pay_and_ship("1", "Bern"), TransactionFailedError)
    assert str(error) == (
        "no write was applied: step 2 is_paid(order='2'): Order PK='ORDER#2' SK='ORDER': condition failed:"
        " status == 'paid' (item has status 'open')"
    )
    assert [type(reason) for reason in error.reasons] == [type(None), ConditionFailedError, type(None)]


def test_a_transaction_names_the_step_with_the_duplicate_unique_value(store: Any) -> None:
    store.run(place(Order(order="1", number="N1")))
    with pytest.raises(TransactionFailedError) as caught:
        store.transact(place(Order(order="2")), place(Order(order="3", number="N1")))
    assert isinstance(caught.value.reason, UniqueTakenError)
    assert str(caught.value).startswith(
        "no write was applied: step 2 place(new=Order(order='3', status='open', number='N1'"
    )
    assert str(caught.value).endswith("number='N1' of Order is already taken by Order PK='ORDER#1' SK='ORDER'")


def test_steps_are_named_after_all_retries(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, ttl_sweep_s=None, faults=Faults(conflicts=1.0)) as engine:
        db = keyplan.connect(engine=engine, retries=Retries(attempts=2))
        with pytest.raises(WriteConflictError, match="no write was applied after 2 attempts: step ") as caught:
            db.transact(put(Order(order="1")), put(Order(order="2")))
    assert "Order PK='ORDER#" in str(caught.value)
    assert "': another transaction or write of the item is in progress" in str(caught.value)
    assert caught.value.entity == "Order"


class Cancelling:
    """A transport that cancels every transaction for the reasons given."""

    def __init__(self, *codes: str) -> None:
        self.codes = codes

    def call(self, _operation: str, _request: dict[str, Any]) -> Any:
        reasons = [{"Code": code, "Message": "the service's text"} for code in self.codes]
        raise TransactionCanceledError("Transaction cancelled", CancellationReasons=reasons)

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (
            "ProvisionedThroughputExceeded",
            ThrottledError,
            "the throughput of table shop, or of this partition, is exceeded",
        ),
        ("TransactionConflict", WriteConflictError, "another transaction or write of the item is in progress"),
        ("ItemCollectionSizeLimitExceeded", RequestRefusedError, "its item collection reached 10 GB, the maximum in"),
        ("ValidationError", RequestRefusedError, "the item has 409,651 bytes, but the limit is 409,600"),
    ],
)
def test_every_cancellation_reason_has_a_message(
    clock: ManualClock, code: str, kind: type[RunError], words: str
) -> None:
    store = Connection(Cancelling(code, "ConditionalCheckFailed"), Context(clock, b"key"))
    with pytest.raises(TransactionFailedError) as caught:
        store.transact(place(Order(order="1", note="n" * 409_600)), pay("2", 1))
    first, second = caught.value.reasons
    assert isinstance(first, kind)
    assert isinstance(second, NotFoundError)
    assert str(first).startswith(f"{KEY}: {words}")
    assert "step 1 place(new=Order(" in str(caught.value)
    assert "the service's text" not in str(caught.value)


def test_an_unknown_cancellation_reason_keeps_the_services_text(clock: ManualClock) -> None:
    store = Connection(Cancelling("ValidationError"), Context(clock, b"key"))
    with pytest.raises(TransactionFailedError, match="ORDER': the service's text"):
        store.transact(pay("1", 1))


def test_throttled_steps_are_named_after_all_retries(clock: ManualClock) -> None:
    store = Connection(Cancelling("None", "ThrottlingError"), Context(clock, b"key", Retries(attempts=2, first_s=0)))
    with pytest.raises(ThrottledError, match="after 2 attempts: step 2 pay") as caught:
        store.transact(pay("1", 1), pay("2", 1))
    assert caught.value.key == {"PK": "ORDER#2", "SK": "ORDER"}


def test_a_transactional_read_names_the_items_that_were_being_written(clock: ManualClock) -> None:
    retries = Retries(attempts=2, first_s=0)
    store = Connection(Cancelling("None", "TransactionConflict"), Context(clock, b"key", retries))
    with pytest.raises(WriteConflictError) as caught:
        store.transact_get(order("1"), order("2"))
    assert str(caught.value) == (
        "no item was read after 2 attempts: step 2 order(order='2'): Order PK='ORDER#2' SK='ORDER': another"
        " transaction or write of the item is in progress"
    )
    assert caught.value.key == {"PK": "ORDER#2", "SK": "ORDER"}


def test_a_transaction_rejected_as_a_whole_names_the_failing_steps(store: Any) -> None:
    with pytest.raises(RequestRefusedError) as twice:
        store.transact(is_paid("1"), pay("2", 1), drop("1", "n"))
    assert str(twice.value) == (
        "is_paid: the service refused the request: multiple operations on one item:"
        f" step 1 is_paid(order='1') and step 3 drop(order='1', note='n'): {KEY}"
    )
    with pytest.raises(RequestRefusedError) as many:
        store.transact(*(place(Order(order=str(number), number=str(number))) for number in range(60)))
    assert str(many.value).endswith("120 actions, but the limit is 100; 60 of them write or delete unique values")
    with pytest.raises(RequestRefusedError) as large:
        store.transact(*(place(Order(order=str(number), note="n" * 400_000)) for number in range(11)))
    assert "bytes, but the limit is 4,194,304; the largest is step 11 place(" in str(large.value)
