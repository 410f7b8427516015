"""Templates deployed by moto's CloudFormation: the tables are those that a connection makes in an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest
from moto import mock_aws
from tests.export import shelves
from tests.export.designs import CREATABLE, loaded
from tests.sdk import alone

from keyplan import Engine, connect
from keyplan.design.declaring.design import Design
from keyplan.export.cloudformation import logical_id, properties, template
from keyplan.export.resources import resources

Described = dict[str, Any]
NOT_COMPARED = {
    "CreationDateTime": "when",
    "LatestStreamArn": "ends in when",
    "LatestStreamLabel": "is when",
    "TableId": "drawn at random, and moto has none",
    "TableArn": "of another account",
    "TableClassSummary": "moto keeps no table class",
    "TableThroughputModeSummary": "moto has only its older name",
}
"""By member: why it is not the same."""
ADDED_BY_ENGINE = frozenset({"IndexArn", "IndexSizeBytes", "ItemCount"})
"""Members of an index's description that moto does not return."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    alone(monkeypatch, tmp_path_factory)


@pytest.fixture
def deployed() -> Iterator[tuple[Any, Any]]:
    """Clients of moto: of CloudFormation and of DynamoDB."""
    with mock_aws():
        yield boto3.client("cloudformation", "us-east-1"), boto3.client("dynamodb", "us-east-1")


def comparable(description: Mapping[str, Any]) -> Described:
    """Return a description without the members that templates cannot set."""
    table = {name: value for name, value in description.items() if name not in NOT_COMPARED and value not in ([], None)}
    table["AttributeDefinitions"] = sorted(
        description["AttributeDefinitions"], key=lambda definition: str(definition["AttributeName"])
    )
    # moto tells the mode of what is provisioned too, and not since when a table is paid by the request.
    table["BillingModeSummary"] = description.get("BillingModeSummary", {"BillingMode": "PROVISIONED"})["BillingMode"]
    table["ProvisionedThroughput"] = capacity(description)
    for member in {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"} & table.keys():
        table[member] = [index(entry) for entry in sorted(table[member], key=lambda entry: str(entry["IndexName"]))]
    return table


def index(description: Mapping[str, Any]) -> Described:
    properties = {name: value for name, value in description.items() if name not in ADDED_BY_ENGINE}
    return {**properties, "ProvisionedThroughput": capacity(description)}


def capacity(description: Mapping[str, Any]) -> tuple[int, int]:
    bought = description.get("ProvisionedThroughput", {})
    return bought.get("ReadCapacityUnits", 0), bought.get("WriteCapacityUnits", 0)


@pytest.mark.parametrize("name", [*CREATABLE, "shelves"])
def test_a_deployed_template_creates_the_tables_of_the_design(name: str, deployed: tuple[Any, Any]) -> None:
    stacks, tables = deployed
    design = Design.of(shelves) if name == "shelves" else loaded(name)
    stacks.create_stack(StackName="design", TemplateBody=template(design, resources(design.tables)))
    with Engine.open(":memory:") as engine:
        connect(engine=engine).create_tables(*design.tables)
        for table in design.tables:
            request = {"TableName": table.name}
            described, declared = (
                tables.describe_table(**request)["Table"],
                engine.call("DescribeTable", request)["Table"],
            )
            assert comparable(described) == comparable(declared)


@pytest.mark.parametrize("name", [*CREATABLE, "shelves"])
def test_expiry_is_enabled_like_a_connection_does(name: str) -> None:
    """Moto's CloudFormation does not switch it on; what it is asked for is compared instead."""
    design = Design.of(shelves) if name == "shelves" else loaded(name)
    with Engine.open(":memory:") as engine:
        connect(engine=engine).create_tables(*design.tables)
        for resource in resources(design.tables):
            time_to_live_description = engine.call("DescribeTimeToLive", {"TableName": resource.name})[
                "TimeToLiveDescription"
            ]
            item = properties(resource).get("TimeToLiveSpecification", {"Enabled": False})
            assert item.get("AttributeName") == time_to_live_description.get("AttributeName")
            assert item["Enabled"] is (time_to_live_description["TimeToLiveStatus"] == "ENABLED")


def test_outputs_name_the_created_resources(deployed: tuple[Any, Any]) -> None:
    stacks, tables = deployed
    design = Design.of(shelves)
    stacks.create_stack(StackName="design", TemplateBody=template(design, resources(design.tables, "dev-")))
    (stack,) = stacks.describe_stacks(StackName="design")["Stacks"]
    actual = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    for table in design.tables:
        described = tables.describe_table(TableName=f"dev-{table.name}")["Table"]
        own = logical_id(table.name)
        assert (actual[f"{own}Name"], actual[f"{own}Arn"]) == (described["TableName"], described["TableArn"])
        assert actual.get(f"{own}Stream") == described.get("LatestStreamArn")
