"""Point-in-time recovery: turned on and off, described, and what it no longer needs removed.

While it is on, the table's document names the tree of what items were (see `history`), since when, and for how
many days back. Continuous backups, which the service has for every table, are always ENABLED.

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


def find_source(database: Database, name_or_arn: str, told: str | None = None) -> Table:
    """The table of a backup or of recovery settings, as of the catalog's last reload.

    Raises TableNotFoundError, also while it is being created or deleted; `told`: in other words.
    """
    try:
        table = descriptions.find_known(database, name_or_arn)
    except ResourceNotFoundError:
        table = None
    if table is None or descriptions.status(table, database.clock.now()) in ("CREATING", "DELETING"):
        raise TableNotFoundError(told or messages.table_not_found(table_name(name_or_arn)))
    return table


def enable(database: Database, transaction: Transaction, table: Table, days: int) -> Table:
    """Turn recovery on, or give it another period; what is out of reach stays so under a longer one."""
    now, current = database.clock.now(), table.recovery
    if current is None:
        kept = {"tree": transaction.create_tree().number, "since_s": now, "days": days}
    elif current.days == days:
        return table
    else:
        since_s = max(current.since_s, now - current.days * history.DAY_S)
        kept = {"tree": current.tree.number, "since_s": since_s, "days": days}
    return database.catalog.save(transaction, {**table.document, "recovery": kept})


def disable(database: Database, transaction: Transaction, table: Table) -> Table:
    """Turn recovery off and forget what items were."""
    if table.recovery is None:
        return table
    documents.drop_tree(database, transaction, table.recovery.tree)
    document = {name: value for name, value in table.document.items() if name != "recovery"}
    return database.catalog.save(transaction, document)


def describe(database: Database, table: Table) -> dict[str, Any]:
    """ContinuousBackupsDescription."""
    recovery, now = table.recovery, database.clock.now()
    told: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if recovery is not None:
        told = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": recovery.days,
            "EarliestRestorableDateTime": history.earliest_s(recovery, now),
            "LatestRestorableDateTime": round(now, 3),
        }
    return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": told}


def trim(database: Database) -> int:
    """Remove what nobody can restore any more: records of changes, system backups; how many."""
    database.catalog.reload(database.store.view())
    now = database.clock.now()
    removed = sum(
        _trim(database, table, table.recovery) for table in database.catalog.known() if table.recovery is not None
    )
    if any(backups.is_gone(document, now) for document in backups.stored(database.store.view())):
        removed += database.store.write(lambda transaction: backups.purge(transaction, now))
    return removed


def _trim(database: Database, table: Table, recovery: Recovery) -> int:
    """Small reads and small transactions, so that nobody waits long."""
    now, low, removed = database.clock.now(), b"", 0
    if not history.is_trimmable(recovery, now) or copies.is_reading(database.store.view(), recovery.tree):
        return 0
    try:
        while True:
            rows = database.store.view().rows(recovery.tree, low, None, limit=BATCH_RECORDS)
            places = [place for place, _, _ in rows if history.is_out_of_reach(recovery, place, now)]
            if places:
                database.write(table, _removal(recovery, places))
            removed += len(places)
            if len(rows) < BATCH_RECORDS:
                break
            low = rows[-1][0] + b"\x00"
    except CatalogChanged:
        pass  # the table was changed or dropped: the next time meets it as it is
    except Failure as error:
        if not is_missing_tree(error):
            raise
    return removed


def _removal(recovery: Recovery, places: list[bytes]) -> Callable[[Transaction], None]:
    def work(transaction: Transaction) -> None:
        for place in places:
            transaction.delete(recovery.tree, place)

    return work
