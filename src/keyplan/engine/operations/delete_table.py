"""DeleteTable: delete a table and its items. The table's stream records remain readable for 24 hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import tables as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import backups
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import admission, descriptions, documents
from keyplan.engine.tables.catalog import Table, parse
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DeleteTableInput", {"TableName": shapes.NEW_TABLE_NAME}, leading_member=shapes.LEADING_TABLE_NAME)


_RETURNED = (
    "TableName",
    "TableStatus",
    "ProvisionedThroughput",
    "TableSizeBytes",
    "ItemCount",
    "TableArn",
    "TableId",
    "DeletionProtectionEnabled",
    *descriptions.MODE_SUMMARIES,
    "TableClassSummary",
    "WarmThroughput",
)
"""The members of the table description in the DeleteTable response. Keys and indexes are not included."""


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DeleteTable: delete the table, or mark it as DELETING if `state_delay_s` is set, and return its
    description.
    """

    def delete(transaction: Transaction) -> dict[str, Any]:
        documents.purge(database, transaction)
        table = descriptions.find_cached(database, request["TableName"])
        _check_deletable(database, table)
        description = descriptions.describe(database, transaction, table, database.clock.now(), writing=True)
        if table.recovery is not None:
            backups.create_system_backup(database, transaction, table)
            table = parse({**table.document, "rows_kept": True})
        if database.settings.state_delay_s > 0:
            gone_at = database.clock.now() + database.settings.state_delay_s
            database.catalog.save(transaction, {**table.document, "gone_at": gone_at})
        else:
            documents.drop(database, transaction, table)
        return description

    descriptions.cache_counts(database, request["TableName"])
    description = {**database.alter(delete), "TableStatus": "DELETING"}
    return {"TableDescription": {name: description[name] for name in _RETURNED if name in description}}


def _check_deletable(database: Database, table: Table) -> None:
    admission.check_deletion(database, table)
    if table.document["description"].get("DeletionProtectionEnabled"):
        raise ValidationError(messages.DELETION_PROTECTED)
