"""Index keys stay right: whatever is updated in whatever order, they are those of the whole entity."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client import board
from tests.client.board import Priority, Task, TaskId, UserId
from tests.client.conftest import NOW
from tests.laws import examples

import keyplan
from keyplan import GSI, Entity, F, ItemWrite, KeyCondition, Table, item, key, pk
from keyplan.client.connection import Connection
from keyplan.client.errors import ConditionFailedError
from keyplan.clock import ManualClock
from keyplan.design.entities import spec_of
from keyplan.design.requests.items import item_builder
from keyplan.engine.engine import Engine

UID, TID = UserId("u"), TaskId("t")
TIMESTAMPS = [None, *(datetime.fromtimestamp(NOW, UTC) + timedelta(hours=n) for n in range(3))]
KEY = {"PK": {"S": "USER#u"}, "SK": {"S": "TASK#t"}}

statuses = st.sampled_from(["open", "done"])
timestamps = st.sampled_from(TIMESTAMPS)
points = st.sampled_from([None, 0, 7])
priorities = st.sampled_from(list(Priority))
updates = st.one_of(
    st.tuples(st.just("finish")),
    st.tuples(st.just("due"), timestamps, statuses),
    st.tuples(st.just("status"), statuses, timestamps),
    st.tuples(st.just("points"), points, priorities),
    st.tuples(st.just("priority"), priorities, points),
    st.tuples(st.just("refer"), st.sampled_from([None, "a", "b"])),
)
CALLS: dict[str, Any] = {
    "finish": board.finish,
    "due": board.set_due,
    "status": board.set_status,
    "points": board.set_points,
    "priority": board.set_priority,
    "refer": board.refer,
}


def stored(db: Connection) -> dict[str, Any]:
    response: dict[str, Any] = db.transport.call("GetItem", {"TableName": "app", "Key": KEY, "ConsistentRead": True})
    return response["Item"]  # type: ignore[no-any-return]


@settings(max_examples=examples(60), deadline=None)
@given(statuses, timestamps, points, priorities, st.lists(updates, min_size=1, max_size=12))
def test_stored_keys_after_any_updates_equal_those_of_the_whole_entity(
    status: Any, due_at: Any, count: Any, priority: Any, steps: list[tuple[Any, ...]]
) -> None:
    with Engine.memory(clock=ManualClock(NOW), ttl_sweep_s=None) as engine:
        db = keyplan.connect(engine=engine)
        db.run(
            board.add_task(
                Task(user_id=UID, task_id=TID, title="t", status=status, due_at=due_at, points=count, priority=priority)
            )
        )
        for name, *arguments in steps:
            with contextlib.suppress(ConditionFailedError):  # what was said to be known was not so
                db.run(CALLS[name](UID, TID, *arguments))
            entity = db.run(board.task(UID, TID))
            assert entity is not None
            assert stored(db) == item_builder(spec_of(Task)).item(entity)
            due = entity.status == "open" and entity.due_at is not None
            assert len(db.run(board.tasks_due(UID, datetime.max.replace(tzinfo=UTC)))) == due


def test_leaving_an_index_keeps_the_attributes_of_other_indexes() -> None:
    with keyplan.connect(":memory:") as db:
        db.run(
            board.add_task(
                Task(user_id=UID, task_id=TID, title="t", points=3, due_at=TIMESTAMPS[1], priority=Priority.high)
            )
        )
        db.run(board.finish(UID, TID))
        item = stored(db)
        assert "GSI1PK" not in item
        assert item["GSI2PK"] == {"S": "POINTS#high"}


def test_a_field_of_the_key_template_that_is_an_index_key_is_also_an_attribute() -> None:
    shop = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_customer", pk="customer", sk="number")])

    @shop.entity(key=key("CUSTOMER#{customer}", "ORDER#{number:06d}"), store_key_fields=False)
    class Order(Entity):
        customer: str
        number: int

    @shop.create(Order)
    def place(order: Order) -> ItemWrite:
        """Place an order."""
        return item(order)

    @shop.query(Order, index="by_customer")
    def of_customer(customer: str) -> KeyCondition:
        """Return the orders of a customer."""
        return pk(customer=customer)

    with Engine.memory() as engine, keyplan.connect(engine=engine) as db:
        db.run(place(Order(customer="ada", number=7)))
        assert db.run(of_customer("ada")).items == (Order(customer="ada", number=7),)
        (stored,) = engine.call("Scan", {"TableName": "shop"})["Items"]
    assert stored == {
        "PK": {"S": "CUSTOMER#ada"},
        "SK": {"S": "ORDER#000007"},
        "customer": {"S": "ada"},
        "number": {"N": "7"},
    }


def test_only_named_fields_of_the_key_are_stored_as_attributes() -> None:
    shop = Table("shop", pk="PK", sk="SK")

    @shop.entity(key=key("CUSTOMER#{customer}", "ORDER#{at:utc_s}#{number:06d}"), store_key_fields=["customer", "at"])
    class Order(Entity):
        customer: str
        at: datetime
        number: int

    assert spec_of(Order).key_only_fields == {"number"}
    order = Order(customer="ada", at=datetime(2026, 1, 1, microsecond=5, tzinfo=UTC), number=7)
    with Engine.memory() as engine, keyplan.connect(engine=engine) as db:
        db.create(order)
        assert db.get(Order, customer="ada", at=order.at, number=7) == order
        assert db.query(Order, pk(customer="ada").filter(F.customer == "ada")) == [order]
        (stored,) = engine.call("Scan", {"TableName": "shop"})["Items"]
    assert stored == {
        "PK": {"S": "CUSTOMER#ada"},
        "SK": {"S": "ORDER#2026-01-01T00:00:00Z#000007"},
        "customer": {"S": "ada"},
        "at": {"S": "2026-01-01T00:00:00.000005Z"},
    }


def test_index_attributes_may_have_any_valid_name() -> None:
    shop = Table("shop", pk="p-k", sk="s.k", indexes=[GSI("by_state", pk="gsi1-pk", sk="gsi1.sk")], ttl="ex-p")

    @shop.entity(
        key=key("ORDER#{number}", "ORDER"),
        indexes={"by_state": key("STATE#{state}", "{number}", only_if=F.state != "")},
    )
    class Order(Entity):
        number: str
        state: str = "new"

    @shop.create(Order)
    def place(order: Order) -> ItemWrite:
        """Place an order."""
        return item(order)

    @shop.update(Order)
    def move(number: str, state: str) -> ItemWrite:
        """Put an order into another state."""
        return item(number=number).set(state=state)

    @shop.query(Order, index="by_state")
    def in_state(state: str) -> KeyCondition:
        """Return the orders in a state."""
        return pk(state=state)

    with Engine.memory() as engine, keyplan.connect(engine=engine) as db:
        db.run(place(Order(number="7")))
        db.run(move("7", "sent"))
        assert [task.number for task in db.run(in_state("sent"))] == ["7"]
        db.run(move("7", ""))
        assert db.run(in_state("sent")).items == ()
