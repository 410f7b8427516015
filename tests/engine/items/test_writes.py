"""One change of one item: dependent rows, and the cost in each index."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import put

from keyplan import limits
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.errors import ItemCollectionSizeLimitExceededError, ValidationError

LOCAL = {
    "IndexName": "by_l",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
}


@pytest.fixture
def indexed(engine: Engine) -> Engine:
    """Create a table with a sparse global index on `g` that projects keys only, and a local one on `l` with `x`."""
    more = tables_of.with_index(Projection={"ProjectionType": "KEYS_ONLY"})
    more["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": "S"} for name in "psgl"]
    tables_of.create(engine, LocalSecondaryIndexes=[LOCAL], **more, **tables_of.with_stream())
    return engine


def spent(engine: Engine, **attributes: Any) -> dict[str, float]:
    """Return the units of a put of item `a`, by index."""
    item = {**tables_of.key("a"), **attributes}
    response = engine.call("PutItem", {"TableName": "things", "Item": item, "ReturnConsumedCapacity": "INDEXES"})
    consumed = response["ConsumedCapacity"]
    assert fsck.check(engine) == []
    return {
        "table": consumed["Table"]["CapacityUnits"],
        **{
            name: usage["CapacityUnits"]
            for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for name, usage in consumed.get(member, {}).items()
        },
    }


def text(length: int) -> dict[str, str]:
    return {"S": "x" * length}


def test_an_index_costs_its_changes(indexed: Engine) -> None:
    assert spent(indexed) == {"table": 1}
    assert spent(indexed, g=text(1)) == {"table": 1, "by_g": 1}
    assert spent(indexed, g=text(1), y=text(3000)) == {"table": 3}, "not projected, not written"
    assert spent(indexed, g=text(2), y=text(1)) == {"table": 3, "by_g": 2}, "a changed key is a delete and a put"
    assert spent(indexed, l=text(1)) == {"table": 1, "by_g": 1, "by_l": 1}, "an entry left, another came"
    assert spent(indexed, l=text(1), x=text(2000)) == {"table": 2, "by_l": 2}, "the larger of both"
    assert spent(indexed, l=text(1), x=text(1)) == {"table": 2, "by_l": 2}
    assert spent(indexed, l=text(1), x=text(1)) == {"table": 1}


def test_the_order_of_attributes_is_not_a_change(indexed: Engine) -> None:
    attributes: dict[str, Any] = {"g": text(1), "l": text(1), "x": {"M": {"a": {"N": "1"}, "b": {"SS": ["1", "2"]}}}}
    put(indexed, "a", **attributes)
    turned = {"x": {"M": {"b": {"SS": ["2", "1"]}, "a": {"N": "1.0"}}}, "l": text(1), "g": text(1)}
    assert spent(indexed, **turned) == {"table": 1}
    assert len(tables_of.records(indexed, tables_of.stream_arn(indexed))) == 1


def test_an_update_costs_the_larger_version(indexed: Engine) -> None:
    put(indexed, "a", x=text(2500))
    response = indexed.call(
        "UpdateItem",
        {
            "TableName": "things",
            "Key": tables_of.key("a"),
            "UpdateExpression": "REMOVE x",
            "ReturnConsumedCapacity": "TOTAL",
        },
    )
    assert response["ConsumedCapacity"]["CapacityUnits"] == 3


def test_deleting_a_missing_item_changes_nothing(indexed: Engine) -> None:
    tables_of.delete(indexed, "nobody")
    assert tables_of.records(indexed, tables_of.stream_arn(indexed)) == []
    assert fsck.check(indexed) == []


@pytest.mark.parametrize("wrong", [{"N": "1"}, {"S": ""}, {"S": "x" * 2049}, {"NULL": True}])
def test_an_attribute_that_cannot_be_an_index_key_is_rejected(indexed: Engine, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        put(indexed, "a", g=wrong)
    assert tables_of.get(indexed, "a") is None


def test_a_collection_cannot_exceed_its_limit(indexed: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ITEM_COLLECTION_BYTES", 1000)
    put(indexed, "a", "1", l=text(1), x=text(400))
    with pytest.raises(ItemCollectionSizeLimitExceededError):
        put(indexed, "a", "2", l=text(1), x=text(400))
    put(indexed, "b", "1", l=text(1), x=text(400))
    put(indexed, "a", "1", l=text(1), x=text(1))
    put(indexed, "a", "2", l=text(1), x=text(200))
    tables_of.delete(indexed, "a", "1")
    assert fsck.check(indexed) == []


INVERTED: dict[str, Any] = {
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "inverted",
            "KeySchema": [{"AttributeName": "s", "KeyType": "HASH"}, {"AttributeName": "p", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
        }
    ]
}


@pytest.mark.parametrize("grouped", [False, True])
def test_index_entries_under_table_keys_follow_their_items(tmp_path: Path, grouped: bool) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        tables_of.create(engine, **INVERTED)
        assert engine.database.table("things").blind
        with engine.group() if grouped else contextlib.nullcontext():
            tables_of.put(engine, "a", x={"S": "first"})
            tables_of.put(engine, "a", x={"S": "second"}, y={"S": "not projected"})
            tables_of.put(engine, "b")
            puts = [
                {"PutRequest": {"Item": {**tables_of.key(name), "x": {"S": text}}}}
                for name, text in (("a", "replaced"), ("c", "third"))
            ]
            deletes = [{"DeleteRequest": {"Key": tables_of.key(name)}} for name in ("b", "never there")]
            engine.call("BatchWriteItem", {"RequestItems": {"things": [puts[0], *deletes, puts[1]]}})
        items = engine.call("Scan", {"TableName": "things", "IndexName": "inverted"})["Items"]
        assert sorted(items, key=lambda item: item["p"]["S"]) == [
            {**tables_of.key("a"), "x": {"S": "replaced"}},
            {**tables_of.key("c"), "x": {"S": "third"}},
        ]
        assert fsck.check(engine) == []


def test_only_tables_that_need_no_old_item_are_written_without_reading(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        tables_of.create(engine, "plain")
        tables_of.create(engine, "indexed", **tables_of.with_index())
        tables_of.create(engine, "streamed", **INVERTED, **tables_of.with_stream())
        assert engine.database.table("plain").blind
        assert not engine.database.table("indexed").blind
        assert not engine.database.table("streamed").blind
