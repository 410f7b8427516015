"""The engine: two forms that agree, unknown operations, closing, restarts, groups and copies."""

from __future__ import annotations

import math
import threading
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import tables_of
from tests.engine.table_making import add_index, create, put
from tests.laws import examples

from keyplan.clock import ManualClock
from keyplan.engine import commands, fsck
from keyplan.engine import engine as engine_module
from keyplan.engine.engine import Engine
from keyplan.engine.faults import lag
from keyplan.engine.faults.settings import Faults
from keyplan.engine.store.sqlite import Durability
from keyplan.engine.tables.catalog import CatalogChanged, Table
from keyplan.errors import (
    DatabaseCorruptError,
    DatabaseFullError,
    EngineClosedError,
    ServiceError,
    UnknownOperationError,
)

KEY = {"id": {"S": "a"}}
ODD_GETS: list[dict[str, Any]] = [
    {"TableName": "notes", "Key": KEY},
    {"TableName": "notes", "Key": {"id": {"S": "another"}}},
    {"TableName": "notes", "Key": KEY, "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"},
    {"TableName": "notes", "Key": KEY, "ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": "n"}},
    {"TableName": "notes", "Key": KEY, "ProjectionExpression": "#a"},
    {"TableName": "notes", "Key": {"id": {"S": "\ud800"}}},
    {"TableName": "notes", "Key": {"id": {"N": "1"}}},
    {"TableName": "notes", "Key": {"id": {"S": 1}}},
    {"TableName": "notes", "Key": {"id": {"S": ""}}},
    {"TableName": "notes", "Key": {"id": {"S": "a", "N": "1"}}},
    {"TableName": "notes", "Key": {}},
    {"TableName": "notes", "Key": [KEY]},
    {"TableName": "unknown", "Key": KEY},
    {"TableName": "not a name", "Key": KEY},
    {"TableName": "notes"},
]

binaries = st.binary(max_size=8)
scalars = st.one_of(
    binaries.map(lambda content: {"B": content}),
    st.text(max_size=5).map(lambda content: {"S": content}),
    st.integers(-(10**20), 10**20).map(lambda number: {"N": str(number)}),
    st.booleans().map(lambda content: {"BOOL": content}),
    st.lists(binaries, min_size=1, max_size=3, unique=True).map(lambda content: {"BS": content}),
    st.lists(st.text(max_size=3), min_size=1, max_size=3, unique=True).map(lambda content: {"SS": content}),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda content: {"L": content}),
        st.dictionaries(st.sampled_from(["B", "BS", "k", "S"]), inner, max_size=3).map(lambda content: {"M": content}),
    ),
    max_leaves=6,
)
attributes = st.dictionaries(st.sampled_from(["B", "BS", "x", "y"]), values, max_size=4)


def on_wire(result: Any) -> Any:
    """Return an answer or request in Python form as JSON has it."""
    if isinstance(result, bytes):
        return b64encode(result).decode()
    if isinstance(result, dict):
        return {name: on_wire(value) for name, value in result.items()}
    return [on_wire(value) for value in result] if isinstance(result, list) else result


@settings(max_examples=examples(60), deadline=None, database=None, derandomize=True)
@given(attributes=attributes, other=attributes)
def test_python_and_wire_form_have_the_same_content(attributes: dict[str, Any], other: dict[str, Any]) -> None:
    with Engine.memory() as engine, Engine.memory() as another:
        for created_engine in (engine, another):
            create(created_engine)
        for operation, request in _requests({**KEY, **attributes}, {**KEY, **other}):
            python = engine.call(operation, request)
            wire = tables_of.wire(another.call_wire(operation, on_wire(request)))
            assert on_wire(python) == wire


