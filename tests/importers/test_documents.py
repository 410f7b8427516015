"""Files as documents: JSON, JSON after JSON, YAML with short functions, and files in other formats."""

from __future__ import annotations

import sys

import pytest

from keyplan.importers.documents import (
    CLOUDFORMATION,
    DESCRIBE_TABLE,
    WORKBENCH,
    Document,
    documents,
    wrong_document_error,
)
from keyplan.importers.nodes import ImportSourceError


def test_several_documents_may_follow_each_other() -> None:
    assert [document.value for document in documents("a/t.json", '{"a": 1}\n{"b": [2]}\n')] == [{"a": 1}, {"b": [2]}]


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert [document.value for document in documents("t.json", '\ufeff{"a": 1}[2]')] == [{"a": 1}, [2]]
    assert [document.value for document in documents("t.yaml", "\ufeffa: 1")] == [{"a": 1}]


@pytest.mark.parametrize(("path", "called"), [("some/t.json", "t.json"), ("t.json", "t.json"), ("/", "/")])
def test_a_document_is_named_by_its_file(path: str, called: str) -> None:
    assert documents(path, "{}")[0].name == called


def test_short_forms_of_functions_equal_the_full_ones() -> None:
    text = """
    a: !Ref Name
    b: !GetAtt Topic.Arn.x
    c: !Sub ["${x}", {x: !Ref Y}]
    d: !If [Cond, 1, !Ref "AWS::NoValue"]
    e: !Condition Cond
    f: 2010-09-09
    g: !FindInMap {a: b}
    h: {<<: {x: 1}, y: 2}
    """
    (document,) = documents("t.yaml", text)
    assert document.value == {
        "a": {"Ref": "Name"},
        "b": {"Fn::GetAtt": ["Topic", "Arn.x"]},
        "c": {"Fn::Sub": ["${x}", {"x": {"Ref": "Y"}}]},
        "d": {"Fn::If": ["Cond", 1, {"Ref": "AWS::NoValue"}]},
        "e": {"Condition": "Cond"},
        "f": "2010-09-09",
        "g": {"Fn::FindInMap": {"a": "b"}},
        "h": {"x": 1, "y": 2},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "t is empty"),
        (" \n", "t is empty"),
        ('{"a": ' + "1" * 5_000 + "}", "t is not JSON: Exceeds the limit (4300 digits) for integer string conversion"),
        ('{"a": 1}\n{"b" 2}', "t is not JSON: Expecting ':' delimiter (line 2, column 6)"),
        ('{"a": }', "t is not JSON: Expecting value (line 1, column 7)"),
        ("a: [1", "t is not YAML: expected ',' or ']', but got '<stream end>' (line 1, column 6)"),
        ("a: 1\na: 2", "t is not YAML: duplicate key 'a' (line 2, column 1)"),
        ("? [a]\n: 1", "t is not YAML: a mapping key is not a scalar (line 1, column 3)"),
        ("a: !!python/name:os.system", "t is not YAML: could not determine a constructor for the tag"),
        ("a: *b", "t is not YAML: found undefined alias 'b' (line 1, column 4)"),
        ("a: !!int x", "t is not YAML: invalid literal"),
    ],
)
def test_an_unreadable_document_is_rejected_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(ImportSourceError) as refused:
        documents("some/t", text)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "[" * 20_000])
def test_a_document_that_is_nested_too_deeply_is_rejected(text: str) -> None:
    with pytest.raises(ImportSourceError):
        documents("t", text)


def test_yaml_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "keyplan.importers.yaml_text", raising=False)
    with pytest.raises(ImportSourceError, match=r"PyYAML is needed to read YAML: install keyplan\[import\]"):
        documents("t.yaml", "a: 1")


@pytest.mark.parametrize(
    ("value", "expected_kind", "actual_kind"),
    [
        ({"ModelName": "m"}, CLOUDFORMATION, "it looks like a NoSQL Workbench model: keyplan import nosql-workbench"),
        ({"Resources": {}}, WORKBENCH, "it looks like a CloudFormation template: keyplan import cloudformation"),
        (
            {"Table": {}},
            WORKBENCH,
            "it looks like output of aws dynamodb describe-table: keyplan import describe-table",
        ),
        ({"DataModel": 5}, DESCRIBE_TABLE, "it looks like a NoSQL Workbench model: keyplan import nosql-workbench"),
        (
            {"AWSTemplateFormatVersion": "2010-09-09"},
            WORKBENCH,
            "it looks like a CloudFormation template: keyplan import cloudformation",
        ),
        (
            {"TableDescription": {}},
            CLOUDFORMATION,
            "it looks like output of aws dynamodb describe-table: keyplan import describe-table",
        ),
        (
            {"TableStatus": "ACTIVE"},
            CLOUDFORMATION,
            "it looks like output of aws dynamodb describe-table: keyplan import describe-table",
        ),
        ({"planned_values": {}}, CLOUDFORMATION, "it looks like a Terraform plan: import the table itself, keyplan"),
        ({"resources": {}}, CLOUDFORMATION, "it looks like a serverless.yml: import the template that"),
        (
            {"TableNames": []},
            DESCRIBE_TABLE,
            "it looks like output of aws dynamodb list-tables, which contains only names",
        ),
        ({"Resources": 5}, CLOUDFORMATION, "it is a mapping with Resources"),
        ({}, WORKBENCH, "it is an empty mapping"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, WORKBENCH, "it is a mapping with a, b, c, d"),
        ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, WORKBENCH, "it is a mapping with a, b, c, d, ..."),
        ([1], WORKBENCH, "it is a list of 1"),
        ("text", WORKBENCH, "it is only the text 'text'"),
        ("x" * 99, WORKBENCH, f"it is only the text '{'x' * 40}'"),
    ],
)
def test_a_document_of_another_kind_is_described(value: object, expected_kind: str, actual_kind: str) -> None:
    text = str(wrong_document_error(expected_kind, Document("t", value)))
    assert text.startswith(f"t is not {expected_kind}: {actual_kind}")
    assert text.endswith(actual_kind) or "looks like" in actual_kind
