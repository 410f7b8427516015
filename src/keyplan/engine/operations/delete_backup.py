"""DeleteBackup: delete a user backup and its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import timestamps
from keyplan.engine.backups import backups
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import Transaction
from keyplan.errors import BackupInUseError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DeleteBackupInput", {"BackupArn": shapes.BACKUP_ARN}, required=("BackupArn",))


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DeleteBackup: find the backup, check that it is not in use, and delete it in one transaction."""
    arn, now = request["BackupArn"], database.clock.now()

    def delete(transaction: Transaction) -> backups.Document:
        document = backups.find(database, transaction, arn)
        if document["type"] == backups.SYSTEM:
            raise ValidationError(messages.system_backup(arn, timestamps.text(document["expires_at"])))
        if not backups.is_ready(document, now):
            raise BackupInUseError(messages.backup_being_created(arn))
        if backups.is_restoring(database, arn):
            raise BackupInUseError(messages.backup_restoring(arn))
        backups.drop(transaction, document)
        return document

    description = backups.describe(database.alter(delete), now)
    description["BackupDetails"]["BackupStatus"] = "DELETED"
    return {"BackupDescription": description}
