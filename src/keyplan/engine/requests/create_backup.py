"""CreateBackup: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import backup_members, members

SHAPE = Structure(
    "CreateBackupInput",
    {"TableName": members.NEW_TABLE_NAME, "BackupName": backup_members.BACKUP_NAME},
    required=("BackupName",),
    demanded=members.DEMANDED_TABLE_NAME,
)
