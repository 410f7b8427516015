"""Templates: each table as declared, one text for a small design, and nothing that cfn-lint finds fault with."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.export import shelves
from tests.export.designs import CREATABLE, loaded
from tests.export.reading import TABLES, Settings, of_cloudformation

from keyplan import GSI, LSI, Table
from keyplan.client.tables import create_request
from keyplan.design.declaring.design import Design
from keyplan.export.cloudformation import logical_id, properties, template
from keyplan.export.resources import TableResource, resources
from keyplan.streams import checkpoint_table

EXPECTED = Path(__file__).with_name("shelves.cloudformation.json")
DESIGN = Design.of(shelves)


def template_of(design: Design, prefix: str = "") -> dict[str, Any]:
    written: dict[str, Any] = json.loads(template(design, resources(design.tables, prefix)))
    return written


def test_the_template_of_a_design_equals_the_saved_file() -> None:
    assert template(DESIGN, resources(DESIGN.tables)) == EXPECTED.read_text()


@given(TABLES)
def test_a_resource_has_the_settings_that_connections_request(table: Table) -> None:
    requests = of_cloudformation(properties(TableResource(table, "dev-")))
    declared = create_request(table, f"dev-{table.name}")
    assert requests == Settings(declared, table.schema.ttl, table.schema.point_in_time_recovery)


def test_tables_with_indexes_are_created_one_after_another() -> None:
    indexed = [
        Table("one", pk="pk", indexes=[GSI("index", pk="a")]),
        Table("plain", pk="pk"),
        Table("two", pk="pk", sk="sk", indexes=[LSI("index", sk="a")]),
        Table("three", pk="pk", indexes=[GSI("index", pk="a")]),
    ]
    written = template_of(Design("tables", tuple(indexed)))["Resources"]
    assert {name: resource.get("DependsOn") for name, resource in written.items()} == {
        "one": None,
        "plain": None,
        "two": "one",
        "three": "two",
    }


@pytest.mark.parametrize("name", CREATABLE)
def test_tables_are_retained_when_the_stack_is_deleted(name: str) -> None:
    for resource in template_of(loaded(name))["Resources"].values():
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_outputs_have_unique_names_for_table_names_and_arns() -> None:
    names = ["orders", "orders-stream", "ordersStream", "orders-arn", "ordersArn"]
    design = Design("tables", tuple(Table(name, pk="pk", stream="NEW_IMAGE") for name in names))
    written = template_of(design)["Outputs"]
    assert len(written) == 3 * len(names)
    assert written["ordersStream"]["Value"] == {"Fn::GetAtt": ["orders", "StreamArn"]}
    for table in design.tables:
        assert written[f"{logical_id(table.name)}Name"]["Value"] == {"Ref": logical_id(table.name)}


def test_a_prefix_changes_table_names_and_not_logical_ids() -> None:
    plain, prefixed = template_of(DESIGN), template_of(DESIGN, "dev-")
    assert prefixed["Resources"].keys() == plain["Resources"].keys()
    assert prefixed["Resources"]["Loans"]["Properties"]["TableName"] == "dev-Loans"


def test_a_description_is_short_and_ascii() -> None:
    description = template_of(Design("d", DESIGN.tables, doc="Größe\nof things. " + "x" * 2000 + "\n\nmore"))[
        "Description"
    ]
    assert description.startswith("Tables of the design d. Gr??e of things. xxx")
    assert len(description.encode()) == 1024
    assert template_of(Design("d", DESIGN.tables))["Description"] == "Tables of the design d."


@pytest.fixture(scope="module")
def lint() -> Callable[[str], list[Any]]:
    """Return a function that lints a template with cfn-lint, hints included; loading it takes a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        from cfnlint.api import lint as found  # noqa: PLC0415
        from cfnlint.config import ManualArgs  # noqa: PLC0415
    config = ManualArgs(include_checks=["I"], regions=["us-east-1", "eu-west-1"])
    return lambda text: list(found(text, config=config))


@pytest.mark.parametrize("name", [*CREATABLE, "shelves"])
def test_cfn_lint_reports_nothing(name: str, lint: Callable[[str], list[Any]]) -> None:
    design = DESIGN if name == "shelves" else loaded(name)
    assert lint(template(design, resources([*design.tables, checkpoint_table()]))) == []


def test_cfn_lint_reports_a_damaged_template(lint: Callable[[str], list[Any]]) -> None:
    written = template_of(DESIGN)
    del written["Resources"]["Loans"]["Properties"]["KeySchema"]
    written["Resources"]["ShelfBooksTable"]["Properties"]["Strem"] = {}
    assert {str(match.rule.id) for match in lint(json.dumps(written))} >= {"E3002", "E3003"}
