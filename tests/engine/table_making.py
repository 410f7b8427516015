"""Helpers for the tests of table operations: requests for small tables, and failing calls."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/"
INVALID = "One or more parameter values were invalid: "
IN_USE = "Attempt to change a resource which is still in use: "


def definitions(**kinds: str) -> list[dict[str, str]]:
    """Return AttributeDefinitions."""
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()]


def schema(*names: str) -> list[dict[str, str]]:
    """Return a KeySchema of a partition key and an optional sort key."""
    return [{"AttributeName": name, "KeyType": role} for name, role in zip(names, ("HASH", "RANGE"), strict=False)]


def units(read: int, write: int) -> dict[str, int]:
    """Return a ProvisionedThroughput."""
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def index(name: str, *keys: str, **more: Any) -> dict[str, Any]:
    """Return an index that projects all attributes."""
    return {"IndexName": name, "KeySchema": schema(*keys), "Projection": {"ProjectionType": "ALL"}, **more}


def create(engine: Engine, name: str = "notes", **more: Any) -> dict[str, Any]:
    """Create a table with the key `id`, a string; return the TableDescription."""
    request = {
        "TableName": name,
        "AttributeDefinitions": definitions(id="S"),
        "KeySchema": schema("id"),
        **more,
    }
    if "ProvisionedThroughput" not in request:
        request["BillingMode"] = "PAY_PER_REQUEST"
    description: dict[str, Any] = engine.call("CreateTable", request)["TableDescription"]
    return description


def create_plain_and_indexed(engine: Engine, projection: str, **more: Any) -> None:
    """Create `plain`, keyed by `id`, and `indexed`, keyed by `id` and `at`, with an index of each kind.

    `projection` is the ProjectionType of the global index, by-state; the local one, by-color, projects all attributes.
    """
    create(engine, "plain")
    create(
        engine,
        "indexed",
        AttributeDefinitions=definitions(id="S", at="S", state="S", color="S"),
        KeySchema=schema("id", "at"),
        GlobalSecondaryIndexes=[index("by-state", "state", Projection={"ProjectionType": projection})],
        LocalSecondaryIndexes=[index("by-color", "id", "color")],
        **more,
    )


def update(engine: Engine, name: str = "notes", **changes: Any) -> dict[str, Any]:
    """Call UpdateTable; return the TableDescription."""
    description: dict[str, Any] = engine.call("UpdateTable", {"TableName": name, **changes})["TableDescription"]
    return description


def describe(engine: Engine, name: str = "notes") -> dict[str, Any]:
    """Call DescribeTable; return the TableDescription."""
    description: dict[str, Any] = engine.call("DescribeTable", {"TableName": name})["Table"]
    return description


def add_index(engine: Engine, name: str, kind: str = "S", **more: Any) -> dict[str, Any]:
    """Call UpdateTable with a new index on the attribute of that name plus "Key"; return the TableDescription."""
    key = f"{name}Key"
    return update(
        engine,
        AttributeDefinitions=definitions(**{key: kind}),
        GlobalSecondaryIndexUpdates=[{"Create": index(name, key, **more)}],
    )


def put(engine: Engine, id_: str, **attributes: Any) -> None:
    """Put an item into notes."""
    engine.call("PutItem", {"TableName": "notes", "Item": {"id": {"S": id_}, **attributes}})


def scan(engine: Engine, index_name: str) -> list[str]:
    """Return the ids in an index of notes, in order."""
    items = engine.call("Scan", {"TableName": "notes", "IndexName": index_name})["Items"]
    return sorted(item["id"]["S"] for item in items)


def failure(engine: Engine, operation: str, request: dict[str, Any]) -> tuple[str, str]:
    """Return code and message with which a call fails."""
    with pytest.raises(ServiceError) as caught:
        engine.call(operation, request)
    return caught.value.code, caught.value.message


def update_failure(engine: Engine, **changes: Any) -> tuple[str, str]:
    """Return code and message with which an UpdateTable of notes fails."""
    return failure(engine, "UpdateTable", {"TableName": "notes", **changes})
