"""Entities imported from ElectroDB's schemas: types of attributes, and keys as ElectroDB makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.importers.tables import created, of_design

from keyplan import Design
from keyplan.check.checking import check
from keyplan.design.requests.items import item_builder
from keyplan.importers.documents import Document
from keyplan.importers.electrodb import electrodb
from keyplan.importers.entities import PlannedEntity, plan_entities
from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.schemas import ImportSource, SourceTable

TASKAPP = json.loads((Path(__file__).parent / "electrodb.json").read_text())
ATTRIBUTES = {"id": {"type": "string"}, "mall": {"type": "string"}, "unit": {"type": "number"}}
PK: dict[str, Any] = {"field": "pk", "composite": ["mall"]}
SK: dict[str, Any] = {"field": "sk", "composite": ["id"]}


def imported(*schemas: Any, table: str | None = "app") -> ImportSource:
    return electrodb([Document("e.json", list(schemas))], table)


def schema(attributes: dict[str, Any] = ATTRIBUTES, /, **patterns: Any) -> dict[str, Any]:
    model = {"entity": "MallStore", "version": "2", "service": "MallStoreDirectory"}
    return {"model": model, "attributes": attributes, "indexes": {"store": {"pk": PK, "sk": SK}, **patterns}}


def only(source: ImportSource) -> SourceTable:
    (table,) = source.tables
    return table


def planned(model: dict[str, Any]) -> PlannedEntity:
    (entity,) = plan_entities(only(imported(model)), "__edb_e__")
    return entity


def key(**pattern: Any) -> tuple[str | None, ...]:
    """Return the templates of a primary key."""
    return tuple(part.template for part in planned({**schema(), "indexes": {"store": pattern}}).key)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"pk": PK, "sk": SK}, ("$mallstoredirectory#mall_{mall:lower}", "$mallstore_2#id_{id:lower}")),
        (
            {"pk": PK, "sk": SK, "collection": "malls"},
            ("$mallstoredirectory#mall_{mall:lower}", "$malls#mallstore_2#id_{id:lower}"),
        ),
        (
            {"pk": PK, "sk": SK, "collection": ["malls", "stores"]},
            ("$mallstoredirectory#mall_{mall:lower}", "$malls#stores#mallstore_2#id_{id:lower}"),
        ),
        (
            {"pk": PK, "sk": SK, "collection": "malls", "type": "clustered"},
            ("$mallstoredirectory#mall_{mall:lower}", "$malls#id_{id:lower}#mallstore_2"),
        ),
        ({"pk": PK, "sk": {**SK, "composite": []}}, ("$mallstoredirectory#mall_{mall:lower}", "$mallstore_2")),
        ({"pk": PK}, ("$mallstoredirectory$mallstore_2#mall_{mall:lower}",)),
        ({"pk": {**PK, "composite": []}, "sk": SK}, ("$mallstoredirectory", "$mallstore_2#id_{id:lower}")),
        (
            {"pk": {**PK, "casing": "none"}, "sk": {**SK, "casing": "upper"}},
            ("$MallStoreDirectory#mall_{mall}", "$MALLSTORE_2#ID_{id:upper}"),
        ),
        (
            {"pk": {**PK, "casing": "default", "composite": ["mall", "unit"]}},
            ("$mallstoredirectory$mallstore_2#mall_{mall:lower}#unit_{unit}",),
        ),
        (
            {"pk": {"field": "pk", "template": "MALL#${mall}"}, "sk": {"field": "sk", "template": "${id}#U${unit}#x"}},
            ("mall#{mall:lower}", "{id:lower}#u{unit}#x"),
        ),
        ({"pk": {"field": "pk", "template": "{${mall}}", "casing": "none"}}, ("{{{mall}}}",)),
    ],
)
def test_templates_render_the_keys_of_electrodb(pattern: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert key(**pattern) == expected


def test_schemas_before_version_1_have_the_version_in_the_partition_key() -> None:
    beta = {**schema(), "service": "MallStoreDirectory", "entity": "MallStores", "version": "1", "table": "stores"}
    del beta["model"]
    (table,) = electrodb([Document("e.json", beta)]).tables
    assert table.name == "stores"
    assert table.entities[0].templates == {
        "pk": "$mallstoredirectory_1#mall_{mall:lower}",
        "sk": "$mallstores#id_{id:lower}",
    }


def test_labels_and_paddings_of_attributes_are_part_of_keys() -> None:
    attributes = {
        "mall": {"type": "string", "label": "m", "padding": {"length": 5, "char": "_"}},
        "id": {"type": "string"},
        "unit": {"type": "number", "padding": {"length": 6, "char": "0"}},
    }
    source = imported(schema(attributes, by={"pk": {**PK, "field": "x", "composite": ["unit"]}, "index": "by"}))
    assert only(source).entities[0].templates["pk"] == "$mallstoredirectory#m_{mall:lower}"
    assert only(source).entities[0].templates["x"] == "$mallstoredirectory$mallstore_2#unit_{unit:06d}"
    assert "MallStore.mall: padding: key templates do not pad strings" in only(source).gaps


def test_an_attribute_that_is_the_whole_key_stays_a_field() -> None:
    entity = planned({**schema(), "indexes": {"store": {"pk": {"field": "id", "composite": ["id"], "casing": "none"}}}})
    assert [(part.attribute, part.template) for part in entity.key] == [("id", None)]
    lowered = imported({**schema(), "indexes": {"store": {"pk": {"field": "id", "composite": ["id"]}}}})
    assert "MallStore.id: ElectroDB stores its key in lower or upper case" in only(lowered).gaps


def test_a_single_number_is_a_number_in_the_key() -> None:
    by = {"pk": PK | {"field": "gpk"}, "sk": {"field": "gsk", "template": "${unit}"}, "index": "by"}
    table = only(imported(schema(by=by)))
    (entity,) = plan_entities(table, "__edb_e__")
    assert table.types["gsk"] == "N"
    assert [(part.attribute, part.is_copy, part.fields) for part in entity.indexes["by"]][1] == ("gsk", True, ("unit",))


def test_a_key_of_an_unsupported_type_is_a_plain_field() -> None:
    attributes = {**ATTRIBUTES, "open": {"type": "boolean"}}
    table = only(imported(schema(attributes, by={"pk": {"field": "gpk", "composite": ["open"]}, "index": "by"})))
    assert (
        "MallStore: gpk is imported as a plain field: its key contains open, which is neither a string nor a number"
        in table.gaps
    )
    assert "gpk" not in table.entities[0].templates


@pytest.mark.parametrize(
    ("attribute", "annotation", "default"),
    [
        ({"type": "string"}, "str", None),
        ("number", "Decimal", None),
        ({"type": "boolean", "default": False}, "bool", "False"),
        ({"type": "number", "default": 1.5}, "Decimal", 'Decimal("1.5")'),
        ({"type": ["a", "b"], "default": "a"}, 'Literal["a", "b"]', '"a"'),
        ({"type": "list", "items": {"type": "string"}}, "list[str]", None),
        ({"type": "list", "items": {"type": "map", "properties": {}}}, "list[dict[str, Any]]", None),
        ({"type": "set", "items": "number"}, "set[Decimal]", None),
        ({"type": "set", "items": ["x", "y"]}, 'set[Literal["x", "y"]]', None),
        ({"type": "map", "properties": {"a": {"type": "string"}}}, "dict[str, Any]", None),
        ({"type": "any"}, "Any", None),
        ({}, "Any", None),
    ],
)
def test_types_and_defaults_of_attributes(attribute: Any, annotation: str, default: str | None) -> None:
    fields = planned(schema({**ATTRIBUTES, "x": attribute})).fields["x"]
    assert (fields.annotation, fields.default) == (annotation, default)


def test_an_attribute_is_stored_under_its_field_name_and_may_be_required() -> None:
    fields = planned(schema({**ATTRIBUTES, "x": {"type": "string", "field": "y", "required": True}})).fields["x"]
    assert (fields.attribute, fields.is_required) == ("y", True)


def test_members_that_are_not_part_of_a_design_are_noted() -> None:
    actual = only(imported(schema({**ATTRIBUTES, "x": {"type": "string", "hidden": True, "novelty": 1}})))
    assert "MallStore.x: hidden: a design does not hide attributes: remove it from the program's output" in (
        actual.gaps
    )
    assert "MallStore.x: novelty: it is not part of a design" in actual.gaps


def test_schemas_are_found_in_lists_and_services() -> None:
    employee, office = TASKAPP
    service = {"service": "taskapp", "entities": {"employee": {"schema": employee}, "office": office}}
    for value in ([employee, office], service, {"employee": employee, "office": office}):
        (table,) = electrodb([Document("e.json", value)]).tables
        assert [entity.name for entity in table.entities] == ["employee", "office"]
        assert [(index.name, index.partition, index.sort) for index in table.indexes] == [
            ("gsi1", ("gsi1pk",), ("gsi1sk",))
        ]


def test_the_table_is_named_by_the_option_the_schema_or_the_service() -> None:
    assert only(imported(schema(), table="app")).name == "app"
    assert only(imported({**schema(), "table": "stores"}, table=None)).name == "stores"
    unnamed = imported(schema(), table=None)
    assert only(unnamed).name == "MallStoreDirectory"
    assert unnamed.gaps == (
        (
            "the schemas do not name the table: the service name MallStoreDirectory is used; set another name with"
            " --table NAME"
        ),
    )


def test_an_index_with_the_partition_key_of_the_table_is_local() -> None:
    by = {"pk": PK, "sk": {"field": "lsk", "composite": ["unit"]}, "index": "by_unit"}
    (index,) = only(imported(schema(by=by))).indexes
    assert (index.kind, index.partition, index.sort) == ("LSI", ("pk",), ("lsk",))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"Resources": {}}, "e.json is not a schema of ElectroDB: it looks like a CloudFormation template"),
        ([schema(), {**schema(), "indexes": {"store": {"pk": PK}}}], "its primary key is"),
        ({**schema(), "indexes": {"by": {"pk": PK, "index": "x"}}}, "the primary key is missing"),
        ({**schema(), "indexes": {"store": {"pk": {"field": "pk"}}}}, "it has neither composite nor template"),
        ({**schema(), "indexes": {"store": {"pk": {**PK, "composite": ["no"]}}}}, "'no' is not an attribute of"),
        ({**schema(), "model": {"entity": "x"}}, "service is missing"),
        (schema({**ATTRIBUTES, "x": {"type": "text"}}), "one of string, number"),
    ],
)
def test_an_invalid_schema_is_rejected_with_its_place(value: Any, problem: str) -> None:
    with pytest.raises(ImportSourceError, match=r"e\.json") as refused:
        electrodb([Document("e.json", value)])
    assert problem in str(refused.value)


def loaded(folder: Path) -> Design:
    _, design = of_design(electrodb([Document("electrodb.json", TASKAPP)]), folder)
    return design


def test_items_are_stored_as_electrodb_stores_them(tmp_path: Path) -> None:
    employee, office = loaded(tmp_path).tables[0].entities
    values: dict[str, Any] = {"employee": "JWick", "team": "development", "office": "Scranton", "title": "Dev"}
    stored = item_builder(employee).item(employee.model(**values), {})
    assert stored == {
        "pk": {"S": "$taskapp#employee_jwick"},
        "sk": {"S": "$employee_1"},
        "gsi1pk": {"S": "$taskapp#office_scranton"},
        "gsi1sk": {"S": "$workplaces#employee_1#team_development#title_dev#employee_jwick"},
        "employee": {"S": "JWick"},
        "team": {"S": "development"},
        "office": {"S": "Scranton"},
        "title": {"S": "Dev"},
        "salary": {"N": "0"},
        "__edb_e__": {"S": "employee"},
        "__edb_v__": {"S": "1"},
    }
    untitled = item_builder(employee).item(employee.model(**{**values, "title": None}), {})
    assert "gsi1sk" not in untitled
    values = {"office": "Scranton", "country": "US"}
    place = item_builder(office).item(office.model(**values), {})
    assert (place["pk"], place["sk"]) == ({"S": "$taskapp#country_us"}, {"S": "$office_1#office_scranton"})
    assert place["gsi1sk"] == {"S": "$workplaces#office_1"}


def test_the_design_can_be_created_and_checked(tmp_path: Path) -> None:
    design = loaded(tmp_path)
    created(design)
    assert [finding for finding in check(design).findings if finding.severity == "error"] == []


def test_a_collection_of_several_entities_is_a_query_with_their_common_prefix(tmp_path: Path) -> None:
    text, _ = of_design(electrodb([Document("electrodb.json", TASKAPP)]), tmp_path)
    assert text.endswith('''
@taskapp.query(Employee, Office, index="gsi1")
def list_workplaces(office: str) -> KeyCondition:
    """The collection 'workplaces': Employee, Office of a partition."""
    return pk(office=office).sk.text("begins_with", "$workplaces")
''')


@pytest.mark.parametrize(
    ("changes", "prefixes"),
    [
        ({}, {"malls": "$malls"}),
        ({"collection": ["malls", "stores"]}, {"malls": "$malls", "stores": "$malls#stores"}),
        ({"sk": {**SK, "casing": "upper"}}, {"malls": "$MALLS"}),
        ({"sk": {"field": "sk", "template": "S#${id}"}}, {"malls": ""}),
    ],
)
def test_sort_keys_of_a_collection_start_with_its_name(changes: dict[str, Any], prefixes: dict[str, str]) -> None:
    pattern = {"pk": PK, "sk": SK, "collection": "malls", **changes}
    first = {**schema(), "indexes": {"store": pattern}}
    second = {**first, "model": {**first["model"], "entity": "Other"}}
    collections = only(imported(first, second)).collections
    assert {
        collection.name: (collection.index, collection.entities, collection.prefix) for collection in collections
    } == {name: (None, ("MallStore", "Other"), prefix) for name, prefix in prefixes.items()}


def test_a_collection_of_one_entity_is_not_a_separate_query() -> None:
    assert (
        only(imported({**schema(), "indexes": {"store": {"pk": PK, "sk": SK, "collection": "malls"}}})).collections
        == ()
    )
