"""Charges of throttling: writes to the table and every changed global index, reads to the table or index they read.

Each table and index here has as many units as the calls before the last need, and no time passes.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import delete, get, kilobytes, put

from keyplan.engine.engine import Engine
from keyplan.errors import ProvisionedThroughputExceededError, ThrottlingError

PLENTY = 1000


def capacity(read: int = PLENTY, write: int = PLENTY) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def create(engine: Engine, *, table: int = PLENTY, index: int = PLENTY, read: int = PLENTY) -> None:
    """Create a table with a global index `by_g`, each with this many write units."""
    members = tables_of.with_index(ProvisionedThroughput=capacity(read, index))
    tables_of.create(engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity(write=table), **members)


def refused(engine: Engine, **attributes: Any) -> list[str]:
    """Return why a put of a new item is refused."""
    with pytest.raises(ProvisionedThroughputExceededError) as caught:
        put(engine, "new", **attributes)
    return [reason["reason"] for reason in caught.value.members["ThrottlingReasons"]]


TABLE, INDEX = "TableWriteProvisionedThroughputExceeded", "IndexWriteProvisionedThroughputExceeded"


def test_a_write_uses_the_units_of_the_larger_version(engine: Engine) -> None:
    create(engine, table=5 + 5 + 1 + 5 + 5)
    put(engine, "a", v=kilobytes(5))
    put(engine, "a")
    delete(engine, "a")
    put(engine, "a", v=kilobytes(5))
    delete(engine, "a")
    assert refused(engine) == [TABLE]


def test_a_delete_of_a_missing_item_uses_one_unit(engine: Engine) -> None:
    create(engine, table=2)
    delete(engine, "a")
    delete(engine, "a")
    assert refused(engine) == [TABLE]


def test_an_added_or_removed_entry_uses_its_units(engine: Engine) -> None:
    create(engine, index=3 + 3)
    put(engine, "a", v=kilobytes(3))
    put(engine, "a", g={"S": "g"}, v=kilobytes(3))
    put(engine, "a", v=kilobytes(3))
    put(engine, "b", v=kilobytes(3))
    assert refused(engine, g={"S": "g"}) == [INDEX]


def test_a_changed_entry_uses_the_units_of_the_larger_version(engine: Engine) -> None:
    create(engine, index=1 + 4 + 4)
    put(engine, "a", g={"S": "g"})
    put(engine, "a", g={"S": "g"}, v=kilobytes(4))
    put(engine, "a", g={"S": "g"})
    assert refused(engine, g={"S": "g"}) == [INDEX]


def test_a_moved_entry_uses_the_units_of_both_places(engine: Engine) -> None:
    create(engine, index=2 + 2 + 3)
    put(engine, "a", g={"S": "g"}, v=kilobytes(2))
    put(engine, "a", g={"S": "h"}, v=kilobytes(3))
    assert refused(engine, g={"S": "g"}) == [INDEX]


def test_an_unchanged_entry_uses_no_units(engine: Engine) -> None:
    create(engine, index=1)
    for _ in range(3):
        put(engine, "a", g={"S": "g"})
    assert refused(engine, g={"S": "g"}) == [INDEX]


def test_a_throttled_index_is_reported(engine: Engine) -> None:
    create(engine, index=1)
    put(engine, "a", g={"S": "g"})
    with pytest.raises(ProvisionedThroughputExceededError, match="for one or more global secondary indexes") as caught:
        put(engine, "b", g={"S": "g"})
    (reason,) = caught.value.members["ThrottlingReasons"]
    assert reason["resource"].endswith(":table/things/index/by_g")


def test_a_read_of_an_index_uses_only_its_units(engine: Engine) -> None:
    create(engine, read=1)
    put(engine, "a", g={"S": "g"})
    query = {
        "TableName": "things",
        "IndexName": "by_g",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}},
    }
    for _ in range(2):
        engine.call("Query", query)
    with pytest.raises(ProvisionedThroughputExceededError) as caught:
        engine.call("Query", query)
    (reason,) = caught.value.members["ThrottlingReasons"]
    assert reason["reason"] == "IndexReadProvisionedThroughputExceeded"
    assert get(engine, "a") is not None


def test_each_table_has_its_own_capacity(engine: Engine) -> None:
    for name in ("before", "things", "later"):
        tables_of.create(engine, name, BillingMode="PROVISIONED", ProvisionedThroughput=capacity(write=1))
        put(engine, "a", table=name)
    for name in ("before", "things", "later"):
        with pytest.raises(ProvisionedThroughputExceededError):
            put(engine, "a", table=name)


def test_each_index_has_its_own_capacity(engine: Engine) -> None:
    (first,) = tables_of.with_index(ProvisionedThroughput=capacity())["GlobalSecondaryIndexes"]
    second = {
        **first,
        "IndexName": "by_h",
        "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}],
        "ProvisionedThroughput": capacity(write=2),
    }
    tables_of.create(
        engine,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=capacity(),
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "psgh"],
        GlobalSecondaryIndexes=[first, second],
    )
    for name in "abcd":
        put(engine, name, g={"S": "g"})
    put(engine, "e", h={"S": "h"})
    put(engine, "f", h={"S": "h"})
    assert refused(engine, h={"S": "h"}) == [INDEX]


def test_a_local_index_uses_the_units_of_its_table(engine: Engine) -> None:
    tables_of.create(
        engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity(write=6), **tables_of.with_local_index()
    )
    for name in "abc":
        put(engine, name, g={"S": "g"})
    assert refused(engine, g={"S": "g"}) == [TABLE]


def test_the_maximum_of_reads_is_enforced_and_reported(engine: Engine) -> None:
    tables_of.create(engine, OnDemandThroughput={"MaxReadRequestUnits": 1})
    get(engine, "a")
    get(engine, "a")
    with pytest.raises(ThrottlingError, match="maximum OnDemandThroughput configured") as caught:
        get(engine, "a")
    (reason,) = caught.value.members["throttlingReasons"]
    assert reason["reason"] == "TableReadMaxOnDemandThroughputExceeded"


def test_a_hot_key_of_an_on_demand_table_is_reported(engine: Engine) -> None:
    tables_of.create(engine)
    for _ in range(3):
        put(engine, "a", v=kilobytes(300))
    with pytest.raises(ThrottlingError, match="check if you have a hot key"):
        put(engine, "a", v=kilobytes(300))
