"""RestoreTableFromBackup: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Demanded, Structure
from keyplan.engine.requests import backup_members

SHAPE = Structure(
    "RestoreTableFromBackupInput",
    {
        "TargetTableName": backup_members.TARGET_TABLE_NAME,
        "BackupArn": backup_members.BACKUP_ARN,
        **backup_members.OVERRIDES,
    },
    required=("BackupArn",),
    # A target of a wrong length was seen on the service in October 2026; one that is missing belongs to it.
    demanded=Demanded("TargetTableName", messages.TABLE_NAME_REQUIRED, messages.TABLE_NAME_LENGTH),
    unsupported=("VectorIndexOverride",),
)
