"""Tables and engines for the tests of streams, expiry, faults and throttling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

NOW = 1_700_000_000.0


def clock() -> ManualClock:
    """Return a clock that stands at NOW."""
    return ManualClock(NOW)


def create(engine: Engine, name: str = "things", **members: Any) -> dict[str, Any]:
    """Create a table with partition key `p` and sort key `s`, both strings; return its description."""
    request: dict[str, Any] = {
        "TableName": name,
        "KeySchema": [
            {"AttributeName": "p", "KeyType": "HASH"},
            {"AttributeName": "s", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "s", "AttributeType": "S"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
        **members,
    }
    description: dict[str, Any] = engine.call("CreateTable", request)["TableDescription"]
    return description


def with_stream(view_type: str = "NEW_AND_OLD_IMAGES") -> dict[str, Any]:
    """Return the member of CreateTable that enables a stream."""
    return {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view_type}}


def with_index(**members: Any) -> dict[str, Any]:
    """Return the members of CreateTable that add a global index `by_g` on attribute `g`."""
    return {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in "psg"],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by_g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                **members,
            }
        ],
    }


def with_local_index(name: str = "by_g") -> dict[str, Any]:
    """Return the members of CreateTable that add a local index on attribute `g`."""
    return {
        "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": "S"} for attribute in "psg"],
        "LocalSecondaryIndexes": [
            {
                "IndexName": name,
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }


def key(p: str, s: str = "1") -> dict[str, Any]:
    """Return a key of such a table."""
    return {"p": {"S": p}, "s": {"S": s}}


def put(engine: Engine, p: str, s: str = "1", table: str = "things", **attributes: Any) -> dict[str, Any]:
    """Put an item; attributes are given as attribute values."""
    return engine.call("PutItem", {"TableName": table, "Item": {**key(p, s), **attributes}})


def kilobytes(count: int) -> dict[str, str]:
    """Return a value for an item of so many KB, less up to two dozen bytes."""
    return {"S": "x" * (count * 1024 - 30)}


def delete(engine: Engine, p: str, s: str = "1", table: str = "things") -> dict[str, Any]:
    """Delete an item."""
    return engine.call("DeleteItem", {"TableName": table, "Key": key(p, s)})


def get(engine: Engine, p: str, s: str = "1", table: str = "things", **members: Any) -> dict[str, Any] | None:
    """Return an item, read eventually consistent."""
    return engine.call("GetItem", {"TableName": table, "Key": key(p, s), **members}).get("Item")


def stream_arn(engine: Engine, table: str = "things") -> str:
    """Return the ARN of the table's latest stream."""
    arn: str = engine.call("DescribeTable", {"TableName": table})["Table"]["LatestStreamArn"]
    return arn


def shards(engine: Engine, arn: str) -> list[dict[str, Any]]:
    """Return the shards of a stream."""
    described: list[dict[str, Any]] = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    return described


def iterator(engine: Engine, arn: str, kind: str = "TRIM_HORIZON", shard: int = 0, **members: Any) -> str:
    """Return an iterator into a shard of a stream."""
    request = {
        "StreamArn": arn,
        "ShardId": shards(engine, arn)[shard]["ShardId"],
        "ShardIteratorType": kind,
        **members,
    }
    text: str = engine.call("GetShardIterator", request)["ShardIterator"]
    return text


def records(engine: Engine, arn: str) -> list[dict[str, Any]]:
    """Return all records of a stream, shard by shard."""
    return [record for shard in range(len(shards(engine, arn))) for record in _read(engine, arn, shard)]


def _read(engine: Engine, arn: str, shard: int) -> Iterator[dict[str, Any]]:
    following: str | None = iterator(engine, arn, shard=shard)
    while following is not None:
        response = engine.call("GetRecords", {"ShardIterator": following})
        yield from response["Records"]
        following = response.get("NextShardIterator") if response["Records"] else None


def wire(response: dict[str, Any]) -> dict[str, Any]:
    """Return an answer in wire form, as a client decodes it."""
    decoded: dict[str, Any] = orjson.loads(orjson.dumps(response))
    return decoded
