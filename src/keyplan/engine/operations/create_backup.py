"""CreateBackup: a copy of a table as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.engine import backups, recovery, tables
from keyplan.store.rows import Transaction
from keyplan.values.encoding import Form

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Find the table, copy it in one transaction."""

    def work(transaction: Transaction) -> backups.Document:
        table = recovery.find_source(engine, request["TableName"])
        return backups.create(engine, transaction, table, request["BackupName"])

    return {"BackupDetails": backups.details(engine.alter(work), tables.PENDING)}
