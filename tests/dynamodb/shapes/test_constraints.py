"""Values in messages look as Java prints them."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.dynamodb.shapes.constraints import camel, display_value, render
from keyplan.dynamodb.shapes.model import VALUE, Blob, Boolean, Integer, List, Map, String, Structure

EMPTY = "s=null, n=null, b=null, iNT=null, dECIMAL=null, dOUBLE=null, sS=null, nS=null, bS=null, "
EMPTY += "iNTSET=null, dECIMALSET=null, dOUBLESET=null, m=null, l=null, nULL=null, bOOL=null"


@pytest.mark.parametrize(
    ("shape", "content", "expected"),
    [
        (String(), "a", "a"),
        (Integer(), 5, "5"),
        (Boolean(), True, "true"),
        (List(String()), ["a", "b"], "[a, b]"),
        (List(String()), [], "[]"),
        (Map(String()), {"a": "b", "c": "d"}, "{a=b, c=d}"),
        (Map(String(), json_echo=True), {"a": "b"}, '{"a":"b"}'),
        (Map(Blob(), json_echo=True), {"a": b"x"}, '{"a":"eA=="}'),
        (Structure("Put", {"TableName": String(), "Key": Map(VALUE)}), {"Key": {}}, "Put(tableName=null, key={})"),
        (Blob(), "AAAA", "java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]"),
        (VALUE, {"S": "a"}, f"AttributeValue({EMPTY.replace('s=null', 's=a', 1)})"),
        (VALUE, {"L": [{}]}, f"AttributeValue({EMPTY.replace('l=null, n', f'l=[AttributeValue({EMPTY})], n')})"),
        (VALUE, {"SS": ["a", "b"]}, f"AttributeValue({EMPTY.replace('sS=null', 'sS=[a, b]')})"),
        (String(), None, "null"),
    ],
)
def test_values_are_written_as_in_messages_of_the_service(shape: Any, content: Any, expected: str) -> None:
    assert render(shape, content) == expected


def test_null_has_no_quotes() -> None:
    assert (display_value(String(), None), display_value(String(), "a")) == ("null", "'a'")


def test_camel() -> None:
    assert [camel(name) for name in ("TableName", "SSESpecification", "")] == ["tableName", "sSESpecification", ""]
