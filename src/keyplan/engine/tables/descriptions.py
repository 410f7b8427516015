"""The TableDescription of a table: its definition, its state as of a time, and its current item counts.

States are computed and not stored. The document of a table contains the time until which a table is CREATING or
UPDATING, the time at which a table or index that is being deleted disappears, and the indexes that are still being
backfilled. When such a time has passed, the state changes without a write to the document. These members of the
document determine states:

    ready_at          the table is CREATING until this time
    building          the table is CREATING until its backfills are complete
    restore           RestoreSummary of a restored table while it is CREATING
    gone_at           the table is DELETING, and does not exist from this time on
    changes           changes in progress, each with `what`, `until` and, if the description shows the old value
                      until that time, the old value (`shown`)
    backfills         names of indexes that are being backfilled
    index_ready_at    times until which backfilled indexes are CREATING, by index
    index_changes     like `changes`, by index
    indexes_leaving   descriptions of indexes that are DELETING, each with its `gone_at`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from keyplan.dynamodb.messages import requests as request_messages
from keyplan.dynamodb.messages import tables as messages
from keyplan.engine.store.rows import StoreView
from keyplan.engine.tables import throughput
from keyplan.engine.tables.catalog import Table, table_name
from keyplan.errors import ResourceNotFoundError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

PENDING = 0.0
"""A time at which every recorded change is still in progress. The response to a change describes the table as of this
time, so that it shows a state such as UPDATING, as in DynamoDB.
"""

CAPACITY, STREAM, CLASS, INDEXES = "capacity", "stream", "class", "indexes"
"""Changes during which a table is UPDATING."""

ENCRYPTION, WARM = "encryption", "warm"
"""Changes that are visible only in their own part of the description."""

MODE_SUMMARIES = ("BillingModeSummary", "TableThroughputModeSummary")
"""The members of a description that contain the billing mode. The second one is a newer name for the same value.

