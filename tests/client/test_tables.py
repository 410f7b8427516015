"""Tables are created as declared, once; existing tables that differ, or missing ones, are reported before use."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client import board
from tests.client.board import TABLES, TaskId, UserId

import keyplan
from keyplan import (
    GSI,
    LSI,
    DesignError,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    OnDemand,
    Provisioned,
    Table,
    item,
    key,
    pk,
)
from keyplan.client.errors import TableDiffersError, TableMissingError
from keyplan.client.tables import create_request
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer


def test_tables_are_created_as_declared_and_a_second_call_changes_nothing(db: Any) -> None:
    db.create_tables(*TABLES)
    db.create_tables(*TABLES)
    description = db.describe(board.app)
    assert description["TableStatus"] == "ACTIVE"
    assert [(part["AttributeName"], part["KeyType"]) for part in description["KeySchema"]] == [
        ("PK", "HASH"),
        ("SK", "RANGE"),
    ]
    indexes = {index["IndexName"]: index for index in description["GlobalSecondaryIndexes"]}
    assert indexes["by_points"]["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]}
    types = {
        definition["AttributeName"]: definition["AttributeType"] for definition in description["AttributeDefinitions"]
    }
    assert types["points"] == "N"
    assert description["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    composite = db.describe(board.readings)["GlobalSecondaryIndexes"][0]["KeySchema"]
    assert [part["KeyType"] for part in composite] == ["HASH", "HASH", "RANGE"]


def test_an_active_table_is_described_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    table, sent, call = Table("plain", pk="id"), [], engine.call

    def recorded(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        sent.append(operation)
        return call(operation, request)

    monkeypatch.setattr(engine, "call", recorded)
    with keyplan.connect(engine=engine) as db:
        db.create_tables(table)
        assert sent[:2] == ["DescribeTable", "CreateTable"]
        sent.clear()
        db.create_tables(table)
        assert sent == ["DescribeTable"]


def test_expiry_is_enabled_on_a_table(db: Any, raw: Any) -> None:
    db.create_tables(board.app)
    response = raw(db)("DescribeTimeToLive", {"TableName": db.table_name(board.app)})
    assert response["TimeToLiveDescription"]["AttributeName"] == "expires_at"
    assert response["TimeToLiveDescription"]["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}


def test_differences_of_an_existing_table_are_listed(engine: Engine) -> None:
    was = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_day", pk="day", sk="at"), GSI("extra", pk="day")])
    keyplan.connect(engine=engine).create_tables(was)
    now = Table(
        "shop",
        pk="PK",
        sk="SK",
        stream="NEW_IMAGE",
        indexes=[
            GSI("by_day", pk="day", sk="amount", project="keys"),
            GSI("by_name", pk="name"),
            LSI("local", sk="at"),
        ],
    )

    @now.entity(key=key("S#{name}", "x"))
    class Sale(Entity):
        name: str
        day: str
        at: int
        amount: int

    db = keyplan.connect(engine=engine)
    with pytest.raises(TableDiffersError, match="table shop exists, but differs from its declaration") as caught:
        db.create_tables(now)
    assert list(caught.value.differences) == [
        "at is of type S, but N is declared",
        "the key of index by_day is day (HASH), at (RANGE), but day (HASH), amount (RANGE) is declared",
        "index by_day projects all, but keys is declared",
        "it has no index by_name",
        "it has no index local",
        "its stream is off, but NEW_IMAGE is declared",
    ]

    @now.get(Sale)
    def sale(name: str) -> ItemKey:
        return item(name=name)

    with pytest.raises(TableDiffersError):
        db.run(sale("x"))


def test_another_expiry_is_a_difference(engine: Engine) -> None:
    keyplan.connect(engine=engine).create_tables(Table("shop", pk="PK", ttl="until"))
    with pytest.raises(TableDiffersError, match="its TTL attribute is until, but gone_at is declared"):
        keyplan.connect(engine=engine).create_tables(Table("shop", pk="PK", ttl="gone_at"))


def test_provisioned_capacity_and_other_settings_are_in_the_request() -> None:
    table = Table(
        "shop",
        pk="id",
        billing=Provisioned(5, 6),
        table_class="STANDARD_INFREQUENT_ACCESS",
        deletion_protection=True,
        indexes=[GSI("one", pk="a"), GSI("two", pk="b", billing=Provisioned(1, 2))],
    )
    request = create_request(table, "real")
    assert request["TableName"] == "real"
    assert request["ProvisionedThroughput"] == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    first, second = request["GlobalSecondaryIndexes"]
    assert first["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert second["ProvisionedThroughput"] == {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}
    assert request["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert request["DeletionProtectionEnabled"] is True


def test_a_table_above_the_default_throughput_is_created_warm(engine: Engine) -> None:
    warm = Table("shop", pk="id", billing=OnDemand(warm_write=9_000), indexes=[GSI("by_day", pk="day")])
    db = keyplan.connect(engine=engine)
    db.create_tables(warm)
    description = db.describe(warm)
    assert description is not None
    for part in (description, description["GlobalSecondaryIndexes"][0]):
        assert part["WarmThroughput"]["WriteUnitsPerSecond"] == 9_000
        assert part["WarmThroughput"]["ReadUnitsPerSecond"] == 12_000
    assert "WarmThroughput" not in create_request(Table("shop", pk="id", billing=OnDemand(warm_read=5)), "real")


def test_the_embedded_engine_creates_tables_on_first_use(engine: Engine) -> None:
    db = keyplan.connect(engine=engine)
    assert db.describe(board.app) is None
    assert db.run(board.task(UserId("u"), TaskId("t"))) is None
    description = db.describe(board.app)
    assert description is not None
    assert len(description["GlobalSecondaryIndexes"]) == 2


def test_a_missing_table_elsewhere_is_reported_with_a_fix(engine: Engine) -> None:
    with ThreadedServer(engine) as server, keyplan.connect(server.url) as db:
        with pytest.raises(TableMissingError, match=r"table app.* does not exist.*create_tables") as caught:
            db.run(board.task(UserId("u"), TaskId("t")))
        assert caught.value.code == "ResourceNotFoundException"
        assert db.describe(board.app) is None


def test_invalid_designs_are_rejected_before_anything_is_sent(engine: Engine) -> None:
    table = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_state", pk="SPK", sk="SSK")])

    @table.entity(key=key("U#{user}", "O#{order}"), indexes={"by_state": key("STATE#{state}", "{total:08d}")})
    class Order(Entity):
        user: str
        order: str
        state: str
        total: int

    @table.update(Order)
    def ship(user: str, order: str) -> ItemWrite:
        return item(user=user, order=order).set(state="shipped")

    @table.query(Order)
    def by_order(order: str) -> KeyCondition:
        return pk(order=order)

    db = keyplan.connect(engine=engine)
    with pytest.raises(DesignError, match="the index would go stale") as caught:
        db.run(ship("u", "o"))
    assert caught.value.code == "KP401"
    with pytest.raises(DesignError) as caught:
        db.run(by_order("o"))
    assert caught.value.code == "KP301"
    with pytest.raises(DesignError):
        db.transact(ship("u", "o"))
    assert engine.call("ListTables", {})["TableNames"] == []


def test_a_table_that_the_service_would_reject_is_rejected_with_its_fault(engine: Engine) -> None:
    table = Table("ab", pk="PK")

    @table.entity(key=key("X#{name}"))
    class Thing(Entity):
        name: str

    @table.put(Thing)
    def save(new: Thing) -> ItemWrite:
        return item(new)

    db = keyplan.connect(engine=engine)
    for use in (lambda: db.run(save(Thing(name="x"))), lambda: db.create_tables(table)):
        with pytest.raises(DesignError, match="cannot be the name of a table") as caught:
            use()
        assert caught.value.code == "KP109"
