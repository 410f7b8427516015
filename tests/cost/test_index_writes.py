"""What an update is expected to write in indexes is what the engine measures, where the pattern says enough."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.laws import examples

from keyplan import GSI, LSI, Bytes, Engine, Entity, F, ItemWrite, Table, Volume, item, key
from keyplan.client.tables import PlanTable, create_request
from keyplan.cost.expected import expected
from keyplan.cost.units import Units
from keyplan.design.entities import EntitySpec
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.build import write_request
from keyplan.design.requests.items import item_builder
from keyplan.dynamodb.values.attribute import item_bytes, normalise_item
from keyplan.dynamodb.values.units import write_units

FIELDS: dict[str, list[Any]] = {
    "state": ["open", "held", "done"],
    "due": ["d1", "d2", None],
    "owner": ["o1", "o2", None],
    "rank": [1, 2],
    "note": ["n1", "n2", None],
}


def tasks(size: int) -> tuple[Table, type[Any]]:
    """Return a table with indexes of every kind, whose items have this number of bytes."""
    table = Table(
        "tasks",
        pk="id",
        sk="line",
        indexes=[
            GSI("due", pk="D1", sk="D2"),
            GSI("open", pk="O1", project="keys"),
            GSI("by_owner", pk="owner", sk="rank"),
            GSI("brief", pk="owner", project=["note", "state"]),
            GSI("whole", pk="W1"),
            LSI("ranked", sk="rank"),
        ],
    )

    @table.entity(
        indexes={
            "due": key("{state}", "{due}"),
            "open": key("{rank}", only_if=F.state == "open"),
            "whole": key("ALL", only_if=F.state != "done"),
        },
        volume=Volume(1, bytes=Bytes(size)),
    )
    class Task(Entity):
        id: str
        line: str
        state: Literal["open", "held", "done"]
        due: str | None = None
        owner: str | None = None
        rank: int
        note: str | None = None
        text: str

    return table, Task


def change_of(changes: dict[str, Any]) -> ItemWrite:
    """Return an update that sets fields to constants and removes fields without a value."""
    change: ItemWrite = item(id="a", line="b")
    for name, value in changes.items():
        change = change.remove(name) if value is None else change.set(**{name: value})
    return change


def size_of(spec: EntitySpec, task: Entity) -> int:
    """Bytes of an item as it is stored."""
    return item_bytes(normalise_item(item_builder(spec).item(task), wire=False)[0])


def measured(table: Table, task: Entity, plan: Plan) -> Units:
    """Return the units that the engine reports for a call."""
    with Engine.memory() as engine:
        engine.call("CreateTable", create_request(PlanTable(table.schema, table.entities), table.name))
        engine.call("PutItem", {"TableName": table.name, "Item": item_builder(plan.entity).item(task)})
        request = write_request(plan).request({}, table.name)
        capacity = engine.call("UpdateItem", {**request, "ReturnConsumedCapacity": "INDEXES"})["ConsumedCapacity"]
    indexes = {**capacity.get("GlobalSecondaryIndexes", {}), **capacity.get("LocalSecondaryIndexes", {})}
    results = {name: usage["CapacityUnits"] for name, usage in indexes.items()}
    return Units(write=capacity["Table"]["CapacityUnits"], indexes=results)


values = st.fixed_dictionaries({name: st.sampled_from(choices) for name, choices in FIELDS.items()})
changes = values.flatmap(
    lambda item: st.tuples(
        st.just(item),
        st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, unique=True).flatmap(
            lambda names: st.fixed_dictionaries(
                {name: st.sampled_from([value for value in FIELDS[name] if value != item[name]]) for name in names}
            )
        ),
    )
)


def of_size(bytes_: int, item: dict[str, Any], changed: dict[str, Any]) -> tuple[Table, type[Any], Entity]:
    """Return a table, and an item that has this size before or after the change and stays below the next unit."""
    table, model = tasks(bytes_)
    (spec,) = table.entities
    sizes = [size_of(spec, model(id="a", line="b", text="", **example)) for example in (item, {**item, **changed})]
    assume(write_units(bytes_) == write_units(bytes_ - max(sizes) + min(sizes)))
    return table, model, model(id="a", line="b", text="x" * (bytes_ - max(sizes)), **item)


SIZES = st.sampled_from([300, 1_024, 1_100, 2_048, 2_149])


@settings(max_examples=examples(200), deadline=None)
@given(example=changes, size=SIZES)
def test_an_update_with_known_values_costs_the_expected_units(
    example: tuple[dict[str, Any], dict[str, Any]], size: int
) -> None:
    item, changed = example
    table, model, task = of_size(size, item, changed)
    change = change_of(changed)
    for name, value in item.items():
        change = change.condition(F[name].missing() if value is None else F[name] == value)
    pattern = table.update(model)(lambda: change)
    assert not pattern.plan.faults
    assert expected(pattern).units == measured(table, task, pattern.plan)


@settings(max_examples=examples(200), deadline=None)
@given(example=changes, size=SIZES)
def test_an_update_never_costs_more_than_expected(example: tuple[dict[str, Any], dict[str, Any]], size: int) -> None:
    item, changed = example
    table, model, task = of_size(size, item, changed)
    pattern = table.update(model)(lambda: change_of(changed))
    if pattern.plan.faults:
        return
    requested, measurements = expected(pattern).units, measured(table, task, pattern.plan)
    assert measurements.write == requested.write
    assert all(units <= requested.indexes.get(name, 0) for name, units in measurements.indexes.items())


def test_undeclared_values_are_assumed_to_be_distributed_like_stored_items() -> None:
    table = Table("rides", pk="id", indexes=[GSI("by_courier", pk="courier", sk="at"), GSI("open", pk="O")])

    @table.entity(
        indexes={"open": key("{at}", only_if=F.state == "open")},
        volume=Volume(100, bytes=Bytes(300), present={"courier": 0.25}, distinct={"state": {"open": 0.1, "done": 0.9}}),
    )
    class Ride(Entity):
        id: str
        courier: str | None = None
        at: str
        state: Literal["open", "done"] = "open"
        note: str = ""

    @table.update(Ride)
    def give(id: str, courier: str) -> ItemWrite:
        return item(id=id).set(courier=courier)

    @table.update(Ride)
    def move(id: str, at: str, state: Literal["open", "done"]) -> ItemWrite:
        return item(id=id).set(at=at).assuming(state=state)

    @table.update(Ride)
    def note(id: str, note: str) -> ItemWrite:
        return item(id=id).set(note=note)

    @table.update(Ride)
    def note_open(id: str, note: str) -> ItemWrite:
        return item(id=id).set(note=note).condition(F.state == "open")

    @table.update(Ride)
    def end(id: str, at: str) -> ItemWrite:
        return item(id=id).set(state="done").assuming(at=at)

    @table.update(Ride)
    def give_or_take(id: str, courier: str | None) -> ItemWrite:
        return item(id=id).set(courier=courier)

    @table.update(Ride)
    def give_first(id: str) -> ItemWrite:
        return item(id=id).set(courier="first")

    @table.update(Ride)
    def shift(id: str, at: str, state: Literal["open", "done"]) -> ItemWrite:
        return item(id=id).set(at=at, state=state)

    assert expected(give).units.indexes == {"by_courier": 0.25 * 2 + 0.75, "open": 0.1}
    assert expected(move).units.indexes == {"by_courier": 2, "open": 2}, "it is taken to be in what it moves in"
    assert expected(note).units.indexes == {"by_courier": 0.25, "open": 0.1}
    assert expected(note_open).units.indexes == {"by_courier": 0.25, "open": 1}
    assert expected(end).units.indexes == {"by_courier": 0.25, "open": 1}
    assert expected(give_or_take).units.indexes == {"by_courier": 2, "open": 0.1}, "nothing tells how often it is which"
    assert expected(give_first).units.indexes == {"by_courier": 0.25 * 2 + 0.75, "open": 0.1}
    assert expected(shift).units.indexes == {"by_courier": 2, "open": 2}


def test_incremented_attributes_and_versions_cost_index_writes() -> None:
    table = Table(
        "players",
        pk="id",
        indexes=[GSI("board", pk="league", sk="points"), GSI("versions", pk="league", project=["version"])],
    )

    @table.entity(volume=Volume(100, bytes=Bytes(300)), version="version")
    class Player(Entity):
        id: str
        league: str
        points: int = 0
        version: int = 0
        stats: dict[str, int]

    @table.update(Player)
    def score(id: str, points: int) -> ItemWrite:
        return item(id=id).add(points=points)

    @table.update(Player)
    def note(id: str, stats: dict[str, int]) -> ItemWrite:
        return item(id=id).set(stats=stats)

    @table.check(Player)
    def has_points(id: str) -> ItemWrite:
        return item(id=id).condition(F.points > 0)

    assert expected(has_points).units.indexes == {}
    assert expected(score).units.indexes == {"board": 2, "versions": 1}, "an entry whose key changes is deleted and put"
    assert expected(note).units.indexes == {"board": 1, "versions": 1}