def _requests(item: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    table = {"TableName": "notes"}
    changed = {name: value for name, value in other.items() if name != "id"}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("PutItem", {**table, "Item": item}),
        ("PutItem", {**table, "Item": item, "ReturnValues": "ALL_OLD"}),
        ("GetItem", {**table, "Key": KEY, "ReturnConsumedCapacity": "TOTAL"}),
        ("GetItem", {**table, "Key": KEY, "ProjectionExpression": "x, BS"}),
        ("BatchGetItem", {"RequestItems": {"notes": {"Keys": [KEY]}}}),
        ("TransactGetItems", {"TransactItems": [{"Get": {**table, "Key": KEY}}]}),
        ("Scan", table),
        ("Scan", {**table, "Limit": 1, "ProjectionExpression": "id, x"}),
    ]
    if changed:
        update = {
            **table,
            "Key": KEY,
            "UpdateExpression": "SET " + ", ".join(f"#{number} = :{number}" for number in range(len(changed))),
            "ExpressionAttributeNames": {f"#{number}": name for number, name in enumerate(changed)},
            "ExpressionAttributeValues": {f":{number}": value for number, value in enumerate(changed.values())},
        }
        requests += [("UpdateItem", {**update, "ReturnValues": kind}) for kind in ("UPDATED_NEW", "ALL_OLD", "ALL_NEW")]
    query = {"KeyConditionExpression": "id = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}}
    return [*requests, ("Query", {**table, **query}), ("DeleteItem", {**table, "Key": KEY, "ReturnValues": "ALL_OLD"})]


def outcome(call: Callable[[str, dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> object:
    """Return the answer of a get, or the code and message of its error."""
    try:
        return call("GetItem", request)
    except ServiceError as error:
        return error.code, error.message


@pytest.mark.parametrize("request_", ODD_GETS, ids=repr)
def test_a_prepared_get_answers_and_fails_like_a_call(engine: Engine, request_: dict[str, Any]) -> None:
    create(engine)
    put(engine, "a", n={"N": "1"})
    assert outcome(engine.prepared("GetItem"), request_) == outcome(engine.call, request_)


def test_a_prepared_get_sees_tables_that_were_created_again(engine: Engine) -> None:
    create(engine)
    put(engine, "a")
    get = engine.prepared("GetItem")
    assert get("GetItem", {"TableName": "notes", "Key": KEY}) == {"Item": KEY}
    engine.call("DeleteTable", {"TableName": "notes"})
    create(engine)
    assert get("GetItem", {"TableName": "notes", "Key": KEY}) == {}


def test_a_prepared_call_meets_injected_faults_and_the_call_of_a_subclass() -> None:
    class Refusing(Engine):
        def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            raise ServiceError(operation)

    with Engine.memory(faults=Faults(seed=1, internal_errors=1.0)) as faulty, Refusing.memory() as refusing:
        for engine in (faulty, refusing):
            with pytest.raises(ServiceError):
                engine.prepared("GetItem")("GetItem", {"TableName": "notes", "Key": KEY})
        assert faulty.prepared("PutItem") == faulty.call


def test_a_failed_condition_shows_the_item_in_the_form_of_the_call(engine: Engine) -> None:
    create(engine)
    put(engine, "a", x={"B": b"\x00\xff"})
    request = {
        "TableName": "notes",
        "Key": KEY,
        "ConditionExpression": "attribute_not_exists(id)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    with pytest.raises(ServiceError) as python:
        engine.call("DeleteItem", request)
    with pytest.raises(ServiceError) as wire:
        engine.call_wire("DeleteItem", request)
    assert python.value.members["Item"]["x"] == {"B": b"\x00\xff"}
    assert wire.value.members["Item"]["x"] == {"B": "AP8="}


def test_a_request_is_not_changed_and_the_response_belongs_to_the_caller(engine: Engine) -> None:
    create(engine)
    item: dict[str, Any] = {**KEY, "x": {"M": {"l": {"L": [{"N": "1.0"}, {"B": b"b"}]}}}}
    before = repr(item)
    engine.call("PutItem", {"TableName": "notes", "Item": item})
    assert repr(item) == before
    item["x"]["M"]["l"]["L"].clear()
    stored_item = engine.call("GetItem", {"TableName": "notes", "Key": KEY})["Item"]
    assert stored_item["x"] == {"M": {"l": {"L": [{"N": "1"}, {"B": b"b"}]}}}
    stored_item["x"]["M"].clear()
    assert engine.call("GetItem", {"TableName": "notes", "Key": KEY})["Item"]["x"]["M"] != {}


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_return_values_of_none_are_ignored(engine: Engine, operation: str) -> None:
    create(engine)
    put(engine, "a")
    member = "Item" if operation == "PutItem" else "Key"
    assert engine.call(operation, {"TableName": "notes", member: KEY, "ReturnValues": None}) == {}


@pytest.mark.parametrize("name", ["NoSuchThing", "", "putitem", "__class__"])
def test_an_unknown_operation_is_rejected(engine: Engine, name: str) -> None:
    for call in (engine.call, engine.call_wire):
        with pytest.raises(UnknownOperationError):
            call(name, {})


def test_all_listed_operations_can_be_called(engine: Engine) -> None:
    assert engine.operations == frozenset(commands.OPERATIONS)
    result = {name: _error_of(engine, name) for name in engine.operations}
    assert UnknownOperationError not in result.values()


def _error_of(engine: Engine, operation: str) -> type[ServiceError] | None:
    try:
        engine.call(operation, {})
    except ServiceError as error:
        return type(error)
    return None


@pytest.mark.parametrize("operation", ["GetItem", "PutItem", "ListTables", "CreateTable", "Scan"])
@pytest.mark.parametrize("in_file", [False, True])
def test_a_closed_engine_raises_an_error(operation: str, in_file: bool, tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "data.db") if in_file else Engine.memory()
    create(engine)
    put(engine, "a")
    engine.close()
    engine.close()
    requests: dict[str, dict[str, Any]] = {
        "GetItem": {"TableName": "notes", "Key": KEY},
        "PutItem": {"TableName": "notes", "Item": KEY},
        "ListTables": {},
        "CreateTable": {
            "TableName": "more",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
        "Scan": {"TableName": "notes"},
    }
    with pytest.raises(EngineClosedError):
        engine.call(operation, requests[operation])
    result: list[BaseException] = []

    def elsewhere() -> None:
        try:
            engine.call(operation, requests[operation])
        except EngineClosedError as error:
            result.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(result) == 1


@pytest.mark.parametrize("in_file", [False, True])
def test_a_restarted_operation_of_a_closed_engine_raises_an_error(
    in_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine.open(tmp_path / "data.db") if in_file else Engine.memory()
    create(engine)
    engine.call("Scan", {"TableName": "notes"})

    def close(_name: str) -> Table:
        engine.close()
        raise CatalogChanged

    monkeypatch.setattr(engine.database, "table", close)
    with pytest.raises(EngineClosedError):
        engine.call("Scan", {"TableName": "notes"})


def test_maintenance_of_a_closed_engine_raises_an_error(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "data.db", clock=tables_of.clock())
    tables_of.create(engine, **tables_of.with_stream())
    engine.close()
    for work in (engine.sweep, engine.trim_streams, engine.trim_history):
        with pytest.raises(EngineClosedError):
            work()
    with pytest.raises(EngineClosedError), engine.group():
        put(engine, "a")


def test_an_operation_starts_over_if_the_table_has_changed(tmp_path: Path) -> None:
    """Replace the table between look-up and write, again and again, through another engine on the file."""
    with Engine.open(tmp_path / "data.db") as engine, Engine.open(tmp_path / "data.db") as other:
        create(engine)
        for _ in range(3):
            other.call("DeleteTable", {"TableName": "notes"})
            create(other)
            put(engine, "a")
            assert other.call("GetItem", {"TableName": "notes", "Key": KEY})["Item"] == KEY
            other.call("DeleteTable", {"TableName": "notes"})
            create(other)
            assert engine.call("Scan", {"TableName": "notes"})["Items"] == []


@pytest.mark.parametrize("durability", ["normal", "full"])
@pytest.mark.parametrize("own", ["nothing", "trim"])
def test_a_table_changed_by_another_engine_is_noticed_after_a_blind_write(
    own: str, durability: Durability, tmp_path: Path
) -> None:
    clock, path = ManualClock(), tmp_path / "data.db"
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    with (
        Engine.open(path, durability=durability, clock=clock) as engine,
        Engine.open(path, durability=durability, clock=clock) as other,
    ):
        create(engine, StreamSpecification=stream)
        put(engine, "a", tagKey={"S": "x"})
        clock.advance(25 * 3600)
        add_index(other, "tag")
        if own == "trim":
            assert engine.trim_streams() == 1
        else:
            engine.store.write(lambda _: None)
        put(engine, "b", tagKey={"S": "x"})
        assert fsck.check(other) == []
        assert other.call("Scan", {"TableName": "notes", "IndexName": "tag"})["Count"] == 2


def test_an_operation_does_not_start_over_forever(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def changing(*arguments: Any) -> dict[str, Any]:
        starts.append(arguments)
        raise CatalogChanged

    command = commands.command("ListTables")
    monkeypatch.setattr(engine_module, "command", lambda name: command._replace(run=changing))
    with pytest.raises(CatalogChanged):
        engine.call("ListTables", {})
    assert 1 < len(starts) <= 100


def test_a_group_becomes_visible_to_others_at_its_end(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine, Engine.open(tmp_path / "data.db") as other:
        create(engine)
        with engine.group():
            put(engine, "a")
            put(engine, "b")
            assert other.call("Scan", {"TableName": "notes"})["Count"] == 0
        assert other.call("Scan", {"TableName": "notes"})["Count"] == 2


def test_a_group_that_raises_has_written_nothing(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        create(engine)
        with pytest.raises(ZeroDivisionError), engine.group():  # noqa: PT012 - a write, then the failure
            put(engine, "a")
            raise ZeroDivisionError
        assert engine.call("Scan", {"TableName": "notes"})["Count"] == 0


def test_a_copy_is_independent(engine: Engine) -> None:
    create(engine)
    put(engine, "a")
    with engine.copy() as copy:
        put(copy, "b")
        assert copy.call("Scan", {"TableName": "notes"})["Count"] == 2
    assert engine.call("Scan", {"TableName": "notes"})["Count"] == 1


def test_a_copy_keeps_the_options_of_its_engine_except_faults_and_buckets(tmp_path: Path) -> None:
    options: dict[str, Any] = {"state_delay_s": 5.0, "ttl_delay_s": 1.0, "stream_shards": 3, "buckets": tmp_path}
    with Engine.memory(**options, faults=Faults(seed=1, ttl_delay=2.0)) as engine, engine.copy(stream_shards=2) as copy:
        settings = copy.database.settings
        assert (settings.state_delay_s, settings.ttl_delay_s, settings.stream_shards) == (5.0, 1.0, 2)
        assert (copy.faults, copy.buckets) == (None, None)


@pytest.mark.parametrize(
    "option",
    [
        {"state_delay_s": -1},
        {"ttl_delay_s": -0.5},
        {"ttl_sweep_s": 0},
        {"stream_shards": 0},
        {"state_delay_s": float("nan")},
        {"state_delay_s": math.inf},
        {"ttl_delay_s": math.inf},
        {"ttl_sweep_s": math.inf},
    ],
    ids=str,
)
def test_an_invalid_option_is_rejected(option: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(option))} must be "):
        Engine.open(tmp_path / "data.db", **option)
    with pytest.raises(ValueError, match=f"^{next(iter(option))} must be "):
        Engine.memory(**option)


def test_an_unreadable_item_is_reported_as_damage(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        create(engine)
        put(engine, "a")
        table = engine.database.table("notes")
        key = table.key.of_key(KEY)
        engine.database.write(table, lambda transaction: transaction.put(table.tree, key, 3, b"{not json"))
        with pytest.raises(DatabaseCorruptError, match=r"data\.db is damaged"):
            engine.call("GetItem", {"TableName": "notes", "Key": KEY})
        put(engine, "b")


def test_an_unreadable_table_description_is_reported_as_damage(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        create(engine)

        def damage(transaction: Any) -> None:
            transaction.put_document("table:notes", b"{not json")
            transaction.next_sequence("catalog")

        engine.store.write(damage)
    with pytest.raises(DatabaseCorruptError, match=r"data\.db is damaged"):
        Engine.open(tmp_path / "data.db")


def test_an_engine_that_fails_to_open_releases_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def settle(*_given: Any, **_named: Any) -> None:
        raise DatabaseFullError("no room")

    monkeypatch.setattr(lag, "settle", settle)
    with pytest.raises(DatabaseFullError):
        Engine.open(tmp_path / "data.db")
    assert [path.name for path in tmp_path.iterdir()] == ["data.db"], "the last connection removes the log"


def test_wire_responses_are_json(engine: Engine) -> None:
    create(engine)
    put(engine, "a", x={"BS": [b"1", b"2"]})
    for operation, request in _requests({**KEY, "x": {"B": b"\x00"}}, {**KEY, "x": {"NULL": True}}):
        assert isinstance(orjson.loads(orjson.dumps(engine.call_wire(operation, on_wire(request)))), dict)
