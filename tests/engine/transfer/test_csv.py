"""Imports of CSV."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.table_making import definitions, index, schema
from tests.engine.transfer.making import Workshop, item, table

TYPED = {
    **table("copy"),
    "AttributeDefinitions": definitions(id="S", at="N", tag="B"),
    "KeySchema": schema("id", "at"),
    "GlobalSecondaryIndexes": [index("by-tag", "tag")],
}


def csv(shop: Workshop, content: str | bytes, options: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    shop.write("in.csv", content)
    values: dict[str, Any] = {} if options is None else {"InputFormatOptions": {"Csv": options}}
    return shop.import_("in.csv", InputFormat="CSV", **values, **members)


def counts(described: dict[str, Any]) -> tuple[int, int, int]:
    return described["ProcessedItemCount"], described["ImportedItemCount"], described["ErrorCount"]


def test_only_keys_of_table_and_indexes_are_typed(shop: Workshop) -> None:
    content = "id,at,tag,n,empty\r\na,1.50,AAE=,7,\r\nb,-2,,8,x\r\nc,1e1,AAI=,9,\n"
    ended = csv(shop, content, TableCreationParameters=TYPED)
    assert counts(ended) == (3, 2, 1)  # an index key cannot be empty
    assert ended["ProcessedSizeBytes"] == len(content)
    assert "InputFormatOptions" not in ended
    assert shop.scan("copy") == [
        item("a", at={"N": "1.5"}, tag={"B": b"\x00\x01"}, n={"S": "7"}, empty={"S": ""}),
        item("c", at={"N": "10"}, tag={"B": b"\x00\x02"}, n={"S": "9"}, empty={"S": ""}),
    ]
    assert len(shop.engine.call("Scan", {"TableName": "copy", "IndexName": "by-tag"})["Items"]) == 2


def test_quotes_enclose_delimiters_quotes_and_line_ends(shop: Workshop) -> None:
    csv(shop, 'id,"the ""text"""\n1,"a, ""b""\nc"\n2,"ü"\n\n3,"last"')
    text = 'the "text"'
    assert shop.scan("copy") == [
        {"id": {"S": "1"}, text: {"S": 'a, "b"\nc'}},
        {"id": {"S": "2"}, text: {"S": "ü"}},
        {"id": {"S": "3"}, text: {"S": "last"}},
    ]


@pytest.mark.parametrize("delimiter", [",", ";", ":", "|", "\t", " "])
def test_all_six_delimiters_are_accepted(shop: Workshop, delimiter: str) -> None:
    ended = csv(shop, f"id{delimiter}v\n1{delimiter}x\n", {"Delimiter": delimiter})
    assert ended["InputFormatOptions"] == {"Csv": {"Delimiter": delimiter}}
    assert shop.scan("copy") == [item("1", v={"S": "x"})]


def test_with_a_header_list_the_first_line_is_an_item(shop: Workshop) -> None:
    ended = csv(shop, "1;x\n2;y", {"Delimiter": ";", "HeaderList": ["id", "v"]})
    assert ended["InputFormatOptions"] == {"Csv": {"Delimiter": ";", "HeaderList": ["id", "v"]}}
    assert shop.scan("copy") == [item("1", v={"S": "x"}), item("2", v={"S": "y"})]


def test_a_row_of_another_length_is_skipped(shop: Workshop) -> None:
    ended = csv(shop, "id,v\n1,x\n2\n3,y,z\n4,w\n")
    assert counts(ended) == (4, 2, 2)
    assert "in.csv, item 1: The row has 1 values, the header 2 names" in ended["FailureMessage"]
    assert [row["id"]["S"] for row in shop.scan("copy")] == ["1", "4"]


def test_a_value_of_the_wrong_key_type_is_skipped(shop: Workshop) -> None:
    ended = csv(shop, "id,at,tag\na,one,AAE=\nb,2,no base64\nc,3,AAE=\n", TableCreationParameters=TYPED)
    assert counts(ended) == (3, 1, 2)
    assert [row["id"]["S"] for row in shop.scan("copy")] == ["c"]


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        (b'id,v\n1,x\n2,"y"z\n3,w\n', (2, 1, 1)),
        (b'id,v\n1,x\n2,"never closed\n3,w\n', (2, 1, 1)),
        (b"id,v\n1,x\n2,\xff\n3,w\n", (2, 1, 1)),
        (b"id,id\n1,x\n", (1, 0, 1)),
        (b"id,\n1,x\n", (1, 0, 1)),
        (b"", (0, 0, 0)),
        (b"id,v\n", (0, 0, 0)),
        (b"\xef\xbb\xbfid,v\n1,x\n", (1, 1, 0)),
    ],
)
def test_invalid_csv_ends_its_file(shop: Workshop, content: bytes, errors: tuple[int, int, int]) -> None:
    assert counts(csv(shop, content)) == errors


def test_a_missing_key_column_fails_every_item(shop: Workshop) -> None:
    ended = csv(shop, "title,artist\nThe Dark Side of the Moon,Pink Floyd\n")
    assert (ended["ImportStatus"], ended["FailureCode"], counts(ended)) == ("FAILED", "ItemValidationError", (1, 0, 1))
    assert "Missing the key id in the item" in ended["FailureMessage"]


def test_a_value_may_be_as_long_as_an_item(shop: Workshop) -> None:
    csv(shop, f'id,v\n1,"{"x" * 300_000}"\n')
    assert len(shop.scan("copy")[0]["v"]["S"]) == 300_000
