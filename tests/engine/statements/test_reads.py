"""SELECT returns the items of its WHERE clause, with any read plan and any page size."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.table_making import create, definitions, index, schema

from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError, ValidationError

PARTITIONS, SORTS = ("p", "q", "r"), ("1", "2", "3", "4")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.memory() as engine:
        create(
            engine,
            "t12",
            AttributeDefinitions=definitions(pk="S", sk="S", a="S"),
            KeySchema=schema("pk", "sk"),
            GlobalSecondaryIndexes=[index("by-a", "a", "sk")],
        )
        for number, (pk, sk) in enumerate((pk, sk) for pk in PARTITIONS for sk in SORTS):
            item: dict[str, Any] = {"pk": {"S": pk}, "sk": {"S": sk}, "n": {"N": str(number)}}
            if number % 3:
                item["a"] = {"S": "xy"[number % 2]}
            engine.call("PutItem", {"TableName": "t12", "Item": item})
        yield engine


def keys_found(engine: Engine, statement: str, **more: Any) -> list[tuple[str, str]]:
    """Return the keys of all items, page after page."""
    keys: list[tuple[str, str]] = []
    token: dict[str, str] = {}
    while True:
        response = engine.call("ExecuteStatement", {"Statement": statement, **more, **token})
        keys += [(item["pk"]["S"], item["sk"]["S"]) for item in response["Items"]]
        if "NextToken" not in response:
            return keys
        token = {"NextToken": response["NextToken"]}


_TEXTS = st.sampled_from([f"'{text}'" for text in (*PARTITIONS, *SORTS, "x", "y", "")])
_NAMES = st.sampled_from(["pk", "sk", "a"])
_COMPARISONS = st.one_of(
    st.builds("{} {} {}".format, _NAMES, st.sampled_from(["=", "=", "<>", "<", "<=", ">", ">="]), _TEXTS),
    st.builds("{} BETWEEN {} AND {}".format, _NAMES, _TEXTS, _TEXTS),
    st.builds("{} IN [{}, {}]".format, _NAMES, _TEXTS, _TEXTS),
    st.builds("begins_with({}, {})".format, _NAMES, _TEXTS),
    st.builds("{} = {}".format, _TEXTS, _NAMES),
    st.builds("n > {}".format, st.integers(0, 12)),
    st.just("a IS MISSING"),
)
_CONDITIONS = st.recursive(
    _COMPARISONS,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=5,
)
_WHERE = st.one_of(
    _CONDITIONS,
    st.builds("pk = {} AND {}".format, _TEXTS, _CONDITIONS),
    st.builds("{} OR {}".format, _CONDITIONS, _CONDITIONS),
)
_MAY_BE_REFUSED = ("Overlapping conditions with range keys", "One or more parameter values")


@given(condition=_WHERE, limit=st.integers(1, 5), source=st.sampled_from(["t12", '"t12"."by-a"']))
def test_a_read_by_key_returns_the_items_of_a_scan(engine: Engine, condition: str, limit: int, source: str) -> None:
    # With another branch that does not name a partition it is a scan.
    scan = f"SELECT * FROM {source} WHERE ({condition}) AND n >= 0 OR n < 0"
    try:
        scanned = keys_found(engine, scan)
    except ValidationError as error:
        with pytest.raises(ValidationError, match=re.escape(error.message)):
            keys_found(engine, f"SELECT * FROM {source} WHERE {condition}")
        return
    try:
        once = keys_found(engine, f"SELECT * FROM {source} WHERE {condition}")
    except ValidationError as error:
        assert error.message.startswith(_MAY_BE_REFUSED)  # noqa: PT017 - what it finds otherwise is compared below
        return
    assert sorted(once) == sorted(scanned)
    assert len(set(once)) == len(once)
    assert keys_found(engine, f"SELECT * FROM {source} WHERE {condition}", Limit=limit) == once


def test_order_by_follows_the_sort_key(engine: Engine) -> None:
    assert keys_found(engine, "SELECT * FROM t12 WHERE pk = 'p' ORDER BY sk DESC", Limit=3) == [
        ("p", sk) for sk in "4321"
    ]
    assert keys_found(engine, "SELECT * FROM t12 WHERE pk IN ['q', 'p'] ORDER BY pk DESC, sk", Limit=3) == [
        *(("q", sk) for sk in SORTS),
        *(("p", sk) for sk in SORTS),
    ]
    by_disjoint_ranges = "SELECT * FROM t12 WHERE pk = 'p' AND sk < '2' OR pk = 'p' AND sk > '3' ORDER BY sk DESC"
    assert keys_found(engine, by_disjoint_ranges) == [("p", "4"), ("p", "1")]


@pytest.mark.parametrize("token", ["", "x", "e30=", "WzEsMiwzXQ==", "\xff", "MQ==", "bnVsbA=="])
def test_an_invalid_token_is_rejected(engine: Engine, token: str) -> None:
    with pytest.raises(ServiceError) as caught:
        engine.call("ExecuteStatement", {"Statement": "SELECT * FROM t12", "NextToken": token})
    assert caught.value.code == "ValidationException"


@pytest.mark.parametrize("pk", ["x", {"S": 5}, {}, {"N": "x"}, {"B": "%"}, None])
def test_a_token_with_a_modified_key_is_rejected(engine: Engine, pk: Any) -> None:
    request = {"Statement": "SELECT * FROM t12", "Limit": 1}
    digest, step, _ = orjson.loads(urlsafe_b64decode(engine.call("ExecuteStatement", request)["NextToken"]))
    token = urlsafe_b64encode(orjson.dumps([digest, step, {"pk": pk, "sk": {"S": "1"}}])).decode()
    with pytest.raises(ServiceError) as caught:
        engine.call("ExecuteStatement", {**request, "NextToken": token})
    assert caught.value.code == "ValidationException"


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 4500 + "3000000000"])
def test_an_index_of_thousands_of_digits_is_out_of_range(engine: Engine, digits: str) -> None:
    with pytest.raises(ServiceError, match="List index is not within the allowable range"):
        engine.call("ExecuteStatement", {"Statement": f"SELECT * FROM t12 WHERE a[{digits}] = 1"})


def test_a_parameter_with_an_exponent_of_thousands_of_digits_is_not_a_number(engine: Engine) -> None:
    parameters = [{"N": f"1e{'9' * 5000}"}]
    with pytest.raises(ServiceError, match="numeric value"):
        engine.call("ExecuteStatement", {"Statement": "SELECT * FROM t12 WHERE a = ?", "Parameters": parameters})


def test_a_page_ends_at_one_megabyte(engine: Engine) -> None:
    with Engine.memory() as large:
        create(large, "large", AttributeDefinitions=definitions(pk="S"), KeySchema=schema("pk"))
        for number in range(8):
            large.call("PutItem", {"TableName": "large", "Item": {"pk": {"S": str(number)}, "b": {"S": "x" * 300_000}}})
        named = ", ".join(f"'{number}'" for number in range(8))
        first = large.call("ExecuteStatement", {"Statement": f"SELECT pk FROM large WHERE pk IN [{named}]"})
        assert [item["pk"]["S"] for item in first["Items"]] == ["0", "1", "2", "3"]
        second = large.call(
            "ExecuteStatement",
            {"Statement": f"SELECT pk FROM large WHERE pk IN [{named}]", "NextToken": first["NextToken"]},
        )
        assert [item["pk"]["S"] for item in second["Items"]] == ["4", "5", "6", "7"]
        assert "NextToken" not in second
