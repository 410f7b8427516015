"""CreateBackup: copy the current rows of a table. Small tables are copied immediately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import backups, recovery
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import backfill, descriptions

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "CreateBackupInput",
    {"TableName": shapes.NEW_TABLE_NAME, "BackupName": shapes.BACKUP_NAME},
    required=("BackupName",),
    leading_member=shapes.LEADING_TABLE_NAME,
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run CreateBackup: find the table, start the backup in one transaction, and start copying the rows."""

    def create(transaction: Transaction) -> backups.Document:
        table = recovery.find_source(database, request["TableName"])
        return backups.create(database, transaction, table, request["BackupName"])

    document = database.alter(create)
    backfill.begin(database, document["arn"], backfill.ROWS)
    return {"BackupDetails": backups.details(backups.reload(database.store.view(), document), descriptions.PENDING)}
