"""Exports of some items only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.engine.transfer.making import Workshop, item

from keyplan.engine.backups import history
from keyplan.engine.store.rows import Row, StoreView
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ServiceError


def test_a_filter_selects_exported_items(shop: Workshop) -> None:
    shop.create()
    shop.put(*(item(str(number), n={"N": str(number)}, b={"B": b"\x00"}, x={"S": "x"}) for number in range(10)))
    members = {
        "FilterExpression": "#n >= :n AND b = :b",
        "ProjectionExpression": "id, #n",
        "ExpressionAttributeNames": {"#n": "n"},
        "ExpressionAttributeValues": {":n": {"N": "7"}, ":b": {"B": b"\x00"}},
    }
    ended = shop.export(FilterSpecification=members)
    assert ended["FilterSpecification"] == members
    assert ended["ItemCount"] == 3
    assert sorted((line["Item"] for line in shop.lines(ended)), key=str) == [
        item(str(number), n={"N": str(number)}) for number in (7, 8, 9)
    ]


def test_a_key_condition_selects_one_partition(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "day", "KeyType": "RANGE"}]
    kinds = [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "day", "AttributeType": "N"}]
    shop.create(KeySchema=keys, AttributeDefinitions=kinds)
    shop.put(*(item(id_, day={"N": str(day)}) for id_ in "abc" for day in range(5)))
    values = {":id": {"S": "b"}, ":day": {"N": "2"}}
    names = {"ExpressionAttributeNames": {"#day": "day"}}
    members = {"KeyConditionExpression": "id = :id AND #day > :day", "ExpressionAttributeValues": values, **names}
    read = _rows_read(monkeypatch)
    lines = shop.lines(shop.export(FilterSpecification=members))
    assert [line["Item"] for line in lines] == [item("b", day={"N": "3"}), item("b", day={"N": "4"})]
    assert len(read) <= 4, "behind the partition a piece looks at one row"
    for wrong, expected in (
        (
            {"KeyConditionExpression": "#day = :day", "ExpressionAttributeValues": {":day": {"N": "1"}}, **names},
            "Query condition",
        ),
        ({"KeyConditionExpression": "id = :id", "ExpressionAttributeValues": {":id": {"N": "1"}}}, "One or more"),
        (
            {"KeyConditionExpression": "id = :id", "ExpressionAttributeValues": {":id": {"S": "x" * 70_000}}},
            "One or more parameter values were invalid: Size of hashkey",
        ),
        ({"FilterExpression": "id = :id"}, "Invalid FilterExpression"),
        ({"ExpressionAttributeNames": {"#a": "a"}}, "ExpressionAttributeNames can only"),
        ({}, "Invalid Request: Invalid FilterSpecification: The specification can not be empty"),
    ):
        with pytest.raises(ServiceError) as caught:
            shop.begin_export(FilterSpecification=wrong)
        assert caught.value.code == "ValidationException"
        assert caught.value.message.startswith(expected), caught.value.message


def _rows_read(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """Return a list that collects the rows that exports read from now on."""
    read: list[Row] = []
    true = history.rows_at

    def rows_at(view: StoreView, table: Table, time_s: float, low: bytes = b"") -> Iterator[Row]:
        for row in true(view, table, time_s, low):
            read.append(row)
            yield row

    monkeypatch.setattr(history, "rows_at", rows_at)
    return read
