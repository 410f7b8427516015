"""CreateTable: its answer, the created table, refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.engine.table_making import (
    ARN,
    IN_USE,
    INVALID,
    create,
    definitions,
    describe,
    failure,
    index,
    put,
    schema,
    units,
)

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

NOW = 1_700_000_000.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


def request(**more: Any) -> dict[str, Any]:
    return {
        "TableName": "notes",
        "AttributeDefinitions": definitions(id="S"),
        "KeySchema": schema("id"),
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }


def test_the_response_for_an_on_demand_table_is_complete(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        response = create(engine)
    table_id = response.pop("TableId")
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", table_id)
    assert response == {
        "AttributeDefinitions": definitions(id="S"),
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "CreationDateTime": NOW,
        "DeletionProtectionEnabled": False,
        "ItemCount": 0,
        "KeySchema": schema("id"),
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "TableArn": ARN + "notes",
        "TableName": "notes",
        "TableSizeBytes": 0,
        "TableStatus": "CREATING",
        "TableThroughputModeSummary": {"TableThroughputMode": "PAY_PER_REQUEST"},
    }


def test_the_next_description_is_active_with_more_members(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        create(engine)
        table = describe(engine)
    assert table["TableStatus"] == "ACTIVE"
    assert table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] == table["CreationDateTime"]
    assert table["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12000,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }


def test_a_provisioned_table_has_units_and_no_billing_mode(engine: Engine) -> None:
    create(engine, ProvisionedThroughput=units(5, 7))
    table = describe(engine)
    assert table["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(5, 7)}
    assert "BillingModeSummary" not in table
    assert table["WarmThroughput"] == {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 7, "Status": "ACTIVE"}


def test_indexes_are_described_and_usable(engine: Engine) -> None:
    create(
        engine,
        AttributeDefinitions=definitions(id="S", at="N", by="S"),
        KeySchema=schema("id", "at"),
        LocalSecondaryIndexes=[index("local", "id", "by")],
        GlobalSecondaryIndexes=[
            index("over-all", "by"),
            {
                "IndexName": "some",
                "KeySchema": schema("by", "at"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["z", "a"]},
            },
        ],
    )
    put(engine, "a", at={"N": "1"}, by={"S": "me"}, text={"S": "hello"})
    table = describe(engine)
    assert table["AttributeDefinitions"] == definitions(at="N", by="S", id="S")
    (local,) = table["LocalSecondaryIndexes"]
    over_all, some = table["GlobalSecondaryIndexes"]
    assert local == {
        **index("local", "id", "by"),
        "IndexArn": ARN + "notes/index/local",
        "IndexSizeBytes": table["TableSizeBytes"],
        "ItemCount": 1,
    }
    assert over_all["IndexStatus"] == "ACTIVE"
    assert over_all["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(0, 0)}
    assert over_all["WarmThroughput"]["Status"] == "ACTIVE"
    assert "Backfilling" not in over_all
    assert some["Projection"]["NonKeyAttributes"] == ["a", "z"]
    assert some["ItemCount"] == 1
    assert some["IndexSizeBytes"] < table["TableSizeBytes"]


def test_indexes_are_created_with_their_table(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, state_delay_s=10.0) as engine:
        response = create(
            engine,
            AttributeDefinitions=definitions(id="S", by="S"),
            GlobalSecondaryIndexes=[index("mine", "by")],
        )
        assert response["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
        assert "Backfilling" not in response["GlobalSecondaryIndexes"][0]
        assert describe(engine)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
        clock.advance(10.0)
        assert describe(engine)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"


def test_an_index_key_may_have_several_attributes(engine: Engine) -> None:
    keys = [
        {"AttributeName": name, "KeyType": role}
        for name, role in (("a", "HASH"), ("b", "HASH"), ("c", "RANGE"), ("d", "RANGE"))
    ]
    create(
        engine,
        AttributeDefinitions=definitions(id="S", a="S", b="N", c="S", d="B"),
        GlobalSecondaryIndexes=[index("wide") | {"KeySchema": keys}],
    )
    assert describe(engine)["GlobalSecondaryIndexes"][0]["KeySchema"] == keys


def test_optional_settings_are_described_if_requested(engine: Engine) -> None:
    response = create(
        engine,
        DeletionProtectionEnabled=True,
        TableClass="STANDARD_INFREQUENT_ACCESS",
        SSESpecification={"Enabled": True},
        OnDemandThroughput={"MaxReadRequestUnits": 10},
        WarmThroughput={"ReadUnitsPerSecond": 13000},
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    table = describe(engine)
    assert table["DeletionProtectionEnabled"] is True
    assert table["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    encryption = table["SSEDescription"]
    assert re.fullmatch(r"arn:aws:kms:us-east-1:123456789012:key/[-0-9a-f]{36}", encryption.pop("KMSMasterKeyArn"))
    assert encryption == {"Status": "ENABLED", "SSEType": "KMS"}
    assert table["OnDemandThroughput"] == {"MaxReadRequestUnits": 10}
    assert response["WarmThroughput"]["ReadUnitsPerSecond"] == 13000
    assert table["WarmThroughput"]["WriteUnitsPerSecond"] == 4000
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert table["LatestStreamArn"] == f"{ARN}notes/stream/{table['LatestStreamLabel']}"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}", table["LatestStreamLabel"])


def test_a_kms_alias_resolves_to_one_key(engine: Engine) -> None:
    def key(name: str, key_id: str) -> str:
        specification = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key_id}
        arn: str = create(engine, name, SSESpecification=specification)["SSEDescription"]["KMSMasterKeyArn"]
        return arn

    base = "arn:aws:kms:us-east-1:123456789012:"
    mine = key("one", "alias/mine")
    assert mine.startswith(base + "key/")
    assert key("two", base + "alias/mine") == mine != key("three", "alias/yours")
    assert key("four", "1234") == key("five", base + "key/1234") == base + "key/1234"


def test_disabled_settings_are_not_described(engine: Engine) -> None:
    create(engine, SSESpecification={"Enabled": False}, StreamSpecification={"StreamEnabled": False})
    assert not {
        "SSEDescription",
        "StreamSpecification",
        "LatestStreamArn",
        "TableClassSummary",
        "OnDemandThroughput",
        "LocalSecondaryIndexes",
        "GlobalSecondaryIndexes",
        "Tags",
    } & set(describe(engine))


def test_an_existing_table_is_in_use(engine: Engine) -> None:
    create(engine)
    assert failure(engine, "CreateTable", request()) == ("ResourceInUseException", "Table already exists: notes")


def test_a_table_being_created_is_in_use(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        create(engine)
        assert failure(engine, "CreateTable", request()) == (
            "ResourceInUseException",
            IN_USE + "Table is being created: notes",
        )


def test_a_table_being_deleted_is_in_use_until_it_is_deleted(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        first = create(engine)
        clock.advance(5.0)
        engine.call("DeleteTable", {"TableName": "notes"})
        assert failure(engine, "CreateTable", request())[1] == "Table already exists: notes"
        clock.advance(5.0)
        assert create(engine)["TableId"] != first["TableId"]


def test_items_are_rejected_until_the_table_is_active(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        create(engine)
        assert describe(engine)["TableStatus"] == "CREATING"
        item = {"TableName": "notes", "Item": {"id": {"S": "a"}}}
        assert failure(engine, "PutItem", item) == ("ResourceNotFoundException", "Requested resource not found")
        clock.advance(5.0)
        engine.call("PutItem", item)
        assert describe(engine)["ItemCount"] == 1


def test_a_table_survives_reopening_the_database(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        response = create(engine)
    with Engine.open(tmp_path / "data.db") as engine:
        assert describe(engine)["TableId"] == response["TableId"]
        put(engine, "a")


def test_a_table_created_by_another_process_is_found(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as first, Engine.open(tmp_path / "data.db") as other:
        create(first)
        assert describe(other)["TableStatus"] == "ACTIVE"
        assert failure(other, "CreateTable", request())[1] == "Table already exists: notes"
        put(other, "a")
        assert describe(first)["ItemCount"] == 1


def test_the_name_may_be_an_arn(engine: Engine) -> None:
    assert create(engine, ARN + "notes")["TableName"] == "notes"


def test_responses_may_be_modified_by_the_caller(engine: Engine) -> None:
    create(engine)
    describe(engine)["KeySchema"].clear()
    assert describe(engine)["KeySchema"] == schema("id")


def test_omitted_members_are_not_described(engine: Engine) -> None:
    create(
        engine,
        AttributeDefinitions=definitions(id="S", by="S"),
        GlobalSecondaryIndexes=[
            index("mine", "by") | {"Projection": {"ProjectionType": "ALL", "NonKeyAttributes": None}}
        ],
    )
    assert describe(engine)["GlobalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "ALL"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 11999}},
            (
                "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial throughput for"
                " OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"
                "#on-demand-capacity-mode-initial"
            ),
        ),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": units(5, 5),
                "WarmThroughput": {"WriteUnitsPerSecond": 4},
            },
            (
                "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than WriteCapacityUnits of"
                " ProvisionedThroughput"
            ),
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
            "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}},
            "SSEType can not be specified if Enabled is false",
        ),
        (
            {"SSESpecification": {"Enabled": True, "KMSMasterKeyId": "mine"}},
            "SSEType KMS is required if KMSMasterKeyId is specified",
        ),
        ({"SSESpecification": {"Enabled": True, "SSEType": "AES256"}}, "SSEType AES256 is not supported"),
    ],
)
def test_invalid_settings_are_rejected(engine: Engine, more: dict[str, Any], message: str) -> None:
    assert failure(engine, "CreateTable", request(**more)) == ("ValidationException", INVALID + message)
    assert engine.call("ListTables", {}) == {"TableNames": []}


def test_a_rejected_table_leaves_nothing_behind(engine: Engine) -> None:
    tags = [{"Key": str(number), "Value": ""} for number in range(51)]
    code, message = failure(engine, "CreateTable", request(Tags=tags))
    assert (code, message) == (
        "ValidationException",
        "Number of Tags exceed the current limit for the provided ResourceArn",
    )
    assert failure(engine, "DescribeTable", {"TableName": "notes"})[0] == "ResourceNotFoundException"
