"""A SELECT returns the same items as a Query or a Scan, page by page, at the same cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.statements import written
from tests.engine.statements.written import Node, Value, Writing

from keyplan.engine.engine import Engine
from keyplan.errors import ValidationError

TABLE = "things"
PARTITIONS = st.sampled_from(["p", "é"])
DOCUMENTS: list[Value] = [
    {"n": {"N": "1"}, "m": {"M": {"n": {"N": "1"}, 'q"t': {"S": "ab"}}}, "l": {"L": [{"S": "a"}, {"N": "2"}]}},
    {"n": {"N": "2"}, "ss": {"SS": ["a", "ab"]}, "x.y": {"L": [{"M": {"t": {"S": "a"}}}]}, "é": {"NULL": True}},
    {"t": {"S": "it's"}, "size": {"S": "x" * 9000}, "Order": {"B": b"a"}, "ns": {"NS": ["1"]}},
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.memory() as engine:
        written.make(engine, TABLE)
        for number in range(18):
            item = {
                "pk": {"S": "pé"[number % 2]},
                "sk": {"N": str(number // 2 - 1)},
                **DOCUMENTS[number % 3],
                **({"a": {"S": ("a", "ab", "b")[number % 3]}} if number % 4 else {}),
                **({"b": {"N": ("-1", "0", "1.5")[number % 3]}} if number % 5 else {}),
                **({"c": {"B": (b"a", b"\x00\xff")[number % 2]}} if number % 7 else {}),
            }
            engine.call("PutItem", {"TableName": TABLE, "Item": item})
        yield engine


class Source(NamedTuple):
    """A table or index, and its keys."""

    index_name: str | None
    partition: str
    partitions: st.SearchStrategy[Value]
    sort: str | None
    sorts: st.SearchStrategy[Value]


_TABLE_PARTITIONS = PARTITIONS.map(lambda text: {"S": text})
SOURCES = [
    Source(None, "pk", _TABLE_PARTITIONS, "sk", written.NUMBER_VALUES),
    Source("local-a", "pk", _TABLE_PARTITIONS, "a", written.KEYS["a"]),
    Source("local-b", "pk", _TABLE_PARTITIONS, "b", written.NUMBER_VALUES),
    Source("by-a", "a", written.KEYS["a"], "sk", written.NUMBER_VALUES),
    Source("by-c", "c", written.KEYS["c"], None, written.NUMBER_VALUES),
]


@st.composite
def _keyed(draw: st.DrawFn, source: Source) -> Node:
    partition = Node("{} = {}", "{} = {}", ((source.partition,), draw(source.partitions)))
    if source.sort is None or draw(st.booleans()):
        return partition
    how = draw(st.sampled_from(["{} = {}", "{} < {}", "{} >= {}", "{} BETWEEN {} AND {}", "begins_with({}, {})"]))
    bounds = [draw(source.sorts) for _ in range(how.count("{}") - 1)]
    sort = Node(how, how, ((source.sort,), *bounds))
    return Node("{} AND {}", "{} AND {}", (partition, sort))


@given(
    data=st.data(),
    source=st.sampled_from(SOURCES),
    condition=st.none() | written.CONDITIONS,
    projection=st.none() | st.lists(written.NAMES, min_size=1, max_size=3, unique=True),
    descending=st.none() | st.booleans(),
    limit=st.none() | st.integers(1, 6),
    consistent=st.booleans(),
    literals=st.booleans(),
)
def test_pages_and_costs_equal_those_of_the_operations(
    engine: Engine,
    data: st.DataObject,
    source: Source,
    condition: Node | None,
    projection: list[str] | None,
    descending: bool | None,
    limit: int | None,
    consistent: bool,
    literals: bool,
) -> None:
    writing = Writing(literals=literals)
    common = {"ReturnConsumedCapacity": "INDEXES", "ConsistentRead": consistent, **({"Limit": limit} if limit else {})}
    request = {"TableName": TABLE, **common, **({"IndexName": source.index_name} if source.index_name else {})}
    columns = [writing.path((name,)) for name in projection or ()]
    if columns:
        request["ProjectionExpression"] = ", ".join(column.expression for column in columns)
    key = data.draw(st.none() | _keyed(source))
    where = []
    if key is not None:
        keyed = writing.node(key)
        where.append(keyed.statement)
        request["KeyConditionExpression"] = keyed.expression
    if condition is not None:
        filtered = writing.node(condition)
        where.append(f"({filtered.statement})")
        request["FilterExpression"] = filtered.expression
    statement = f"SELECT {', '.join(column.statement for column in columns) or '*'} FROM {TABLE}"
    statement += f'."{source.index_name}"' if source.index_name else ""
    statement += f" WHERE {' AND '.join(where)}" if where else ""
    if key is not None and source.sort is not None and descending is not None:
        statement += f" ORDER BY {source.sort} {'DESC' if descending else 'ASC'}"
        request["ScanIndexForward"] = not descending
    first = {"Statement": statement, **common, **writing.for_statement()}
    operation = "Scan" if key is None else "Query"
    _follow(engine, first, operation, {**request, **writing.for_expressions()})


def _follow(engine: Engine, statement: dict[str, Any], operation: str, request: dict[str, Any]) -> None:
    while True:
        try:
            page = engine.call(operation, request)
        except ValidationError:
            with pytest.raises(ValidationError):
                engine.call("ExecuteStatement", statement)
            return
        response = engine.call("ExecuteStatement", statement)
        assert response["Items"] == page["Items"]
        assert response["ConsumedCapacity"] == page["ConsumedCapacity"]
        assert response.get("LastEvaluatedKey") == page.get("LastEvaluatedKey")
        assert ("NextToken" in response) == ("LastEvaluatedKey" in page)
        if "NextToken" not in response:
            return
        statement = {**statement, "NextToken": response["NextToken"]}
        request = {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}
