"""DeleteTable: its answer, removed and remaining data, refusals."""

from __future__ import annotations

from pathlib import Path

from tests.engine.table_making import IN_USE, create, describe, failure, put, units, update

from keyplan import limits
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.streams import logs

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}


def test_the_response_leaves_out_keys_and_indexes(engine: Engine) -> None:
    description = create(engine)
    put(engine, "a")
    answer = engine.call("DeleteTable", {"TableName": "notes"})["TableDescription"]
    assert answer["TableStatus"] == "DELETING"
    assert answer["TableId"] == description["TableId"]
    assert (answer["ItemCount"], answer["TableSizeBytes"]) == (1, 3)
    assert not {"KeySchema", "AttributeDefinitions", "CreationDateTime"} & set(answer)
    assert answer["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] is not None
    assert answer["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(0, 0)}


def test_a_deleted_table_can_be_created_again(engine: Engine) -> None:
    create(engine)
    put(engine, "a")
    engine.call("DeleteTable", {"TableName": "notes"})
    assert failure(engine, "DescribeTable", {"TableName": "notes"})[0] == "ResourceNotFoundException"
    assert failure(engine, "GetItem", {"TableName": "notes", "Key": {"id": {"S": "a"}}}) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )
    create(engine)
    assert describe(engine)["ItemCount"] == 0


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    assert failure(engine, "DeleteTable", {"TableName": "notes"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: notes not found",
    )


def test_deletion_protection_prevents_deletion(engine: Engine) -> None:
    create(engine, DeletionProtectionEnabled=True)
    assert failure(engine, "DeleteTable", {"TableName": "notes"}) == (
        "ValidationException",
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
    )
    update(engine, DeletionProtectionEnabled=False)
    engine.call("DeleteTable", {"TableName": "notes"})


def test_deletion_takes_as_long_as_the_delay(tmp_path: Path) -> None:
    clock = ManualClock()
    with Engine.open(tmp_path / "data.db", clock=clock, state_delay_s=2.0) as engine:
        create(engine)
        in_use = failure(engine, "DeleteTable", {"TableName": "notes"})
        assert in_use == ("ResourceInUseException", IN_USE + "Table is being created: notes")
        clock.advance(2.0)
        engine.call("DeleteTable", {"TableName": "notes"})
        assert describe(engine)["TableStatus"] == "DELETING"
        again = failure(engine, "DeleteTable", {"TableName": "notes"})
        assert again == ("ResourceInUseException", IN_USE + "Table is being deleted: notes")
        item = {"TableName": "notes", "Item": {"id": {"S": "a"}}}
        assert failure(engine, "PutItem", item)[0] == "ResourceNotFoundException"
        clock.advance(2.0)
        assert failure(engine, "DescribeTable", {"TableName": "notes"})[0] == "ResourceNotFoundException"
        create(engine, "other")  # removes the rest of the first
        assert [table.name for table in engine.catalog.tables()] == ["other"]


def test_a_table_being_updated_is_not_deleted(tmp_path: Path) -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=2.0) as engine:
        create(engine, ProvisionedThroughput=units(1, 1))
        clock.advance(2.0)
        update(engine, ProvisionedThroughput=units(2, 2))
        assert failure(engine, "DeleteTable", {"TableName": "notes"}) == (
            "ResourceInUseException",
            IN_USE + "Table: notes is in the process of being updated.",
        )


def test_stream_records_are_kept_for_a_day(tmp_path: Path) -> None:
    clock = ManualClock()
    with Engine.open(tmp_path / "data.db", clock=clock) as engine:
        create(engine, StreamSpecification=STREAM)
        put(engine, "a")
        engine.call("DeleteTable", {"TableName": "notes"})
        (stream,) = logs.all_streams(engine.store.view())
        assert stream["ended_at"] == clock.now()
        assert stream["table"] == "notes"
        clock.advance(limits.STREAM_RETENTION_S)
        create(engine, "other")
        assert logs.all_streams(engine.store.view()) == []


def test_a_table_recreated_in_the_same_millisecond_has_a_new_stream(tmp_path: Path) -> None:
    with Engine.memory(clock=ManualClock()) as engine:
        first = create(engine, StreamSpecification=STREAM)["LatestStreamArn"]
        engine.call("DeleteTable", {"TableName": "notes"})
        assert create(engine, StreamSpecification=STREAM)["LatestStreamArn"] != first
