"""From the engine's own stream to the lake: real records, with expiries by time to live."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.systems.todo.lake.queries import rows
from tests.systems.todo.lake.record_history import key

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo.lake.lake import Lake

TABLE = "todo-app-data"


@pytest.fixture
def engine(clock: ManualClock) -> Engine:
    engine = Engine.memory(clock=clock, stream_shards=3, ttl_sweep_s=None)
    names = ("PK", "SK")
    engine.call(
        "CreateTable",
        {
            "TableName": TABLE,
            "KeySchema": [
                {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=True)
            ],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        },
    )
    setting = {"Enabled": True, "AttributeName": "expiration_timestamp"}
    engine.call("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": setting})
    return engine


def put(engine: Engine, pk: str, sk: str, **attributes: Any) -> None:
    engine.call("PutItem", {"TableName": TABLE, "Item": key(pk, sk) | attributes})


def consume(engine: Engine, lake: Lake) -> int:
    """Pass all records of the stream to the lake, shard by shard; return the number of new ones."""
    arn = engine.call("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    stored = 0
    for shard in engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = engine.call("GetShardIterator", place)["ShardIterator"]
        records = engine.call("GetRecords", {"ShardIterator": iterator})["Records"]
        stored += lake.bronze.write(records, stream=arn).stored
    lake.refresh()
    return stored


def test_changes_of_the_table_are_applied_to_the_lake(engine: Engine, lake: Lake, clock: ManualClock) -> None:
    soon = {"N": str(int(clock.now()) + 60)}
    with engine:
        put(engine, "USER#ann", "METADATA", name={"S": "Ann"}, created_at={"N": "1700000000"})
        put(engine, "EMAIL#ann@example.org", "METADATA", user_id={"S": "ann"})
        put(engine, "IDEMPOTENCY#ann:1", "METADATA", response_data={"S": "secret"}, expiration_timestamp=soon)
        put(
            engine, "TASK#ann", "TASK#1", title={"S": "to expire"}, status={"S": "completed"}, expiration_timestamp=soon
        )
        put(engine, "TASK#ann", "TASK#2", title={"S": "to delete"}, status={"S": "pending"})
        put(engine, "TASK#ann", "TASK#3", title={"S": "to keep"}, status={"S": "pending"}, photo={"B": b"\x00"})
        assert consume(engine, lake) == 5
        engine.call("DeleteItem", {"TableName": TABLE, "Key": key("TASK#ann", "TASK#2")})
        clock.advance(3600)
        assert engine.sweep() == 2
        assert consume(engine, lake) == 2
    assert rows(lake, "SELECT task_id FROM silver.tasks") == [{"task_id": "3"}]
    removed = rows(lake, "SELECT task_id, removal, title FROM silver.removed_tasks ORDER BY task_id")
    assert removed == [
        {"task_id": "1", "removal": "expired", "title": "to expire"},
        {"task_id": "2", "removal": "deleted", "title": "to delete"},
    ]
    assert rows(lake, "SELECT count(*)::INT AS n FROM bronze.events WHERE new_image LIKE '%secret%'") == [{"n": 0}]


def test_a_scan_of_the_table_can_replace_lost_events(engine: Engine, lake: Lake, clock: ManualClock) -> None:
    with engine:
        put(engine, "TASK#ann", "TASK#1", title={"S": "known"}, status={"S": "pending"})
        consume(engine, lake)
        put(engine, "TASK#ann", "TASK#2", title={"S": "lost"}, status={"S": "pending"})
        engine.call("DeleteItem", {"TableName": TABLE, "Key": key("TASK#ann", "TASK#1")})
        clock.advance(25 * 3600)
        assert consume(engine, lake) == 0
        items = engine.call("Scan", {"TableName": TABLE})["Items"]
        lake.rebuild_from_items(items, datetime.fromtimestamp(clock.now(), UTC))
    assert rows(lake, "SELECT task_id FROM silver.tasks") == [{"task_id": "2"}]
    assert rows(lake, "SELECT removal, removal_source FROM silver.removed_tasks") == [
        {"removal": "deleted", "removal_source": "export"}
    ]
