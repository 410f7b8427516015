"""Overrides of a restored table: allowed and refused ones."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.backup_making import Kept
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


def refused(kept: Kept, arn: str, **members: Any) -> tuple[str, str]:
    """Return code and message with which a restore fails; assert that it leaves no table."""
    request = {"BackupArn": arn, "TargetTableName": "restored", **members}
    description = failure(kept.engine, "RestoreTableFromBackup", request)
    assert kept.call("ListTables")["TableNames"] == ["things"]
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
    kept = Kept(**INDEXED)
    assert refused(kept, kept.back_up(), **members) == ("ValidationException", INVALID + message)


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
    kept = Kept(**PROVISIONED)
    assert refused(kept, kept.back_up(), **members) == ("ValidationException", INVALID + message)


def test_two_indexes_cannot_have_one_name() -> None:
    kept = Kept(**INDEXED)
    members = {
        "GlobalSecondaryIndexOverride": [index("same", "g")],
        "LocalSecondaryIndexOverride": [index("same", "p", "l")],
    }
    assert refused(kept, kept.back_up(), **members)[1].endswith("Duplicate index name: same")


def test_encryption_is_validated_as_for_a_new_table() -> None:
    kept = Kept()
    description = refused(kept, kept.back_up(), SSESpecificationOverride={"Enabled": True, "SSEType": "AES256"})
    assert description == (
        "ValidationException",
        "One or more parameter values were invalid: SSEType AES256 is not supported",
    )


def test_empty_lists_omit_the_indexes() -> None:
    kept = Kept(**INDEXED)
    kept.put("a", g={"S": "g"}, l={"S": "l"})
    arn = kept.back_up()
    description = kept.restore(arn, GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[])
    assert not {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"} & description.keys()
    assert [each["AttributeName"] for each in description["AttributeDefinitions"]] == ["p", "s"]
    assert kept.names("restored") == ["a"]
    description = kept.restore(arn, "half", GlobalSecondaryIndexOverride=[])
    assert [each["AttributeName"] for each in description["AttributeDefinitions"]] == ["l", "p", "s"]
    assert kept.names("half", IndexName="by-l") == ["a"]
    assert fsck.check(kept.engine) == []


def test_indexes_may_be_renamed() -> None:
    kept = Kept(**INDEXED)
    kept.put("a", g={"S": "g"}, l={"S": "l"})
    kept.restore(
        kept.back_up(),
        GlobalSecondaryIndexOverride=[index("new-g", "g")],
        LocalSecondaryIndexOverride=[index("new-l", "p", "l")],
    )
    assert kept.names("restored", IndexName="new-g") == ["a"]
    assert kept.names("restored", IndexName="new-l") == ["a"]


def test_units_are_overridden_individually() -> None:
    kept = Kept(**PROVISIONED)
    arn = kept.back_up()

    def capacity(description: dict[str, Any]) -> list[tuple[int, int]]:
        each = [description, *description["GlobalSecondaryIndexes"]]
        capacities = [one["ProvisionedThroughput"] for one in each]
        return [(one["ReadCapacityUnits"], one["WriteCapacityUnits"]) for one in capacities]

    assert capacity(kept.restore(arn, "same")) == [(5, 5), (5, 5)]
    assert capacity(kept.restore(arn, "table", ProvisionedThroughputOverride=units(7, 7))) == [(7, 7), (5, 5)]
    override = [index("by-g", "g", ProvisionedThroughput=units(8, 8))]
    assert capacity(kept.restore(arn, "index", GlobalSecondaryIndexOverride=override)) == [(5, 5), (8, 8)]
    description = kept.restore(
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
    kept = Kept(**INDEXED)
    description = kept.restore(
        kept.back_up(),
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units(1, 2),
        GlobalSecondaryIndexOverride=[index("by-g", "g", ProvisionedThroughput=units(3, 4))],
    )
    assert description["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 4
    assert "BillingModeSummary" not in description


@pytest.mark.parametrize("override", [{}, {"Enabled": False}])
def test_encryption_may_be_reset_to_the_default(override: dict[str, bool]) -> None:
    kept = Kept(SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "my-key"})
    arn = kept.back_up()
    assert kept.restore(arn)["SSEDescription"]["KMSMasterKeyArn"].endswith(":key/my-key")
    assert "SSEDescription" not in kept.restore(arn, "default", SSESpecificationOverride=override)
