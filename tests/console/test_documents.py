"""Items as text in the console: JSON of both kinds, form fields, cells, code and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyplan.console import Source
from keyplan.console.data.code import code_of
from keyplan.console.data.documents import (
    DocumentError,
    cell,
    decoded_key,
    digest,
    encoded_key,
    is_same,
    plain_text,
    read_plain,
    read_typed,
    sort_key,
    typed_text,
)
from keyplan.console.data.exports import OTHER_ATTRIBUTES, csv_of, json_of
from keyplan.console.data.facts import TableFacts
from keyplan.console.data.fields import fields_of, has_plain_loss, read_fields
from keyplan.console.data.items import update_of
from keyplan.console.data.search import AttributeFilter, Search, SearchError
from keyplan.engine.engine import Engine

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**20), max_value=10**20).map(str)
SCALARS = (
    st.builds(lambda text: {"S": text}, TEXTS)
    | st.builds(lambda number: {"N": number}, NUMBERS)
    | st.builds(lambda content: {"B": content}, st.binary(max_size=9))
    | st.builds(lambda value: {"BOOL": value}, st.booleans())
    | st.just({"NULL": True})
)
SETS = (
    st.builds(lambda members: {"SS": sorted(members)}, st.sets(TEXTS, min_size=1, max_size=3))
    | st.builds(lambda members: {"NS": sorted(members)}, st.sets(NUMBERS, min_size=1, max_size=3))
    | st.builds(lambda members: {"BS": sorted(members)}, st.sets(st.binary(max_size=3), min_size=1, max_size=3))
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | SETS,
    lambda inner: (
        st.builds(lambda members: {"L": members}, st.lists(inner, max_size=3))
        | st.builds(lambda members: {"M": members}, st.dictionaries(TEXTS, inner, max_size=3))
    ),
    max_leaves=8,
)
ITEMS = st.dictionaries(TEXTS.filter(bool), VALUES, max_size=5)


@given(ITEMS)
def test_dynamodb_json_keeps_every_value(item: dict[str, Any]) -> None:
    assert read_typed(typed_text(item)) == item
    assert read_typed(typed_text(item, None)) == item


@given(ITEMS)
def test_plain_json_of_an_unchanged_item_keeps_every_type(item: dict[str, Any]) -> None:
    assert read_plain(plain_text(item), item) == item
    json.loads(plain_text(item))


@given(ITEMS)
@example({"0": {"BS": [b"", b"a"]}})
def test_a_form_that_is_sent_back_unchanged_changes_nothing(item: dict[str, Any]) -> None:
    """Browsers send line ends as CRLF."""
    fields = fields_of(item, ())
    texts = [field.text.replace("\n", "\r\n") for field in fields]
    again, shown = read_fields([field.name for field in fields], [field.type_name for field in fields], texts, ())
    assert not [field for field in shown if field.error]
    assert again.keys() == item.keys()
    assert all(is_same(again[name], value) for name, value in item.items())


@given(ITEMS)
def test_every_value_has_a_short_cell_and_a_place_in_any_order(item: dict[str, Any]) -> None:
    for value in item.values():
        assert len(cell(value).text) < 400
    sorted([*map(sort_key, item.values()), sort_key(None)])


def test_numbers_keep_38_digits() -> None:
    digits = "12345678901234567890.123456789012345678"
    assert plain_text({"n": {"N": digits}}, None) == f'{{"n": {digits}}}'
    assert read_plain(f'{{"n": {digits}, "e": -1E-130}}') == {"n": {"N": digits}, "e": {"N": "-1E-130"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON: line 1, column 2"),
        ("[]", "expected an object of attributes"),
        ('{"a": 1}', "a: expected one type and its value"),
        ('{"a": {"S": 1}}', "a: the value does not match type S"),
        ('{"a": {"N": true}}', "a: the value does not match type N"),
        ('{"a": {"B": "?"}}', "a: expected base64"),
        ('{"a": {"M": {"b": {"L": [{"X": 1}]}}}}', "a.b[0]: expected one type"),
        ('{"a": {"S": "x"}, "a": {"S": "y"}}', "duplicate name: 'a'"),
        ('{"a": {"N": NaN}}', "NaN is not a number"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_text_that_is_not_an_item_is_explained(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message.replace("[", r"\[").replace(".", r"\.").replace("?", r"\?")):
        read_typed(text)


def test_keys_are_part_of_an_address() -> None:
    key: dict[str, Any] = {"pk": {"S": "ä/?&#"}, "sk": {"B": b"\x00\xff"}}
    text = encoded_key(key)
    assert decoded_key(text) == key
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    with pytest.raises(DocumentError, match="the key in the URL is not valid"):
        decoded_key("a")


def test_the_digest_depends_on_values_and_not_on_order() -> None:
    item: dict[str, Any] = {"a": {"SS": ["x", "y"]}, "b": {"M": {"c": {"N": "1"}, "d": {"NULL": True}}}}
    same: dict[str, Any] = {"b": {"M": {"d": {"NULL": True}, "c": {"N": "1"}}}, "a": {"SS": ["y", "x"]}}
    assert digest(item) == digest(same)
    assert digest(item) != digest({**item, "b": {"M": {}}})
    assert is_same({"N": "1.0"}, {"N": "1"})
    assert not is_same({"N": "1"}, {"S": "1"})


def test_sets_and_binary_inside_lists_are_edited_as_dynamodb_json() -> None:
    assert has_plain_loss({"L": [{"M": {"a": {"BS": [b""]}}}]})
    assert not has_plain_loss({"L": [{"M": {"a": {"S": ""}}}]})


FACTS = TableFacts(
    "things",
    {
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "B"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    },
)
KEY: dict[str, Any] = {"pk": {"S": "a"}, "sk": {"B": b"b"}}


def test_an_update_names_only_changed_attributes_and_their_old_values() -> None:
    before: dict[str, Any] = {**KEY, "same": {"N": "1"}, "changed": {"S": "old"}, "gone": {"S": "x"}}
    after: dict[str, Any] = {**KEY, "same": {"N": "1.0"}, "changed": {"S": "new"}, "added": {"BOOL": True}}
    assert update_of(FACTS, KEY, before, after) == {
        "TableName": "things",
        "Key": KEY,
        "UpdateExpression": "SET #n0 = :v0, #n1 = :v1 REMOVE #n2",
        "ConditionExpression": ("attribute_exists(#key) AND attribute_not_exists(#n0) AND #n1 = :o1 AND #n2 = :o2"),
        "ExpressionAttributeNames": {"#n0": "added", "#n1": "changed", "#n2": "gone", "#key": "pk"},
        "ExpressionAttributeValues": {
            ":v0": {"BOOL": True},
            ":v1": {"S": "new"},
            ":o1": {"S": "old"},
            ":o2": {"S": "x"},
        },
    }
    assert update_of(FACTS, KEY, before, before) is None
    many: dict[str, Any] = {**KEY, **{f"a{place}": {"N": "1"} for place in range(101)}}
    assert update_of(FACTS, KEY, KEY, many) == "101 attributes changed: save at most 100 at once"


def test_an_update_of_the_most_attributes_is_accepted_by_the_engine() -> None:
    with Engine.memory() as engine:
        create = {"TableName": "things", "BillingMode": "PAY_PER_REQUEST", **FACTS.description}
        engine.call("CreateTable", create)
        before: dict[str, Any] = {**KEY, **{f"attribute-{place}": {"N": "1"} for place in range(100)}}
        engine.call("PutItem", {"TableName": "things", "Item": before})
        update = update_of(FACTS, KEY, before, KEY)
        assert isinstance(update, dict)
        engine.call("UpdateItem", update)
        assert engine.call("GetItem", {"TableName": "things", "Key": KEY})["Item"] == KEY


def test_the_form_becomes_a_request() -> None:
    search = Search(
        pk="a",
        sk_operator="begins_with",
        sk="Yg==",
        filters=[
            AttributeFilter('a.b[2]."c.d"', "in", "N", "1, 2"),
            AttributeFilter("x..y", "exists"),
            AttributeFilter("tags", "not_contains", "S", "new"),
            AttributeFilter("age", "between", "N", "18,30"),
            AttributeFilter("b", "type", "S", "m"),
        ],
        descending=True,
        consistent=True,
    )
    assert search.request(FACTS) == (
        "Query",
        {
            "TableName": "things",
            "KeyConditionExpression": "#n0 = :v0 AND begins_with(#n1, :v1)",
            "FilterExpression": (
                "#n2.#n3[2].#n4 IN (:v2, :v3) AND attribute_exists(#n5) AND NOT contains(#n6, :v4)"
                " AND #n7 BETWEEN :v5 AND :v6 AND attribute_type(#n3, :v7)"
            ),
            "ExpressionAttributeNames": {
                "#n0": "pk",
                "#n1": "sk",
                "#n2": "a",
                "#n3": "b",
                "#n4": "c.d",
                "#n5": "x..y",
                "#n6": "tags",
                "#n7": "age",
            },
            "ExpressionAttributeValues": {
                ":v0": {"S": "a"},
                ":v1": {"B": b"b"},
                ":v2": {"N": "1"},
                ":v3": {"N": "2"},
                ":v4": {"S": "new"},
                ":v5": {"N": "18"},
                ":v6": {"N": "30"},
                ":v7": {"S": "M"},
            },
            "ScanIndexForward": False,
            "ConsistentRead": True,
            "Limit": 300,
        },
    )


@pytest.mark.parametrize(
    ("search", "name"),
    [
        (Search(index="none"), "index"),
        (Search(sk="Yg=="), "pk"),
        (Search(pk="a", sk="?"), "sk"),
        (Search(pk="a", sk="Yg==", sk_operator="between"), "sk_high"),
        (Search(pk="a", sk="Yg==", sk_operator="~"), "sk_op"),
        (Search(filters=[AttributeFilter("a", "between", "N", "1")]), "f_value"),
        (Search(filters=[AttributeFilter("a", "=", "BOOL", "maybe")]), "f_value"),
        (Search(filters=[AttributeFilter("a", "~")]), "f_op"),
        (Search(start="?"), "start"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(search: Search, name: str) -> None:
    with pytest.raises(SearchError) as raised:
        search.request(FACTS)
    assert raised.value.name == name


def test_boto3_code_sends_the_same_request() -> None:
    sent: dict[str, Any] = {}

    class Client:
        def query(self, **request: Any) -> None:
            sent.update(request)

    class Boto3:
        @staticmethod
        def client(service: str, **options: Any) -> Client:
            assert (service, options["endpoint_url"]) == ("dynamodb", "http://127.0.0.1:8000")
            return Client()

    operation, request = Search(pk='quote " and \\ and \n', sk="AP8=", descending=True).request(FACTS)
    with Engine.memory() as engine:
        code = code_of(Source.from_engine(engine), operation, request)
    exec(code.boto3.replace("import boto3\n", ""), {"boto3": Boto3})
    assert sent == request
    assert "--no-scan-index-forward" in code.cli
    assert "--limit 50" in code.cli


def rows(items: list[dict[str, Any]], chosen: list[str]) -> list[dict[str, str]]:
    text = "".join(csv_of(iter(items), items[:2], ["pk"], chosen))
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "|calc"])
def test_csv_cells_that_a_spreadsheet_would_run_are_marked_as_text(text: str) -> None:
    (row,) = rows([{"pk": {"S": text}, "n": {"N": "-1"}, text: {"S": text}}], [])
    assert row["pk"] == "'" + text
    assert row["n"] == "-1"
    assert row["'" + text] == "'" + text


def test_csv_keeps_attributes_that_the_first_items_do_not_have() -> None:
    items: list[dict[str, Any]] = [{"pk": {"S": str(place)}, f"a{place}": {"N": "1"}} for place in range(3)]
    table = rows(items, [])
    assert table[0] == {"pk": "0", "a0": "1", "a1": "", OTHER_ATTRIBUTES: ""}
    assert table[2] == {"pk": "2", "a0": "", "a1": "", OTHER_ATTRIBUTES: '{"a2": 1}'}
    assert rows(items, ["a1"])[1] == {"a1": "1", "pk": "1"}


def test_json_is_written_item_by_item() -> None:
    def items() -> Iterator[dict[str, Any]]:
        yield {"n": {"N": "1"}}
        yield {"b": {"B": b"\x00"}}

    assert json.loads("".join(json_of(items(), "json"))) == [{"n": 1}, {"b": "AA=="}]
    lines = "".join(json_of(items(), "jsonl")).splitlines()
    assert [json.loads(line) for line in lines] == [{"Item": {"n": {"N": "1"}}}, {"Item": {"b": {"B": "AA=="}}}]
    assert json.loads("".join(json_of(iter(()), "json"))) == []
