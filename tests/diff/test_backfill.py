"""The reported units of a backfill are the units that the engine consumes for it, item by item."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.diff.pairs import compared

import keyplan
from keyplan.cost.prices import book
from keyplan.diff.backfill import Backfill
from keyplan.diff.comparison import Comparison
from keyplan.dynamodb.values.attribute import item_bytes
from keyplan.dynamodb.values.units import write_units
from keyplan.engine.engine import Engine

COUNT, BYTES = 40, 1_500
HEAD = """from __future__ import annotations

from typing import Literal

from keyplan import *

"""
DESIGN = (
    HEAD
    + f'''
shop = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_city", pk="city", project="keys"), GSI("all", pk="GSI1PK")])


@shop.entity(
    key=key("SHOP#{{shop_id}}", "META"),
    indexes={{"all": key("SHOPS")}},
    volume=Volume(count={COUNT}, bytes=Bytes({BYTES}), distinct={{"state": {{"open": 0.25, "shut": 0.75}}}}),
)
class Shop(Entity):
    shop_id: str
    city: str
    state: Literal["open", "shut"]
    text: str


@shop.batch_put(Shop)
def stock(shops: list[Shop]) -> ItemWrite:
    """Several at once."""
    return item(shops)
'''
)


MAPS = """class Held(BaseModel):
    text: str


class Filled(BaseModel):
    text: str
    more: str


"""


def changed(*edits: tuple[str, str]) -> str:
    text = DESIGN
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def stored(engine: Engine, comparison: Comparison) -> list[dict[str, Any]]:
    """As many items as are declared, each of the declared size, in the old table."""
    (table,), db = comparison.old.tables, keyplan.connect(engine=engine)
    db.create_tables(table)
    model: Any = table.entities[0].model
    pattern = comparison.old.pattern("stock")
    rows = [{"shop_id": f"{n:04}", "city": "Ulm", "state": "open" if n % 4 == 0 else "shut"} for n in range(COUNT)]
    db.run(pattern([model(**row, text="x") for row in rows]))
    items: list[dict[str, Any]] = engine.call("Scan", {"TableName": "shop"})["Items"]
    for item in items:
        item["text"]["S"] += "x" * (BYTES - item_bytes(item))
        engine.call("PutItem", {"TableName": "shop", "Item": item})
    assert {item_bytes(item) for item in items} == {BYTES}
    return items


class Meter:
    """Write units of requests, by index; the table's own by its name."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.units: Counter[str] = Counter()

    def call(self, operation: str, request: dict[str, Any]) -> None:
        members = {"TableName": "shop", "ReturnConsumedCapacity": "INDEXES", **request}
        self._take(self._engine.call(operation, members)["ConsumedCapacity"])

    def transact(self, *actions: tuple[str, dict[str, Any]]) -> None:
        items = [{kind: {"TableName": "shop", **members}} for kind, members in actions]
        request = {"TransactItems": items, "ReturnConsumedCapacity": "INDEXES"}
        for consumed in self._engine.call("TransactWriteItems", request)["ConsumedCapacity"]:
            self._take(consumed)

    def _take(self, capacity: dict[str, Any]) -> None:
        self.units[capacity["TableName"]] += capacity["Table"]["CapacityUnits"]
        for name, usage in capacity.get("GlobalSecondaryIndexes", {}).items():
            self.units[name] += usage["CapacityUnits"]


def units_of(backfill: Backfill) -> dict[str, float]:
    return {name: units for name, units in {"shop": backfill.write, **backfill.indexes}.items() if units}


