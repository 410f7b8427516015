"""DeleteTable: a table and everything in it; the records of its stream stay for their 24 hours."""

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
    from keyplan.engine.engine import Engine


SHAPE = Structure("DeleteTableInput", {"TableName": shapes.NEW_TABLE_NAME}, demanded=shapes.DEMANDED_TABLE_NAME)


_TOLD = (
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
"""What the service tells of a table that it is about to delete: not its keys, not its indexes."""


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Remove the table, or say until when it is DELETING."""

    def work(transaction: Transaction) -> dict[str, Any]:
        documents.purge(engine, transaction)
        table = descriptions.find_known(engine, request["TableName"])
        _check_deletable(engine, table)
        described = descriptions.describe(engine, transaction, table, engine.clock.now(), writing=True)
        if table.recovery is not None:
            backups.create_of_deleted(engine, transaction, table)
            table = parse({**table.document, "rows_kept": True})
        if engine.state_delay_s > 0:
            gone_at = engine.clock.now() + engine.state_delay_s
            engine.catalog.save(transaction, {**table.document, "gone_at": gone_at})
        else:
            documents.drop(engine, transaction, table)
        return described

    descriptions.count(engine, request["TableName"])
    described = {**engine.alter(work), "TableStatus": "DELETING"}
    return {"TableDescription": {name: described[name] for name in _TOLD if name in described}}


def _check_deletable(engine: Engine, table: Table) -> None:
    admission.check_deletion(engine, table)
    if table.document["description"].get("DeletionProtectionEnabled"):
        raise ValidationError(messages.DELETION_PROTECTED)
