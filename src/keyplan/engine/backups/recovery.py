"""Functions that enable, disable and describe point-in-time recovery, and remove obsolete recovery records.

While recovery is enabled, the table's stored document contains the number of the tree with earlier item versions (see
`history`), the time when recovery was enabled, and the length of the recovery period in days. As in DynamoDB,
`describe` reports the ContinuousBackupsStatus ENABLED for every table, even if point-in-time recovery is disabled.

Source: developer guide, "Point-in-time backups for DynamoDB".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import backups as messages
from keyplan.engine.backups import backups, copies, history
from keyplan.engine.store.failures import Failure, is_missing_tree
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import descriptions, documents
from keyplan.engine.tables.catalog import CatalogChanged, Recovery, Table, table_name
from keyplan.errors import ResourceNotFoundError, TableNotFoundError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

BATCH_RECORDS = 250


def find_source(database: Database, name_or_arn: str, message: str | None = None) -> Table:
    """Return the table to back up, restore or configure, as of the last reload of the catalog.

    Raises TableNotFoundError if the table does not exist, or is being created or deleted. `message` replaces the
    default error message.
    """
    try:
        table = descriptions.find_cached(database, name_or_arn)
    except ResourceNotFoundError:
        table = None
    if table is None or descriptions.status(table, database.clock.now()) in ("CREATING", "DELETING"):
        raise TableNotFoundError(message or messages.table_not_found(table_name(name_or_arn)))
    return table


def enable(database: Database, transaction: Transaction, table: Table, days: int) -> Table:
    """Enable point-in-time recovery of a table with a recovery period of `days` days, or change the period.

    Records that have already been trimmed are not restored if the period becomes longer.
    """
    now, current = database.clock.now(), table.recovery
    if current is None:
        document = {"tree": transaction.create_tree().number, "since_s": now, "days": days}
    elif current.days == days:
        return table
    else:
        since_s = max(current.since_s, now - current.days * history.DAY_S)
        document = {"tree": current.tree.number, "since_s": since_s, "days": days}
    return database.catalog.save(transaction, {**table.document, "recovery": document})


def disable(database: Database, transaction: Transaction, table: Table) -> Table:
    """Disable point-in-time recovery of a table and delete its recovery records."""
    if table.recovery is None:
        return table
    documents.drop_tree(database, transaction, table.recovery.tree)
    document = {name: value for name, value in table.document.items() if name != "recovery"}
    return database.catalog.save(transaction, document)


def describe(database: Database, table: Table) -> dict[str, Any]:
    """Return the ContinuousBackupsDescription of a table."""
    recovery, now = table.recovery, database.clock.now()
    status: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if recovery is not None:
        status = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": recovery.days,
            "EarliestRestorableDateTime": history.earliest_s(recovery, now),
            "LatestRestorableDateTime": round(now, 3),
        }
    return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": status}


def trim(database: Database) -> int:
    """Remove all expired backups, and the obsolete recovery records of all tables. Return the total number of removed
    records and backups.
    """
    database.catalog.reload(database.store.view())
    now = database.clock.now()
    removed = sum(
        _trim(database, table, table.recovery) for table in database.catalog.tables() if table.recovery is not None
    )
    if any(backups.is_expired(document, now) for document in backups.all_backups(database.store.view())):
        removed += database.store.write(lambda transaction: backups.purge(transaction, now))
    return removed


def _trim(database: Database, table: Table, recovery: Recovery) -> int:
    """Remove the obsolete recovery records of one table, and return their number.

    Uses small reads and transactions, so that writers do not wait long.
    """
    now, low, removed = database.clock.now(), b"", 0
    if not history.is_trimmable(recovery, now) or copies.is_reading(database.store.view(), recovery.tree):
        return 0
    try:
        while True:
            rows = database.store.view().rows(recovery.tree, low, None, limit=BATCH_RECORDS)
            record_keys = [record_key for record_key, _, _ in rows if history.is_obsolete(recovery, record_key, now)]
            if record_keys:
                database.write(table, _deletion(recovery, record_keys))
            removed += len(record_keys)
            if len(rows) < BATCH_RECORDS:
                break
            low = rows[-1][0] + b"\x00"
    except CatalogChanged:
        pass  # the table was changed or dropped, and the next trim reads its new state
    except Failure as error:
        if not is_missing_tree(error):
            raise
    return removed


def _deletion(recovery: Recovery, record_keys: list[bytes]) -> Callable[[Transaction], None]:
    def delete_records(transaction: Transaction) -> None:
        for record_key in record_keys:
            transaction.delete(recovery.tree, record_key)

    return delete_records
