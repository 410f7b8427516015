"""Entities planned from sample items: types of attributes, shapes of keys, discriminators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keyplan.design.schema import Index
from keyplan.design.workload import OnDemand
from keyplan.importers.entities import (
    PlannedEntity,
    discriminator,
    is_item,
    plan_entities,
    python_type,
)
from keyplan.importers.schemas import Item, SourceEntity, SourceTable

KEYS = {"PK": "S", "SK": "S"}
INDEX = Index("GSI1", "GSI", ("GSI1PK",), ("GSI1SK",), "all")


def items(*values: Mapping[str, Any]) -> tuple[Item, ...]:
    """Items, in which texts are of type S and numbers of type N."""

    def value(element: Any) -> Mapping[str, Any]:
        return (
            {"S": element}
            if isinstance(element, str)
            else {"N": str(element)}
            if isinstance(element, (int, float))
            else element
        )

    return tuple({name: value(element) for name, element in item.items()} for item in values)


def kind(name: str = "", *values: Mapping[str, Any], aliases: Mapping[str, str] | None = None) -> SourceEntity:
    attributes = dict.fromkeys(name for item in values for name in item)
    return SourceEntity(name, tuple(attributes), items(*values), aliases or {})


def table(*kinds: SourceEntity, types: Mapping[str, str] = KEYS, **more: Any) -> SourceTable:
    return SourceTable("t", ("PK", "SK"), types, more.pop("indexes", ()), OnDemand(), entities=kinds, **more)


def entity(*values: Mapping[str, Any], aliases: Mapping[str, str] | None = None, **more: Any) -> PlannedEntity:
    (planned_entity,) = plan_entities(table(kind("", *values, aliases=aliases), **more))
    return planned_entity


def annotations_of(planned: PlannedEntity) -> dict[str, str]:
    return {field.attribute: field.annotation for field in planned.fields.values()}


def templates(planned: PlannedEntity) -> list[str | None]:
    return [part.template for part in planned.key]


# Types.


@pytest.mark.parametrize(
    ("code", "values", "expected"),
    [
        ("S", ["alice", "bob"], "str"),
        ("S", [], "str"),
        ("S", [{"N": "1"}, "x"], "str"),
        ("N", [1, 2], "int"),
        ("N", [1, 2.5], "Decimal"),
        ("N", [], "Decimal"),
        ("N", ["text", "x"], "Decimal"),
        ("B", [{"B": "YQ=="}, {"B": "Yg=="}], "bytes"),
        ("B", [], "bytes"),
        ("B", ["text", "x"], "bytes"),
    ],
)
def test_a_key_attribute_has_a_valid_key_type(code: str, values: list[Any], expected: str) -> None:
    planned_entity = entity(
        *({"PK": f"a{at}", "SK": value} for at, value in enumerate(values)), types={"PK": "S", "SK": code}
    )
    assert annotations_of(planned_entity)["SK"] == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "datetime"),
        ([1_700_000_000, 1_800_000_000], "datetime"),
        ([1_700_000_000.5], "Decimal"),
        ([1_700_000_000, {"NULL": True}], "datetime"),
        ([1, "text"], "Decimal"),
        (["text"], "str"),
        ([{"BOOL": True}], "bool"),
    ],
)
def test_the_expiry_is_a_timestamp_if_it_is_whole_seconds(values: list[Any], expected: str) -> None:
    planned_entity = entity(*({"PK": "a", "SK": "b", "gone": value} for value in values), ttl="gone")
    assert annotations_of(planned_entity)["gone"] == expected


def test_a_text_key_that_is_the_expiry_is_not_split() -> None:
    planned_entity = entity({"PK": "A#1", "SK": "B#1"}, {"PK": "A#2", "SK": "B#2"}, ttl="SK")
    assert templates(planned_entity) == ["A#{a_id}", None]


# Fields of keys.


@pytest.mark.parametrize(
    ("alias", "called"),
    [("UserId", "UserId"), ("", "PK"), ("user id", "PK"), ("other", "PK"), ("SK", "PK")],
)
def test_a_key_attribute_is_named_by_its_alias_if_the_alias_is_unique(alias: str, called: str) -> None:
    values = ({"PK": "ann", "SK": "x", "other": "1"}, {"PK": "bob", "SK": "y", "other": "2"})
    planned_entity = entity(*values, aliases={"PK": alias})
    assert next(field.name for field in planned_entity.fields.values() if field.attribute == "PK") == called


def test_a_value_does_not_use_the_name_of_a_different_attribute() -> None:
    values = ({"PK": "USER#1", "SK": "x", "user_id": "7"}, {"PK": "USER#2", "SK": "y", "user_id": "8"})
    planned_entity = entity(*values)
    assert templates(planned_entity) == ["USER#{user_id_}", None]
    assert {field.name: field.attribute for field in planned_entity.fields.values()} == {
        "user_id_": "user_id_",
        "SK": "SK",
        "user_id": "user_id",
    }
    assert planned_entity.fields["user_id_"].is_required
    assert not planned_entity.fields["user_id"].is_required


def test_a_value_in_a_key_is_not_stored_under_the_name_of_that_key() -> None:
    types = {"user_id": "S", "SK": "S"}
    actual_kind = kind("", {"user_id": "USER#1", "SK": "x"}, {"user_id": "USER#2", "SK": "y"})
    (planned_entity,) = plan_entities(
        SourceTable("t", ("user_id", "SK"), types, (), OnDemand(), entities=(actual_kind,))
    )
    assert templates(planned_entity) == ["USER#{user_id_}", None]
    assert annotations_of(planned_entity) == {"user_id_": "str", "SK": "str"}


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        ([("1", "1"), ("2", "2")], "USER#{userId}"),
        ([("1", "1")], "USER#{user_id}"),
        ([("player001", "player001")], "USER#{userId}"),
        ([("1", "1"), ("2", "3")], "USER#{user_id}"),
        ([("1", "1"), ("2", None)], "USER#{user_id}"),
    ],
)
def test_a_value_in_a_key_is_an_attribute_unless_they_are_equal_by_chance(
    estimate: list[tuple[str, str | None]], expected: str
) -> None:
    samples = [{"PK": f"USER#{at}", "SK": "x", **({} if of is None else {"userId": of})} for at, of in estimate]
    assert templates(entity(*samples))[0] == expected


def test_one_sample_is_enough_if_the_alias_names_the_attribute() -> None:
    planned_entity = entity({"PK": "USER#1", "SK": "x", "userId": "1"}, aliases={"PK": "USER#userId"})
    assert templates(planned_entity)[0] == "USER#{userId}"
    assert planned_entity.keeps_key_fields


@pytest.mark.parametrize(
    "odd", [{"PK": {"N": "3"}, "SK": "x"}, {"SK": "x"}, {"PK": {"S": 3}, "SK": "x"}], ids=["number", "none", "no text"]
)
def test_a_key_that_is_not_text_in_one_sample_is_not_split(odd: dict[str, Any]) -> None:
    assert templates(entity({"PK": "USER#1", "SK": "x"}, {"PK": "USER#2", "SK": "y"}, odd))[0] is None


# Indexes.


def in_index(*values: Mapping[str, Any], index: Index = INDEX) -> PlannedEntity:
    types = {**KEYS, **dict.fromkeys(index.attributes, "S")}
    return entity(*values, types=types, indexes=(index,))


def test_an_index_with_one_template_is_templated() -> None:
    values = [{"PK": f"USER#{at}", "SK": "x", "GSI1PK": f"ALL#{at}", "GSI1SK": f"v{at}"} for at in (1, 2)]
    planned_entity = in_index(*values)
    assert [part.template for part in planned_entity.indexes["GSI1"]] == ["ALL#{user_id}", None]
    assert planned_entity.templated == {"GSI1"}
    assert planned_entity.is_guessed


def test_an_index_by_fields_has_no_template() -> None:
    index = Index("by_state", "GSI", ("state",), ("at",), "all")
    planned_entity = in_index(
        {"PK": "a", "SK": "x", "state": "s", "at": "1"}, {"PK": "b", "SK": "y", "state": "t", "at": "2"}, index=index
    )
    assert [part.fields for part in planned_entity.indexes["by_state"]] == [("state",), ("at",)]
    assert planned_entity.templated == frozenset()
    assert not planned_entity.is_guessed


def test_only_composed_index_attributes_consist_of_other_fields() -> None:
    index = Index("by_owner", "GSI", ("owner",), ("GSI1SK",), "all")
    values = [{"PK": f"USER#{at}", "SK": "x", "owner": str(at), "GSI1SK": str(at)} for at in (1, 2)]
    planned_entity = in_index(*values, index=index)
    assert [part.template for part in planned_entity.indexes["by_owner"]] == [None, "{owner}"]
    assert templates(planned_entity)[0] == "USER#{owner}"
    assert "GSI1SK" not in planned_entity.fields


def test_an_index_value_that_no_field_contains_stays_an_attribute() -> None:
    values = [{"PK": f"USER#{at}", "SK": "x", "GSI1PK": f"ALL#z{at}", "GSI1SK": "s"} for at in (1, 2)]
    planned_entity = in_index(*values)
    assert [part.template for part in planned_entity.indexes["GSI1"]] == [None, None]
    assert {"GSI1PK", "GSI1SK"} <= set(planned_entity.fields)


def test_the_table_key_may_also_be_an_index_key() -> None:
    actual = [{"PK": name, "SK": "x", "GSI1PK": name, "GSI1SK": f"s {name}"} for name in ("ann", "bob")]
    assert [part.template for part in in_index(*actual).indexes["GSI1"]] == ["{PK}", None]


def test_keys_come_before_other_fields() -> None:
    actual = [{"z": "1", "GSI1SK": f"s {at}", "GSI1PK": f"p {at}", "SK": "x", "PK": f"k {at}"} for at in (1, 2)]
    assert list(in_index(*actual).fields) == ["PK", "SK", "GSI1PK", "GSI1SK", "z"]


@pytest.mark.parametrize(
    ("expected", "keeps"),
    [
        ({"PK": "USER#{at}", "SK": "v {at}"}, False),
        ({"PK": "USER#{at}", "SK": "ORDER#{at}{at}"}, False),
        ({"PK": "USER#{at}", "SK": "ORDER#{at}{at}", "userId": "{at}"}, True),
        ({"PK": "v {at}", "SK": "w {at}"}, True),
    ],
)
def test_fields_stored_only_in_keys_are_not_attributes(expected: dict[str, str], keeps: bool) -> None:
    planned_entity = entity(*({name: text.format(at=at) for name, text in expected.items()} for at in (1, 2)))
    assert planned_entity.keeps_key_fields is keeps


def test_an_inverted_index_uses_the_table_keys() -> None:
    index = Index("inverted", "GSI", ("SK",), ("PK",), "all")
    planned_entity = in_index(*({"PK": f"USER#{at}", "SK": f"ORDER#{at}{at}"} for at in (1, 2)), index=index)
    assert [part.template for part in planned_entity.indexes["inverted"]] == ["ORDER#{order_id}", "USER#{user_id}"]
    assert planned_entity.templated == frozenset()


# What tells kinds apart.

A1, A2 = {"PK": "1", "SK": "1", "kind": "A"}, {"PK": "2", "SK": "1", "kind": "A"}
B1, C1 = {"PK": "3", "SK": "1", "kind": "B"}, {"PK": "4", "SK": "1", "kind": "C"}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([[A1, A2], [B1], [C1]], ("kind", ("A", "B", "C"))),
        ([[A1], [B1], [{**C1, "kind": "A"}]], (None, ())),
        ([[A1], [B1], [{"PK": "4", "SK": "1"}]], (None, ())),
        ([[A1, {**A2, "kind": "X"}], [B1]], (None, ())),
        ([[A1, {"PK": "2", "SK": "1"}], [B1]], (None, ())),
        ([[A1], [{**B1, "kind": 5}]], (None, ())),
        ([[A1], []], (None, ())),
        ([[], [B1]], (None, ())),
        ([[A1]], (None, ())),
        ([], (None, ())),
    ],
)
def test_entities_are_distinguished_by_an_attribute_with_different_texts(kinds: list[Any], expected: Any) -> None:
    source_table = table(*(kind(str(number), *samples) for number, samples in enumerate(kinds)))
    assert discriminator(source_table) == expected


def test_a_key_attribute_is_not_a_discriminator() -> None:
    source_table = table(kind("a", {"PK": "1", "SK": "A"}), kind("b", {"PK": "1", "SK": "B"}))
    assert discriminator(source_table) == (None, ())


def test_a_discriminator_is_not_a_field() -> None:
    first, _ = plan_entities(table(kind("a", A1, A2), kind("b", B1)), "kind")
    assert "kind" not in first.fields
    index = Index("by_kind", "GSI", ("kind",), (), "all")
    first, _ = plan_entities(table(kind("a", A1), kind("b", B1), types={**KEYS, "kind": "S"}, indexes=(index,)), "kind")
    assert "kind" in first.fields


def test_attributes_that_no_entity_names_are_fields_of_each() -> None:
    index = Index("by_x", "GSI", ("x",), (), ("y",))
    more: dict[str, Any] = {"types": {**KEYS, "x": "S"}, "indexes": (index,), "ttl": "gone"}
    assert [
        list(plan_entity.fields)
        for plan_entity in plan_entities(table(kind("a"), kind("b", {"PK": "1", "SK": "1", "y": "1"}), **more))
    ] == [
        ["PK", "SK", "x", "gone"],
        ["PK", "SK", "y", "x", "gone"],
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("S", "str"),
        ("N", "Decimal"),
        ("B", "bytes"),
        ("BOOL", "bool"),
        ("NULL", "Any"),
        ("M", "dict[str, Any]"),
        ("L", "list[Any]"),
        ("SS", "set[str]"),
        ("NS", "set[Decimal]"),
        ("BS", "set[bytes]"),
        (None, "Any"),
    ],
)
def test_a_type_without_values_accepts_all_of_them(code: str | None, expected: str) -> None:
    assert python_type(code, []) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"S": "x"}], "str"),
        ([{"N": "1"}, {"N": "-2"}], "int"),
        ([{"N": 3}, {"N": "1e2"}, {"N": "4.0"}], "int"),
        ([{"N": "1"}, {"N": "1.5"}], "Decimal"),
        ([{"N": "NaN"}], "Decimal"),
        ([{"N": "Infinity"}], "Decimal"),
        ([{"N": "many"}], "Decimal"),
        ([{"NS": ["1", "2"]}, {"NS": ["3"]}], "set[int]"),
        ([{"NS": ["1"]}, {"NS": ["2.5"]}], "set[Decimal]"),
        ([{"NS": []}], "set[Decimal]"),
        ([{"S": "x"}, {"NULL": True}], "str"),
        ([{"S": "x"}, {"N": "1"}], "Any"),
        ([{"NULL": True}], "bool"),
        ([{"ODD": 1}], "Any"),
    ],
)
def test_values_take_precedence_over_the_declared_type(values: list[dict[str, Any]], expected: str) -> None:
    assert python_type("BOOL", values) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, True),
        ({"a": {"S": "x"}, "b": {"L": []}}, True),
        ({"a": {"SS": ["x"]}, "b": {"NS": []}, "c": {"BS": ["eA=="]}}, True),
        ({"a": {"SS": "x"}}, False),
        ({"a": {"NS": {"x": 1}}}, False),
        ({"a": {"BS": "x"}}, False),
        ({"a": {"S": "x"}, "b": "x"}, False),
        ({"a": {}}, False),
        ({"a": {"S": "x", "N": "1"}}, False),
        ([], False),
        ("x", False),
    ],
)
def test_an_item_maps_each_attribute_to_a_type_and_a_value(value: Any, expected: bool) -> None:
    assert is_item(value) is expected
