"""Filters that search stored bytes first return the same items as those that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.engine import tables_of
from tests.engine.tables_of import put

from keyplan.dynamodb.expressions.compiled import compile_condition
from keyplan.dynamodb.values import encoding
from keyplan.dynamodb.values.types import Item
from keyplan.engine.engine import Engine
from keyplan.engine.items.reads import Filter
from keyplan.errors import DatabaseCorruptError

NAMES = ["a", "b", "S", 'q"', "é\\", "a.b"]
texts = st.sampled_from(["", "x", "xy", 'x"', "\\", "\n", "é", "éx", '"a":{"S":"x"}', "\U0001f600"])
scalars = st.one_of(
    texts.map(lambda text: {"S": text}),
    st.sampled_from(["1", "1.0", "-0", "0", "1E+1", "10", "0.5"]).map(lambda number: {"N": number}),
    st.sampled_from([b"", b"x", b"xy", b"xyz"]).map(lambda binary: {"B": binary}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
)
values: st.SearchStrategy[dict[str, Any]] = st.one_of(
    scalars,
    st.permutations(["x", "y"]).map(lambda members: {"SS": members}),
    st.permutations(["x", "y"]).map(lambda members: {"L": [{"SS": members}]}),
    st.dictionaries(st.sampled_from(NAMES), scalars, max_size=2).map(lambda members: {"M": members}),
)
items = st.lists(st.dictionaries(st.sampled_from(NAMES), values, max_size=4), min_size=1, max_size=6)
terms = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(["#0", "#1", "#1.#0"]), st.sampled_from([":0", ":1"])),
    st.sampled_from(["#0 = :0", ":0 = #0", "#1 = :1", "#0 <> :1"]),
    st.sampled_from(["begins_with(#0, :t)", "begins_with(#1, :t)", "begins_with(#1.#0, :t)"]),
)
conditions = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT {}".format, inner),
    ),
    max_leaves=3,
)


@st.composite
def filtered_items(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Draw items, and a filter whose names and values are mostly those of one of them."""
    drawn_items = draw(items)
    item = draw(st.sampled_from(drawn_items))
    names = list(dict.fromkeys([*item, *draw(st.permutations(NAMES))]))[:2]
    stored_items = [item.get(name, {"S": "x"}) if draw(st.integers(0, 3)) else draw(values) for name in names]
    beginning = [{kind: text[:1]} for value in stored_items for kind, text in value.items() if kind in "SB"]
    texts_too = draw(st.sampled_from([*beginning, {"S": "x"}, {"B": b"x"}]))
    text = draw(st.builds("{} AND #0 <> #1".format, conditions) | st.just("#0 = :0 AND #0 <> #1"))
    return drawn_items, _filter(text, names, {":0": stored_items[0], ":1": stored_items[1], ":t": texts_too})


