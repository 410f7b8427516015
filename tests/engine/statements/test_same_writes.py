"""A writing statement has the same effect as its operation, at the same cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.statements import written
from tests.engine.statements.written import Node, Value, Writing

from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError

KEY: dict[str, Value] = {"pk": {"S": "p"}, "sk": {"N": "1"}}
WHERE = "WHERE pk = ? AND ? = sk"
BY_STATEMENT, BY_OPERATION = "by_statement", "by_operation"
RETURNED = {
    "": "NONE",
    "RETURNING ALL OLD *": "ALL_OLD",
    "RETURNING ALL NEW *": "ALL_NEW",
    "RETURNING MODIFIED OLD *": "UPDATED_OLD",
    "RETURNING MODIFIED NEW *": "UPDATED_NEW",
}
BEFORE = st.none() | written.ITEMS
CONDITIONS = st.none() | written.CONDITIONS
ON_FAILURE = st.sampled_from(["NONE", "ALL_OLD"])


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.memory() as engine:
        written.make(engine, BY_STATEMENT)
        written.make(engine, BY_OPERATION)
        yield engine
        assert fsck.check(engine) == []


class Outcome(NamedTuple):
    """The answer of a write and the resulting item."""

    failure: tuple[str, str] | None
    members: dict[str, Any]
    returned: list[Value]
    capacity: dict[str, Any]
    stored: Value | None


def outcome(engine: Engine, table: str, operation: str, request: dict[str, Any]) -> Outcome:
    response, failure, members = {}, None, {}
    try:
        response = engine.call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
    except ServiceError as error:
        failure, members = written.failure(error), error.members
    capacity = response.get("ConsumedCapacity", {})
    (capacity,) = capacity if isinstance(capacity, list) else [capacity]
    capacity.pop("TableName", None)
    returned = (
        response["Items"] if "Items" in response else [response["Attributes"]] if response.get("Attributes") else []
    )
    stored = engine.call("GetItem", {"TableName": table, "Key": KEY}).get("Item")
    return Outcome(failure, members, returned, capacity, stored)


def start(engine: Engine, before: Value | None) -> None:
    for table in (BY_STATEMENT, BY_OPERATION):
        if before is None:
            engine.call("DeleteItem", {"TableName": table, "Key": KEY})
        else:
            engine.call("PutItem", {"TableName": table, "Item": {**before, **KEY}})


def same(first: Outcome, second: Outcome, *, faults: int) -> None:
    """Assert that the outcomes are the same; of several faults they may report different ones."""
    if faults > 1 and first.failure != second.failure:
        first, second = (
            result._replace(failure=result.failure and (result.failure[0], "")) for result in (first, second)
        )
    assert first == second


def narrowed(writing: Writing, condition: Node | None) -> tuple[str, str | None]:
    """Return the WHERE clause of the item, and the condition as an expression."""
    writing.parameters += KEY.values()
    if condition is None:
        return WHERE, None
    pair = writing.node(condition)
    return f"{WHERE} AND {pair.statement}", pair.expression


@st.composite
def _actions(draw: st.DrawFn) -> tuple[str, Node]:
    """Draw the clause of an update, and its content in both forms."""
    path, target = draw(written.FREE_PATHS), draw(st.sampled_from(["n", "l", "m", "ss", "t", "new"]))
    match draw(st.integers(0, 7)):
        case 0 | 1:
            return "SET", Node("{} = {}", "{} = {}", (path, draw(written.VALUES)))
        case 2:
            name = draw(st.sampled_from(sorted(written.KEYS)))
            return "SET", Node("{} = {}", "{} = {}", ((name,), draw(written.KEYS[name] | written.LEAVES)))
        case 3:
            return "SET", Node("{} = {}", "{} = {}", (path, draw(written.PATHS)))
        case 4:
            form = f"{{}} = {{}} {draw(st.sampled_from('+-'))} {{}}"
            return "SET", Node(form, form, (path, draw(st.sampled_from([("n",), path])), draw(written.NUMBER_VALUES)))
        case 5:
            operands: list[Any] = draw(st.permutations([("l",), draw(written.LISTS)]))
            return "SET", Node("{} = list_append({}, {})", "{} = list_append({}, {})", ((target,), *operands))
        case 6:
            function, clause = draw(st.sampled_from([("set_add", "ADD"), ("set_delete", "DELETE")]))
            return clause, Node(f"{{0}} = {function}({{0}}, {{1}})", "{} {}", ((target,), draw(written.SETS)))
        case _:
            return "REMOVE", Node("{}", "{}", (draw(st.sampled_from([path, (target,), ("a",), ("b",)])),))


def _written(writing: Writing, actions: list[tuple[str, Node]]) -> tuple[str, str]:
    statement: list[str] = []
    clauses: dict[str, list[str]] = {}
    for clause, node in actions:
        pair = writing.node(node)
        statement.append(f"{'REMOVE' if clause == 'REMOVE' else 'SET'} {pair.statement}")
        clauses.setdefault(clause, []).append(pair.expression)
    return " ".join(statement), " ".join(f"{word} {', '.join(texts)}" for word, texts in clauses.items())


@given(
    before=BEFORE,
    actions=st.lists(_actions(), min_size=1, max_size=3),
    condition=CONDITIONS,
    returning=st.sampled_from(sorted(RETURNED)),
    literals=st.booleans(),
    on_failure=ON_FAILURE,
    together=st.booleans(),
)
def test_an_update_statement_is_an_update_of_an_existing_item(
    engine: Engine,
    before: Value | None,
    actions: list[tuple[str, Node]],
    condition: Node | None,
    returning: str,
    literals: bool,
    on_failure: str,
    together: bool,
) -> None:
    start(engine, before)
    writing = Writing(literals=literals)
    changes, update = _written(writing, actions)
    where, required = narrowed(writing, condition)
    options = {"ReturnValuesOnConditionCheckFailure": on_failure}
    statement = {
        "Statement": f"UPDATE {BY_STATEMENT} {changes} {where} {'' if together else returning}",
        **writing.for_statement(),
        **options,
    }
    request = {
        "TableName": BY_OPERATION,
        "Key": KEY,
        "UpdateExpression": update,
        "ConditionExpression": "attribute_exists(pk)" + (f" AND {required}" if required else ""),
        **writing.for_expressions(),
        **options,
    }
    if together:
        result = outcome(engine, BY_STATEMENT, "ExecuteTransaction", {"TransactStatements": [statement]})
        other = outcome(engine, BY_OPERATION, "TransactWriteItems", {"TransactItems": [{"Update": request}]})
    else:
        result = outcome(engine, BY_STATEMENT, "ExecuteStatement", statement)
        other = outcome(engine, BY_OPERATION, "UpdateItem", {**request, "ReturnValues": RETURNED[returning]})
    same(result, other, faults=1 if condition is None else 2)


@given(
    before=BEFORE,
    condition=CONDITIONS,
    returning=st.sampled_from(["", "RETURNING ALL OLD *"]),
    literals=st.booleans(),
    on_failure=ON_FAILURE,
)
def test_a_delete_statement_requires_its_condition_of_an_existing_item(
    engine: Engine, before: Value | None, condition: Node | None, returning: str, literals: bool, on_failure: str
) -> None:
    start(engine, before)
    writing = Writing(literals=literals)
    where, required = narrowed(writing, condition)
    options = {"ReturnValuesOnConditionCheckFailure": on_failure}
    statement = {"Statement": f"DELETE FROM {BY_STATEMENT} {where} {returning}", **writing.for_statement(), **options}
    request = {"TableName": BY_OPERATION, "Key": KEY, "ReturnValues": RETURNED[returning], **options}
    if required is not None:
        request["ConditionExpression"] = f"attribute_not_exists(pk) OR {required}"
    same(
        outcome(engine, BY_STATEMENT, "ExecuteStatement", statement),
        outcome(engine, BY_OPERATION, "DeleteItem", {**request, **writing.for_expressions()}),
        faults=1,
    )


@given(before=BEFORE, item=written.ITEMS, more=st.dictionaries(st.sampled_from("abc"), written.LEAVES, max_size=1))
def test_an_insert_statement_is_a_put_of_a_missing_item(
    engine: Engine, before: Value | None, item: Value, more: Value
) -> None:
    start(engine, before)
    item = {**item, **more, **KEY}
    writing = Writing(literals=True)
    members = ", ".join(f"{written.literal({'S': name})}: {writing.value(item[name]).statement}" for name in item)
    statement = {"Statement": f"INSERT INTO {BY_STATEMENT} VALUE {{{members}}}", **writing.for_statement()}
    request = {"TableName": BY_OPERATION, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
    inserted = outcome(engine, BY_STATEMENT, "ExecuteStatement", statement)
    put = outcome(engine, BY_OPERATION, "PutItem", request)
    if put.failure == ("ConditionalCheckFailedException", "The conditional request failed"):
        put = put._replace(failure=("DuplicateItemException", "Duplicate primary key exists in table"))
    same(inserted, put, faults=1)
