"""Overrides of a restored table: allowed and refused ones."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.backup_making import Harness
from tests.engine.table_making import failure, index, units

from keyplan.engine import fsck

INVALID = "Invalid Request: "
INDEXED: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in "psgl"],
    "GlobalSecondaryIndexes": [index("by-g", "g")],
    "LocalSecondaryIndexes": [index("by-l", "p", "l")],
}
PROVISIONED: dict[str, Any] = {
    **INDEXED,
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": units(5, 5),
    "GlobalSecondaryIndexes": [index("by-g", "g", ProvisionedThroughput=units(5, 5))],
}


def refused(harness: Harness, arn: str, **members: Any) -> tuple[str, str]:
    """Return code and message with which a restore fails; assert that it leaves no table."""
    request = {"BackupArn": arn, "TargetTableName": "restored", **members}
    description = failure(harness.engine, "RestoreTableFromBackup", request)
    assert harness.call("ListTables")["TableNames"] == ["things"]
    return description


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"ProvisionedThroughputOverride": units(1, 1)},
            "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED",
        ),
        (
            {"BillingModeOverride": "PAY_PER_REQUEST", "ProvisionedThroughputOverride": units(1, 1)},
            "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST",
        ),
        (
            {"BillingModeOverride": "PROVISIONED"},
            "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED",
        ),
        (
            {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units(1, 1)},
            "Must specify provisioned throughput for index by-g",
        ),
        (
            {"OnDemandThroughputOverride": {"MaxReadRequestUnits": 0, "MaxWriteRequestUnits": 0}},
            "Requested MaxReadRequestUnits for OnDemandThroughput is outside of valid range",
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("by-x", "x")]},
            (
                "Index by-x does not match a secondary index that existed in the source table and cannot be created "
                "during the restore operation"
            ),
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("one", "g"), index("two", "g")]},
            (
                "Index two does not match a secondary index that existed in the source table and cannot be created "
                "during the restore operation"
            ),
        ),
        (
            {"LocalSecondaryIndexOverride": [index("by-l", "p", "l", Projection={"ProjectionType": "KEYS_ONLY"})]},
            (
                "Index by-l does not match a secondary index that existed in the source table and cannot be created "
                "during the restore operation"
            ),
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("by-g", "g", ProvisionedThroughput=units(1, 1))]},
            "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED for index by-g",
        ),
        (
            {
                "BillingModeOverride": "PAY_PER_REQUEST",
                "GlobalSecondaryIndexOverride": [index("by-g", "g", ProvisionedThroughput=units(1, 1))],
            },
            "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST for index by-g",
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("by-g", "g", WarmThroughput={"ReadUnitsPerSecond": 20_000})]},
            "WarmThroughput is not supported for index by-g during the restore operation",
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("by-g", "g", OnDemandThroughput={"MaxReadRequestUnits": -1})]},
            "Requested MaxReadRequestUnits for OnDemandThroughput for index by-g is outside of valid range",
        ),
    ],
)
def test_invalid_overrides_of_an_on_demand_table_are_rejected(members: dict[str, Any], message: str) -> None:
    harness = Harness(**INDEXED)
    assert refused(harness, harness.back_up(), **members) == ("ValidationException", INVALID + message)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"OnDemandThroughputOverride": {"MaxWriteRequestUnits": 5}},
            "Cannot override MaxWriteRequestUnits for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST",
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("by-g", "g")]},
            "Must specify provisioned throughput for index by-g",
        ),
        (
            {
                "GlobalSecondaryIndexOverride": [
                    index("by-g", "g", ProvisionedThroughput=units(1, 1), OnDemandThroughput={"MaxReadRequestUnits": 1})
                ]
            },
            (
                "Cannot override MaxReadRequestUnits for OnDemandThroughput unless BillingModeOverride is "
                "PAY_PER_REQUEST for index by-g"
            ),
        ),
    ],
)
def test_invalid_overrides_of_a_provisioned_table_are_rejected(members: dict[str, Any], message: str) -> None:
    harness = Harness(**PROVISIONED)
    assert refused(harness, harness.back_up(), **members) == ("ValidationException", INVALID + message)


def test_two_indexes_cannot_have_one_name() -> None:
    harness = Harness(**INDEXED)
    members = {
        "GlobalSecondaryIndexOverride": [index("same", "g")],
        "LocalSecondaryIndexOverride": [index("same", "p", "l")],
    }
    assert refused(harness, harness.back_up(), **members)[1].endswith("Duplicate index name: same")


def test_encryption_is_validated_as_for_a_new_table() -> None:
    harness = Harness()
    description = refused(harness, harness.back_up(), SSESpecificationOverride={"Enabled": True, "SSEType": "AES256"})
    assert description == (
        "ValidationException",
        "One or more parameter values were invalid: SSEType AES256 is not supported",
    )


def test_empty_lists_omit_the_indexes() -> None:
    harness = Harness(**INDEXED)
    harness.put("a", g={"S": "g"}, l={"S": "l"})
    arn = harness.back_up()
    description = harness.restore(arn, GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[])
    assert not {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"} & description.keys()
    assert [definition["AttributeName"] for definition in description["AttributeDefinitions"]] == ["p", "s"]
    assert harness.names("restored") == ["a"]
    description = harness.restore(arn, "half", GlobalSecondaryIndexOverride=[])
    assert [definition["AttributeName"] for definition in description["AttributeDefinitions"]] == ["l", "p", "s"]
    assert harness.names("half", IndexName="by-l") == ["a"]
    assert fsck.check(harness.engine) == []


def test_indexes_may_be_renamed() -> None:
    harness = Harness(**INDEXED)
    harness.put("a", g={"S": "g"}, l={"S": "l"})
    harness.restore(
        harness.back_up(),
        GlobalSecondaryIndexOverride=[index("new-g", "g")],
        LocalSecondaryIndexOverride=[index("new-l", "p", "l")],
    )
    assert harness.names("restored", IndexName="new-g") == ["a"]
    assert harness.names("restored", IndexName="new-l") == ["a"]


def test_units_are_overridden_individually() -> None:
    harness = Harness(**PROVISIONED)
    arn = harness.back_up()

    def capacity(description: dict[str, Any]) -> list[tuple[int, int]]:
        parts = [description, *description["GlobalSecondaryIndexes"]]
        capacities = [part["ProvisionedThroughput"] for part in parts]
        return [(capacity["ReadCapacityUnits"], capacity["WriteCapacityUnits"]) for capacity in capacities]

    assert capacity(harness.restore(arn, "same")) == [(5, 5), (5, 5)]
    assert capacity(harness.restore(arn, "table", ProvisionedThroughputOverride=units(7, 7))) == [(7, 7), (5, 5)]
    override = [index("by-g", "g", ProvisionedThroughput=units(8, 8))]
    assert capacity(harness.restore(arn, "index", GlobalSecondaryIndexOverride=override)) == [(5, 5), (8, 8)]
    description = harness.restore(
        arn,
        "demand",
        BillingModeOverride="PAY_PER_REQUEST",
        OnDemandThroughputOverride={"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 50},
    )
    assert capacity(description) == [(0, 0), (0, 0)]
    assert description["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert description["OnDemandThroughput"] == {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 50}
    assert "OnDemandThroughput" not in description["GlobalSecondaryIndexes"][0]


def test_from_on_demand_to_provisioned_every_index_needs_units() -> None:
    harness = Harness(**INDEXED)
    description = harness.restore(
        harness.back_up(),
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units(1, 2),
        GlobalSecondaryIndexOverride=[index("by-g", "g", ProvisionedThroughput=units(3, 4))],
    )
    assert description["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 4
    assert "BillingModeSummary" not in description


@pytest.mark.parametrize("override", [{}, {"Enabled": False}])
def test_encryption_may_be_reset_to_the_default(override: dict[str, bool]) -> None:
    harness = Harness(SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "my-key"})
    arn = harness.back_up()
    assert harness.restore(arn)["SSEDescription"]["KMSMasterKeyArn"].endswith(":key/my-key")
    assert "SSEDescription" not in harness.restore(arn, "default", SSESpecificationOverride=override)
