"""RestoreTableFromBackup: create a table from the definition and items in a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import backups as backup_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import LeadingMember, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import backups, restores
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import documents
from keyplan.errors import BackupInUseError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "RestoreTableFromBackupInput",
    {
        "TargetTableName": shapes.TARGET_TABLE_NAME,
        "BackupArn": shapes.BACKUP_ARN,
        **shapes.OVERRIDES,
    },
    required=("BackupArn",),
    # The message for a name of invalid length was observed on the service in October 2026. A missing name is assumed to
    # be treated alike.
    leading_member=LeadingMember("TargetTableName", messages.TABLE_NAME_REQUIRED, messages.TABLE_NAME_LENGTH),
    unsupported=("VectorIndexOverride",),
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run RestoreTableFromBackup: find the backup, create the table in one transaction, and start copying the rows."""
    arn = request["BackupArn"]

    def create(transaction: Transaction) -> restores.RestoredTable:
        documents.purge(database, transaction)
        document = backups.find(database, transaction, arn)
        restores.check_target(database, request["TargetTableName"])
        if not backups.is_ready(document, database.clock.now()):
            raise BackupInUseError(backup_messages.backup_being_created(arn))
        if backups.is_restoring(database, arn):
            raise BackupInUseError(backup_messages.backup_restoring_another(arn))
        source = document["description"]
        summary = {
            "SourceBackupArn": arn,
            "SourceTableArn": source["TableArn"],
            "RestoreDateTime": document["created_at"],
        }
        return restores.begin(
            database, transaction, restores.RestoreSource(source, backups.tree_of(document), summary), request
        )

    return restores.finish(database, database.alter(create))
