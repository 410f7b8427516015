"""Members that the requests of backups and restores share."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Shape, String
from keyplan.engine.requests import members, table_members

BACKUP_NAME = String(min=3, max=255, pattern=members.NAME_PATTERN)
BACKUP_ARN = String(max=1024)  # what is too short is told as any other text that is no ARN of a backup
TARGET_TABLE_NAME = members.LISTED_TABLE_NAME

OVERRIDES: dict[str, Shape] = {
    "BillingModeOverride": table_members.BILLING_MODE,
    "GlobalSecondaryIndexOverride": table_members.GLOBAL_INDEXES,
    "LocalSecondaryIndexOverride": table_members.LOCAL_INDEXES,
    "ProvisionedThroughputOverride": table_members.PROVISIONED_THROUGHPUT,
    "OnDemandThroughputOverride": table_members.ON_DEMAND_THROUGHPUT,
    "SSESpecificationOverride": table_members.SSE_SPECIFICATION,
}
"""What a restored table may have otherwise than its source."""