Source: AWS SDK for Java developer guide, "Deserialization differences", which shows a DescribeTable response.
"""

_UPDATING = frozenset((CAPACITY, STREAM, CLASS, INDEXES))


def table_arn(database: Database, name: str) -> str:
    """Return the ARN of a table in this engine."""
    return f"arn:aws:dynamodb:{database.settings.region}:{database.settings.account}:table/{name}"


def find(database: Database, name_or_arn: str) -> Table:
    """Return the table with this name or ARN, in any state. Use this function for operations that do not change the
    table.

    Raises ResourceNotFoundError, with the message of table operations, if the table does not exist.
    """
    database.catalog.reload(database.store.view())
    return find_cached(database, name_or_arn)


def find_cached(database: Database, name_or_arn: str) -> Table:
    """Return the table with this name or ARN as of the last reload of the catalog, for use in a `Database.alter`
    transaction.

    Raises ResourceNotFoundError if the table does not exist, and ValidationError for an ARN in another Region.
    """
    if name_or_arn.startswith("arn:") and name_or_arn.split(":")[3] != database.settings.region:
        raise ValidationError(request_messages.other_region(name_or_arn))
    table = find_existing(database, name_or_arn)
    if table is None:
        raise ResourceNotFoundError(messages.table_not_found(table_name(name_or_arn)))
    return table


def find_existing(database: Database, name_or_arn: str) -> Table | None:
    """Return the table with this name or ARN, in any state, as of the last reload of the catalog. Return None if its
    deletion has ended.
    """
    table = database.catalog.cached_table(name_or_arn)
    return None if table is None or is_deleted(table, database.clock.now()) else table


def is_deleted(table: Table, now: float) -> bool:
    """Return True if the deletion of the table has ended."""
    return table.gone_at is not None and table.gone_at <= now


def status(table: Table, time_s: float) -> str:
    """Return the TableStatus as of the time `time_s`."""
    if table.gone_at is not None:
        return "DELETING"
    if table.ready_at > time_s:
        return "CREATING"
    if any(change["what"] in _UPDATING for change in changes(table.document, time_s)):
        return "UPDATING"
    return "ACTIVE"


def changes(document: dict[str, Any], time_s: float) -> list[dict[str, Any]]:
    """Return the changes to a table that are in progress at the time `time_s`."""
    return [change for change in document.get("changes", ()) if change["until"] > time_s]


def index_status(table: Table, name: str, time_s: float) -> str:
    """Return the IndexStatus of the index with this name as of the time `time_s`."""
    document = table.document
    if table.gone_at is not None:
        return "DELETING"
    if table.ready_at > time_s or name in document.get("backfills", ()):
        return "CREATING"
    if document.get("index_ready_at", {}).get(name, PENDING) > time_s:
        return "CREATING"
    if _is_updating(document.get("index_changes", {}).get(name), time_s):
        return "UPDATING"
    return "ACTIVE"


def allocated_at(document: dict[str, Any], index: str) -> float:
    """Return the time at which the resources for a new index will have been allocated, or PENDING if they are already
    allocated.
    """
    for change in document.get("changes", ()):
        if change["what"] == INDEXES and change["details"] == {"done": "created", "index": index}:
            until: float = change["until"]
            return until
    return PENDING


def deleting_indexes(document: dict[str, Any], time_s: float) -> list[dict[str, Any]]:
    """Return the descriptions of the indexes that are being deleted at the time `time_s`."""
    return [entry["description"] for entry in document.get("indexes_leaving", ()) if entry["gone_at"] > time_s]


def settle(document: dict[str, Any], now: float) -> dict[str, Any]:
    """Return a copy of a table's document, without the changes and index deletions that are complete at the
    time `now`.
    """
    settled: dict[str, Any] = orjson.loads(orjson.dumps(document))
    if settled.get("ready_at", PENDING) <= now:
        settled.pop("ready_at", None)
    set_or_remove(settled, "changes", changes(settled, now))
    set_or_remove(
        settled,
        "index_ready_at",
        {name: ready_at for name, ready_at in settled.get("index_ready_at", {}).items() if ready_at > now},
    )
    set_or_remove(
        settled,
        "index_changes",
        {name: entry for name, entry in settled.get("index_changes", {}).items() if entry["until"] > now},
    )
    set_or_remove(
        settled,
        "indexes_leaving",
        [entry for entry in settled.get("indexes_leaving", ()) if entry["gone_at"] > now],
    )
    return settled


def set_or_remove(document: dict[str, Any], member: str, value: list[Any] | dict[str, Any]) -> None:
    """Set the member `member` of `document` to `value`. If `value` is empty, remove the member instead."""
    if value:
        document[member] = value
    else:
        document.pop(member, None)


def cache_counts(database: Database, name_or_arn: str) -> None:
    """Count the rows of a table and its indexes. Call this function before a transaction that describes the table.

    The transaction then uses the cached counts, so that other writers do not wait for a count.
    """
    table = find_existing(database, name_or_arn)
    if table is not None:
        for tree in (table.tree, *(index.tree for index in table.indexes.values())):
            database.counts.totals(database.store.view(), tree, any_age=True)


def describe(
    database: Database, view: StoreView, table: Table, time_s: float, *, writing: bool = False
) -> dict[str, Any]:
    """Return the TableDescription as of the time `time_s`. If `time_s` is PENDING, the description also shows states
    that have ended but are still stored.

    Pass `writing=True` inside a write transaction. Item counts of any age are then taken from the cache, because other
    writers wait for the transaction. Call `cache_counts` before the transaction to fill the cache. A change must be
    described inside the transaction that makes it, because the table might not exist after the commit.
    """
    document = table.document
    description: dict[str, Any] = orjson.loads(orjson.dumps(document["description"]))
    mode = throughput.billing_mode(description)
    pending = changes(document, time_s)
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for index in description.get(member, ()):
            _complete_index(database, view, table, index, time_s, writing=writing)
    deleted = deleting_indexes(document, time_s)
    if deleted:
        description["GlobalSecondaryIndexes"] = [
            *description.get("GlobalSecondaryIndexes", ()),
            *(_deleting_index(index, mode) for index in deleted),
        ]
    description["TableStatus"] = status(table, time_s)
    restore = table.document.get("restore")
    if restore is not None and description["TableStatus"] == "CREATING":
        description["RestoreSummary"] = {**restore, "RestoreInProgress": True}
    description["ItemCount"], description["TableSizeBytes"] = database.counts.totals(view, table.tree, any_age=writing)
    _complete_throughput(database, description, mode)
    _show_old_values(description, pending)
    _warm_status(description, any(change["what"] == WARM for change in pending))
    _add_throughput_mode(description)
    return description


def _complete_index(
    database: Database, view: StoreView, table: Table, description: dict[str, Any], time_s: float, *, writing: bool
) -> None:
    name = description["IndexName"]
    index = table.indexes[name]
    description["ItemCount"], description["IndexSizeBytes"] = database.counts.totals(view, index.tree, any_age=writing)
    if not index.is_global:
        return
    state = index_status(table, name, time_s)
    description["IndexStatus"] = state
    if state == "CREATING" and table.ready_at <= time_s:
        description["Backfilling"] = allocated_at(table.document, name) <= time_s
    _complete_throughput(database, description, throughput.billing_mode(table.document["description"]))
    change = table.document.get("index_changes", {}).get(name)
    pending = [change] if change is not None and change["until"] > time_s else []
    _show_old_values(description, pending)
    _warm_status(description, any(pending_change["what"] == WARM for pending_change in pending))


def _is_updating(change: dict[str, Any] | None, time_s: float) -> bool:
    return change is not None and change["what"] != WARM and change["until"] > time_s


def _complete_throughput(database: Database, description: dict[str, Any], mode: str) -> None:
    capacity = description["ProvisionedThroughput"]
    capacity["NumberOfDecreasesToday"] = throughput.decreases_today(capacity, database.clock.now())
    description["WarmThroughput"] = throughput.warm_throughput(description, mode)


def _show_old_values(description: dict[str, Any], pending: list[dict[str, Any]]) -> None:
    """Replace the new values in a description with the `shown` values of the pending changes. A `shown` value of None
    removes the member.
    """
    for change in pending:
        for member, value in change.get("shown", {}).items():
            if value is None:
                description.pop(member, None)
            else:
                description[member] = value


def _add_throughput_mode(description: dict[str, Any]) -> None:
    billing, throughput_mode = MODE_SUMMARIES
    if billing in description:
        summary = dict(description[billing])
        description[throughput_mode] = {"TableThroughputMode": summary.pop("BillingMode"), **summary}


def _warm_status(description: dict[str, Any], changing: bool) -> None:
    description["WarmThroughput"]["Status"] = "UPDATING" if changing else "ACTIVE"


def _deleting_index(description: dict[str, Any], mode: str) -> dict[str, Any]:
    return {
        **description,
        "IndexStatus": "DELETING",
        "ItemCount": 0,
        "IndexSizeBytes": 0,
        "WarmThroughput": {**throughput.warm_throughput(description, mode), "Status": "ACTIVE"},
    }
