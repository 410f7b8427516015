"""UpdateTable: global indexes created, updated and deleted on a table with items."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.table_making import (
    ARN,
    IN_USE,
    INVALID,
    add_index,
    create,
    definitions,
    describe,
    failure,
    index,
    put,
    scan,
    schema,
    units,
    update,
    update_failure,
)

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

AT_ONCE = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


def with_index(engine: Engine, **more: Any) -> None:
    create(
        engine,
        AttributeDefinitions=definitions(id="S", tagKey="S"),
        GlobalSecondaryIndexes=[index("tag", "tagKey", **more.pop("index", {}))],
        **more,
    )


def create_index(*keys: str, name: str = "new", **more: Any) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Create": index(name, *keys, **more)}]}


def delete_index(name: str) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}


def update_index(name: str, **more: Any) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": name, **more}}]}


# Create.


def test_the_response_describes_the_new_index(engine: Engine) -> None:
    create(engine)
    response = add_index(engine, "tag")
    assert response["TableStatus"] == "UPDATING"
    (indexes,) = response["GlobalSecondaryIndexes"]
    assert (indexes["IndexStatus"], indexes["Backfilling"]) == ("CREATING", False)
    assert indexes["IndexArn"] == ARN + "notes/index/tag"
    assert response["AttributeDefinitions"] == definitions(id="S", tagKey="S")


def test_existing_items_are_in_the_new_index(engine: Engine) -> None:
    create(engine)
    for number in range(5):
        put(engine, str(number), tagKey={"S": f"key {number % 2}"})
    put(engine, "sparse")
    add_index(engine, "tag")
    (indexes,) = describe(engine)["GlobalSecondaryIndexes"]
    assert indexes["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in indexes
    assert indexes["ItemCount"] == 5
    assert scan(engine, "tag") == ["0", "1", "2", "3", "4"]
    put(engine, "later", tagKey={"S": "key 2"})
    assert scan(engine, "tag")[-1] == "later"


@pytest.mark.parametrize(
    "odd",
    [{"N": "7"}, {"S": ""}, {"L": [{"S": "x"}]}, {"M": {}}, {"BOOL": True}, {"S": "x" * 2049}, {"SS": ["x"]}],
    ids=lambda value: next(iter(value)),
)
def test_items_with_invalid_index_keys_are_skipped(engine: Engine, odd: dict[str, Any]) -> None:
    create(engine)
    put(engine, "fits", tagKey={"S": "x"})
    put(engine, "odd", tagKey=odd)
    add_index(engine, "tag")
    assert scan(engine, "tag") == ["fits"]
    engine.call("DeleteItem", {"TableName": "notes", "Key": {"id": {"S": "odd"}}})
    assert scan(engine, "tag") == ["fits"]


def test_a_skipped_item_enters_the_index_when_it_is_corrected(engine: Engine) -> None:
    create(engine)
    put(engine, "odd", tagKey={"N": "7"})
    add_index(engine, "tag")
    put(engine, "odd", tagKey={"S": "seven"})
    assert scan(engine, "tag") == ["odd"]


def test_the_new_index_validates_its_key(engine: Engine) -> None:
    create(engine)
    add_index(engine, "tag")
    request = {"TableName": "notes", "Item": {"id": {"S": "a"}, "tagKey": {"N": "1"}}}
    code, message = failure(engine, "PutItem", request)
    assert code == "ValidationException"
    assert "Type mismatch for Index Key tagKey" in message


def test_the_backfill_applies_the_projection(engine: Engine) -> None:
    create(engine)
    put(engine, "a", tagKey={"S": "x"}, wanted={"S": "yes"}, other={"S": "no"})
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["wanted"]}
    update(
        engine,
        AttributeDefinitions=definitions(tagKey="S"),
        **create_index("tagKey", Projection=projection),
    )
    items = engine.call("Scan", {"TableName": "notes", "IndexName": "new"})["Items"]
    assert items == [{"id": {"S": "a"}, "tagKey": {"S": "x"}, "wanted": {"S": "yes"}}]


def test_unused_attribute_definitions_are_ignored(engine: Engine) -> None:
    create(engine)
    update(engine, AttributeDefinitions=definitions(tagKey="S", idle="N", id="B"), **create_index("tagKey"))
    assert describe(engine)["AttributeDefinitions"] == definitions(id="S", tagKey="S")


def test_a_key_attribute_keeps_its_type(engine: Engine) -> None:
    with_index(engine)
    assert update_failure(engine, AttributeDefinitions=definitions(tagKey="N"), **create_index("tagKey")) == (
        "ValidationException",
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
        "defined. Existing schema: Schema:[SchemaElement: key{tagKey:S:HASH}] "
        "New schema: Schema:[SchemaElement: key{tagKey:N:HASH}]",
    )


@pytest.mark.parametrize("name", ["local", "over-all"])
def test_an_index_name_is_unique(engine: Engine, name: str) -> None:
    create(
        engine,
        AttributeDefinitions=definitions(id="S", at="S", tagKey="S"),
        KeySchema=schema("id", "at"),
        LocalSecondaryIndexes=[index("local", "id", "tagKey")],
        GlobalSecondaryIndexes=[index("over-all", "tagKey")],
    )
    changes = create_index("tagKey", name=name)
    assert update_failure(engine, AttributeDefinitions=definitions(tagKey="S"), **changes) == (
        "ValidationException",
        "Attempting to create an index which already exists",
    )


def test_only_one_index_changes_per_request(engine: Engine) -> None:
    with_index(engine)
    two = [{"Create": index("one", "tagKey")}, {"Delete": {"IndexName": "tag"}}]
    changes = {"AttributeDefinitions": definitions(tagKey="S"), "GlobalSecondaryIndexUpdates": two}
    assert update_failure(engine, **changes) == ("LimitExceededException", AT_ONCE)


def test_more_than_twenty_indexes_are_rejected(engine: Engine) -> None:
    create(
        engine,
        AttributeDefinitions=definitions(id="S", tagKey="S"),
        GlobalSecondaryIndexes=[index(f"by-{number}", "tagKey") for number in range(20)],
    )
    assert update_failure(engine, AttributeDefinitions=definitions(tagKey="S"), **create_index("tagKey")) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20",
    )


def test_units_of_a_new_index_depend_on_the_billing_mode(engine: Engine) -> None:
    create(engine)
    changes = create_index("tagKey", ProvisionedThroughput=units(1, 1))
    assert update_failure(engine, AttributeDefinitions=definitions(tagKey="S"), **changes)[1] == (
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new "
        "when BillingMode is PAY_PER_REQUEST"
    )
    update(engine, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1))
    assert update_failure(engine, AttributeDefinitions=definitions(tagKey="S"), **create_index("tagKey"))[1] == (
        INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"
    )
    update(engine, AttributeDefinitions=definitions(tagKey="S"), **changes)
    (indexes,) = describe(engine)["GlobalSecondaryIndexes"]
    assert indexes["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(1, 1)}


def test_an_index_is_created_in_two_phases_with_the_delay() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        create(engine)
        clock.advance(5.0)
        put(engine, "a", tagKey={"S": "x"})
        add_index(engine, "tag")
        table = describe(engine)
        assert table["TableStatus"] == "UPDATING"
        (indexes,) = table["GlobalSecondaryIndexes"]
        assert (indexes["IndexStatus"], indexes["Backfilling"]) == ("CREATING", False)
        assert update_failure(engine, **delete_index("tag")) == (
            "ResourceInUseException",
            IN_USE + "Index creation is in resource allocation phase. Retry deletion during backfilling phase or "
            "when the index is active. Table: notes Index: tag",
        )
        maxima = {"IndexName": "tag", "OnDemandThroughput": {"MaxReadRequestUnits": 5}}
        assert update_failure(engine, GlobalSecondaryIndexUpdates=[{"Update": maxima}]) == (
            "ResourceInUseException",
            IN_USE + "Index is being created but is not backfilling yet.  Table: notes Index: tag",
        )
        assert update_failure(engine, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}) == (
            "ResourceInUseException",
            IN_USE + "Can't change stream status when an index is being created. Table: notes Indexes: [tag]",
        )
        clock.advance(5.0)
        table = describe(engine)
        assert table["TableStatus"] == "ACTIVE"
        (indexes,) = table["GlobalSecondaryIndexes"]
        assert (indexes["IndexStatus"], indexes["Backfilling"]) == ("CREATING", True)
        reading = failure(engine, "Scan", {"TableName": "notes", "IndexName": "tag"})
        assert reading == ("ValidationException", "Cannot read from backfilling global secondary index: tag")
        put(engine, "b", tagKey={"S": "x"})
        assert failure(engine, "DeleteTable", {"TableName": "notes"}) == (
            "ResourceInUseException",
            IN_USE + "Cannot delete table while indexes are being created, updated, or deleted.",
        )
        another = {"AttributeDefinitions": definitions(tagKey="S"), **create_index("tagKey")}
        assert update_failure(engine, **another) == ("LimitExceededException", AT_ONCE)
        clock.advance(5.0)
        assert scan(engine, "tag") == ["a", "b"]
        assert describe(engine)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"


def test_an_index_being_filled_can_be_deleted() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        create(engine)
        clock.advance(5.0)
        add_index(engine, "tag")
        clock.advance(5.0)
        assert describe(engine)["GlobalSecondaryIndexes"][0]["Backfilling"] is True
        update(engine, **delete_index("tag"))
        clock.advance(5.0)
        assert "GlobalSecondaryIndexes" not in describe(engine)
        add_index(engine, "tag")


# Delete.


def test_a_deleted_index_is_removed_with_its_attribute(engine: Engine) -> None:
    with_index(engine)
    put(engine, "a", tagKey={"S": "x"})
    response = update(engine, **delete_index("tag"))
    assert response["TableStatus"] == "UPDATING"
    assert response["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    table = describe(engine)
    assert "GlobalSecondaryIndexes" not in table
    assert table["AttributeDefinitions"] == definitions(id="S")
    assert failure(engine, "Scan", {"TableName": "notes", "IndexName": "tag"})[0] == "ValidationException"
    put(engine, "a", tagKey={"N": "1"})
    assert update_failure(engine, **delete_index("tag")) == (
        "ResourceNotFoundException",
        "Requested resource not found: Index tag for table notes",
    )


def test_an_attribute_used_by_another_index_is_kept(engine: Engine) -> None:
    create(
        engine,
        AttributeDefinitions=definitions(id="S", at="S", tagKey="S"),
        KeySchema=schema("id", "at"),
        LocalSecondaryIndexes=[index("local", "id", "tagKey")],
        GlobalSecondaryIndexes=[index("over-all", "tagKey")],
    )
    update(engine, **delete_index("over-all"))
    assert describe(engine)["AttributeDefinitions"] == definitions(at="S", id="S", tagKey="S")
    assert update_failure(engine, **delete_index("local")) == (
        "ValidationException",
        "Cannot delete an index that is not a GlobalSecondaryIndex: local",
    )


def test_an_index_can_be_created_again(engine: Engine) -> None:
    with_index(engine)
    put(engine, "a", tagKey={"S": "x"})
    update(engine, **delete_index("tag"))
    put(engine, "b", tagKey={"S": "x"})
    add_index(engine, "tag")
    assert scan(engine, "tag") == ["a", "b"]


def test_an_index_is_being_deleted_for_as_long_as_the_delay() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        with_index(engine)
        clock.advance(5.0)
        update(engine, **delete_index("tag"))
        table = describe(engine)
        assert table["TableStatus"] == "UPDATING"
        assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
        assert failure(engine, "DeleteTable", {"TableName": "notes"})[0] == "ResourceInUseException"
        assert update_failure(engine, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}) == (
            "ResourceInUseException",
            IN_USE + "Can't change stream status when an index is being deleted. Table: notes Indexes: [tag]",
        )
        warm = update_index("tag", WarmThroughput={"ReadUnitsPerSecond": 13000})
        assert update_failure(engine, **warm) == (
            "ResourceInUseException",
            IN_USE + "Index is being deleted. Table: notes Index: tag",
        )
        clock.advance(5.0)
        assert "GlobalSecondaryIndexes" not in describe(engine)


def test_the_billing_mode_cannot_change_while_an_index_is_being_deleted() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        with_index(engine, ProvisionedThroughput=units(1, 1), index={"ProvisionedThroughput": units(1, 1)})
        clock.advance(5.0)
        update(engine, **delete_index("tag"))
        assert update_failure(engine, BillingMode="PAY_PER_REQUEST") == (
            "ResourceInUseException",
            IN_USE + "Can't change table IOPS when an index is being deleted. Table: notes Indexes: [tag]",
        )
        clock.advance(5.0)
        assert update(engine, BillingMode="PAY_PER_REQUEST")["TableStatus"] == "UPDATING"


def test_an_index_is_neither_created_nor_deleted_while_the_table_changes() -> None:
    on = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    infrequent = {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    more = {"ProvisionedThroughput": units(3, 3)}
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=5.0) as engine:
        with_index(engine, ProvisionedThroughput=units(1, 1), index={"ProvisionedThroughput": units(1, 1)})
        for change, reason in (
            (on, "create or delete an index when stream status is being updated. "),
            (infrequent, "create or delete an index when a table class update is in progress. "),
            (more, "create or delete indexes while table IOPS are being updated. "),
        ):
            clock.advance(5.0)
            update(engine, **change)
            code, text = update_failure(engine, **delete_index("tag"))
            assert code == "ResourceInUseException"
            assert text.startswith(f"{IN_USE}Can't {reason}Table: notes")


# Update.


def test_units_of_an_index_are_changed(engine: Engine) -> None:
    with_index(engine, ProvisionedThroughput=units(1, 1), index={"ProvisionedThroughput": units(2, 2)})
    response = update(engine, **update_index("tag", ProvisionedThroughput=units(3, 2)))
    assert response["TableStatus"] == "ACTIVE"
    (indexes,) = response["GlobalSecondaryIndexes"]
    assert indexes["IndexStatus"] == "UPDATING"
    assert indexes["ProvisionedThroughput"]["ReadCapacityUnits"] == 2
    (indexes,) = describe(engine)["GlobalSecondaryIndexes"]
    assert (indexes["IndexStatus"], indexes["ProvisionedThroughput"]["ReadCapacityUnits"]) == ("ACTIVE", 3)


def test_units_of_an_index_must_change(engine: Engine) -> None:
    with_index(engine, ProvisionedThroughput=units(1, 1), index={"ProvisionedThroughput": units(2, 2)})
    assert update_failure(engine, **update_index("tag", ProvisionedThroughput=units(2, 2))) == (
        "ValidationException",
        (
            "The provisioned throughput for the index tag will not change. "
            "The requested value equals the current value. "
            "Current ReadCapacityUnits provisioned for index tag: 2. Requested ReadCapacityUnits: 2. "
            "Current WriteCapacityUnits provisioned for index tag: 2. Requested WriteCapacityUnits: 2. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        ),
    )


@pytest.mark.parametrize("changes", [{"ProvisionedThroughput": units(2, 2)}, {"OnDemandThroughput": {}}, {}])
def test_an_index_of_an_on_demand_table_has_no_units(engine: Engine, changes: dict[str, Any]) -> None:
    with_index(engine)
    assert update_failure(engine, **update_index("tag", **changes)) == (
        "ValidationException",
        INVALID + "The only Updates for index: tag when TableThroughputMode is PAY_PER_REQUEST "
        "can be to OnDemandThroughput, WarmThroughput",
    )


def test_maxima_and_warm_throughput_of_an_index_are_changed(engine: Engine) -> None:
    with_index(engine)
    update(engine, **update_index("tag", OnDemandThroughput={"MaxReadRequestUnits": 50}))
    update(engine, **update_index("tag", WarmThroughput={"ReadUnitsPerSecond": 12500}))
    (indexes,) = describe(engine)["GlobalSecondaryIndexes"]
    assert indexes["OnDemandThroughput"] == {"MaxReadRequestUnits": 50}
    assert indexes["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12500,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }
    assert update_failure(engine, **update_index("tag", WarmThroughput={"ReadUnitsPerSecond": 12499}))[1] == (
        INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for index tag is lower than current WarmThroughput,"
        " decreasing WarmThroughput is not supported"
    )


@pytest.mark.parametrize("kind", ["Update", "Delete"])
def test_a_missing_index_is_rejected(engine: Engine, kind: str) -> None:
    create(engine)
    change = {"IndexName": "ghost"}
    if kind == "Update":
        change["WarmThroughput"] = {"ReadUnitsPerSecond": 12000}  # type: ignore[assignment]
    assert update_failure(engine, GlobalSecondaryIndexUpdates=[{kind: change}]) == (
        "ResourceNotFoundException",
        "Requested resource not found: Index ghost for table notes",
    )


def test_one_request_adds_an_index_and_changes_units_of_another(engine: Engine) -> None:
    with_index(engine, ProvisionedThroughput=units(1, 1), index={"ProvisionedThroughput": units(1, 1)})
    update(
        engine,
        AttributeDefinitions=definitions(other="S"),
        GlobalSecondaryIndexUpdates=[
            {"Create": index("new", "other", ProvisionedThroughput=units(1, 1))},
            {"Update": {"IndexName": "tag", "ProvisionedThroughput": units(2, 2)}},
        ],
    )
    first, second = describe(engine)["GlobalSecondaryIndexes"]
    assert first["ProvisionedThroughput"]["ReadCapacityUnits"] == 2
    assert second["IndexName"] == "new"


def test_a_new_index_cannot_be_combined_with_other_changes(engine: Engine) -> None:
    create(engine, ProvisionedThroughput=units(1, 1))
    new = {
        "AttributeDefinitions": definitions(tagKey="S"),
        **create_index("tagKey", ProvisionedThroughput=units(1, 1)),
    }
    assert update_failure(engine, **new, ProvisionedThroughput=units(2, 2))[1] == (
        INVALID + "You cannot create or delete index while updating table IOPS"
    )
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert update_failure(engine, **new, StreamSpecification=stream)[1] == (
        INVALID + "You cannot create or delete index while changing stream status"
    )
    assert update_failure(engine, **new, WarmThroughput={"ReadUnitsPerSecond": 13000})[1] == (
        INVALID + "Create global secondary index cannot be specified when updating WarmThroughput"
    )
