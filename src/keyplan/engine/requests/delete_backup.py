"""DeleteBackup: shape of its request."""

from __future__ import annotations

from keyplan.engine.requests import backup_members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure("DeleteBackupInput", {"BackupArn": backup_members.BACKUP_ARN}, required=("BackupArn",))
