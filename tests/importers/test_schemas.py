"""Properties of a table: how each is read, and the report of properties that a design cannot declare."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.design.workload import OnDemand, Provisioned
from keyplan.importers.nodes import ImportSourceError, Node
from keyplan.importers.schemas import SourceTable, source_table

TABLE: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": "a", "AttributeType": "S"},
        {"AttributeName": "b", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
BOUGHT: dict[str, Any] = {**TABLE, "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
LSI = {"IndexName": "by-b", "KeySchema": TABLE["KeySchema"], "Projection": {"ProjectionType": "ALL"}}
GSI = {"IndexName": "g", "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}], "Projection": LSI["Projection"]}


def read(table: dict[str, Any] = TABLE, /, **more: Any) -> SourceTable:
    return source_table(Node({**table, **more}, "t"), "things")


def refusal(table: dict[str, Any] = TABLE, /, **more: Any) -> str:
    with pytest.raises(ImportSourceError) as refused:
        read(table, **more)
    return str(refused.value)


def warm(reads: int | None = None, writes: int | None = None) -> dict[str, int]:
    members = {"ReadUnitsPerSecond": reads, "WriteUnitsPerSecond": writes}
    return {name: units for name, units in members.items() if units is not None}


TOLD = {
    "ContributorInsightsSpecification": "contributor insights are not part of a design",
    "GlobalTableSettingsReplicationMode": "replication is not part of a design",
    "GlobalTableSourceArn": "replication is not part of a design",
    "GlobalTableWitnesses": "replication is not part of a design",
    "ImportSourceSpecification": "an import from S3 is not part of a design",
    "KinesisStreamSpecification": "a Kinesis stream is not part of a design",
    "MultiRegionConsistency": "replication is not part of a design",
    "OnDemandThroughput": "maximum on-demand throughput is not part of a design",
    "ReadOnDemandThroughputSettings": "maximum on-demand throughput is not part of a design",
    "Replicas": "replication is not part of a design",
    "ResourcePolicy": "a policy of the table is not part of a design",
    "SSEDescription": "encryption is not part of a design",
    "SSESpecification": "encryption is not part of a design",
    "Tags": "tags are not part of a design",
    "VectorIndexes": "a design has no vector indexes",
    "WriteOnDemandThroughputSettings": "maximum on-demand throughput is not part of a design",
    "Novelty": "unknown member",
}


@pytest.mark.parametrize("member", TOLD)
def test_a_member_that_is_not_part_of_a_design_is_noted(member: str) -> None:
    assert read(**{member: {}}).gaps == (f"{member}: {TOLD[member]}",)


@pytest.mark.parametrize("member", ["VectorIndexes", "SearchIndexes"])
def test_an_index_of_another_kind_is_noted_and_its_attributes_are_not_unused(member: str) -> None:
    # CloudFormation Template Reference, "AWS::DynamoDB::Table SearchSchemaElement": its attribute is defined too.
    defined = [*TABLE["AttributeDefinitions"], {"AttributeName": "topic", "AttributeType": "S"}]
    near = {
        "IndexName": "near",
        "Dimensions": 3,
        "DistanceFunction": "COSINE",
        "VectorAttribute": {"AttributeName": "place"},
        "SearchSchema": [{"AttributeName": "topic", "SearchSchemaElementType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    table = read(**{"AttributeDefinitions": defined, member: [near]})
    assert table.indexes == ()
    assert table.gaps[-1] == f"index 'near' is omitted: {member} indexes are not part of a design"
    assert "topic" in refusal(AttributeDefinitions=defined)


def test_a_minimal_table_has_the_defaults_of_the_service() -> None:
    table = read()
    assert (table.name, table.key, table.types) == ("things", ("a", "b"), {"a": "S", "b": "N"})
    assert (table.billing, table.stream, table.ttl, table.table_class) == (OnDemand(), None, None, "STANDARD")
    assert (table.point_in_time_recovery, table.deletion_protection, table.gaps) == (False, False, ())
    assert read({**TABLE, "BillingMode": None, "ProvisionedThroughput": UNITS}).billing == Provisioned(read=5, write=6)


@pytest.mark.parametrize(
    ("member", "value", "attribute", "expected"),
    [
        ("TableClass", "STANDARD_INFREQUENT_ACCESS", "table_class", "STANDARD_INFREQUENT_ACCESS"),
        ("TableClass", "STANDARD", "table_class", "STANDARD"),
        ("DeletionProtectionEnabled", True, "deletion_protection", True),
        ("DeletionProtectionEnabled", False, "deletion_protection", False),
        ("StreamSpecification", {"StreamViewType": "KEYS_ONLY"}, "stream", "KEYS_ONLY"),
        ("StreamSpecification", {"StreamViewType": "OLD_IMAGE", "StreamEnabled": True}, "stream", "OLD_IMAGE"),
        ("StreamSpecification", {"StreamEnabled": False}, "stream", None),
        ("TimeToLiveSpecification", {"AttributeName": "x", "Enabled": True}, "ttl", "x"),
        ("TimeToLiveSpecification", {"AttributeName": "x"}, "ttl", "x"),
        ("TimeToLiveSpecification", {"AttributeName": "b", "Enabled": True}, "ttl", "b"),
        ("TimeToLiveSpecification", {"Enabled": False}, "ttl", None),
        ("PointInTimeRecoverySpecification", {"PointInTimeRecoveryEnabled": True}, "point_in_time_recovery", True),
        ("PointInTimeRecoverySpecification", {"PointInTimeRecoveryEnabled": False}, "point_in_time_recovery", False),
        ("PointInTimeRecoverySpecification", {}, "point_in_time_recovery", False),
        ("WarmThroughput", warm(20_000), "billing", OnDemand(warm_read=20_000, warm_write=4_000)),
        ("WarmThroughput", warm(None, 5_000), "billing", OnDemand(warm_read=12_000, warm_write=5_000)),
        ("WarmThroughput", warm(12_000, 4_000), "billing", OnDemand()),
        ("WarmThroughput", warm(1, 1), "billing", OnDemand()),
    ],
)
def test_a_setting_is_read(member: str, value: Any, attribute: str, expected: Any) -> None:
    table = read(**{member: value})
    assert (getattr(table, attribute), table.gaps) == (expected, ())


DAYS = "RecoveryPeriodInDays: a design only enables recovery, for 35 days"


@pytest.mark.parametrize(("days", "gaps"), [(35, ()), ("35", ()), (34, (DAYS,)), ("7", (DAYS,)), (None, ())])
def test_other_recovery_periods_are_noted(days: Any, gaps: tuple[str, ...]) -> None:
    members = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days}
    assert read(PointInTimeRecoverySpecification=members).gaps == gaps


def test_a_policy_of_the_stream_is_noted() -> None:
    table = read(StreamSpecification={"StreamViewType": "NEW_IMAGE", "ResourcePolicy": {}})
    assert table.gaps == ("StreamSpecification.ResourcePolicy: a policy of the stream is not part of a design",)
    assert table.stream == "NEW_IMAGE"


ZEROS = {"ReadCapacityUnits": 0, "WriteCapacityUnits": "0"}
NO_CAPACITY = ("ProvisionedThroughput: an on-demand table has none",)


@pytest.mark.parametrize(
    ("units", "gaps"),
    [(ZEROS, ()), ({}, ()), (UNITS, NO_CAPACITY), ({**ZEROS, "WriteCapacityUnits": 1}, NO_CAPACITY)],
)
def test_capacity_of_an_on_demand_table_is_noted(units: dict[str, Any], gaps: tuple[str, ...]) -> None:
    assert read(ProvisionedThroughput=units).gaps == gaps


ONLY_ON_DEMAND = "WarmThroughput: a design sets it only for on-demand tables"


@pytest.mark.parametrize(
    ("of_table", "of_index", "gaps"),
    [
        (warm(5, 6), warm(5, 6), ()),
        (warm(9, 6), warm(5, 6), (ONLY_ON_DEMAND,)),
        (warm(5, 6), warm(5, 9), (f"index 'g': {ONLY_ON_DEMAND}",)),
    ],
)
def test_warm_throughput_above_the_provisioned_capacity_is_noted(
    of_table: Any, of_index: Any, gaps: tuple[str, ...]
) -> None:
    index = {**GSI, "ProvisionedThroughput": UNITS, "WarmThroughput": of_index}
    table = read(BOUGHT, WarmThroughput=of_table, GlobalSecondaryIndexes=[index])
    assert (table.billing, table.indexes[0].billing, table.gaps) == (
        Provisioned(read=5, write=6),
        Provisioned(read=5, write=6),
        gaps,
    )


AS_WARM = "in a design, each index has the warm throughput of its table"


@pytest.mark.parametrize(
    ("of_table", "of_index", "gaps"),
    [
        (warm(20_000), warm(20_000), ()),
        (None, warm(1), ()),
        (warm(20_000), None, (f"index 'g': WarmThroughput 12000 read and 4000 write: {AS_WARM}",)),
        (None, warm(None, 9_000), (f"index 'g': WarmThroughput 12000 read and 9000 write: {AS_WARM}",)),
    ],
)
def test_an_index_with_different_warm_throughput_is_noted(of_table: Any, of_index: Any, gaps: tuple[str, ...]) -> None:
    table = read(WarmThroughput=of_table, GlobalSecondaryIndexes=[{**GSI, "WarmThroughput": of_index}])
    assert (table.indexes[0].billing, table.gaps) == (None, gaps)


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        ({"ProjectionType": "ALL"}, "all"),
        ({"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": []}, "keys"),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y"]}, ("x", "y")),
    ],
)
def test_indexes_of_both_kinds_project_the_listed_attributes(projection: dict[str, Any], expected: Any) -> None:
    table = read(
        GlobalSecondaryIndexes=[{**GSI, "Projection": projection}],
        LocalSecondaryIndexes=[{**LSI, "Projection": projection, "Odd": 1}],
    )
    assert [(index.name, index.kind, index.partition, index.sort, index.project) for index in table.indexes] == [
        ("g", "GSI", ("b",), (), expected),
        ("by-b", "LSI", ("a",), ("b",), expected),
    ]
    assert table.gaps == ("index 'by-b': Odd: unknown member",)


def test_a_global_index_may_have_several_attributes_in_each_key() -> None:
    parts = [("b", "HASH"), ("a", "HASH"), ("c", "RANGE"), ("d", "RANGE")]
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in parts]
    more = [{"AttributeName": name, "AttributeType": "B"} for name in "cd"]
    defined = [*TABLE["AttributeDefinitions"], *more]
    (index,) = read(AttributeDefinitions=defined, GlobalSecondaryIndexes=[{**GSI, "KeySchema": schema}]).indexes
    assert (index.partition, index.sort) == (("b", "a"), ("c", "d"))


SORT = {"AttributeName": "b", "KeyType": "RANGE"}
ONE_KEY = "t.KeySchema: a table's key has one HASH attribute, and optionally one RANGE attribute"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"KeySchema": [*TABLE["KeySchema"], SORT]}, ONE_KEY),
        ({"KeySchema": [*TABLE["KeySchema"], {**SORT, "KeyType": "HASH"}]}, ONE_KEY),
        ({"KeySchema": [SORT]}, "t.KeySchema: no attribute has KeyType HASH, the partition key"),
        ({"StreamSpecification": {}}, "t.StreamSpecification: StreamViewType is missing"),
        (
            {"StreamSpecification": {"StreamViewType": "UNSTATED"}},
            "t.StreamSpecification.StreamViewType: expected one of",
        ),
        ({"TimeToLiveSpecification": {"Enabled": True}}, "t.TimeToLiveSpecification: AttributeName is missing"),
        ({"TableClass": "COLD"}, "t.TableClass: expected one of STANDARD, STANDARD_INFREQUENT_ACCESS, got 'COLD'"),
        (
            {"GlobalSecondaryIndexes": [{**GSI, "Projection": {"ProjectionType": "SOME"}}]},
            "t.GlobalSecondaryIndexes[0].Projection.ProjectionType: expected one of ALL, KEYS_ONLY, INCLUDE",
        ),
        (
            {"LocalSecondaryIndexes": [{**LSI, "KeySchema": TABLE["KeySchema"][:1]}]},
            "t.LocalSecondaryIndexes[0].KeySchema: a local index has one RANGE attribute, its sort key",
        ),
    ],
)
def test_an_invalid_table_is_rejected(more: dict[str, Any], problem: str) -> None:
    assert refusal(**more).startswith(problem)


def test_provisioned_capacity_is_required_for_table_and_index() -> None:
    missing = "it has no ProvisionedThroughput, and its table is not PAY_PER_REQUEST"
    assert refusal({**TABLE, "BillingMode": "PROVISIONED"}) == f"t: {missing}"
    assert refusal(BOUGHT, GlobalSecondaryIndexes=[GSI]) == f"t.GlobalSecondaryIndexes[0]: {missing}"
    zero = {**UNITS, "WriteCapacityUnits": 0}
    expected = "t.ProvisionedThroughput.WriteCapacityUnits: expected a whole number from 1, got 0"
    assert refusal(BOUGHT, ProvisionedThroughput=zero) == expected
