"""Data models for NoSQL Workbench: their form, and what an import of them gives back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests.export import shelves
from tests.export.designs import CREATABLE, SYSTEMS, loaded
from tests.importers.tables import of_design

from keyplan import GSI, Attribute, Entity, F, Provisioned, Table, key
from keyplan.client.codec import reader_of
from keyplan.design.declaring.design import Design
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.export.nosql_workbench import model, notes
from keyplan.export.resources import resources
from keyplan.importers.documents import documents
from keyplan.importers.nosql_workbench import nosql_workbench

LOST = ("the stream", "warm throughput", "deletion protection", "expiry", "point-in-time recovery")
orders = Table(
    "orders",
    pk="PK",
    sk="SK",
    ttl="gone",
    billing=Provisioned(read=5, write=6),
    indexes=[GSI("open", pk="GSI1PK", sk="placed", project=["total"], billing=Provisioned(read=1, write=2))],
)


@orders.entity(key=key("USER#{user_id}", "ORDER#{number:06d}"), indexes={"open": key("OPEN#{state}", "{user_id}")})
class Order(Entity):
    """An order."""

    user_id: str
    number: int
    state: Annotated[str, Attribute("orderState")]
    total: int | None = None


@orders.entity(key=key("USER#{user_id}", "PROFILE"))
class User(Entity):
    """A user."""

    user_id: str
    picture: bytes = b"png"


def model_of(*tables: Table, prefix: str = "") -> dict[str, Any]:
    written: dict[str, Any] = json.loads(model(Design.of(shelves), resources(tables, prefix)))
    return written


def test_a_table_has_its_keys_indexes_and_capacity() -> None:
    (table,) = model_of(orders)["DataModel"]
    text = {"AttributeType": "S"}
    assert (table["TableName"], table["BillingMode"]) == ("orders", "PROVISIONED")
    assert table["KeyAttributes"] == {
        "PartitionKey": {"AttributeName": "PK", **text},
        "SortKey": {"AttributeName": "SK", **text},
    }
    assert table["ProvisionedCapacitySettings"] == {
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    }
    (index,) = table["GlobalSecondaryIndexes"]
    assert index == {
        "IndexName": "open",
        "KeyAttributes": {
            "PartitionKey": {"AttributeName": "GSI1PK", **text},
            "SortKey": {"AttributeName": "placed", **text},
        },
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
        "ProvisionedCapacitySettings": {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}},
    }
    assert {"AttributeName": "total", "AttributeType": "N"} in table["NonKeyAttributes"]
    assert {"AttributeName": "picture", "AttributeType": "B"} in table["NonKeyAttributes"]


def test_an_entity_is_a_facet_with_templates_and_two_sample_items() -> None:
    facet = model_of(orders)["DataModel"][0]["TableFacets"][0]
    assert (facet["FacetName"], facet["KeyAttributeAlias"]) == (
        "Order",
        {"PartitionKeyAlias": "USER#{user_id}", "SortKeyAlias": "ORDER#{number:06d}"},
    )
    assert facet["NonKeyAttributes"] == ["user_id", "number", "orderState", "total", "GSI1PK", "placed"]
    templates, *samples = facet["TableData"]
    assert templates == {
        "PK": {"S": "USER#{user_id}"},
        "SK": {"S": "ORDER#{number:06d}"},
        "GSI1PK": {"S": "OPEN#{state}"},
        "placed": {"S": "{user_id}"},
    }
    assert [(item["PK"]["S"], item["SK"]["S"]) for item in samples] == [
        ("USER#<user_id>", "ORDER#000001"),
        ("USER#<another user_id>", "ORDER#000002"),
    ]


def test_a_facet_without_index_keys_has_sample_items_only() -> None:
    facet = model_of(orders)["DataModel"][0]["TableFacets"][1]
    assert [item["SK"] for item in facet["TableData"]] == [{"S": "PROFILE"}] * 2
    assert facet["TableData"][0]["picture"] == {"B": "cG5n"}


def test_the_items_of_a_table_are_those_of_its_facets() -> None:
    (table,) = model_of(orders)["DataModel"]
    assert table["TableData"] == [item for facet in table["TableFacets"] for item in facet["TableData"]]


def test_facets_with_equal_names_are_named_after_their_table() -> None:
    other = Table("archive", pk="PK", sk="SK")

    @other.entity(key=key("USER#{user_id}", "PROFILE"), name="User")
    class Archived(Entity):
        user_id: str

    names = [facet["FacetName"] for table in model_of(orders, other)["DataModel"] for facet in table["TableFacets"]]
    assert names == ["Order", "orders.User", "archive.User"]


def test_notes_name_settings_that_a_model_does_not_contain() -> None:
    assert list(notes(resources([orders]))) == ["the model of table orders does not contain expiry"]
    assert list(notes(resources(Design.of(shelves).tables))) == [
        "index by_genre of shelf-books has multi-attribute keys: omitted",
        "index by_year of shelf-books is local: NoSQL Workbench may not display it",
        f"the model of table shelf-books does not contain {', '.join(LOST)}",
        "the model of table Loans does not contain the table class",
        "the model of table odd.names_1 does not contain expiry",
    ]


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", CREATABLE)
def test_every_design_is_exported_as_a_model_that_imports_without_gaps(name: str) -> None:
    written = model(loaded(name), resources(loaded(name).tables))
    assert written == model(loaded(name), resources(loaded(name).tables))
    source = nosql_workbench(documents("model.json", written))
    assert source.gaps == ()
    assert [table.gaps for table in source.tables] == [()] * len(loaded(name).tables)
    facets = [facet["FacetName"] for table in json.loads(written)["DataModel"] for facet in table["TableFacets"]]
    assert len(set(facets)) == len(facets)


def keys(entity: EntitySpec, bound: BoundKey) -> str:
    """Return a key's templates with attributes in place of fields, because a model does not contain field names."""
    text = bound.text
    for field in entity.fields.values():
        if field.name not in entity.key_only_fields:
            text = re.sub(rf"(?<=\{{){field.name}(?=[:}}])", f"@{field.attribute}", text)
    return re.sub(r"_(?=[:}])", "", text)  # of names that a module or a key attribute has


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", SYSTEMS)
def test_an_exported_system_is_imported_with_the_same_tables_entities_and_keys(name: str, tmp_path: Path) -> None:
    before = loaded(name)
    source = nosql_workbench(documents("model.json", model(before, resources(before.tables))))
    _, after = of_design(source, tmp_path)
    assert [table.name for table in after.tables] == [table.name for table in before.tables]
    for old, new in zip(before.tables, after.tables, strict=True):
        assert new.schema.key == old.schema.key
        assert type(new.schema.billing) is type(old.schema.billing)
        indexes = {index.name: index for index in new.schema.indexes}
        plain = {index.name for index in old.schema.indexes if len(index.partition) == 1 and len(index.sort) < 2}
        assert set(indexes) == plain
        for index in old.schema.indexes:
            if index.name in plain:
                again = indexes[index.name]
                assert (again.partition, again.sort, again.project) == (index.partition, index.sort, index.project)
        entities = {entity.name: entity for entity in new.entities}
        assert list(entities) == [entity.name for entity in old.entities]
        for entity in old.entities:
            imported = entities[entity.name]
            assert keys(imported, imported.key) == keys(entity, entity.key)
            in_indexes = {
                bound.index.name: keys(entity, bound) for bound in entity.indexes if bound.index.name in plain
            }
            assert {bound.index.name: keys(imported, bound) for bound in imported.indexes} == in_indexes
        for kind, spec in zip(source.tables[after.tables.index(new)].entities, new.entities, strict=True):
            for item in kind.samples:
                reader_of(spec).entity(item)


def test_an_index_condition_is_not_exported() -> None:
    table = Table("flags", pk="flag", indexes=[GSI("set", pk="state", sk="GSK")])

    @table.entity(key=key("{flag_id}"), indexes={"set": key("SET", "{flag_id}", only_if=F.is_on == True)})  # noqa: E712
    class Flag(Entity):
        flag_id: str
        is_on: bool

    facet = model_of(table)["DataModel"][0]["TableFacets"][0]
    assert facet["TableData"][0]["state"] == {"S": "SET"}
    assert "only_if" not in json.dumps(facet)
