"""Tables imported from CloudFormation templates, global and SAM tables among them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.importers.templates import GLOBAL, KEY, SCALING, TABLE, gsi, imported, table

from keyplan.design.workload import OnDemand, Provisioned
from keyplan.importers.cloudformation import cloudformation
from keyplan.importers.documents import Document
from keyplan.importers.nodes import ImportSourceError


def test_a_table_without_a_name_has_its_logical_id() -> None:
    source_table = table({**KEY, "BillingMode": "PAY_PER_REQUEST"})
    assert source_table.name == "Things"
    assert source_table.gaps == ("TableName is missing: CloudFormation generates a name; the logical ID is used here",)


def test_a_table_with_an_unresolved_name_has_its_logical_id() -> None:
    source_table = table({**TABLE, "TableName": {"Fn::Sub": "${AWS::StackName}-things"}})
    assert source_table.name == "Things"
    assert "pass --parameter AWS::StackName=VALUE" in source_table.gaps[0]


def test_a_table_with_a_placeholder_name_has_its_logical_id() -> None:
    source_table = table({**TABLE, "TableName": "${self:service}-things"})
    assert source_table.name == "Things"
    assert source_table.gaps[0].endswith("'${self:service}-things' is not a table name")


@pytest.mark.parametrize("name", ["ab", "a b", "things/", "x" * 256])
def test_a_table_with_an_invalid_name_has_its_logical_id(name: str) -> None:
    source_table = table({**TABLE, "TableName": name})
    assert source_table.name == "Things"
    assert source_table.gaps == (
        f"TableName cannot be determined, so the logical ID is used: {name!r} is not a table name",
    )


@pytest.mark.parametrize("name", ["abc", "A.b_c-1", "x" * 255])
def test_a_valid_name_is_kept(name: str) -> None:
    assert (table({**TABLE, "TableName": name}).name, table({**TABLE, "TableName": name}).gaps) == (name, ())


@pytest.mark.parametrize("member", ["DeletionPolicy", "UpdateReplacePolicy"])
@pytest.mark.parametrize(("policy", "is_told"), [("Retain", True), ("Snapshot", True), ("Delete", False)])
def test_a_deletion_policy_is_noted_if_it_retains_the_table(member: str, policy: str, is_told: bool) -> None:
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": TABLE, member: policy}
    (source_table,) = imported({"Resources": {"T": resource}}).tables
    text = f"{member} {policy}: deletion policies are not part of a design"
    assert source_table.gaps == ((text,) if is_told else ())


def test_a_parameter_is_substituted_in_the_name() -> None:
    properties = {**TABLE, "TableName": {"Fn::Sub": "${AWS::StackName}-things"}}
    template = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": properties}}}
    assert imported(template, **{"AWS::StackName": "shop"}).tables[0].name == "shop-things"


@pytest.mark.parametrize(
    "member",
    ["Tags", "SSESpecification", "KinesisStreamSpecification", "ResourcePolicy", "ContributorInsightsSpecification"],
)
def test_members_that_are_not_part_of_a_design_are_noted(member: str) -> None:
    (gap,) = table({**TABLE, member: {"Ref": "Anything"}}).gaps
    assert gap.startswith(f"{member}: ")
    assert "part of a design" in gap


def test_unknown_members_are_noted() -> None:
    assert table({**TABLE, "BilingMode": 1}).gaps == ("BilingMode: unknown member",)


def test_gaps_of_indexes_are_noted() -> None:
    index = gsi(ContributorInsightsSpecification={"Enabled": True}, WarmThroughput={"ReadUnitsPerSecond": 20_000})
    source_table = table({**TABLE, "GlobalSecondaryIndexes": [index]})
    assert source_table.gaps == (
        "index 'by-a': ContributorInsightsSpecification: contributor insights are not part of a design",
        (
            "index 'by-a': WarmThroughput 20000 read and 4000 write: in a design, each index has the warm throughput"
            " of its table"
        ),
    )


def test_warm_throughput_is_imported() -> None:
    warm = {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 5_000}
    source_table = table({**TABLE, "WarmThroughput": warm, "GlobalSecondaryIndexes": [gsi(WarmThroughput=warm)]})
    assert source_table.billing == OnDemand(warm_read=20_000, warm_write=5_000)
    assert source_table.gaps == ()


def test_expiry_by_a_text_and_disabled_expiry_are_noted() -> None:
    by_text = table({**TABLE, "TimeToLiveSpecification": {"AttributeName": "a", "Enabled": True}})
    off = table({**TABLE, "TimeToLiveSpecification": {"AttributeName": "x", "Enabled": False}})
    assert by_text.ttl is None
    assert by_text.gaps == ("ttl 'a': it is a key attribute of type S, which cannot be a ttl attribute",)
    assert off.ttl is None
    assert off.gaps == ("TimeToLiveSpecification names 'x' but is not enabled: items do not expire",)


def test_numbers_and_booleans_may_be_strings() -> None:
    throughput = {"ReadCapacityUnits": "7", "WriteCapacityUnits": 8}
    source_table = table(
        {**KEY, "TableName": 2026, "ProvisionedThroughput": throughput, "DeletionProtectionEnabled": "true"}
    )
    assert (source_table.name, source_table.billing, source_table.deletion_protection) == (
        "2026",
        Provisioned(read=7, write=8),
        True,
    )


def test_a_table_with_a_false_condition_is_omitted_and_noted() -> None:
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": TABLE}
    template = {
        "Conditions": {"No": {"Fn::Equals": ["a", "b"]}},
        "Resources": {"A": resource, "B": {**resource, "Condition": "No"}},
    }
    source = imported(template, "a: b.json")
    assert [imported_table.name for imported_table in source.tables] == ["things"]
    assert source.gaps == ("Resources.B is not created: its condition No is false",)


def test_a_table_with_a_true_condition_is_imported() -> None:
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": TABLE, "Condition": "Yes"}
    source = imported({"Conditions": {"Yes": {"Fn::Equals": ["a", "a"]}}, "Resources": {"A": resource}})
    assert ([imported_table.name for imported_table in source.tables], source.gaps) == (["things"], ())


@pytest.mark.parametrize(
    ("shared", "gaps"),
    [
        ({"SimpleTable": {"SSESpecification": {"SSEEnabled": True}}}, 1),
        ({"Function": {"Runtime": "python3.13"}}, 0),
        ("SimpleTable", 0),
        (None, 0),
    ],
)
def test_global_settings_of_simple_tables_are_noted(shared: Any, gaps: int) -> None:
    simple = {"Type": "AWS::Serverless::SimpleTable"}
    source = imported({"Globals": shared, "Resources": {"A": simple}})
    assert source.gaps == ("Globals.SimpleTable: encryption is not part of a design",) * gaps


def test_auto_scaling_and_loops_are_noted() -> None:
    target = {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": {"ServiceNamespace": "dynamodb"}}
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": TABLE}
    source = imported(
        {"Resources": {"A": resource, "S": target, "Fn::ForEach::X": [], "Q": {"Type": "AWS::SQS::Queue"}}}
    )
    assert [gap.split()[0] for gap in source.gaps] == ["S", "Fn::ForEach::X"]


def test_resources_that_may_contain_tables_are_noted() -> None:
    kinds = ("AWS::CloudFormation::Stack", "AWS::Serverless::Application", "Custom::DynamoDBReplica")
    others = {f"R{number}": {"Type": kind, "Properties": {}} for number, kind in enumerate(kinds)}
    source = imported({"Resources": {"A": {"Type": "AWS::DynamoDB::Table", "Properties": TABLE}, **others}})
    assert source.gaps == (
        "R0 is a separate stack: import its template too",
        "R1 is a separate application: import its template too",
        "R2 creates a replica: replication is not part of a design",
    )


def test_scaling_of_other_services_is_not_noted() -> None:
    target = {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": {"ServiceNamespace": "ecs"}}
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": TABLE}
    assert imported({"Resources": {"A": resource, "S": target}}).gaps == ()


def test_the_title_names_all_files_and_the_description_of_the_first() -> None:
    template = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": TABLE}}}
    documents = [
        Document("one.json", {**template, "Description": 5}),
        Document("two.json", {**template, "Description": "Of things."}),
        Document("three.json", {**template, "Description": "Of others."}),
    ]
    results = cloudformation(documents, {})
    assert results.title == "one.json, two.json, three.json, a CloudFormation template"
    assert (results.description, len(results.tables)) == ("Of things.", 3)


# What is refused.

NOWHERE = "t.json: Resources.Things.Properties"


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({}, f"{NOWHERE}: AttributeDefinitions is missing"),
        ({**TABLE, "KeySchema": []}, f"{NOWHERE}.KeySchema: no attribute has KeyType HASH, the partition key"),
        ({**TABLE, "KeySchema": 5}, f"{NOWHERE}.KeySchema: expected a list, got 5"),
        ({**TABLE, "KeySchema": [5]}, f"{NOWHERE}.KeySchema[0]: expected a mapping, got 5"),
        (
            {**TABLE, "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}]},
            f"{NOWHERE}.KeySchema[0]: 'b' is part of the key, but AttributeDefinitions do not define its type",
        ),
        (
            {**TABLE, "KeySchema": [{"AttributeName": "a", "KeyType": "SORT"}]},
            f"{NOWHERE}.KeySchema[0].KeyType: expected one of HASH, RANGE, got 'SORT'",
        ),
        (
            {**TABLE, "KeySchema": KEY["KeySchema"] * 2},
            f"{NOWHERE}.KeySchema: a table's key has one HASH attribute, and optionally one RANGE attribute",
        ),
        (
            {
                **TABLE,
                "AttributeDefinitions": [*KEY["AttributeDefinitions"], {"AttributeName": "x", "AttributeType": "S"}],
            },
            f"{NOWHERE}.AttributeDefinitions: 'x': defined, but not used in a key, which the service rejects",
        ),
        (
            {
                **TABLE,
                "AttributeDefinitions": [*KEY["AttributeDefinitions"], {"AttributeName": "a", "AttributeType": "N"}],
            },
            f"{NOWHERE}.AttributeDefinitions[1]: 'a' is defined as S and as N",
        ),
        (KEY, f"{NOWHERE}: it has no ProvisionedThroughput, and its table is not PAY_PER_REQUEST"),
        (
            {**KEY, "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}},
            f"{NOWHERE}.ProvisionedThroughput.ReadCapacityUnits: expected a whole number from 1, got 0",
        ),
        ({**TABLE, "BillingMode": "FREE"}, f"{NOWHERE}.BillingMode: expected one of PROVISIONED, PAY_PER_REQUEST"),
        ({**TABLE, "TableClass": ""}, f"{NOWHERE}.TableClass: expected a text, got ''"),
        ({**TABLE, "DeletionProtectionEnabled": 3}, f"{NOWHERE}.DeletionProtectionEnabled: expected true or false"),
        (
            {**TABLE, "GlobalSecondaryIndexes": [gsi(Projection={"ProjectionType": "INCLUDE"})]},
            f"{NOWHERE}.GlobalSecondaryIndexes[0].Projection: ProjectionType is INCLUDE, and NonKeyAttributes is empty",
        ),
        (
            {**TABLE, "LocalSecondaryIndexes": [gsi()]},
            f"{NOWHERE}.LocalSecondaryIndexes[0].KeySchema: a local index has one RANGE attribute, its sort key",
        ),
        (
            {**TABLE, "BillingMode": {"Ref": "Nothing"}},
            f"{NOWHERE}.BillingMode: the template does not declare 'Nothing'",
        ),
        ({"Ref": "Nothing"}, f"{NOWHERE}: the template does not declare 'Nothing'"),
    ],
)
def test_an_invalid_table_is_rejected_with_its_place(properties: dict[str, Any], problem: str) -> None:
    with pytest.raises(ImportSourceError) as refused:
        table(properties)
    assert str(refused.value).startswith(problem)


def test_a_template_without_tables_is_rejected_with_its_resource_types() -> None:
    with pytest.raises(ImportSourceError, match=r"t\.json declares no table: its resources are AWS::SQS::Queue"):
        imported({"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}})
    with pytest.raises(ImportSourceError, match="declares no table: it is empty"):
        imported({"Resources": {}})


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("BACBA", "A, B, C"),
        ("EDCBA", "A, B, C, D, E"),
        ("FEDCBA", "A, B, C, D, E, ..."),
    ],
)
def test_up_to_five_resource_types_are_named(kinds: str, expected: str) -> None:
    resources: dict[str, Any] = {f"R{number}": {"Type": kind} for number, kind in enumerate(kinds)}
    resources |= {"Fn::ForEach::X": ["Type"], "Untyped": {}}
    with pytest.raises(ImportSourceError) as refused:
        imported({"Resources": resources})
    assert str(refused.value) == f"t.json declares no table: its resources are {expected}"


def test_an_invalid_resource_is_rejected() -> None:
    with pytest.raises(ImportSourceError, match=r"t\.json: Resources\.Q is not a resource: 5"):
        imported({"Resources": {"Q": 5}})


def test_a_table_with_an_undecided_condition_is_rejected() -> None:
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": TABLE, "Condition": "Open"}
    conditions = {"Open": {"Fn::Equals": [{"Ref": "AWS::Region"}, "eu-west-1"]}}
    with pytest.raises(ImportSourceError, match=r"Resources\.A: the condition Open cannot be evaluated: AWS::Region"):
        imported({"Conditions": conditions, "Resources": {"A": resource}})


def test_an_unknown_parameter_is_rejected() -> None:
    with pytest.raises(ImportSourceError, match="--parameter Stage: unknown parameter; known parameters: none"):
        imported({"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": TABLE}}}, Stage="x")


def test_a_global_table_is_imported_as_its_first_replica() -> None:
    source_table = table(GLOBAL, "AWS::DynamoDB::GlobalTable")
    assert source_table.billing == Provisioned(read=30, write=5)
    assert source_table.indexes[0].billing == Provisioned(read=4, write=5)
    assert source_table.stream == "NEW_AND_OLD_IMAGES"
    assert (source_table.point_in_time_recovery, source_table.deletion_protection) == (True, True)
    assert source_table.table_class == "STANDARD_INFREQUENT_ACCESS"
    scaled = "WriteProvisionedThroughputSettings.WriteCapacityAutoScalingSettings.MinCapacity"
    assert source_table.gaps == (
        "Replicas[0].Tags: it is not part of a design",
        "Replicas: a design covers one region, here the stack's region; omitted: eu-west-1",
        f"{scaled}: capacity scales automatically; the initial capacity is imported",
        f"{scaled}: capacity scales automatically; the initial capacity is imported",
    )


def test_a_global_table_on_demand_needs_no_capacity() -> None:
    on_demand = {**TABLE, "Replicas": [{"Region": "eu-west-1"}], "WriteOnDemandThroughputSettings": {}}
    source_table = table(on_demand, "AWS::DynamoDB::GlobalTable")
    assert source_table.billing == OnDemand()
    assert source_table.gaps == (
        "WriteOnDemandThroughputSettings: maximum on-demand throughput is not part of a design",
    )


FIXED = {"WriteProvisionedThroughputSettings": {"WriteCapacityAutoScalingSettings": SCALING}}


@pytest.mark.parametrize(
    ("of_replica", "of_index", "of_table", "expected"),
    [
        (4, 9, 30, 4),
        (None, 9, 30, 9),
        (None, None, 30, 30),
    ],
)
def test_read_capacity_of_an_index_comes_from_the_replica_then_the_index_then_the_table(
    of_replica: int | None, of_index: int | None, of_table: int, expected: int
) -> None:
    def reads(units: int | None) -> dict[str, Any]:
        return {} if units is None else {"ReadProvisionedThroughputSettings": {"ReadCapacityUnits": units}}

    index = {"IndexName": "by-a", "ContributorInsightsSpecification": {"Enabled": True}, **reads(of_replica)}
    replica = {"Region": "eu-west-1", "GlobalSecondaryIndexes": [index]}
    properties = {**KEY, "TableName": "wide", **FIXED, **reads(of_table), "Replicas": [replica]}
    source_table = table(
        {**properties, "GlobalSecondaryIndexes": [gsi(**reads(of_index))]}, "AWS::DynamoDB::GlobalTable"
    )
    assert source_table.indexes[0].billing == Provisioned(read=expected, write=5)
    assert source_table.billing == Provisioned(read=of_table, write=5)
    assert source_table.gaps[0] == (
        "Replicas[0].GlobalSecondaryIndexes[0].ContributorInsightsSpecification: it is not part of a design"
    )
    assert not [gap for gap in source_table.gaps if "no member that is known" in gap]


def test_seed_capacity_takes_precedence_over_the_minimum() -> None:
    writes = {
        "WriteProvisionedThroughputSettings": {"WriteCapacityAutoScalingSettings": {**SCALING, "SeedCapacity": 8}}
    }
    reads = {"ReadProvisionedThroughputSettings": {"ReadCapacityUnits": 3}}
    properties = {**KEY, "TableName": "wide", "BillingMode": "PROVISIONED", **writes, **reads}
    source_table = table({**properties, "GlobalSecondaryIndexes": [gsi()]}, "AWS::DynamoDB::GlobalTable")
    assert source_table.billing == source_table.indexes[0].billing == Provisioned(read=3, write=8)
    assert source_table.gaps[0].startswith(
        "WriteProvisionedThroughputSettings.WriteCapacityAutoScalingSettings.SeedCapacity: "
    )


def test_maximum_on_demand_throughput_is_noted_everywhere() -> None:
    most: dict[str, Any] = {"ReadOnDemandThroughputSettings": {}, "WriteOnDemandThroughputSettings": {}}
    on_demand = {**TABLE, **most, "GlobalSecondaryIndexes": [gsi(**most)]}
    text = "OnDemandThroughputSettings: maximum on-demand throughput is not part of a design"
    assert table(on_demand, "AWS::DynamoDB::GlobalTable").gaps == (
        f"Read{text}",
        f"Write{text}",
        f"index 'by-a': Read{text}",
        f"index 'by-a': Write{text}",
    )


def test_other_regions_are_noted() -> None:
    replicas = [{"Region": name} for name in ("eu-west-1", "eu-west-2", "us-east-1")]
    assert table({**TABLE, "Replicas": replicas}, "AWS::DynamoDB::GlobalTable").gaps == (
        "Replicas: a design covers one region, here eu-west-1; omitted: eu-west-2, us-east-1",
    )
    assert table({**TABLE, "Replicas": replicas[:1]}, "AWS::DynamoDB::GlobalTable").gaps == ()


def test_a_simple_table_has_an_id() -> None:
    source_table = table({}, "AWS::Serverless::SimpleTable")
    assert (source_table.key, source_table.types, source_table.billing) == (("id",), {"id": "S"}, OnDemand())


def test_a_simple_table_has_its_key_and_capacity() -> None:
    throughput = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}
    key = {"PrimaryKey": {"Name": "n", "Type": "Number"}}
    source_table = table({**key, "ProvisionedThroughput": throughput}, "AWS::Serverless::SimpleTable")
    assert (source_table.key, source_table.types, source_table.billing) == (
        ("n",),
        {"n": "N"},
        Provisioned(read=1, write=2),
    )


@pytest.mark.parametrize(("kind", "code"), [("String", "S"), ("Number", "N"), ("Binary", "B")])
def test_the_key_of_a_simple_table_may_have_any_type(kind: str, code: str) -> None:
    source_table = table(
        {"TableName": "few", "PrimaryKey": {"Name": "k", "Type": kind}}, "AWS::Serverless::SimpleTable"
    )
    assert (source_table.name, source_table.key, source_table.types, source_table.gaps) == (
        "few",
        ("k",),
        {"k": code},
        (),
    )


def test_a_global_table_without_capacity_is_rejected() -> None:
    with pytest.raises(ImportSourceError, match="ReadProvisionedThroughputSettings is missing, and the table is not"):
        table({**KEY, "TableName": "wide"}, "AWS::DynamoDB::GlobalTable")


def test_an_index_without_read_capacity_is_rejected_with_its_place() -> None:
    replica = {"Region": "eu-west-1", "ReadProvisionedThroughputSettings": {"ReadCapacityUnits": 3}}
    properties = {**KEY, "TableName": "wide", **FIXED, "Replicas": [replica], "GlobalSecondaryIndexes": [gsi()]}
    with pytest.raises(ImportSourceError, match=r"GlobalSecondaryIndexes\[0\]: ReadProvisionedThroughput"):
        table(properties, "AWS::DynamoDB::GlobalTable")
