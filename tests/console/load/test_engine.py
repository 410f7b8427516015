"""Load of an embedded engine: patterns, undeclared requests, partitions, keys."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from tests.console.load import small_design as shop

from keyplan import Entity, ItemKey, Table, connect, item
from keyplan.client.connection import Connection
from keyplan.client.requests import Meter
from keyplan.clock import ManualClock
from keyplan.console import Console, Source
from keyplan.console.load.heat_maps import partition_load_of
from keyplan.console.load.state import RecordedLoad
from keyplan.console.source import record_calls
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import ConditionalCheckFailedError, ResourceNotFoundError, ServiceError

DESIGN = Design.of(shop)
TASK = shop.Task(user_id="ada", task_id="1", due="2026-02-01")
KEY = {"PK": {"S": "USER#ada"}, "SK": {"S": "TASK#1"}}


notes = Table("notes", pk="note_id")


@notes.entity()
class Note(Entity):
    note_id: str


@notes.get(Note)
def tasks(note_id: str) -> ItemKey:
    """Read a note: a pattern with the name of one of the other design."""
    return item(note_id=note_id)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock) as engine:
        yield engine


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def db(engine: Engine, meter: Meter) -> Connection:
    db = connect(engine=engine, meter=meter)
    db.create_tables(shop.app)
    return db


@pytest.fixture
def recorded_load(engine: Engine, db: Connection) -> RecordedLoad:
    assert db
    return RecordedLoad(Source.from_engine(engine), [DESIGN])


def patterns(recorded_load: RecordedLoad) -> dict[str, int]:
    return {name: counts.requests for name, counts in recorded_load.recorder.window().totals("pattern").items()}


def undeclared(recorded_load: RecordedLoad) -> dict[str, str]:
    return {use.summary: use.detail for use in recorded_load.recorder.undeclared()}


def test_requests_of_a_connection_count_for_their_patterns_with_the_meters_figures(
    recorded_load: RecordedLoad, db: Connection, meter: Meter
) -> None:
    db.run(shop.add_task(TASK))
    db.run(shop.put_profile(shop.Profile(user_id="ada")))
    db.run(shop.task_by_id("ada", "1"))
    db.run(shop.profile_of("ada"))
    db.run(shop.open_tasks("ada", before="2027"))
    db.run(shop.tasks("ada"))
    db.run(shop.rename("ada", "1", "Buy milk"))
    db.run(shop.finish("ada", "1", TASK.due))
    other = shop.Task(user_id="bob", task_id="2", due="2026-02-01")
    db.run(shop.add_with_profile(other, shop.Profile(user_id="bob")))
    counted = recorded_load.recorder.window().totals("pattern")
    for name, usage in meter.read().items():
        counts = counted[name]
        assert (counts.requests, counts.read, counts.write) == (
            usage.requests,
            usage.consumed.reads,
            usage.consumed.writes,
        ), name
    assert recorded_load.recorder.undeclared() == []


def test_requests_of_any_program_count_by_the_form_of_their_keys(recorded_load: RecordedLoad, engine: Engine) -> None:
    engine.call("GetItem", {"TableName": "app", "Key": KEY})
    engine.call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "USER#ada"}, "SK": {"S": "PROFILE"}}})
    engine.call(
        "Query",
        {
            "TableName": "app",
            "IndexName": "open",
            "KeyConditionExpression": "GSI1PK = :p AND GSI1SK < :s",
            "ExpressionAttributeValues": {":p": {"S": "OPEN#ada"}, ":s": {"S": "2027"}},
        },
    )
    assert patterns(recorded_load) == {"open_tasks": 1, "task_by_id": 1, "profile_of": 1}


def test_a_request_that_no_pattern_explains_is_shown_with_its_condition(
    recorded_load: RecordedLoad, engine: Engine
) -> None:
    engine.call(
        "Query",
        {
            "TableName": "app",
            "KeyConditionExpression": "#k = :p AND begins_with(SK, :s)",
            "FilterExpression": "title = :t",
            "ExpressionAttributeNames": {"#k": "PK"},
            "ExpressionAttributeValues": {":p": {"S": "USER#ada"}, ":s": {"S": "NOTE#"}, ":t": {"S": ":p #k"}},
        },
    )
    engine.call("Scan", {"TableName": "app"})
    engine.call("ExecuteStatement", {"Statement": "SELECT * FROM app WHERE PK = 'USER#ada'"})
    assert undeclared(recorded_load) == {
        "Query app (PK USER#…, SK begins_with, with filter)": (
            'PK = "USER#ada" AND begins_with(SK, "NOTE#"); filter title = ":p #k"'
        ),
        "Scan app": "",
        "ExecuteStatement SELECT * FROM app WHERE PK = 'USER#ada'": "SELECT * FROM app WHERE PK = 'USER#ada'",
    }
    assert patterns(recorded_load) == {}


def test_a_read_of_a_whole_collection_is_not_the_declared_read_of_a_part(
    recorded_load: RecordedLoad, engine: Engine
) -> None:
    engine.call(
        "Query",
        {
            "TableName": "app",
            "IndexName": "open",
            "KeyConditionExpression": "GSI1PK = :p",
            "ExpressionAttributeValues": {":p": {"S": "OPEN#ada"}},
        },
    )
    assert list(undeclared(recorded_load)) == ["Query app/open (GSI1PK OPEN#…)"]


def test_errors_count_for_their_pattern_and_refused_requests_never_fail_the_call(
    recorded_load: RecordedLoad, db: Connection, engine: Engine
) -> None:
    put = {
        "TableName": "app",
        "Item": {**KEY, "due": {"S": "x"}},
        "ConditionExpression": "attribute_exists(PK)",
    }
    with pytest.raises(ConditionalCheckFailedError):
        engine.call("PutItem", put)
    broken: list[tuple[str, dict[str, Any]]] = [
        ("Query", {"TableName": "app", "KeyConditionExpression": "PK ="}),
        ("GetItem", {"TableName": "missing", "Key": KEY}),
        ("PutItem", {"TableName": "app"}),
        ("TransactWriteItems", {"TransactItems": [{"Put": 3}]}),
        ("BatchGetItem", {"RequestItems": []}),
    ]
    for operation, request in broken:
        with pytest.raises(ServiceError):
            engine.call(operation, request)
    total = recorded_load.recorder.window().total
    assert (total.requests, total.errors) == (6, 6)
    with pytest.raises(ResourceNotFoundError):
        engine.call_wire("GetItem", {"TableName": "missing", "Key": KEY})


def test_tables_and_indexes_have_their_own_units(recorded_load: RecordedLoad, db: Connection) -> None:
    db.run(shop.add_task(TASK))
    db.run(shop.open_tasks("ada", before="2027"))
    places = recorded_load.recorder.window().totals("resource")
    assert {name: (counts.read, counts.write) for name, counts in places.items()} == {
        "app": (0.0, 1.0),
        "app/open": (0.5, 1.0),
    }
    keys = {(use.resource, use.key): use.units for use in recorded_load.recorder.hottest_keys()}
    assert keys == {("app", "USER#ada"): 1.0, ("app/open", "OPEN#ada"): 1.5}


def test_a_key_that_is_too_hot_for_a_partition_is_reported_although_the_engine_serves_it(
    recorded_load: RecordedLoad, engine: Engine
) -> None:
    engine.observe(recorded_load.engine.observe if recorded_load.engine else None, most_per_s=1e9)
    put = {"TableName": "app", "Item": {**KEY, "blob": {"S": "x" * 50_000}}}
    for _ in range(60):
        engine.call("PutItem", put)
    window = recorded_load.recorder.window()
    assert recorded_load.engine is not None
    heat = partition_load_of(window, "app", recorded_load.engine.partitions("app"))
    assert heat.partitions == 4
    assert heat.exceeding > 0
    assert "heat-over" in heat.svg
    assert window.total.throttled == 0, "the engine itself refused nothing"
    assert heat.busiest_share == 1.0


def test_an_engine_that_throttles_shows_its_own_partitions(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, faults=Faults(throttle=True)) as engine:
        connect(engine=engine).create_tables(shop.app)
        recorded_load = RecordedLoad(Source.from_engine(engine), [DESIGN])
        assert recorded_load.engine is not None
        engine.observe(recorded_load.engine.observe, most_per_s=1e9)
        put = {"TableName": "app", "Item": {**KEY, "blob": {"S": "x" * 50_000}}}
        refused = 0
        for _ in range(60):
            try:
                engine.call("PutItem", put)
            except ServiceError:
                refused += 1
        assert refused
        assert recorded_load.recorder.window().total.throttled == refused
        assert recorded_load.partition_loads(recorded_load.recorder.window())[0].exceeding == refused


def test_the_consoles_own_calls_do_not_count(recorded_load: RecordedLoad, engine: Engine) -> None:
    with record_calls():
        engine.call("Scan", {"TableName": "app"})
    assert recorded_load.recorder.window().total.requests == 0


def test_a_console_of_several_designs_matches_all_of_them(engine: Engine, db: Connection) -> None:
    other = ModuleType("other")
    other.notes, other.tasks = notes, tasks  # type: ignore[attr-defined]
    db.create_tables(notes)
    console = Console(Source.from_engine(engine), designs={"shop": DESIGN, "other": Design.of(other)})
    db.run(shop.tasks("ada"))
    db.run(tasks("1"))
    db.run(shop.profile_of("ada"))
    assert patterns(console.load) == {"small_design.tasks": 1, "other.tasks": 1, "profile_of": 1}
    rows = {row.name: row.measured for row in console.load.forecast(console.load.window())}
    assert all(rows[name] for name in ("small_design.tasks", "other.tasks"))


def test_a_window_of_some_names_has_their_total(recorded_load: RecordedLoad, db: Connection, engine: Engine) -> None:
    db.run(shop.tasks("ada"))
    db.run(shop.profile_of("ada"))
    engine.call("Scan", {"TableName": "app"})
    part = recorded_load.recorder.window().select_names(lambda name: name[1] in {"tasks", "Scan app"})
    assert (part.total.requests, part.total.read) == (2, 1.0)
    assert list(part.totals("resource")) == []


def test_forecast_and_measurement_stand_side_by_side(
    recorded_load: RecordedLoad, db: Connection, clock: ManualClock
) -> None:
    clock.advance(1)
    for number in range(30):
        db.run(shop.add_task(TASK.model_copy(update={"task_id": str(number), "title": "x" * 5000})))
    rows = {row.name: row for row in recorded_load.forecast(recorded_load.recorder.window())}
    add = rows["add_task"]
    assert (add.declared, add.peak, add.verdict) == (10, 20, "above peak")
    assert add.measured_units is not None
    assert add.measured_units > 5 * add.expected_units / 2
    assert add.forecast is not None
    assert add.projected > add.forecast
    assert rows["tasks"].verdict == ""
    assert rows["tasks"].forecast is None
    clock.advance(60)
    later = {row.name: row for row in recorded_load.forecast(recorded_load.recorder.window())}["add_task"]
    assert later.verdict == "more expensive"