def primary(item: dict[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in ("PK", "SK")}


def test_a_new_index_of_stored_fields_costs_its_entries(tmp_path: Path) -> None:
    edit = ('GSI("all", pk="GSI1PK")', 'GSI("all", pk="GSI1PK"), GSI("by_state", pk="state", sk="city")')
    comparison = compared(tmp_path, DESIGN, changed(edit))
    (backfill,) = comparison.backfills
    with Engine.memory() as engine:
        stored(engine, comparison)
        (change,) = comparison.changes_of("index added")
        for step in change.steps:
            if step.request is not None:
                engine.call(step.operation, dict(step.request))
        entries = engine.call("Scan", {"TableName": "shop", "IndexName": "by_state"})["Items"]
    assert (backfill.executor, backfill.items, backfill.read) == ("the service", len(entries), 0)
    assert units_of(backfill) == {"by_state": sum(write_units(item_bytes(entry)) for entry in entries)}
    assert backfill.price == pytest.approx(2 * COUNT * book()["write_unit"])


def test_a_new_field_is_written_to_each_item_and_each_entry_that_projects_it(tmp_path: Path) -> None:
    comparison = compared(tmp_path, DESIGN, changed(("    text: str", "    text: str\n    name: str")))
    (backfill,) = comparison.backfills
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        for item in items:
            update = {"UpdateExpression": "SET #name = :name", "ExpressionAttributeNames": {"#name": "name"}}
            meter.call(
                "UpdateItem", {"Key": primary(item), "ExpressionAttributeValues": {":name": {"S": "x"}}, **update}
            )
        scanned = engine.call("Scan", {"TableName": "shop", "ReturnConsumedCapacity": "TOTAL"})
    assert units_of(backfill) == meter.units == {"shop": 2 * COUNT, "all": 2 * COUNT}, "by_city holds keys only"
    assert backfill.read == pytest.approx(scanned["ConsumedCapacity"]["CapacityUnits"], abs=0.5)


def test_an_index_without_stored_items_costs_nothing(tmp_path: Path) -> None:
    fields = ("    text: str", "    text: str\n    name: str\n    tag: str | None = None")
    index = ('GSI("all", pk="GSI1PK")', 'GSI("all", pk="GSI1PK"), GSI("by_tag", pk="tag")')
    (backfill,) = compared(tmp_path, DESIGN, changed(fields, index)).backfills
    assert units_of(backfill) == {"shop": 2 * COUNT, "all": 2 * COUNT}


def test_a_new_index_gets_the_keys_that_items_do_not_have(tmp_path: Path) -> None:
    index = ('GSI("all", pk="GSI1PK")', 'GSI("all", pk="GSI1PK"), GSI("by_text", pk="GSI2PK")')
    keyed = ('"all": key("SHOPS")', '"all": key("SHOPS"), "by_text": key("TEXT#{text}")')
    comparison = compared(tmp_path, DESIGN, changed(index, keyed))
    (backfill,) = comparison.backfills
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        (change,) = comparison.changes_of("index added")
        assert change.steps[0].request is not None
        engine.call("UpdateTable", dict(change.steps[0].request))
        for item in items:
            update = {"UpdateExpression": "SET GSI2PK = :key", "ExpressionAttributeValues": {":key": {"S": "TEXT#x"}}}
            meter.call("UpdateItem", {"Key": primary(item), **update})
    assert units_of(backfill) == meter.units == {"shop": 2 * COUNT, "all": 2 * COUNT, "by_text": 2 * COUNT}


def test_a_new_index_is_rewritten_only_for_projected_attributes(tmp_path: Path) -> None:
    """A rewritten field does not change the entries of a new index that projects only keys."""
    index = ('GSI("all", pk="GSI1PK")', 'GSI("all", pk="GSI1PK"), GSI("by_state", pk="state", project="keys")')
    fields = ("    text: str", "    text: str\n    name: str")
    comparison = compared(tmp_path, DESIGN, changed(index, fields))
    by = {backfill.executor: units_of(backfill) for backfill in comparison.backfills}
    assert by == {"the service": {"by_state": COUNT}, "a program": {"shop": 2 * COUNT, "all": 2 * COUNT}}


def test_an_item_with_a_changed_key_is_put_and_deleted(tmp_path: Path) -> None:
    comparison = compared(
        tmp_path, DESIGN, changed(('key=key("SHOP#{shop_id}", "META")', 'key=key("S#{shop_id}", "META")'))
    )
    (backfill,) = comparison.backfills
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        for item in items:
            meter.transact(
                ("Put", {"Item": {**item, "PK": {"S": item["PK"]["S"].replace("SHOP", "S")}}}),
                ("Delete", {"Key": primary(item)}),
            )
    assert units_of(backfill) == meter.units == {"shop": 8 * COUNT, "all": 4 * COUNT, "by_city": 2 * COUNT}


def test_sentinels_of_an_item_with_a_changed_key_store_the_new_key(tmp_path: Path) -> None:
    owned = ('key=key("SHOP#{shop_id}", "META"),', 'key=key("SHOP#{shop_id}", "META"), unique=["text"],')
    moved = ('key=key("SHOP#{shop_id}", "META"),', 'key=key("S#{shop_id}", "META"), unique=["text"],')
    (backfill,) = compared(tmp_path, changed(owned), changed(moved)).backfills
    assert units_of(backfill) == {"shop": 2 * (4 + 1) * COUNT, "all": 4 * COUNT, "by_city": 2 * COUNT}


def test_an_item_with_a_removed_value_is_rewritten_with_its_entries(tmp_path: Path) -> None:
    keyed = ('key("SHOPS")', 'key("SHOPS#{state}")')
    without = ('Literal["open", "shut"]', 'Literal["shut"]')
    comparison = compared(tmp_path, changed(keyed), changed(keyed, without))
    (backfill,) = comparison.backfills
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        for item in items:
            if item["state"]["S"] == "open":
                update = {"UpdateExpression": "SET #s = :s, GSI1PK = :k", "ExpressionAttributeNames": {"#s": "state"}}
                values = {":s": {"S": "shut"}, ":k": {"S": "SHOPS#shut"}}
                meter.call("UpdateItem", {"Key": primary(item), "ExpressionAttributeValues": values, **update})
    assert backfill.items == COUNT / 4
    assert units_of(backfill) == meter.units == {"shop": 2 * COUNT / 4, "all": 4 * COUNT / 4}


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        ("tag: str | None = None", "tag: str", 0.9),
        ("tag: str | None = None", 'tag: Annotated[str | None, Attribute("label")] = None', 0.1),
        ("tag: str | None = None", "tag: int | None = None", 0.1),
        ('tag: Literal["a", "b"] | None = None', 'tag: Literal["a"] | None = None', 0.05),
        ('tag: Literal["a", "c"] | None = None', 'tag: Literal["a"] | None = None', None),
        ("tag: Held | None = None", "tag: Filled | None = None", 0.1),
        ("tag: Held | None = None", "tag: Filled", 1.0),
    ],
)
def test_only_the_declared_share_is_rewritten(old: str, new: str, share: float | None, tmp_path: Path) -> None:
    source = changed(
        ("import Literal\n", "import Annotated, Literal\n\nfrom pydantic import BaseModel\n"),
        ("@shop.entity(", f"{MAPS}@shop.entity("),
        ("volume=Volume(", 'volume=Volume(present={"tag": 0.1}, '),
        ('"shut": 0.75}}', '"shut": 0.75}, "tag": {"a": 0.5, "b": 0.5}}'),
    )
    versions = [source.replace("    text: str\n\n\n@", f"    text: str\n    {field}\n\n\n@") for field in (old, new)]
    comparison = compared(tmp_path, *versions)
    assert sum(backfill.items for backfill in comparison.backfills) == round((share or 0) * COUNT)
    if share is None:
        (change,) = comparison.changes
        assert (change.verdict, change.steps) == ("code", ()), "the declared values have none that is gone"


