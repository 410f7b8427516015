"""RestoreTableFromBackup: shape of its request."""

from __future__ import annotations

from keyplan.engine.requests import backup_members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure(
    "RestoreTableFromBackupInput",
    {
        "TargetTableName": backup_members.TARGET_TABLE_NAME,
        "BackupArn": backup_members.BACKUP_ARN,
        **backup_members.OVERRIDES,
    },
    required=("TargetTableName", "BackupArn"),
    unsupported=("VectorIndexOverride",),
)
