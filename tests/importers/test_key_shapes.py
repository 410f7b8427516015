"""Shapes of keys in sample items, and the kinds of items that they show."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.importers.documents import Document
from keyplan.importers.entities import PlannedEntity, plan_entities
from keyplan.importers.key_shapes import is_distinctive, item_kinds, shape_of
from keyplan.importers.nosql_workbench import nosql_workbench
from keyplan.importers.schemas import Item


@pytest.mark.parametrize(
    ("texts", "alias", "shape", "called"),
    [
        (["USER#1", "USER#2"], "", "USER#{}", ("user_id",)),
        (["USER#1"], "", "USER#{}", ("user_id",)),
        (["c#12"], "", "c#{}", ("c_id",)),
        (["#META#a1", "#META#b2"], "", "#META#{}", ("meta_id",)),
        (["USER#1#ORDER#7"], "", "USER#{}#ORDER#{}", ("user_id", "order_id")),
        (["USER#1#PROFILE", "USER#2#PROFILE"], "", "USER#{}#PROFILE", ("user_id",)),
        (["ITEMS#001"], "ITEMS#ItemID", "ITEMS#{}", ("ItemID",)),
        (["ITEMS#001"], "ITEMS#<ItemID>", "ITEMS#{}", ("ItemID",)),
        (["SUB#1#SKU#9"], "SubId#SKU", "SUB#{}#SKU#{}", ("SubId", "SKU")),
        (["PROFILE", "PROFILE"], "", "PROFILE", ()),
        (["profile"], "profile", "profile", ()),
        (["ORG#acme#admins"], "ORG#Org#admins", "ORG#{}#admins", ("Org",)),
        (["USER#1#PROFILE"], "", "USER#{}#{}", ("user_id", "")),
        (["USER#1#profile", "USER#2#profile"], "", "USER#{}#profile", ("user_id",)),
        (["USER#1#v1", "USER#2#v1"], "", "USER#{}#{}", ("user_id", "")),
        (["A#1#2", "A#3#4"], "", "A#{}#{}", ("a_id", "")),
        (["A#x#1", "A#y#2"], "", "A#{}#{}", ("a_id", "")),
        (["S#o1#1", "S#o1#2"], "", "S#{}#{}", ("s_id", "")),
        (["A##1", "A##2"], "A#x#id", "A##{}", ("id",)),
        (["c#12"], "Client#Id", "c#{}", ("Id",)),
        (["SUB#1#SKU#9"], "sub#Id#code#Sku", "SUB#{}#SKU#{}", ("Id", "Sku")),
        (["S#open#1"], "S#State#Id", "S#{}#{}", ("State", "Id")),
        (["ITEM#1"], "ITEM#[$Id]", "ITEM#{}", ("Id",)),
        (["order|17", "order|18"], "", "order|{}", ("order_id",)),
        (["LOG#2024-01-31#1", "LOG#2024-02-01#2"], "", "LOG#{}#{}", ("log_date", "")),
        (["DATE#2024-01-31"], "", "DATE#{}", ("date",)),
        (["EVENT#2024-01-31T10:00:00Z"], "", "EVENT#{}", ("event_at",)),
        (["A#1#2024-01-31"], "", "A#{}#{}", ("a_id", "a_date")),
    ],
)
def test_a_template_is_inferred_from_texts_and_alias(
    texts: list[str], alias: str, shape: str, called: tuple[str, ...]
) -> None:
    actual_shape = shape_of(texts, alias)
    assert actual_shape is not None
    assert (actual_shape.text, actual_shape.value_names) == (shape, called)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([], "there is no sample"),
        (["alice", "bob"], "there is no separator"),
        (["PROFILE"], "one item does not show that all have this text"),
        (["USER#1", "ORDER#2"], "the first word differs"),
        (["USER#1", "USER#1#x"], "they have not the same number of parts"),
        (["2026#1", "2026#2"], "a number is no word"),
        (["STATUS#open#1", "STATUS#open#2"], "open may be a value that happens to be the same"),
        (["USER#", "USER#2"], "a value is empty"),
        (["USER#{x}"], "braces mean something in templates"),
        (["USER#{x"], "so does one of them"),
        (["USER#1", "USER#x}"], "and the other"),
        (["1#A", "2#A"], "the first part is a value"),
        (["#1", "#2"], "there is no word"),
        (["#", "#"], "there is nothing"),
        (["https://example.org/1", "https://example.org/2"], "a URL is one value"),
        (["2024-01-31T10:00", "2024-01-31T11:00"], "a time is one value"),
    ],
)
def test_an_ambiguous_key_has_no_template(texts: list[str], why: str) -> None:
    assert shape_of(texts) is None, why


def test_the_values_of_each_part_are_kept() -> None:
    shape = shape_of(["A#1#B#x", "A#2#B#y"])
    assert shape is not None
    assert shape.values == (("1", "2"), ("x", "y"))


@pytest.mark.parametrize(
    ("column", "telling"), [(["1", "2"], True), (["abcdef"], True), (["abcde"], False), (["1"], False)]
)
def test_equal_values_are_significant_if_they_are_several_or_long(column: list[str], telling: bool) -> None:
    assert is_distinctive(column) is telling


def items(*texts: tuple[str, ...], **more: str) -> list[Item]:
    names = ("PK", "SK")
    return [{name: {"S": text} for name, text in [*zip(names, keys, strict=False), *more.items()]} for keys in texts]


def kinds(*texts: tuple[str, ...]) -> dict[str, int]:
    return {kind.name: len(kind.samples) for kind in item_kinds(items(*texts), ("PK", "SK")[: len(texts[0])])}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([("USER#1", "PROFILE"), ("USER#2", "PROFILE")], {"user": 2}),
        ([("USER#1", "PROFILE"), ("USER#1", "ORDER#7")], {"user": 1, "order": 1}),
        ([("USER#1", "PROFILE"), ("USER#1", "SETTINGS")], {"user profile": 1, "user settings": 1}),
        ([("USER#1", "FOLLOWS#2"), ("GAME#1", "FOLLOWS#2")], {"user follows": 1, "game follows": 1}),
        (
            [("ORDER#1", "ORDER#1"), ("ORDER#1", "ITEM#1"), ("ITEM#1", "ITEM#1")],
            {"order": 1, "order item": 1, "item": 1},
        ),
        ([("ann", "x"), ("bob", "y")], {"item": 2}),
        ([("USER#1#ORDER#1",), ("USER#2",), ("USER#3#ORDER#9",)], {"order": 2, "user": 1}),
        ([("user|1", "meta|1"), ("user|1", "post|2")], {"meta": 1, "post": 1}),
    ],
)
def test_items_are_grouped_and_named_by_the_words_in_their_keys(
    texts: list[tuple[str, ...]], expected: dict[str, int]
) -> None:
    assert kinds(*texts) == expected


def test_a_word_in_the_middle_is_literal_if_it_differs_between_entities() -> None:
    post, like = item_kinds(items(("user:1:post:7",), ("user:1:like:8",), ("user:2:post:9",)), ("PK",))
    assert (post.name, post.templates) == ("post", {"PK": "user:{user_id}:post:{post_id}"})
    assert (like.name, len(like.samples)) == ("like", 1)


def test_an_attribute_that_names_the_entity_takes_precedence_over_words_in_keys() -> None:
    samples = [
        *items(("A#1", "A#1"), ("A#2", "A#2"), entityType="Customer"),
        *items(("A#1", "B#1"), ("A#1", "B#2"), entityType="Invoice"),
    ]
    assert [(kind.name, len(kind.samples)) for kind in item_kinds(samples, ("PK", "SK"))] == [
        ("Customer", 2),
        ("Invoice", 2),
    ]


def test_a_recurring_word_is_literal_if_its_items_have_other_attributes() -> None:
    samples = [*items(("a", "details"), ("b", "details"), title="x"), *items(("a", "fast"), ("b", "slow"), votes="1")]
    first, second = item_kinds(samples, ("PK", "SK"))
    assert (first.name, first.templates, len(second.samples)) == ("details", {"SK": "details"}, 2)


def test_recurring_names_are_values_if_all_items_have_the_same_attributes() -> None:
    assert kinds(("a", "alice"), ("b", "alice"), ("a", "bob")) == {"item": 3}


# Tables like those of the sample models of NoSQL Workbench.


def imported(key: tuple[str, ...], *samples: dict[str, Any], **more: Any) -> list[PlannedEntity]:
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in key]
    table: dict[str, Any] = {
        "TableName": "table",
        "KeyAttributes": dict(zip(("PartitionKey", "SortKey"), attributes, strict=False)),
        "TableData": [
            {name: value if isinstance(value, dict) else {"S": value} for name, value in sample.items()}
            for sample in samples
        ],
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }
    (source_table,) = nosql_workbench([Document("m.json", {"ModelName": "m", "DataModel": [table]})]).tables
    return plan_entities(source_table)


def keys(entities: list[PlannedEntity]) -> dict[str, tuple[str | None, ...]]:
    return {entity.name: tuple(part.template for part in entity.key) for entity in entities}


def test_a_product_catalog_has_one_entity_per_type_attribute() -> None:
    entities = imported(
        ("PK", "SK"),
        {"PK": "BRANDS", "SK": "B#1", "type": "BRAND", "brandId": "1"},
        {"PK": "BRANDS", "SK": "B#2", "type": "BRAND", "brandId": "2"},
        {"PK": "P#1", "SK": "METADATA", "type": "PRODUCT", "categoryId": "1", "productId": "1"},
        {"PK": "P#2", "SK": "METADATA", "type": "PRODUCT", "categoryId": "2", "productId": "2"},
    )
    assert keys(entities) == {"BRAND": ("BRANDS", "B#{brandId}"), "PRODUCT": ("P#{productId}", "METADATA")}


def test_employees_are_one_entity() -> None:
    (source,) = imported(
        ("LoginAlias",),
        {"LoginAlias": "johns", "FirstName": "John", "Skills": {"SS": ["software"]}},
        {"LoginAlias": "marthar", "FirstName": "Martha", "ManagerLoginAlias": "johns"},
    )
    assert (source.name, [part.template for part in source.key]) == ("", [None])
    assert source.fields["Skills"].annotation == "set[str]"


def test_a_discussion_forum_with_replies_to_a_thread() -> None:
    (source,) = imported(
        ("Id", "ReplyDateTime"),
        {"Id": "DynamoDB#Thread 1", "ReplyDateTime": "2024-09-15T19:58:22.947Z", "Message": "x"},
        {"Id": "DynamoDB#Thread 2", "ReplyDateTime": "2024-09-22T19:58:22.947Z", "Message": "y"},
    )
    assert [part.template for part in source.key] == ["DynamoDB#{dynamodb_id}", None]


def test_a_music_library_with_details_months_and_downloads() -> None:
    entities = imported(
        ("Id", "Metadata"),
        {"Id": "1", "Metadata": "Details", "Title": "Wild Love", "Artist": "Argyboots"},
        {"Id": "2", "Metadata": "Details", "Title": "Example", "Artist": "Rosa"},
        {"Id": "1", "Metadata": "Month-01-2018", "DownloadMonth": "01-2018", "TotalDownloadsInMonth": {"N": "2"}},
        {"Id": "1", "Metadata": "DId-9349823681", "DownloadTimestamp": "2018-01-01T00:00:07"},
        {"Id": "1", "Metadata": "DId-9349823682", "DownloadTimestamp": "2018-01-01T00:01:08"},
    )
    assert keys(entities) == {
        "details": (None, "Details"),
        "month": (None, "Month-{DownloadMonth}"),
        "did": (None, "DId-{did_id}"),
    }
    assert entities[1].fields["TotalDownloadsInMonth"].annotation == "int"


def test_a_ski_resort_with_static_data_and_readings() -> None:
    entities = imported(
        ("Lift", "Metadata"),
        {"Lift": "Lift 3", "Metadata": "Static Data", "LiftNumber": {"N": "3"}},
        {"Lift": "Lift 23", "Metadata": "Static Data", "LiftNumber": {"N": "23"}},
        {"Lift": "Lift 3", "Metadata": "07-03-2021", "TotalUniqueLiftRiders": {"N": "7000"}},
        {"Lift": "Lift 23", "Metadata": "07-03-2021", "TotalUniqueLiftRiders": {"N": "3921"}},
    )
    assert keys(entities) == {"lift static data": (None, "Static Data"), "lift": (None, None)}


def test_credit_card_offers_with_sparse_indexes() -> None:
    keys_of_index = {
        name: {"AttributeName": f"GSI1_{end}", "AttributeType": "S"}
        for name, end in (("PartitionKey", "PK"), ("SortKey", "SK"))
    }
    index = {"IndexName": "by_status", "KeyAttributes": keys_of_index, "Projection": {"ProjectionType": "ALL"}}
    entities = imported(
        ("PK", "SK"),
        {"PK": "ACCT#1", "SK": "ACCT#1", "Name": "Ada"},
        {"PK": "ACCT#2", "SK": "ACCT#2", "Name": "Bob"},
        {"PK": "ACCT#1", "SK": "OFFER#77", "State": "ASSIGNED", "GSI1_PK": "OFFER#77", "GSI1_SK": "ACCT#1"},
        {"PK": "ACCT#2", "SK": "OFFER#78", "State": "ASSIGNED", "GSI1_PK": "OFFER#78", "GSI1_SK": "ACCT#2"},
        {"PK": "ACCT#2", "SK": "OFFER#79", "State": "REDEEMED"},
        GlobalSecondaryIndexes=[index],
    )
    account, offer = entities
    assert keys(entities) == {
        "acct": ("ACCT#{acct_id}", "ACCT#{acct_id}"),
        "offer": ("ACCT#{acct_id}", "OFFER#{offer_id}"),
    }
    assert account.indexes == {}
    assert [part.template for part in offer.indexes["by_status"]] == ["OFFER#{offer_id}", "ACCT#{acct_id}"]
    assert offer.only_if == {"by_status": 'F.State == "ASSIGNED"'}


def test_bookmarks_are_imported_with_a_folder_that_only_some_items_have() -> None:
    index = {
        "IndexName": "ByFolder",
        "KeyAttributes": {"PartitionKey": {"AttributeName": "GSI1PK", "AttributeType": "S"}},
    }
    customer, bookmark = imported(
        ("PK", "SK"),
        {"PK": "CUSTOMER#1", "SK": "PROFILE", "email": "ada@example.org"},
        {"PK": "CUSTOMER#1", "SK": "BOOKMARK#1", "folder": "Tools", "GSI1PK": "FOLDER#Tools"},
        {"PK": "CUSTOMER#1", "SK": "BOOKMARK#2", "folder": "Cloud", "GSI1PK": "FOLDER#Cloud"},
        {"PK": "CUSTOMER#1", "SK": "BOOKMARK#3"},
        GlobalSecondaryIndexes=[index],
    )
    assert customer.name == "customer"
    assert [part.template for part in bookmark.indexes["ByFolder"]] == ["FOLDER#{folder}"]
    assert (bookmark.only_if, bookmark.fields["folder"].is_required) == ({}, False)


def test_an_index_that_no_field_determines_keeps_its_attributes() -> None:
    index = {
        "IndexName": "ByTag",
        "KeyAttributes": {"PartitionKey": {"AttributeName": "GSI1PK", "AttributeType": "S"}},
    }
    source = imported(
        ("PK", "SK"),
        {"PK": "A#1", "SK": "A#1", "GSI1PK": "A#1"},
        {"PK": "A#2", "SK": "A#2", "GSI1PK": "A#2"},
        {"PK": "A#3", "SK": "A#3"},
        GlobalSecondaryIndexes=[index],
    )[0]
    assert [part.template for part in source.indexes["ByTag"]] == [None]
    assert "GSI1PK" in source.fields