def test_items_excluded_by_a_new_index_condition_are_updated(tmp_path: Path) -> None:
    comparison = compared(
        tmp_path, DESIGN, changed(('key("SHOPS")', 'key("SHOPS#{state}", only_if=F.state == "open")'))
    )
    (backfill,) = comparison.backfills
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        for item in items:
            is_open = item["state"]["S"] == "open"
            values = {"ExpressionAttributeValues": {":key": {"S": "SHOPS#open"}}} if is_open else {}
            update = {"UpdateExpression": "SET GSI1PK = :key" if is_open else "REMOVE GSI1PK", **values}
            meter.call("UpdateItem", {"Key": primary(item), **update})
    assert units_of(backfill) == meter.units == {"shop": 2 * COUNT, "all": (2 + 2 * 0.25) * COUNT}


def test_items_of_a_removed_entity_are_deleted(tmp_path: Path) -> None:
    comparison = compared(tmp_path, DESIGN, DESIGN[: DESIGN.index("@shop.entity")])
    (backfill,) = comparison.backfills
    assert backfill.is_cleaning
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        for item in items:
            meter.call("DeleteItem", {"Key": primary(item)})
    assert units_of(backfill) == meter.units == {"shop": 2 * COUNT, "all": 2 * COUNT, "by_city": COUNT}


