"""Global tables and SAM's simple tables, read as tables of one region."""

from __future__ import annotations

from typing import Any

import pytest
from tests.importers.templates import GLOBAL, KEY, SCALING, TABLE, gsi, table

from keyplan.design.workload import OnDemand, Provisioned
from keyplan.importers.nodes import ImportSourceError


def test_a_global_table_is_its_first_replica() -> None:
    found = table(GLOBAL, "AWS::DynamoDB::GlobalTable")
    assert found.billing == Provisioned(read=30, write=5)
    assert found.indexes[0].billing == Provisioned(read=4, write=5)
    assert found.stream == "NEW_AND_OLD_IMAGES"
    assert (found.point_in_time_recovery, found.deletion_protection) == (True, True)
    assert found.table_class == "STANDARD_INFREQUENT_ACCESS"
    scaled = "WriteProvisionedThroughputSettings.WriteCapacityAutoScalingSettings.MinCapacity"
    assert found.gaps == (
        "Replicas[0].Tags: it is not part of a design",
        "Replicas: a design is of one region, here the stack's region; left out are eu-west-1",
        f"{scaled}: capacity scales, here it is what is bought at first",
        f"{scaled}: capacity scales, here it is what is bought at first",
    )


def test_a_global_table_on_demand_needs_no_capacity() -> None:
    on_demand = {**TABLE, "Replicas": [{"Region": "eu-west-1"}], "WriteOnDemandThroughputSettings": {}}
    found = table(on_demand, "AWS::DynamoDB::GlobalTable")
    assert found.billing == OnDemand()
    assert found.gaps == ("WriteOnDemandThroughputSettings: a design sets no maximum of on-demand throughput",)


FIXED = {"WriteProvisionedThroughputSettings": {"WriteCapacityAutoScalingSettings": SCALING}}


@pytest.mark.parametrize(
    ("of_replica", "of_index", "of_table", "expected"),
    [
        (4, 9, 30, 4),
        (None, 9, 30, 9),
        (None, None, 30, 30),
    ],
)
def test_reads_of_an_index_are_those_of_the_replicas_index_then_its_own_then_those_of_the_table(
    of_replica: int | None, of_index: int | None, of_table: int, expected: int
) -> None:
    def reads(units: int | None) -> dict[str, Any]:
        return {} if units is None else {"ReadProvisionedThroughputSettings": {"ReadCapacityUnits": units}}

    index = {"IndexName": "by-a", "ContributorInsightsSpecification": {"Enabled": True}, **reads(of_replica)}
    replica = {"Region": "eu-west-1", "GlobalSecondaryIndexes": [index]}
    whole = {**KEY, "TableName": "wide", **FIXED, **reads(of_table), "Replicas": [replica]}
    found = table({**whole, "GlobalSecondaryIndexes": [gsi(**reads(of_index))]}, "AWS::DynamoDB::GlobalTable")
    assert found.indexes[0].billing == Provisioned(read=expected, write=5)
    assert found.billing == Provisioned(read=of_table, write=5)
    assert found.gaps[0] == (
        "Replicas[0].GlobalSecondaryIndexes[0].ContributorInsightsSpecification: it is not part of a design"
    )
    assert not [gap for gap in found.gaps if "no member that is known" in gap]


def test_a_capacity_to_begin_with_goes_before_the_least() -> None:
    writes = {
        "WriteProvisionedThroughputSettings": {"WriteCapacityAutoScalingSettings": {**SCALING, "SeedCapacity": 8}}
    }
    reads = {"ReadProvisionedThroughputSettings": {"ReadCapacityUnits": 3}}
    whole = {**KEY, "TableName": "wide", "BillingMode": "PROVISIONED", **writes, **reads}
    found = table({**whole, "GlobalSecondaryIndexes": [gsi()]}, "AWS::DynamoDB::GlobalTable")
    assert found.billing == found.indexes[0].billing == Provisioned(read=3, write=8)
    assert found.gaps[0].startswith(
        "WriteProvisionedThroughputSettings.WriteCapacityAutoScalingSettings.SeedCapacity: "
    )


def test_most_throughput_on_demand_is_told_wherever_it_is_said() -> None:
    most: dict[str, Any] = {"ReadOnDemandThroughputSettings": {}, "WriteOnDemandThroughputSettings": {}}
    on_demand = {**TABLE, **most, "GlobalSecondaryIndexes": [gsi(**most)]}
    told = "OnDemandThroughputSettings: a design sets no maximum of on-demand throughput"
    assert table(on_demand, "AWS::DynamoDB::GlobalTable").gaps == (
        f"Read{told}",
        f"Write{told}",
        f"index 'by-a': Read{told}",
        f"index 'by-a': Write{told}",
    )


def test_every_other_region_is_told() -> None:
    replicas = [{"Region": name} for name in ("eu-west-1", "eu-west-2", "us-east-1")]
    assert table({**TABLE, "Replicas": replicas}, "AWS::DynamoDB::GlobalTable").gaps == (
        "Replicas: a design is of one region, here eu-west-1; left out are eu-west-2, us-east-1",
    )
    assert table({**TABLE, "Replicas": replicas[:1]}, "AWS::DynamoDB::GlobalTable").gaps == ()


def test_a_simple_table_has_an_id() -> None:
    found = table({}, "AWS::Serverless::SimpleTable")
    assert (found.key, found.types, found.billing) == (("id",), {"id": "S"}, OnDemand())


def test_a_simple_table_says_its_key_and_capacity() -> None:
    throughput = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}
    key = {"PrimaryKey": {"Name": "n", "Type": "Number"}}
    found = table({**key, "ProvisionedThroughput": throughput}, "AWS::Serverless::SimpleTable")
    assert (found.key, found.types, found.billing) == (("n",), {"n": "N"}, Provisioned(read=1, write=2))


@pytest.mark.parametrize(("kind", "code"), [("String", "S"), ("Number", "N"), ("Binary", "B")])
def test_the_key_of_a_simple_table_is_of_each_type(kind: str, code: str) -> None:
    found = table({"TableName": "few", "PrimaryKey": {"Name": "k", "Type": kind}}, "AWS::Serverless::SimpleTable")
    assert (found.name, found.key, found.types, found.gaps) == ("few", ("k",), {"k": code}, ())


def test_a_global_table_without_capacity_is_refused() -> None:
    with pytest.raises(ImportSourceError, match="ReadProvisionedThroughputSettings is missing, and the table is not"):
        table({**KEY, "TableName": "wide"}, "AWS::DynamoDB::GlobalTable")


def test_an_index_without_reads_is_refused_by_its_place() -> None:
    replica = {"Region": "eu-west-1", "ReadProvisionedThroughputSettings": {"ReadCapacityUnits": 3}}
    whole = {**KEY, "TableName": "wide", **FIXED, "Replicas": [replica], "GlobalSecondaryIndexes": [gsi()]}
    with pytest.raises(ImportSourceError, match=r"GlobalSecondaryIndexes\[0\]: ReadProvisionedThroughput"):
        table(whole, "AWS::DynamoDB::GlobalTable")
