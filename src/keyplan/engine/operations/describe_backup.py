"""DescribeBackup: what a backup is of, and whether it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import backups
from keyplan.engine.operations import shapes

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


SHAPE = Structure("DescribeBackupInput", {"BackupArn": shapes.BACKUP_ARN}, required=("BackupArn",))


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Find, describe as of now."""
    document = backups.find(engine, engine.store.view(), request["BackupArn"])
    if backups.is_being_made(document):
        engine.backfiller.wake()
    return {"BackupDescription": backups.describe(document, engine.clock.now())}