def test_changes_of_one_entity_are_one_pass(tmp_path: Path) -> None:
    comparison = compared(tmp_path, DESIGN, changed(("    text: str", "    text: str\n    name: str\n    kind: str")))
    assert len(comparison.changes) == 2
    (backfill,) = comparison.backfills
    assert backfill.items == COUNT
    assert units_of(backfill) == units_of(comparison.backfill(comparison.changes[0]) or backfill)


def test_a_copied_table_is_written_with_all_its_indexes(tmp_path: Path) -> None:
    comparison = compared(tmp_path, DESIGN, changed(('Table("shop"', 'Table("shops"')))
    (backfill,) = comparison.backfills
    assert (backfill.subject, backfill.table, backfill.items) == ("shop copied", "shops", COUNT)
    (change,) = comparison.changes_of("table renamed")
    assert comparison.backfill(change) == backfill
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        keyplan.connect(engine=engine).create_tables(*comparison.new.tables)
        condition = "attribute_exists(PK)"
        for item in items:
            meter.transact(
                ("ConditionCheck", {"Key": primary(item), "ConditionExpression": condition}),
                ("Put", {"TableName": "shops", "Item": item, "ConditionExpression": "attribute_not_exists(PK)"}),
            )
    assert meter.units == {"shop": 4 * COUNT, "shops": 4 * COUNT, "all": 2 * COUNT, "by_city": COUNT}
    assert (backfill.checks, backfill.write, backfill.indexes) == (4 * COUNT, 4 * COUNT, {"all": 80, "by_city": 40})
    assert backfill.total_write == sum(meter.units.values())


def test_provisioned_capacity_costs_nothing_more_and_determines_the_duration(tmp_path: Path) -> None:
    bought = ('sk="SK",', 'sk="SK", billing=Provisioned(read=5, write=4),')
    edit = (
        'GSI("all", pk="GSI1PK")',
        'GSI("all", pk="GSI1PK"), GSI("by_state", pk="state", billing=Provisioned(read=1, write=2))',
    )
    (backfill,) = compared(tmp_path, changed(bought), changed(bought, edit)).backfills
    assert backfill.price == 0
    assert backfill.seconds == 2 * COUNT / 2


def test_undeclared_numbers_are_reported_as_missing(tmp_path: Path) -> None:
    items = DESIGN[DESIGN.index("    volume=") : DESIGN.index(")\nclass")]
    comparison = compared(
        tmp_path, changed((items, "")), changed((items, ""), ("    text: str", "    text: str\n    name: str"))
    )
    (backfill,) = comparison.backfills
    assert (backfill.items, backfill.total_write, backfill.unknown) == (0, 0, ("Shop",))


def test_cleanup_is_a_separate_pass(tmp_path: Path) -> None:
    unique = ('key=key("SHOP#{shop_id}", "META"),', 'key=key("SHOP#{shop_id}", "META"), unique=["text"],')
    other = ('key=key("SHOP#{shop_id}", "META"),', 'key=key("SHOP#{shop_id}", "META"), unique=["city"],')
    first, last = compared(tmp_path, changed(unique), changed(other)).backfills
    assert [(step.is_cleaning, step.subject, units_of(step)) for step in (first, last)] == [
        (False, "sentinels of Shop", {"shop": (2 + 4) * COUNT}),
        (True, "sentinels of Shop", {"shop": COUNT}),
    ]


def test_a_sentinel_is_put_in_one_transaction_with_a_check_of_its_item(tmp_path: Path) -> None:
    unique = ('key=key("SHOP#{shop_id}", "META"),', 'key=key("SHOP#{shop_id}", "META"), unique=["text"],')
    comparison = compared(tmp_path, DESIGN, changed(unique))
    (backfill,) = comparison.backfills
    with Engine.memory() as engine:
        items, meter = stored(engine, comparison), Meter(engine)
        for number, item in enumerate(items):
            sentinel = {"PK": {"S": f"UNIQUE#{number}"}, "SK": {"S": "UNIQUE"}, "_owner": {"M": primary(item)}}
            meter.transact(
                ("ConditionCheck", {"Key": primary(item), "ConditionExpression": "attribute_exists(PK)"}),
                ("Put", {"Item": sentinel, "ConditionExpression": "attribute_not_exists(PK)"}),
            )
    assert units_of(backfill) == meter.units == {"shop": (4 + 2) * COUNT}
