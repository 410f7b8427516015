"""DescribeBackup: return the source table and the status of a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import backups
from keyplan.engine.operations import shapes

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DescribeBackupInput", {"BackupArn": shapes.BACKUP_ARN}, required=("BackupArn",))


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeBackup: find the backup and return its current description."""
    document = backups.find(database, database.store.view(), request["BackupArn"])
    if backups.is_in_progress(document):
        database.wake_backfiller()
    return {"BackupDescription": backups.describe(document, database.clock.now())}
