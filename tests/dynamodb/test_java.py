"""Names are ordered as in a Java hash map."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.java import hash_order


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["readCapacityUnits", "writeCapacityUnits"], ["writeCapacityUnits", "readCapacityUnits"]),
        (["projection", "keySchema", "indexName"], ["indexName", "keySchema", "projection"]),
        # These two have the same position in the table and keep their order.
        (["requestItems", "returnConsumedCapacity"], ["requestItems", "returnConsumedCapacity"]),
        (
            ["returnConsumedCapacity", "clientRequestToken", "returnItemCollectionMetrics"],
            ["clientRequestToken", "returnConsumedCapacity", "returnItemCollectionMetrics"],
        ),
    ],
)
def test_recorded_orders(names: list[str], expected: list[str]) -> None:
    assert hash_order(names) == expected


def test_hidden_members_make_the_table_larger() -> None:
    names = ["tableName", "returnValues", "returnConsumedCapacity", "returnItemCollectionMetrics"]
    assert hash_order(names) == [
        "returnValues",
        "returnConsumedCapacity",
        "returnItemCollectionMetrics",
        "tableName",
    ]
    assert hash_order(names, hidden_count=9) == [
        "returnConsumedCapacity",
        "tableName",
        "returnValues",
        "returnItemCollectionMetrics",
    ]
