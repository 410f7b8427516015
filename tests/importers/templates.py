"""Templates that tests read, and parts of them."""

from __future__ import annotations

from typing import Any

from keyplan.importers.cloudformation import cloudformation
from keyplan.importers.documents import Document
from keyplan.importers.schemas import ImportSource, SourceTable

KEY: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
}
TABLE: dict[str, Any] = {**KEY, "TableName": "things", "BillingMode": "PAY_PER_REQUEST"}


def imported(template: dict[str, Any], name: str = "t.json", **parameters: str) -> ImportSource:
    """Return the tables of a template."""
    return cloudformation([Document(name, template)], parameters)


def table(properties: dict[str, Any], kind: str = "AWS::DynamoDB::Table") -> SourceTable:
    """Return the only table of a template with these properties."""
    (source_table,) = imported({"Resources": {"Things": {"Type": kind, "Properties": properties}}}).tables
    return source_table


def gsi(**more: Any) -> dict[str, Any]:
    """Return a global index on the table's key attributes."""
    return {"IndexName": "by-a", "KeySchema": KEY["KeySchema"], "Projection": {"ProjectionType": "ALL"}, **more}


SCALING = {"MinCapacity": 5, "MaxCapacity": 50, "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70}}
GLOBAL: dict[str, Any] = {
    **KEY,
    "TableName": "wide",
    "WriteProvisionedThroughputSettings": {"WriteCapacityAutoScalingSettings": SCALING},
    "GlobalSecondaryIndexes": [gsi()],
    "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
    "Replicas": [
        {
            "Region": {"Ref": "AWS::Region"},
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "DeletionProtectionEnabled": True,
            "TableClass": "STANDARD_INFREQUENT_ACCESS",
            "ReadProvisionedThroughputSettings": {"ReadCapacityUnits": 30},
            "GlobalSecondaryIndexes": [
                {"IndexName": "by-a", "ReadProvisionedThroughputSettings": {"ReadCapacityUnits": 4}}
            ],
            "Tags": [],
        },
        {"Region": "eu-west-1"},
    ],
}
