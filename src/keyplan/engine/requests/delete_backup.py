"""DeleteBackup: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import backup_members

SHAPE = Structure("DeleteBackupInput", {"BackupArn": backup_members.BACKUP_ARN}, required=("BackupArn",))
