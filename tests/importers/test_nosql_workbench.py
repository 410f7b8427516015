"""Data models of NoSQL Workbench: tables, facets as entities, keys that samples tell."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.design.workload import OnDemand, Provisioned
from keyplan.importers.documents import Document
from keyplan.importers.entities import PlannedEntity, discriminator, plan_entities
from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.nosql_workbench import nosql_workbench
from keyplan.importers.schemas import ImportSource, SourceTable


def attribute(name: str, kind: str = "S") -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": kind}


TABLE: dict[str, Any] = {
    "TableName": "things",
    "KeyAttributes": {"PartitionKey": attribute("PK"), "SortKey": attribute("SK")},
    "BillingMode": "PAY_PER_REQUEST",
}


def imported(*tables: Any, **more: Any) -> ImportSource:
    return nosql_workbench([Document("m.json", {"ModelName": "m", "DataModel": list(tables), **more})])


def table(**members: Any) -> SourceTable:
    (source_table,) = imported({**TABLE, **members}).tables
    return source_table


def facet(name: str, *samples: dict[str, Any], alias: tuple[str, str] = ("PK", "SK"), **more: Any) -> dict[str, Any]:
    items = [
        {field: {"S": text} if isinstance(text, str) else text for field, text in item.items()} for item in samples
    ]
    aliases = {"PartitionKeyAlias": alias[0], "SortKeyAlias": alias[1]}
    return {"FacetName": name, "KeyAttributeAlias": aliases, "TableData": items, **more}


def entity(facet_document: dict[str, Any], **members: Any) -> PlannedEntity:
    (planned,) = plan_entities(table(TableFacets=[facet_document], **members))
    return planned


def templates(planned: PlannedEntity) -> tuple[str | None, ...]:
    return tuple(part.template for part in planned.key)


def test_capacity_and_its_scaling_are_imported() -> None:
    throughput = {"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}}
    index = {"IndexName": "by-x", "KeyAttributes": {"PartitionKey": attribute("x")}}
    source_table = table(
        BillingMode="PROVISIONED",
        ProvisionedCapacitySettings={**throughput, "AutoScalingRead": {}},
        GlobalSecondaryIndexes=[index],
    )
    assert source_table.billing == Provisioned(read=5, write=6)
    assert source_table.indexes[0].billing == Provisioned(read=5, write=6)
    assert source_table.indexes[0].project == "all"
    assert source_table.gaps == ("AutoScalingRead: capacity scales automatically; the initial capacity is imported",)


UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
OWN = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}
SETTINGS = {"ProvisionedCapacitySettings": {"ProvisionedThroughput": UNITS}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({}, Provisioned(read=5, write=6)),
        ({"ProvisionedThroughput": OWN}, Provisioned(read=1, write=2)),
        ({"ProvisionedCapacitySettings": {"ProvisionedThroughput": OWN}}, Provisioned(read=1, write=2)),
    ],
)
def test_an_index_has_its_own_capacity_or_that_of_its_table(message: dict[str, Any], expected: Provisioned) -> None:
    source_table = table(BillingMode="PROVISIONED", **SETTINGS, GlobalSecondaryIndexes=[{**gsi(), **message}])
    assert (source_table.indexes[0].billing, source_table.gaps) == (expected, ())


def test_a_scaling_index_capacity_is_noted() -> None:
    scaling = {"ProvisionedCapacitySettings": {"ProvisionedThroughput": OWN, "AutoScalingWrite": {}}}
    source_table = table(BillingMode="PROVISIONED", **SETTINGS, GlobalSecondaryIndexes=[{**gsi(), **scaling}])
    text = "GlobalSecondaryIndexes[0].AutoScalingWrite: capacity scales automatically; the initial capacity is imported"
    assert source_table.gaps == (text,)


def test_capacity_without_a_mode_is_provisioned() -> None:
    members = {name: value for name, value in TABLE.items() if name != "BillingMode"}
    (source_table,) = imported({**members, **SETTINGS}).tables
    assert (source_table.billing, source_table.gaps) == (Provisioned(read=5, write=6), ())
    scaled = {"ProvisionedCapacitySettings": {"ProvisionedThroughput": UNITS, "AutoScalingRead": {}}}
    on_demand = table(**scaled, GlobalSecondaryIndexes=[{**gsi(), **scaled}])
    assert (on_demand.billing, on_demand.indexes[0].billing, on_demand.gaps) == (OnDemand(), None, ())


def test_local_indexes_are_imported() -> None:
    keys = {"PartitionKey": attribute("PK"), "SortKey": attribute("at", "N")}
    (index,) = table(LocalSecondaryIndexes=[{"IndexName": "by_at", "KeyAttributes": keys}]).indexes
    assert (index.kind, index.partition, index.sort) == ("LSI", ("PK",), ("at",))


def test_a_key_without_a_type_has_the_type_of_the_attribute_or_is_text() -> None:
    keys = {"PartitionKey": {"AttributeName": "x"}, "SortKey": {"AttributeName": "y"}}
    index = {"IndexName": "by_x", "KeyAttributes": keys}
    source_table = table(NonKeyAttributes=[attribute("x", "B")], GlobalSecondaryIndexes=[index])
    assert (source_table.types["x"], source_table.types["y"]) == ("B", "S")


@pytest.mark.parametrize("kind", ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"])
def test_attributes_may_have_any_type(kind: str) -> None:
    assert table(NonKeyAttributes=[attribute("x", kind)]).types["x"] == kind


@pytest.mark.parametrize("kind", ["S", "N", "B"])
def test_keys_may_have_three_types(kind: str) -> None:
    assert table(KeyAttributes={"PartitionKey": attribute("PK", kind)}).types == {"PK": kind}


@pytest.mark.parametrize("member", ["DataAccess", "SampleDataFormats", "TableData", "LocalSecondaryIndexes"])
def test_members_outside_the_tables_are_not_noted(member: str) -> None:
    assert table(**{member: []}).gaps == ()


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        (None, "all"),
        ({"ProjectionType": "ALL"}, "all"),
        ({"ProjectionType": "KEYS_ONLY"}, "keys"),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]}, ("a", "b")),
    ],
)
def test_an_index_projects_the_listed_attributes_or_all(projection: Any, expected: Any) -> None:
    assert table(GlobalSecondaryIndexes=[{**gsi(), "Projection": projection}]).indexes[0].project == expected


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        ({"PartitionKeyAlias": "UserId", "SortKeyAlias": "OrderId"}, {"PK": "UserId", "SK": "OrderId"}),
        ({"PartitionKeyAlias": "", "SortKeyAlias": "OrderId"}, {"SK": "OrderId"}),
        ({"PartitionKeyAlias": "UserId"}, {"PK": "UserId"}),
        ({}, {}),
        (None, {}),
    ],
)
def test_a_facet_may_name_the_parts_of_the_key(alias: Any, expected: dict[str, str]) -> None:
    (order,) = table(TableFacets=[{"FacetName": "a", "KeyAttributeAlias": alias}]).entities
    assert order.aliases == expected


def test_an_alias_of_a_missing_key_part_is_ignored() -> None:
    alone = {"PartitionKey": attribute("PK")}
    (order,) = table(KeyAttributes=alone, TableFacets=[facet("a", alias=("UserId", "OrderId"))]).entities
    assert order.aliases == {"PK": "UserId"}


def test_the_title_contains_the_description_of_the_model() -> None:
    source = imported(TABLE, ModelMetadata={"AWSService": "Amazon DynamoDB", "Description": "Of things."})
    assert (source.title, source.description, source.gaps) == ("m.json, a NoSQL Workbench model", "m: Of things.", ())
    assert imported(TABLE, ModelMetadata={}).description == "m"


def test_a_model_without_a_billing_mode_is_on_demand_and_noted() -> None:
    members = {name: value for name, value in TABLE.items() if name != "BillingMode"}
    (source_table,) = imported(members).tables
    assert source_table.billing == OnDemand()
    assert source_table.gaps == ("BillingMode is missing: the table is imported as on demand",)


def test_a_table_without_facets_is_one_entity() -> None:
    (planned_entity,) = plan_entities(
        table(NonKeyAttributes=[attribute("n", "N"), attribute("ok", "BOOL"), attribute("what", "NULL")])
    )
    assert {field.name: field.annotation for field in planned_entity.fields.values()} == {
        "PK": "str", "SK": "str", "n": "Decimal", "ok": "bool", "what": "Any",
    }  # fmt: skip


def test_types_follow_the_samples() -> None:
    items = [
        {"PK": {"S": "a"}, "SK": {"S": "b"}, "n": {"N": "1"}, "f": {"N": "1.5"}, "x": {"S": "1"}, "s": {"NS": ["1"]}},
        {"PK": {"S": "c"}, "SK": {"S": "d"}, "n": {"N": "2"}, "x": {"N": "1"}, "l": {"L": []}, "o": {"NULL": True}},
    ]
    (planned_entity,) = plan_entities(table(NonKeyAttributes=[attribute("n", "S")], TableData=items))
    assert {field.name: field.annotation for field in planned_entity.fields.values() if not field.is_required} == {
        "n": "int", "f": "Decimal", "x": "Any", "s": "set[int]", "l": "list[Any]", "o": "Any",
    }  # fmt: skip


def test_keys_of_a_facet_are_inferred_and_named_by_its_aliases() -> None:
    planned_entity = entity(facet("order", {"PK": "USER#1", "SK": "ORDER#7"}, alias=("USER#UserId", "ORDER#OrderId")))
    assert templates(planned_entity) == ("USER#{UserId}", "ORDER#{OrderId}")
    assert list(planned_entity.fields) == ["UserId", "OrderId"]
    assert not planned_entity.keeps_key_fields


@pytest.mark.parametrize(
    ("alias", "sample", "template", "annotation"),
    [
        ("ORDER#{number:06d}", "ORDER#000017", "ORDER#{number:06d}", "int"),
        ("DAY#{day:date}#{id}", "DAY#2024-01-31#7", "DAY#{day:date}#{id}", "date"),
        ("AT#{at:utc_s}", "AT#2024-01-31T10:00:00Z", "AT#{at:utc_s}", "datetime"),
        ("{name}", "ann", "{name}", "str"),
    ],
)
def test_an_alias_with_placeholders_is_the_template(alias: str, sample: str, template: str, annotation: str) -> None:
    planned_entity = entity(facet("x", {"PK": "a", "SK": sample}, alias=("PK", alias)))
    assert templates(planned_entity) == (None, template)
    assert planned_entity.fields[next(iter(set(planned_entity.fields) - {"PK", "id"}))].annotation == annotation


@pytest.mark.parametrize(
    ("alias", "sample"),
    [
        ("ORDER#{number:06d}", "ORDER#17"),
        ("DAY#{day:date}", "DAY#today"),
        ("AT#{at}", "IN#x"),
        ("A#{n}", {"PK": "a", "SK": "A#1", "n": {"BOOL": True}}),
        ("A#{n:02d}", {"PK": "a", "SK": "A#01", "n": "1"}),
        ("A#{d:date}", {"PK": "a", "SK": "A#2024-01-31", "d": "today"}),
        ("A#{", "A#{"),
    ],
)
def test_an_alias_that_does_not_match_a_sample_is_only_a_name(alias: str, sample: Any) -> None:
    values = sample if isinstance(sample, dict) else {"PK": "a", "SK": sample}
    assert templates(entity(facet("x", values, alias=("PK", alias))))[1] != alias


def test_numeric_timestamps_are_stored_as_numbers() -> None:
    sample = {"PK": "a", "SK": "AT#2024-01-31T10:00:00Z", "at": {"N": "1706695200"}}
    planned_entity = entity(facet("x", sample, alias=("PK", "AT#{at:utc_s}")))
    assert (planned_entity.fields["at"].annotation, planned_entity.fields["at"].stored) == ("datetime", "epoch_s")


def test_missing_information_of_a_table_without_facets_is_noted() -> None:
    (guess,) = table(NonKeyAttributes=[attribute("x")]).guesses
    assert guess.startswith("no facets and no sample items: all items are one entity with plain keys; add sample items")
    items = [{"PK": {"S": "USER#1"}, "SK": {"S": sort}} for sort in ("PROFILE", "ORDER#1", "ORDER#2")]
    assert table(NonKeyAttributes=[attribute("x")], TableData=items).guesses == (
        "no facets: 2 entities are guessed from the keys of 3 sample items",
        "attribute 'x' is omitted because no sample item has it",
    )
    assert table(TableData=items[1:]).guesses == ()


def test_one_value_in_both_keys_is_one_field() -> None:
    items = [{"PK": f"USER#{number}", "SK": f"PROFILE#{number}"} for number in (1, 2)]
    assert templates(entity(facet("user", *items))) == ("USER#{user_id}", "PROFILE#{user_id}")


def test_a_value_that_is_also_an_attribute_is_that_field() -> None:
    items = [{"PK": f"USER#u{number}", "SK": "PROFILE", "userId": f"u{number}"} for number in (1, 2)]
    planned_entity = entity(facet("user", *items))
    assert templates(planned_entity) == ("USER#{userId}", "PROFILE")
    assert planned_entity.fields["userId"].is_required
    assert planned_entity.keeps_key_fields


def test_an_ambiguous_key_is_a_field_named_by_its_alias() -> None:
    planned_entity = entity(
        facet("user", {"PK": "ann", "SK": "x"}, {"PK": "bob", "SK": "USER#1"}, alias=("UserId", "What"))
    )
    assert templates(planned_entity) == (None, None)
    assert {field.name: field.attribute for field in planned_entity.fields.values()} == {"UserId": "PK", "What": "SK"}


def gsi(name: str = "GSI1") -> dict[str, Any]:
    keys = {"PartitionKey": attribute(f"{name}PK"), "SortKey": attribute(f"{name}SK")}
    return {"IndexName": name, "KeyAttributes": keys, "Projection": {"ProjectionType": "ALL"}}


def test_an_index_consists_of_fields_that_every_item_has() -> None:
    items = [
        {"PK": f"USER#{user}", "SK": f"ORDER#{order}", "GSI1PK": f"ORDER#{order}", "GSI1SK": user}
        for user, order in (("1", "7"), ("2", "8"))
    ]
    planned_entity = entity(facet("order", *items), GlobalSecondaryIndexes=[gsi()])
    assert [part.template for part in planned_entity.indexes["GSI1"]] == ["ORDER#{order_id}", "{user_id}"]
    assert list(planned_entity.fields) == ["user_id", "order_id"]


def test_an_index_without_some_items_keeps_its_attributes() -> None:
    items = [{"PK": "USER#1", "SK": "ORDER#7", "GSI1PK": "USER#1", "GSI1SK": "x"}, {"PK": "USER#2", "SK": "ORDER#8"}]
    planned_entity = entity(facet("order", *items), GlobalSecondaryIndexes=[gsi()])
    assert [part.template for part in planned_entity.indexes["GSI1"]] == [None, None]
    assert planned_entity.templated == frozenset()


def test_a_facet_without_an_index_attribute_is_not_in_the_index() -> None:
    first, second = plan_entities(
        table(
            TableFacets=[facet("a", NonKeyAttributes=["GSI1PK", "GSI1SK"]), facet("b", NonKeyAttributes=["GSI1PK"])],
            GlobalSecondaryIndexes=[gsi()],
        )
    )
    assert set(first.indexes) == {"GSI1"}
    assert second.indexes == {}


def test_two_indexes_may_consist_of_the_same_fields() -> None:
    items = [{"PK": f"USER#{user}", "SK": "PROFILE", "GSI1PK": user, "GSI1SK": "x"} for user in ("1", "2")]
    second = {**gsi(), "IndexName": "GSI2", "KeyAttributes": {"PartitionKey": attribute("GSI1PK")}}
    planned_entity = entity(facet("user", *items), GlobalSecondaryIndexes=[gsi(), second])
    assert [part.template for part in planned_entity.indexes["GSI1"]] == ["{user_id}", None]
    assert [part.template for part in planned_entity.indexes["GSI2"]] == ["{user_id}"]


def test_an_attribute_of_an_index_without_some_items_stays_a_field() -> None:
    items = [{"PK": f"USER#{user}", "SK": "PROFILE", "GSI1PK": user} for user in ("1", "2")]
    created, _ = plan_entities(
        table(
            TableFacets=[facet("user", *items), facet("x", NonKeyAttributes=["GSI1SK"])], GlobalSecondaryIndexes=[gsi()]
        )
    )
    assert created.indexes == {}
    assert "GSI1PK" in created.fields


def test_an_attribute_with_a_different_text_in_each_facet_is_the_discriminator() -> None:
    a = facet("a", {"PK": "1", "SK": "1", "kind": "A", "x": "1"}, {"PK": "2", "SK": "1", "kind": "A", "x": "2"})
    b = facet("b", {"PK": "1", "SK": "2", "kind": "B", "x": "1"})
    assert discriminator(table(TableFacets=[a, b])) == ("kind", ("A", "B"))
    assert discriminator(table(TableFacets=[a, facet("c", {"PK": "1", "SK": "1", "kind": "A"})])) == (None, ())
    assert discriminator(table(TableFacets=[a, facet("c")])) == (None, ())


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"TableName": None}, "m.json: DataModel[0]: TableName is missing"),
        ({"KeyAttributes": {}}, "m.json: table things.KeyAttributes: PartitionKey is missing"),
        (
            {"KeyAttributes": {"PartitionKey": attribute("PK", "BOOL")}},
            "m.json: table things.KeyAttributes.PartitionKey: 'PK' is a key attribute of the invalid type BOOL",
        ),
        (
            {"GlobalSecondaryIndexes": [{"IndexName": "i", "KeyAttributes": {"PartitionKey": attribute("SK", "N")}}]},
            "m.json: table things.GlobalSecondaryIndexes[0].KeyAttributes.PartitionKey: 'SK' is of type S in one key",
        ),
        ({"TableFacets": [{}]}, "m.json: table things.TableFacets[0]: FacetName is missing"),
        (
            {"TableData": [{"PK": "text"}]},
            "m.json: table things.TableData[0]: it is not an item: give each attribute as its type and value",
        ),
        ({"BillingMode": "PROVISIONED"}, "m.json: table things: it has no ProvisionedThroughput"),
        (
            {"NonKeyAttributes": [attribute("x", "Z")]},
            "m.json: table things.NonKeyAttributes[0].AttributeType: expected one of",
        ),
    ],
)
def test_an_invalid_model_is_rejected_with_its_place(members: dict[str, Any], problem: str) -> None:
    with pytest.raises(ImportSourceError) as refused:
        table(**members)
    assert str(refused.value).startswith(problem)


def test_models_of_other_services_and_empty_models_are_rejected() -> None:
    with pytest.raises(ImportSourceError, match="it is a model of Amazon Keyspaces, not of Amazon DynamoDB"):
        imported(TABLE, ModelMetadata={"AWSService": "Amazon Keyspaces"})
    with pytest.raises(ImportSourceError, match=r"m\.json has no table in its DataModel"):
        imported()
    with pytest.raises(ImportSourceError, match="is not a NoSQL Workbench model"):
        nosql_workbench([Document("m.json", {"Resources": {}})])


def test_an_index_of_another_kind_is_noted() -> None:
    source_table = table(VectorIndexes=[{"IndexName": "by_meaning"}, {}], OtherIndexes=[])
    assert source_table.gaps == (
        "index 'by_meaning' is omitted: VectorIndexes indexes are not part of a design",
        "OtherIndexes: unknown member",
    )


def test_unknown_members_are_noted() -> None:
    index = {**gsi(), "Colour": "blue"}
    source_table = table(Novelty=1, TableFacets=[facet("a", Colour="red")], GlobalSecondaryIndexes=[index])
    assert source_table.gaps == (
        "Novelty: unknown member",
        "TableFacets[0].Colour: unknown member",
        "GlobalSecondaryIndexes[0].Colour: unknown member",
    )
    assert imported(TABLE, Extra=1).gaps == ("Extra: unknown member",)
