"""Predicted units equal the engine's receipts, for generated items, writes, indexes and transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplan import GSI, LSI, Engine, Table
from keyplan.cost.units import Units, item_write, page_read, point_read
from keyplan.dynamodb.values.attribute import item_bytes, normalise_item
from keyplan.errors import ServiceError

table = Table(
    "things",
    pk="pk",
    sk="sk",
    indexes=[
        GSI("all", pk="a", sk="b"),
        GSI("keys", pk="b", project="keys"),
        GSI("some", pk="a", project=["text"]),
        GSI("many", pk=("a", "b"), sk=("n",)),
        LSI("local", sk="b", project=["n"]),
    ],
)
Item = dict[str, dict[str, Any]]

CREATE = {
    "TableName": "things",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "N" if name == "n" else "S"} for name in ("pk", "sk", "a", "b", "n")
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": index.name,
            "KeySchema": [
                *({"AttributeName": name, "KeyType": "HASH"} for name in index.partition),
                *({"AttributeName": name, "KeyType": "RANGE"} for name in index.sort),
            ],
            "Projection": {"ProjectionType": {"all": "ALL", "keys": "KEYS_ONLY"}.get(str(index.project), "INCLUDE")}
            | ({"NonKeyAttributes": list(index.project)} if isinstance(index.project, tuple) else {}),
        }
        for index in table.schema.indexes
        if index.kind == "GSI"
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]},
        }
    ],
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.memory() as new_engine:
        new_engine.call("CreateTable", CREATE)
        yield new_engine


texts = st.text(min_size=1, max_size=5)
items = st.fixed_dictionaries(
    {"pk": st.just({"S": "p"}), "sk": st.sampled_from(["1", "2", "3"]).map(lambda value: {"S": value})},
    optional={
        "a": texts.map(lambda value: {"S": value}),
        "b": texts.map(lambda value: {"S": value}),
        "n": st.integers(-(10**20), 10**20).map(lambda value: {"N": str(value)}),
        "text": st.integers(0, 5000).map(lambda length: {"S": "x" * length}),
        "tags": st.sets(texts, min_size=1, max_size=3).map(lambda value: {"SS": sorted(value)}),
        "list": st.lists(st.booleans().map(lambda value: {"BOOL": value}), max_size=3).map(lambda value: {"L": value}),
    },
)
steps = st.tuples(st.sampled_from(["PutItem", "UpdateItem", "DeleteItem", "transaction"]), items)


def canonical(item: Item | None) -> dict[str, Any] | None:
    return None if item is None else normalise_item(item, wire=False)[0]


def stored(engine: Engine, item: Item) -> Item | None:
    key = {name: item[name] for name in ("pk", "sk")}
    stored_item: Item | None = engine.call("GetItem", {"TableName": "things", "Key": key}).get("Item")
    return stored_item


def units_of(capacity: dict[str, Any]) -> Units:
    indexes = {**capacity.get("GlobalSecondaryIndexes", {}), **capacity.get("LocalSecondaryIndexes", {})}
    return Units(
        write=capacity["Table"]["CapacityUnits"],
        indexes={name: usage["CapacityUnits"] for name, usage in indexes.items()},
    )


def write(engine: Engine, operation: str, item: Item) -> tuple[Item | None, Units]:
    """Do it; the item as it is afterwards, and what the engine says it cost."""
    key = {name: item[name] for name in ("pk", "sk")}
    asks = {"TableName": "things", "ReturnConsumedCapacity": "INDEXES"}
    if operation == "PutItem":
        capacity = engine.call("PutItem", {**asks, "Item": item})["ConsumedCapacity"]
    elif operation == "DeleteItem":
        capacity = engine.call("DeleteItem", {**asks, "Key": key})["ConsumedCapacity"]
    elif operation == "UpdateItem":
        rest = [name for name in item if name not in key]
        update: dict[str, Any] = (
            {"UpdateExpression": "SET " + ", ".join(f"#{name} = :{name}" for name in rest)} if rest else {}
        )
        if rest:
            update["ExpressionAttributeNames"] = {f"#{name}": name for name in rest}
            update["ExpressionAttributeValues"] = {f":{name}": item[name] for name in rest}
        capacity = engine.call("UpdateItem", {**asks, "Key": key, **update})["ConsumedCapacity"]
    else:
        put = {"Put": {"TableName": "things", "Item": item}}
        response = engine.call("TransactWriteItems", {"TransactItems": [put], "ReturnConsumedCapacity": "INDEXES"})
        (capacity,) = response["ConsumedCapacity"]
    return stored(engine, item), units_of(capacity)


@settings(deadline=None)
@given(st.lists(steps, min_size=1, max_size=6))
def test_writes_cost_the_predicted_units(engine: Engine, sequence: list[tuple[str, Item]]) -> None:
    for operation, item in sequence:
        before = stored(engine, item)
        after, units = write(engine, operation, item)
        predicted = item_write(
            table.schema, canonical(before), canonical(after), transactional=operation == "transaction"
        )
        assert units == predicted, (operation, before, after)


@settings(deadline=None)
@given(items, st.booleans())
def test_reads_by_key_cost_the_predicted_units(engine: Engine, item: Item, consistent: bool) -> None:
    engine.call("PutItem", {"TableName": "things", "Item": item})
    key = {name: item[name] for name in ("pk", "sk")}
    asks = {"TableName": "things", "Key": key, "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL"}
    size = item_bytes(normalise_item(item, wire=False)[0])
    capacity = engine.call("GetItem", asks)["ConsumedCapacity"]["CapacityUnits"]
    assert capacity == point_read(size, consistent=consistent).read


@settings(deadline=None)
@given(st.lists(items, min_size=0, max_size=8), st.booleans())
def test_a_page_is_summed_and_rounded_once(engine: Engine, written: list[Item], consistent: bool) -> None:
    for sk in ("1", "2", "3"):
        engine.call("DeleteItem", {"TableName": "things", "Key": {"pk": {"S": "p"}, "sk": {"S": sk}}})
    stored_items = {item["sk"]["S"]: item for item in written}
    for item in stored_items.values():
        engine.call("PutItem", {"TableName": "things", "Item": item})
    asks = {
        "TableName": "things",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ConsistentRead": consistent,
        "ReturnConsumedCapacity": "TOTAL",
    }
    sizes = [item_bytes(normalise_item(item, wire=False)[0]) for item in stored_items.values()]
    capacity = engine.call("Query", asks)["ConsumedCapacity"]["CapacityUnits"]
    assert capacity == page_read(sizes, consistent=consistent).read


def test_a_rejected_write_costs_as_much_as_the_existing_item(engine: Engine) -> None:
    item = {"pk": {"S": "q"}, "sk": {"S": "1"}, "text": {"S": "x" * 2500}}
    engine.call("PutItem", {"TableName": "things", "Item": item})
    asks = {
        "TableName": "things",
        "Item": {"pk": {"S": "q"}, "sk": {"S": "1"}},
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnConsumedCapacity": "TOTAL",
    }
    with pytest.raises(ServiceError, match="conditional request failed"):
        engine.call("PutItem", asks)
    assert item_write(table.schema, canonical(item), canonical(item)).write == 3


def test_the_documented_examples_match() -> None:
    assert point_read(8 * 1024, consistent=True).read == 2
    assert point_read(8 * 1024, consistent=False).read == 1
    assert point_read(8 * 1024, consistent=True, transactional=True).read == 4
    assert page_read([100] * 40, consistent=False).read == 0.5
    three = {"pk": {"S": "p"}, "sk": {"S": "s"}, "text": {"S": "x" * (3 * 1024 - 11)}}
    assert item_write(table.schema, None, canonical(three)).write == 3
    assert item_write(table.schema, None, canonical(three), transactional=True).write == 6
