"""Terraform configurations: each table as declared, in arguments that the provider has, in a version that has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.export import shelves
from tests.export.designs import CREATABLE, loaded
from tests.export.reading import TABLES, Settings, of_terraform

from keyplan import GSI, OnDemand, Provisioned, Table
from keyplan.client.tables import create_request
from keyplan.design.declaring.design import Design
from keyplan.export.resources import TableResource, resources
from keyplan.export.terraform import configuration, literal

EXPECTED = Path(__file__).with_name("shelves.tf.json")
DESIGN = Design.of(shelves)

TEXT, NUMBER, FLAG, TEXTS = str, int, bool, list
PROJECTED = {"name": TEXT, "projection_type": TEXT, "non_key_attributes": TEXTS}
CAPACITY = {"read_capacity": NUMBER, "write_capacity": NUMBER}
WARM = {"read_units_per_second": NUMBER, "write_units_per_second": NUMBER}
ARGUMENTS: dict[str, Any] = {
    "name": TEXT,
    "hash_key": TEXT,
    "range_key": TEXT,
    "attribute": [{"name": TEXT, "type": TEXT}],
    "billing_mode": TEXT,
    **CAPACITY,
    "warm_throughput": WARM,
    "global_secondary_index": [
        {
            **PROJECTED,
            **CAPACITY,
            "hash_key": TEXT,
            "range_key": TEXT,
            "key_schema": [{"attribute_name": TEXT, "key_type": TEXT}],
            "warm_throughput": WARM,
        }
    ],
    "local_secondary_index": [{**PROJECTED, "range_key": TEXT}],
    "stream_enabled": FLAG,
    "stream_view_type": TEXT,
    "ttl": {"attribute_name": TEXT, "enabled": FLAG},
    "point_in_time_recovery": {"enabled": FLAG},
    "table_class": TEXT,
    "deletion_protection_enabled": FLAG,
    "lifecycle": {"prevent_destroy": FLAG},
}
"""Arguments of aws_dynamodb_table, blocks in braces, blocks that may be repeated in brackets.

Source: github.com/hashicorp/terraform-provider-aws, internal/service/dynamodb/table.go, resourceTable, 2026; lifecycle
is of the language (developer.hashicorp.com/terraform/language/meta-arguments/lifecycle).
"""


def document_of(design: Design, prefix: str = "") -> dict[str, Any]:
    written: dict[str, Any] = json.loads(configuration(design, resources(design.tables, prefix)))
    return written


def block_of(table: Table) -> dict[str, Any]:
    """Return the block of one table, even if the service would refuse that table."""
    written = json.loads(configuration(Design("one", (table,)), [TableResource(table)]))
    (block,) = written["resource"]["aws_dynamodb_table"].values()
    return dict(block)


def unknown(block: Mapping[str, Any], schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the arguments of a block that the provider does not have, or that have another form."""
    for name, value in block.items():
        expected = schema.get(name)
        if isinstance(expected, dict) and isinstance(value, dict):
            yield from unknown(value, expected, f"{path}{name}.")
        elif isinstance(expected, list) and isinstance(value, list):
            for element in value:
                yield from unknown(element, expected[0], f"{path}{name}.")
        elif not (isinstance(expected, type) and type(value) is expected):
            yield path + name


def test_the_configuration_of_a_design_equals_the_saved_file() -> None:
    assert configuration(DESIGN, resources(DESIGN.tables)) == EXPECTED.read_text()


@pytest.mark.parametrize("name", [*CREATABLE, "shelves"])
def test_every_argument_exists_in_the_provider(name: str) -> None:
    blocks = document_of(DESIGN if name == "shelves" else loaded(name))["resource"]["aws_dynamodb_table"]
    assert [problem for block in blocks.values() for problem in unknown(block, ARGUMENTS)] == []


def test_an_unknown_provider_argument_is_found() -> None:
    block = {"hash_keys": "a", "ttl": {"enabled": "yes"}, "attribute": [{"name": "a", "kind": "S"}]}
    assert list(unknown(block, ARGUMENTS)) == ["hash_keys", "ttl.enabled", "attribute.kind"]


@given(TABLES)
def test_a_block_has_the_settings_that_connections_request(table: Table) -> None:
    declared = create_request(table, table.name)
    block = block_of(table)
    assert of_terraform(block) == Settings(declared, table.schema.ttl, table.schema.point_in_time_recovery)
    assert list(unknown(block, ARGUMENTS)) == []


@given(TABLES)
def test_only_key_attributes_are_declared(table: Table) -> None:
    """The provider refuses both others: validateTableAttributes in table.go."""
    settings = of_terraform(block_of(table)).request
    indexes = [*settings.get("GlobalSecondaryIndexes", ()), *settings.get("LocalSecondaryIndexes", ())]
    keys = {part["AttributeName"] for description in (settings, *indexes) for part in description["KeySchema"]}
    assert {setting["AttributeName"] for setting in settings["AttributeDefinitions"]} == keys


@pytest.mark.parametrize(
    ("table", "version"),
    [
        (Table("plain", pk="pk", indexes=[GSI("index", pk="a", sk="b")]), "5.0.0"),
        (Table("bought", pk="pk", billing=Provisioned(read=1, write=1)), "5.0.0"),
        (Table("warm", pk="pk", billing=OnDemand(warm_write=5_000)), "6.13.0"),
        (Table("long", pk="pk", indexes=[GSI("index", pk=("a", "b"))]), "6.37.0"),
        (Table("longer", pk="pk", indexes=[GSI("index", pk="a", sk=("b", "c"))]), "6.37.0"),
    ],
)
def test_the_required_provider_version_supports_the_settings(table: Table, version: str) -> None:
    written = document_of(Design("one", (Table("other", pk="pk"), table)))
    assert written["terraform"]["required_providers"]["aws"]["version"] == f">= {version}, < 7.0.0"


def test_indexes_of_a_table_declare_their_keys_in_one_form() -> None:
    long = GSI("long", pk=("a", "b"), sk="c")
    blocks = document_of(Design("d", (Table("mixed", pk="pk", indexes=[GSI("short", pk="a"), long]),)))
    short, other = blocks["resource"]["aws_dynamodb_table"]["mixed"]["global_secondary_index"]
    assert short["key_schema"] == [{"attribute_name": "a", "key_type": "HASH"}]
    assert [part["key_type"] for part in other["key_schema"]] == ["HASH", "HASH", "RANGE"]
    assert "hash_key" not in short | other


def test_outputs_refer_to_the_tables() -> None:
    assert document_of(DESIGN)["output"]["shelf-books_stream"] == {
        "description": "ARN of the stream of table shelf-books",
        "value": "${aws_dynamodb_table.shelf-books.stream_arn}",
    }
    assert set(document_of(DESIGN)["output"]) >= {"Loans_name", "Loans_arn"}
    assert "Loans_stream" not in document_of(DESIGN)["output"]


def test_a_prefix_changes_table_names_and_not_identifiers() -> None:
    assert document_of(DESIGN, "dev-")["resource"]["aws_dynamodb_table"]["Loans"]["name"] == "dev-Loans"


@pytest.mark.parametrize(("text", "written"), [("a$b", "a$b"), ("${a}", "$${a}"), ("%{a}%", "%%{a}%")])
def test_text_is_escaped_and_not_interpolated(text: str, written: str) -> None:
    assert literal(text) == written
