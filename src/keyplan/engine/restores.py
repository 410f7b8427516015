"""Tables restored: a new table from the definition and the rows of another one, or of a backup.

The table is made in one transaction, as of whose moment its rows are copied (see `copies`); then its indexes are
filled by the backfill. It is CREATING until that is done. What it takes from its source are keys, indexes, capacity and
encryption, each unless overridden; not streams, time to live, tags, recovery, deletion protection or table class.

Source: developer guide, "Restore a table in DynamoDB"; checks and their order as the service was seen to have
them in October 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.engine import backfill, copies, restore_overrides, table_documents, tables
from keyplan.engine.catalog import Table
from keyplan.engine.store.rows import Transaction, Tree
from keyplan.errors import TableAlreadyExistsError, TableInUseError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


class Restored(NamedTuple):
    """A table that was made."""

    table: Table
    description: dict[str, Any]
    """What the answer says of it: as it was made, without items yet, as the service tells it."""


class Origin(NamedTuple):
    """Where a restored table comes from."""

    description: dict[str, Any]
    """What DescribeTable says, or said, of the source."""
    rows: Tree | Table
    """A tree that nobody writes to, or a table."""
    summary: dict[str, Any]
    """What RestoreSummary says of it."""
    past: copies.Past | None = None
    """The moment whose rows are wanted; None: the present one."""


def check_target(engine: Engine, name: str) -> None:
    """Raise TableAlreadyExistsError or TableInUseError unless there can be a table of that name."""
    known = tables.present(engine, name)
    if known is None:
        return
    if tables.status(known, engine.clock.now()) != "CREATING":
        raise TableAlreadyExistsError(table_messages.table_exists(name))
    restore = known.document.get("restore")
    if restore is None:
        raise TableInUseError(messages.table_creating(name))
    raise TableInUseError(messages.table_restoring(name, restore.get("SourceBackupArn") or restore["SourceTableArn"]))


def begin(engine: Engine, transaction: Transaction, origin: Origin, request: dict[str, Any]) -> Restored:
    """Make the new table, its rows still to be copied and its indexes to be filled. Raises ValidationError."""
    wanted = restore_overrides.create_request(origin.description, request)
    description = table_documents.describe_new(engine, wanted)
    document = table_documents.create(engine, transaction, description, wanted)
    document["restore"] = origin.summary
    document["backfills"] = [backfill.ROWS, *document["index_trees"]]
    if "collections_tree" in document:
        document["backfills"].append(backfill.COLLECTIONS)
    document["building"] = True
    del document["ready_at"]
    table = engine.catalog.save(transaction, document)
    copies.begin(engine, transaction, table.name, table.tree, origin.rows, past=origin.past)
    return Restored(table, tables.describe(engine, transaction, table, tables.PENDING))


def finish(engine: Engine, made: Restored) -> dict[str, Any]:
    """Fill the table, or have it filled; the answer."""
    backfill.begin(engine, made.table.name, *made.table.document["backfills"])
    return {"TableDescription": made.description}
