"""Data models for the generator of CDK apps, held against the rules by which it reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Annotated, Any

import pytest
from botocore.session import get_session
from pydantic import Field
from tests.export import diary, shelves, test_calls, test_explain_lines
from tests.export.designs import CREATABLE, loaded
from tests.export.test_aws_commands import read_back

from keyplan import Engine, Entity, Table, key
from keyplan.design.declaring.design import Design
from keyplan.export.cdk_json import collisions, ignored_settings, model
from keyplan.export.resources import resources
from keyplan.streams import checkpoint_table

DESIGN = Design.of(shelves)
OPERATIONS = {
    *("Query", "Scan", "GetItem", "PutItem", "UpdateItem", "DeleteItem"),
    *("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
}
"""Of an access pattern. Source: prompts/json_generation_guide.md of awslabs/mcp, src/dynamodb-mcp-server 2.1.8."""
PATTERN_KEYS = {"pattern", "description", "table", "index", "dynamodb_operation", "implementation", "reason"}
"""What an access pattern may say. Source: the same."""


def document_of(design: Design, prefix: str = "") -> dict[str, Any]:
    written: dict[str, Any] = json.loads(model(design, resources([*design.tables, checkpoint_table()], prefix)))
    return written


def problems(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield problems that the generator would report. Source: cdk_generator/models.py, DataModel.from_json."""
    tables = data["tables"]
    names = [table["TableName"] for table in tables]
    if not tables or len(set(names)) < len(names):
        yield "no tables, or two of one name"
    for table in tables:
        yield from _table_problems(table)


def _table_problems(table: Mapping[str, Any]) -> Iterator[str]:
    types = {definition["AttributeName"]: definition["AttributeType"] for definition in table["AttributeDefinitions"]}
    if not set(types.values()) <= {"S", "N", "B"} or not all(1 <= len(name) <= 255 for name in types):
        yield "attribute definitions"
    indexes: Sequence[Mapping[str, Any]] = table.get("GlobalSecondaryIndexes", ())
    if len({index["IndexName"] for index in indexes}) < len(indexes):
        yield "two indexes of one name"
    for name in (table["TableName"], *(index["IndexName"] for index in indexes)):
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{3,255}", name):
            yield f"name {name}"
    yield from _key_problems(table, types, 1)
    for index in indexes:
        yield from _key_problems(index, types, 4)
        kind, listed = index["Projection"]["ProjectionType"], index["Projection"].get("NonKeyAttributes", [])
        if kind not in {"ALL", "KEYS_ONLY", "INCLUDE"} or bool(listed) is not (kind == "INCLUDE"):
            yield "projection"
    ttl = table.get("TimeToLiveSpecification")
    if ttl is not None and not (ttl["Enabled"] is True and 1 <= len(ttl["AttributeName"]) <= 255):
        yield "time to live"


def _key_problems(keyed: Mapping[str, Any], types: Mapping[str, str], most: int) -> Iterator[str]:
    kinds = [part["KeyType"] for part in keyed["KeySchema"]]
    if not 1 <= kinds.count("HASH") <= most or kinds.count("RANGE") > most or len(kinds) > 2 * most:
        yield "numbers of key attributes"
    if not all(part["AttributeName"] in types for part in keyed["KeySchema"]):
        yield "undefined key attribute"


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", [*CREATABLE, "shelves"])
def test_the_generator_accepts_every_design(name: str) -> None:
    assert list(problems(document_of(DESIGN if name == "shelves" else loaded(name)))) == []


def test_validation_finds_violated_rules() -> None:
    data = document_of(DESIGN)
    data["tables"][0]["AttributeDefinitions"].pop()
    data["tables"][1]["KeySchema"] *= 2
    data["tables"][2]["GlobalSecondaryIndexes"][0]["Projection"] = {"ProjectionType": "INCLUDE"}
    assert list(problems(data)) == ["undefined key attribute", "numbers of key attributes", "projection"]


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", [*CREATABLE, "shelves"])
def test_the_validation_creates_the_tables_and_puts_the_items(name: str) -> None:
    """As model_validation_utils.py does: create_table of all but the expiry, which it does not know, then batches."""
    data = document_of(DESIGN if name == "shelves" else loaded(name))
    assert list(data) == ["tables", "items", "access_patterns"]
    with Engine.open(":memory:") as engine:
        for table in data["tables"]:
            engine.call(
                "CreateTable", {name: value for name, value in table.items() if name != "TimeToLiveSpecification"}
            )
        for table_name, items in data["items"].items():
            for start in range(0, len(items), 25):
                batch = {table_name: items[start : start + 25]}
                assert engine.call("BatchWriteItem", {"RequestItems": batch})["UnprocessedItems"] == {}
            assert engine.call("Scan", {"TableName": table_name})["Count"] == len(items)


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", CREATABLE)
def test_every_pattern_is_a_command_or_has_a_reason(name: str) -> None:
    design = loaded(name)
    access_patterns = document_of(design)["access_patterns"]
    assert [listed["pattern"] for listed in access_patterns] == [pattern.name for pattern in design.patterns]
    service = get_session().get_service_model("dynamodb")
    for entry in access_patterns:
        assert set(entry) <= PATTERN_KEYS
        assert entry["description"]
        assert ("implementation" in entry) is ("dynamodb_operation" in entry) is ("reason" not in entry)
        if "implementation" in entry:
            operation, request = read_back(entry["implementation"])
            assert operation == entry["dynamodb_operation"]
            assert operation in OPERATIONS
            shape = service.operation_model(operation).input_shape
            assert shape is not None
            assert set(request) <= set(shape.members)


