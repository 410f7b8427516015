"""UpdateTable: capacity, billing mode, stream, class, encryption, protection; not indexes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.engine.table_making import (
    IN_USE,
    INVALID,
    create,
    definitions,
    describe,
    failure,
    index,
    put,
    units,
    update,
    update_failure,
)

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.tables import counts

DAY_S = 24 * 3600.0
STREAM_ON = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
STREAM_OFF = {"StreamEnabled": False}
REFER = "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def slow(clock: ManualClock) -> Iterator[Engine]:
    """Yield an engine whose changes take ten seconds of a clock that stands still."""
    with Engine.memory(clock=clock, state_delay_s=10.0) as engine:
        yield engine


def provisioned(engine: Engine, **more: Any) -> None:
    create(engine, ProvisionedThroughput=units(2, 2), **more)


def with_index(engine: Engine, **more: Any) -> None:
    create(engine, AttributeDefinitions=definitions(id="S", by="S"), **more)


# Provisioned throughput.


def test_the_response_has_the_old_units_and_the_description_the_new_ones(engine: Engine) -> None:
    provisioned(engine)
    response = update(engine, ProvisionedThroughput=units(3, 1))
    assert response["TableStatus"] == "UPDATING"
    assert response["ProvisionedThroughput"]["ReadCapacityUnits"] == 2
    assert response["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    table = describe(engine)
    assert table["TableStatus"] == "ACTIVE"
    capacity = table["ProvisionedThroughput"]
    assert (capacity["ReadCapacityUnits"], capacity["WriteCapacityUnits"]) == (3, 1)
    assert capacity["NumberOfDecreasesToday"] == 1
    assert capacity["LastIncreaseDateTime"] == capacity["LastDecreaseDateTime"]


def test_decreases_are_counted_per_day(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        create(engine, ProvisionedThroughput=units(9, 9))
        for read in (8, 7):
            update(engine, ProvisionedThroughput=units(read, 9))
        assert describe(engine)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 2
        clock.advance(DAY_S)
        assert describe(engine)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
        update(engine, ProvisionedThroughput=units(6, 9))
        assert describe(engine)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1


@pytest.mark.parametrize("more", [{}, {"BillingMode": "PROVISIONED"}])
def test_units_must_change(engine: Engine, more: dict[str, Any]) -> None:
    provisioned(engine)
    assert update_failure(engine, ProvisionedThroughput=units(2, 2), **more) == (
        "ValidationException",
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 2. Requested ReadCapacityUnits: 2. "
        "Current WriteCapacityUnits provisioned for the table: 2. Requested WriteCapacityUnits: 2. " + REFER,
    )


def test_an_on_demand_table_has_no_units(engine: Engine) -> None:
    create(engine)
    assert update_failure(engine, ProvisionedThroughput=units(2, 2)) == (
        "ValidationException",
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    )


def test_a_change_takes_as_long_as_the_delay(slow: Engine, clock: ManualClock) -> None:
    provisioned(slow)
    assert update_failure(slow, ProvisionedThroughput=units(3, 3)) == (
        "ResourceInUseException",
        IN_USE + "Table is being created: notes",
    )
    clock.advance(10.0)
    update(slow, ProvisionedThroughput=units(3, 3))
    table = describe(slow)
    assert table["TableStatus"] == "UPDATING"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 2
    put(slow, "a")  # items are served all the time
    assert update_failure(slow, ProvisionedThroughput=units(4, 4)) == (
        "ResourceInUseException",
        IN_USE + "Table IOPS are currently being updated. Table: notes",
    )
    assert update_failure(slow, StreamSpecification=STREAM_ON) == (
        "ResourceInUseException",
        IN_USE + "Can't enable or disable stream while table IOPS are being updated. Table: notes",
    )
    update(slow, DeletionProtectionEnabled=True)
    clock.advance(10.0)
    table = describe(slow)
    assert (table["TableStatus"], table["ProvisionedThroughput"]["ReadCapacityUnits"]) == ("ACTIVE", 3)


def test_a_table_being_deleted_cannot_change(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    slow.call("DeleteTable", {"TableName": "notes"})
    assert update_failure(slow, DeletionProtectionEnabled=True) == (
        "ResourceInUseException",
        IN_USE + "Table is being deleted: notes",
    )


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    assert failure(engine, "UpdateTable", {"TableName": "notes", "BillingMode": "PAY_PER_REQUEST"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: notes not found",
    )


# Billing mode.


def test_a_table_switches_to_on_demand_and_back(engine: Engine) -> None:
    with_index(
        engine,
        ProvisionedThroughput=units(2, 2),
        GlobalSecondaryIndexes=[index("mine", "by", ProvisionedThroughput=units(1, 1))],
    )
    response = update(engine, BillingMode="PAY_PER_REQUEST")
    assert response["TableStatus"] == "UPDATING"
    assert response["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    for described in (response, response["GlobalSecondaryIndexes"][0]):
        assert described["ProvisionedThroughput"].pop("LastDecreaseDateTime") > 0
        assert described["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(0, 0)}
    assert response["WarmThroughput"]["ReadUnitsPerSecond"] == 2
    table = describe(engine)
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert "LastDecreaseDateTime" not in table["ProvisionedThroughput"]
    since = table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"]
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 12000
    change = {"IndexName": "mine", "ProvisionedThroughput": units(4, 4)}
    response = update(
        engine,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(3, 3),
        GlobalSecondaryIndexUpdates=[{"Update": change}],
    )
    for table in (response, describe(engine)):
        assert table["BillingModeSummary"] == {
            "BillingMode": "PROVISIONED",
            "LastUpdateToPayPerRequestDateTime": since,
        }
        assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
        assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 4
        assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 12000


def test_every_index_needs_units_too(engine: Engine) -> None:
    with_index(engine, GlobalSecondaryIndexes=[index("mine", "by")])
    assert update_failure(engine, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1)) == (
        "ValidationException",
        INVALID + "ProvisionedThroughput must be specified for index: mine",
    )


def test_switching_to_the_same_mode_changes_nothing(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    before = describe(slow)
    for _ in range(2):
        assert update(slow, BillingMode="PAY_PER_REQUEST")["TableStatus"] == "UPDATING"
        assert describe(slow) == before


def test_a_switch_is_rejected_during_other_capacity_changes(slow: Engine, clock: ManualClock) -> None:
    provisioned(slow)
    clock.advance(10.0)
    in_use = ("ResourceInUseException", IN_USE + "Table IOPS are currently being updated. Table: notes")
    update(slow, ProvisionedThroughput=units(3, 3))
    assert update_failure(slow, BillingMode="PAY_PER_REQUEST") == in_use
    clock.advance(10.0)
    update(slow, BillingMode="PAY_PER_REQUEST")
    assert update_failure(slow, BillingMode="PAY_PER_REQUEST") == in_use
    assert update_failure(slow, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1)) == in_use


def test_a_switch_to_provisioned_cannot_be_reverted_in_progress(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    update(slow, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1))
    assert update(slow, BillingMode="PAY_PER_REQUEST")["TableStatus"] == "UPDATING"
    clock.advance(10.0)
    table = describe(slow)
    assert (table["TableStatus"], table["BillingModeSummary"]["BillingMode"]) == ("ACTIVE", "PROVISIONED")
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 1


def test_a_switch_removes_the_maxima(engine: Engine) -> None:
    create(engine, OnDemandThroughput={"MaxReadRequestUnits": 5})
    update(engine, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1))
    assert "OnDemandThroughput" not in describe(engine)


# Maxima and warm throughput.


def test_maxima_are_set_and_removed_individually(engine: Engine) -> None:
    create(engine)
    response = update(engine, OnDemandThroughput={"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 5})
    assert response["TableStatus"] == "ACTIVE"
    assert response["OnDemandThroughput"] == {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 5}
    response = update(engine, OnDemandThroughput={"MaxReadRequestUnits": -1})
    assert response["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 5}
    assert describe(engine)["OnDemandThroughput"] == {"MaxWriteRequestUnits": 5}
    response = update(engine, OnDemandThroughput={"MaxWriteRequestUnits": -1})
    assert response["OnDemandThroughput"] == {"MaxWriteRequestUnits": -1}
    assert "OnDemandThroughput" not in describe(engine)


def test_invalid_maxima_are_rejected(engine: Engine) -> None:
    create(engine)
    assert update_failure(engine, OnDemandThroughput={"MaxWriteRequestUnits": -2}) == (
        "ValidationException",
        INVALID + "Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range",
    )
    create(engine, "fixed", ProvisionedThroughput=units(1, 1))
    request = {"TableName": "fixed", "OnDemandThroughput": {"MaxReadRequestUnits": 1}}
    assert failure(engine, "UpdateTable", request) == (
        "ValidationException",
        INVALID
        + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
    )


def test_warm_throughput_increases(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    response = update(slow, WarmThroughput={"ReadUnitsPerSecond": 12001})
    assert response["TableStatus"] == "ACTIVE"
    assert response["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12000,
        "WriteUnitsPerSecond": 4000,
        "Status": "UPDATING",
    }
    clock.advance(10.0)
    assert describe(slow)["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12001,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }


def test_one_request_warms_a_table_and_its_indexes(slow: Engine, clock: ManualClock) -> None:
    with_index(slow, GlobalSecondaryIndexes=[index("mine", "by")])
    clock.advance(10.0)
    warm = {"ReadUnitsPerSecond": 12345, "WriteUnitsPerSecond": 4567}
    response = update(
        slow,
        WarmThroughput=warm,
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "mine", "WarmThroughput": warm}}],
    )
    assert response["WarmThroughput"]["Status"] == "UPDATING"
    assert response["GlobalSecondaryIndexes"][0]["WarmThroughput"]["Status"] == "UPDATING"
    clock.advance(10.0)
    table = describe(slow)
    assert table["WarmThroughput"] == {**warm, "Status": "ACTIVE"}
    assert table["GlobalSecondaryIndexes"][0]["WarmThroughput"] == {**warm, "Status": "ACTIVE"}


def test_warm_throughput_never_decreases(engine: Engine) -> None:
    create(engine, WarmThroughput={"WriteUnitsPerSecond": 4100})
    assert update_failure(engine, WarmThroughput={"WriteUnitsPerSecond": 4099}) == (
        "ValidationException",
        INVALID + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput,"
        " decreasing WarmThroughput is not supported",
    )
    response = update(engine, WarmThroughput={"WriteUnitsPerSecond": 4100})  # the present value
    assert (response["WarmThroughput"]["WriteUnitsPerSecond"], response["WarmThroughput"]["Status"]) == (
        4100,
        "UPDATING",
    )
    assert describe(engine)["WarmThroughput"]["Status"] == "ACTIVE"


def test_warm_throughput_keeps_the_highest_provisioned_units(engine: Engine) -> None:
    provisioned(engine)
    update(engine, ProvisionedThroughput=units(7, 1))
    update(engine, ProvisionedThroughput=units(1, 1))
    warm = describe(engine)["WarmThroughput"]
    assert (warm["ReadUnitsPerSecond"], warm["WriteUnitsPerSecond"]) == (7, 2)


# Stream.


def test_a_stream_is_enabled_and_disabled(engine: Engine) -> None:
    create(engine)
    response = update(engine, StreamSpecification=STREAM_ON)
    assert response["TableStatus"] == "UPDATING"
    assert response["StreamSpecification"] == STREAM_ON
    first = describe(engine)["LatestStreamArn"]
    put(engine, "a")
    assert update_failure(engine, StreamSpecification=STREAM_ON) == (
        "ValidationException",
        "Table already has an enabled stream: TableName: notes",
    )
    other = {"StreamEnabled": True, "StreamViewType": "OLD_IMAGE"}
    assert update_failure(engine, StreamSpecification=other)[1].startswith("Table already has an enabled stream")
    update(engine, StreamSpecification=STREAM_OFF)
    table = describe(engine)
    assert "StreamSpecification" not in table
    assert table["LatestStreamArn"] == first
    assert update_failure(engine, StreamSpecification=STREAM_OFF) == (
        "ValidationException",
        "Table has no stream to disable: TableName: notes",
    )
    update(engine, StreamSpecification=STREAM_ON)
    assert describe(engine)["LatestStreamArn"] != first


def test_changes_are_rejected_during_a_stream_change(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    label = update(slow, StreamSpecification=STREAM_ON)["LatestStreamLabel"]
    being_updated = f"when stream status is being updated. Table: notes Stream: {label} Operation: ENABLE"
    for change, reason in (
        ({"TableClass": "STANDARD_INFREQUENT_ACCESS"}, f"Can't update table class {being_updated}"),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 5}},
            "OnDemandThroughput cannot be updated while stream status update is in progress",
        ),
    ):
        assert update_failure(slow, **change) == ("ResourceInUseException", IN_USE + reason)
    update(slow, WarmThroughput={"ReadUnitsPerSecond": 12001})


# Class, encryption, protection.


def test_the_table_class_is_changed(engine: Engine) -> None:
    create(engine)
    response = update(engine, TableClass="STANDARD_INFREQUENT_ACCESS")
    assert response["TableStatus"] == "UPDATING"
    assert "TableClassSummary" not in response
    summary = describe(engine)["TableClassSummary"]
    assert summary["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert summary["LastUpdateDateTime"] > 0
    update(engine, TableClass="STANDARD")
    assert describe(engine)["TableClassSummary"]["TableClass"] == "STANDARD"


def test_changes_are_rejected_during_a_table_class_change(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    update(slow, TableClass="STANDARD_INFREQUENT_ACCESS")
    detail = "TableClassUpdateInProgress: STANDARD_INFREQUENT_ACCESS"
    in_progress = f"when a table class update is in progress. Table: notes {detail}"
    for change, reason in (
        ({"TableClass": "STANDARD"}, f"Can't update table class {in_progress}"),
        ({"StreamSpecification": STREAM_ON}, f"Can't change stream status {in_progress}"),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 5}},
            f"OnDemandThroughput cannot be updated while TableClass update is in progress. {detail}",
        ),
    ):
        assert update_failure(slow, **change) == ("ResourceInUseException", IN_USE + reason)
    update(slow, DeletionProtectionEnabled=True)


def test_changing_to_the_current_class_has_no_effect(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    before = describe(slow)
    for _ in range(2):
        assert update(slow, TableClass="STANDARD")["TableStatus"] == "UPDATING"
        assert describe(slow) == before
    assert "TableClassSummary" not in before


def test_encryption_is_enabled_and_disabled(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    off = {"Enabled": False}
    assert update_failure(slow, SSESpecification=off) == (
        "ValidationException",
        INVALID + "Table is already encrypted by default",
    )
    response = update(slow, SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "1234"})
    assert response["TableStatus"] == "ACTIVE"
    assert response["SSEDescription"] == {"Status": "UPDATING"}
    assert update_failure(slow, SSESpecification=off) == (
        "ResourceInUseException",
        IN_USE + "Server-Side Encryption is still being updated",
    )
    clock.advance(10.0)
    described = describe(slow)["SSEDescription"]
    assert described["Status"] == "ENABLED"
    again = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": described["KMSMasterKeyArn"]}
    assert update_failure(slow, SSESpecification=again)[1].startswith(
        INVALID + "Table is already encrypted with given KMSMasterKeyId."
    )
    response = update(slow, SSESpecification={"Enabled": True})
    assert response["SSEDescription"] == {**described, "Status": "UPDATING"}
    clock.advance(10.0)
    managed = describe(slow)["SSEDescription"]
    assert managed["KMSMasterKeyArn"] != described["KMSMasterKeyArn"]
    assert update(slow, SSESpecification=off)["SSEDescription"] == {**managed, "Status": "UPDATING"}
    clock.advance(10.0)
    assert "SSEDescription" not in describe(slow)


def test_deletion_protection_changes_immediately(slow: Engine, clock: ManualClock) -> None:
    create(slow)
    clock.advance(10.0)
    response = update(slow, DeletionProtectionEnabled=True)
    assert (response["TableStatus"], response["DeletionProtectionEnabled"]) == ("ACTIVE", True)
    update(slow, DeletionProtectionEnabled=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"SSESpecification": {"Enabled": True}, "DeletionProtectionEnabled": True},
            "Server-Side Encryption modification must be the only operation in the request",
        ),
        (
            {"TableClass": "STANDARD", "DeletionProtectionEnabled": True},
            "TableClass modification must be the only operation in the request",
        ),
        (
            {"DeletionProtectionEnabled": True, "BillingMode": "PAY_PER_REQUEST"},
            "DeletionProtection modification must be the only operation in the request",
        ),
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 1}, "BillingMode": "PAY_PER_REQUEST"},
            "WarmThroughput must be the only operation in the request",
        ),
        (
            {
                "WarmThroughput": {"ReadUnitsPerSecond": 1},
                "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "gone"}}],
            },
            "WarmThroughput must be the only operation in the request",
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 1}, "StreamSpecification": STREAM_ON},
            "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
        ),
        (
            {"ProvisionedThroughput": units(3, 3), "StreamSpecification": STREAM_ON},
            "You cannot modify stream status while updating table IOPS",
        ),
        (
            {"DeletionProtectionEnabled": True, "GlobalSecondaryIndexUpdates": []},
            "List of GlobalSecondaryIndexUpdates is empty",
        ),
    ],
)
def test_changes_that_cannot_be_combined_are_rejected(engine: Engine, changes: dict[str, Any], message: str) -> None:
    provisioned(engine)
    before = describe(engine)
    assert update_failure(engine, **changes) == ("ValidationException", INVALID + message)
    assert describe(engine) == before


@pytest.mark.parametrize("empty", ["WarmThroughput", "OnDemandThroughput"])
def test_an_empty_maximum_is_ignored_next_to_another_change(engine: Engine, empty: str) -> None:
    create(engine)
    maximum: dict[str, Any] = {empty: {}}
    update(engine, DeletionProtectionEnabled=True, **maximum)
    assert describe(engine)["DeletionProtectionEnabled"] is True


def test_mode_and_stream_can_be_changed_together(engine: Engine) -> None:
    provisioned(engine)
    update(engine, BillingMode="PAY_PER_REQUEST", StreamSpecification=STREAM_ON)
    table = describe(engine)
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["StreamSpecification"] == STREAM_ON


@pytest.mark.parametrize("operation", ["UpdateTable", "DeleteTable"])
def test_writers_do_not_wait_for_the_row_count_of_a_large_table(
    operation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "_UNCACHED_ROWS", 5)
    with Engine.open(tmp_path / "data.db") as engine:
        create(engine)
        for number in range(10):
            put(engine, str(number))
        tree = engine.catalog.tables()[0].tree
        statements: list[str] = []
        connection = engine.store._writer.connection
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
        change = {"DeletionProtectionEnabled": False} if operation == "UpdateTable" else {}
        description = engine.call(operation, {"TableName": "notes", **change})["TableDescription"]
        connection.trace_v2(0, None)
        assert description["ItemCount"] == 10
        assert statements
        assert tree.part_totals not in statements