def _filter(text: str, names: list[str], stored_values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a filter, without unused values."""
    used = {placeholder: value for placeholder, value in stored_values.items() if placeholder in text}
    return {
        "FilterExpression": text,
        "ExpressionAttributeNames": {f"#{number}": name for number, name in enumerate(names)},
        **({"ExpressionAttributeValues": used} if used else {}),
    }


def _table(engine: Engine) -> None:
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in "psl"]
    sorted_by_l = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]
    local = {"IndexName": "by_l", "KeySchema": sorted_by_l, "Projection": {"ProjectionType": "KEYS_ONLY"}}
    part = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b", "S"]}
    tables_of.create(
        engine,
        AttributeDefinitions=definitions,
        LocalSecondaryIndexes=[local],
        GlobalSecondaryIndexes=[{"IndexName": "by_p", "KeySchema": sorted_by_l, "Projection": part}],
    )


def _reads(filtered: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    scan = {"TableName": "things", **filtered}
    yield "Scan", scan
    yield "Scan", {**scan, "Select": "COUNT", "ReturnConsumedCapacity": "TOTAL"}
    yield "Scan", {**scan, "Limit": 3}
    yield "Scan", {**scan, "ProjectionExpression": "b, p"}
    yield "Scan", {**scan, "IndexName": "by_p"}
    yield "Scan", {**scan, "IndexName": "by_l", "Select": "ALL_ATTRIBUTES", "ReturnConsumedCapacity": "INDEXES"}
    bound = {**filtered.get("ExpressionAttributeValues", {}), ":p": {"S": "all"}}
    query = {**scan, "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": bound}
    yield "Query", {**query, "ScanIndexForward": False}


X, Y, XY = {"S": "x"}, {"S": "y"}, {"SS": ["x", "y"]}


@given(filtered_items())
@example(([{"a": X}, {"b": Y}, {"a": Y, "b": X}], _filter("#0 = :0 OR #1 = :1", ["a", "b"], {":0": X, ":1": Y})))
@example(([{"a": X}, {"b": {"M": {"a": X}}}], _filter("#1.#0 = :0", ["a", "b"], {":0": X})))
@example(([{"a": X}, {"a": Y}, {}], _filter("NOT (#0 = :0)", ["a"], {":0": X})))
@example(([{"a": XY}, {"a": {"L": [XY]}}], _filter("#0 = :0", ["a"], {":0": {"L": [{"SS": ["y", "x"]}]}})))
@example(([{"a": {"B": b"xyz"}}, {"a": X}], _filter("begins_with(#0, :t)", ["a"], {":t": {"B": b"xy"}})))
def test_items_that_pass_a_filter_are_found_in_stored_bytes(
    drawn_filter: tuple[list[dict[str, Any]], dict[str, Any]],
) -> None:
    items, filtered = drawn_filter
    with Engine.memory() as engine, pytest.MonkeyPatch.context() as patched:
        _table(engine)
        for number, item in enumerate(items):
            put(engine, "all", str(number), l={"S": str(number)}, **item)
        requests = list(_reads(filtered))
        responses = [engine.call(*request) for request in requests]
        patched.setattr(Filter, "traces", lambda _filter: ())
        assert responses == [engine.call(*request) for request in requests]


def test_items_without_the_bytes_are_not_decoded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    tables_of.create(engine)
    for number in range(10):
        put(engine, "a", str(number), x={"S": f"x{number % 2}"}, y={"N": str(number)})
    decoded: list[bytes] = []
    decode: Callable[[bytes], Item] = encoding.decode

    def decode_and_keep(body: bytes) -> Item:
        decoded.append(body)
        return decode(body)

    monkeypatch.setattr(encoding, "decode", decode_and_keep)
    request = {
        "TableName": "things",
        "FilterExpression": "begins_with(x, :x) AND y = :y",
        "ExpressionAttributeValues": {":x": {"S": "x1"}, ":y": {"N": "3.0"}},
    }
    response = engine.call("Scan", request)
    assert (response["Count"], response["ScannedCount"]) == (1, 10)
    assert [item["s"]["S"] for item in response["Items"]] == ["3"]
    assert len(decoded) == 1
    assert tables_of.wire(engine.call_wire("Scan", request)) == response


def test_a_damaged_item_that_may_pass_is_reported(engine: Engine) -> None:
    tables_of.create(engine)
    table = engine.database.table("things")

    def damage(transaction: Any) -> None:
        transaction.put(table.tree, b"\x01", 3, b'{"x":{"S":"1"},')

    engine.store.write(damage)
    request = {"TableName": "things", "FilterExpression": "x = :x"}
    with pytest.raises(DatabaseCorruptError):
        engine.call("Scan", {**request, "ExpressionAttributeValues": {":x": {"S": "1"}}})


def test_required_scalars_of_every_kind_of_filter_have_traces() -> None:
    condition = compile_condition("a = :a AND begins_with(b, :b) AND c = :c AND d = :d", None, "FilterExpression")
    bound: Any = {":a": {"S": "x"}, ":b": {"S": "y"}, ":c": {"SS": ["z"]}, ":d": {"N": "1"}}
    assert Filter(condition, bound, "FilterExpression").traces() == (b'"a":{"S":"x"}', b'"b":{"S":"y', b'"d":{"N":"1"}')