def test_a_pattern_has_its_table_and_index() -> None:
    patterns = {entry["pattern"]: entry for entry in document_of(loaded("todo"), "dev-")["access_patterns"]}
    indexed = [pattern for pattern in patterns.values() if "index" in pattern]
    assert {entry["table"] for entry in indexed} == {"dev-todo-app-data"}
    assert all(f"--index-name {entry['index']}" in entry["implementation"] for entry in indexed)


def patterns_of(module: ModuleType) -> dict[str, dict[str, Any]]:
    return {entry["pattern"]: entry for entry in document_of(Design.of(module))["access_patterns"]}


def test_a_pattern_is_described_by_its_docstring_or_name() -> None:
    assert patterns_of(diary)["everything_there"]["description"] == "All of it | every entry."
    assert patterns_of(test_calls)["member_of"]["description"] == "member_of"


def test_a_pattern_without_a_request_has_only_a_reason() -> None:
    reason = "it reads the item first: sentinels of unique values (email) depend on the values read"
    assert patterns_of(test_calls)["move"] == {"pattern": "move", "description": "move", "reason": reason}


def test_a_transaction_has_its_table_if_there_is_only_one() -> None:
    assert patterns_of(test_calls)["join_with_card"]["table"] == "club"
    assert "table" not in patterns_of(test_explain_lines)["join_and_keep"]


def test_one_example_of_each_entity_is_put_if_it_has_one() -> None:
    items = document_of(Design.of(test_explain_lines))["items"]
    assert {name: len(listed) for name, listed in items.items()} == {
        "club": 2,
        "log": 1,
        "shapes": 0,
        "keyplan-checkpoints": 1,
    }
    assert items["log"] == [
        {
            "PutRequest": {
                "Item": {"owner": {"S": "<owner>"}, "mark": {"B": "Ynl0ZXM="}, "words": {"L": [{"S": "<words>"}]}}
            }
        }
    ]


def test_expiry_is_written_next_to_the_members_of_create_table() -> None:
    books = document_of(DESIGN)["tables"][0]
    assert books["TimeToLiveSpecification"] == {"AttributeName": "gone_at", "Enabled": True}
    assert "TimeToLiveSpecification" not in document_of(DESIGN)["tables"][1]


def test_settings_that_the_generator_ignores_are_noted() -> None:
    assert list(ignored_settings(resources(DESIGN.tables))) == [
        (
            "the generated CDK app declares table shelf-books without local indexes, the stream, warm throughput,"
            " deletion protection, point-in-time recovery"
        ),
        "the generated CDK app declares table Loans without provisioned capacity, the table class",
    ]


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (["todo-app", "todo_app"], True),
        (["todoApp", "todo.app"], True),
        (["todo-app", "TODO-APP"], True),
        (["3d", "table-3d"], True),
        (["---", "table"], True),
        (["todo-app", "todoapp"], False),
        (["one", "two"], False),
    ],
)
def test_tables_with_names_that_collide_in_the_generator_are_rejected(names: list[str], refused: bool) -> None:
    actual_collisions = list(collisions([Table(name, pk="pk") for name in names]))
    assert [fault.code for fault in actual_collisions] == (["KP109"] if refused else [])


def test_an_entity_without_an_example_is_noted() -> None:
    table = Table("shapes", pk="PK")

    @table.entity(key=key("{number:04d}"))
    class Shape(Entity):
        number: Annotated[int, Field(ge=10_000)]

    (actual_note,) = ignored_settings(resources([table]))
    assert actual_note.startswith("no valid example of Shape: ")
