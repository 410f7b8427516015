"""Restores, which create a table from the definition and rows of another table or a backup.

The table is created in one transaction, and rows are copied as of that transaction (see `copies`). The indexes are then
backfilled. The table is CREATING until both are complete. The table has the keys, indexes, capacity and encryption of
its source unless the request overrides them. It does not have the streams, time to live, tags, recovery settings,
deletion protection or table class of its source. Index overrides select indexes of the source by key and projection,
and can rename them. An empty list omits all indexes.

Sources: developer guide, "Restore a table in DynamoDB"; API reference, RestoreTableFromBackup. The checks and their
order were observed in DynamoDB in October 2026.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.engine.backups import copies
from keyplan.engine.store.rows import Transaction, Tree
from keyplan.engine.tables import backfill, descriptions, documents, throughput
from keyplan.engine.tables.catalog import Table
from keyplan.errors import TableAlreadyExistsError, TableInUseError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


class RestoredTable(NamedTuple):
    """The result of starting a restore: the new table and its description."""

    table: Table
    description: dict[str, Any]
    """The table description for the response. As in DynamoDB, it shows the new table before its items are copied."""


class RestoreSource(NamedTuple):
    """The table or backup from which a table is restored."""

    description: dict[str, Any]
    """The DescribeTable result for the source table. For a backup, this is the result as of the time of the backup."""
    rows: Tree | Table
    """The table whose rows are copied, or the read-only tree that contains the rows of a backup."""
    summary: dict[str, Any]
    """The RestoreSummary that the description of the new table shows."""
    point_in_time: copies.PointInTime | None = None
    """The earlier time as of which rows are copied, or None to copy the current rows."""


def check_target(database: Database, name: str) -> None:
    """Raise TableInUseError if a table with this name is being created, and TableAlreadyExistsError if the table exists
    in any other state.
    """
    existing = descriptions.find_existing(database, name)
    if existing is None:
        return
    if descriptions.status(existing, database.clock.now()) != "CREATING":
        raise TableAlreadyExistsError(table_messages.table_exists(name))
    restore = existing.document.get("restore")
    if restore is None:
        raise TableInUseError(messages.table_creating(name))
    raise TableInUseError(messages.table_restoring(name, restore.get("SourceBackupArn") or restore["SourceTableArn"]))


def begin(
    database: Database, transaction: Transaction, origin: RestoreSource, request: dict[str, Any]
) -> RestoredTable:
    """Create the new table for a restore from `origin`. The caller then calls `finish` to start copying rows and
    backfilling indexes.

    Raises ValidationError for invalid overrides in the request.
    """
    creation = create_request(origin.description, request)
    description = documents.describe_new(database, creation)
    document = documents.create(database, transaction, description, creation)
    document["restore"] = origin.summary
    document["backfills"] = [backfill.ROWS, *document["index_trees"]]
    if "collections_tree" in document:
        document["backfills"].append(backfill.COLLECTIONS)
    document["building"] = True
    del document["ready_at"]
    table = database.catalog.save(transaction, document)
    copies.begin(database, transaction, table.name, table.tree, origin.rows, point_in_time=origin.point_in_time)
    return RestoredTable(table, descriptions.describe(database, transaction, table, descriptions.PENDING))


def finish(database: Database, restored: RestoredTable) -> dict[str, Any]:
    """Start copying the rows and backfilling the indexes of the restored table, and return the response of the
    operation.
    """
    backfill.begin(database, restored.table.name, *restored.table.document["backfills"])
    return {"TableDescription": restored.description}


Request = dict[str, Any]
Description = dict[str, Any]


def create_request(source: Description, request: Request) -> Request:
    """Return the CreateTable request for the restored table, based on the description `source` and the overrides in
    `request`.

    Raises ValidationError for invalid overrides.
    """
    mode = request.get("BillingModeOverride") or throughput.billing_mode(source)
    _check_units(source, request, mode)
    _check_maxima(request.get("OnDemandThroughputOverride"), mode, None)
    global_ = _global_indexes(source, request, mode)
    local = _local_indexes(source, request)
    _check_names([*global_, *local])
    creation: Request = {
        "TableName": request["TargetTableName"],
        "KeySchema": source["KeySchema"],
        "AttributeDefinitions": _definitions(source, [*global_, *local]),
        "BillingMode": mode,
        **_capacity(source, request, mode),
        "SSESpecification": _encryption(source, request),
    }
    if global_:
        creation["GlobalSecondaryIndexes"] = global_
    if local:
        creation["LocalSecondaryIndexes"] = local
    return creation


def _check_units(source: Description, request: Request, mode: str) -> None:
    override, units = request.get("BillingModeOverride"), request.get("ProvisionedThroughputOverride")
    if units is not None and mode == throughput.ON_DEMAND:
        raise ValidationError(messages.units_on_demand() if override is not None else messages.UNITS_WITHOUT_MODE)
    if units is None and mode == throughput.PROVISIONED and throughput.billing_mode(source) != mode:
        raise ValidationError(messages.UNITS_MISSING)


def _check_maxima(maxima: dict[str, Any] | None, mode: str, index: str | None) -> None:
    for member in throughput.MAXIMA:
        maximum = (maxima or {}).get(member)
        if maximum is None:
            continue
        if mode == throughput.PROVISIONED:
            raise ValidationError(messages.maximum_provisioned(member, index))
        if maximum < 1:
            raise ValidationError(messages.maximum_out_of_range(member, index))


def _capacity(source: Description, request: Request, mode: str) -> Request:
    """Return the capacity parameters of a CreateTable request for a table or index with the billing mode `mode`.

    The values come from `request` or, if they are missing there, from `source`.
    """
    if mode == throughput.PROVISIONED:
        units = request.get("ProvisionedThroughputOverride")
        source_units = throughput.only_units(source["ProvisionedThroughput"])
        return {"ProvisionedThroughput": source_units if units is None else units}
    maxima = request.get("OnDemandThroughputOverride")
    return {"OnDemandThroughput": maxima if maxima is not None else source.get("OnDemandThroughput")}


def _global_indexes(source: Description, request: Request, mode: str) -> list[Request]:
    existing, overrides = source.get("GlobalSecondaryIndexes", []), request.get("GlobalSecondaryIndexOverride")
    if overrides is not None:
        _check_matched(overrides, existing)
        for index in overrides:
            _check_index(index, request, mode)
        return list(overrides)
    if mode == throughput.PROVISIONED and throughput.billing_mode(source) != mode:
        for index in existing:
            raise ValidationError(messages.index_units_missing(index["IndexName"]))
    return [{**documents.bare_index(index), **_capacity(index, {}, mode)} for index in existing]


def _check_index(index: Request, request: Request, mode: str) -> None:
    name, units = index["IndexName"], index.get("ProvisionedThroughput")
    if index.get("WarmThroughput") is not None:
        raise ValidationError(messages.index_warm(name))
    if mode == throughput.PROVISIONED and units is None:
        raise ValidationError(messages.index_units_missing(name))
    if mode == throughput.ON_DEMAND and units is not None:
        overridden = request.get("BillingModeOverride") is not None
        raise ValidationError(messages.units_on_demand(name) if overridden else messages.index_units_without_mode(name))
    _check_maxima(index.get("OnDemandThroughput"), mode, name)


def _local_indexes(source: Description, request: Request) -> list[Request]:
    existing, overrides = source.get("LocalSecondaryIndexes", []), request.get("LocalSecondaryIndexOverride")
    if overrides is None:
        return [documents.bare_index(index) for index in existing]
    _check_matched(overrides, existing)
    return list(overrides)


def _check_matched(overrides: Iterable[Request], existing: Iterable[Description]) -> None:
    """Raise ValidationError unless each index in `overrides` matches a different index of the source."""
    candidates = [documents.bare_index(index) for index in existing]
    for index in overrides:
        match = next((candidate for candidate in candidates if _shape(candidate) == _shape(index)), None)
        if match is None:
            raise ValidationError(messages.index_unmatched(index["IndexName"]))
        candidates.remove(match)


def _shape(index: Request) -> tuple[Any, ...]:
    projection = index["Projection"]
    attributes = projection.get("NonKeyAttributes") or ()
    return documents.key_schema(index["KeySchema"]), projection.get("ProjectionType"), sorted(attributes)


def _check_names(indexes: list[Request]) -> None:
    names: set[str] = set()
    for index in indexes:
        if index["IndexName"] in names:
            raise ValidationError(table_messages.duplicate_index(index["IndexName"]))
        names.add(index["IndexName"])


def _definitions(source: Description, indexes: list[Request]) -> list[dict[str, str]]:
    """Return the definitions of the attributes that are keys of the table or of the selected indexes."""
    schemas = [source["KeySchema"], *(index["KeySchema"] for index in indexes)]
    used = {element["AttributeName"] for schema in schemas for element in schema}
    return [definition for definition in source["AttributeDefinitions"] if definition["AttributeName"] in used]


def _encryption(source: Description, request: Request) -> Request:
    override: Request | None = request.get("SSESpecificationOverride")
    if override is not None:
        return override
    current = source.get("SSEDescription")
    return {} if current is None else {"SSEType": "KMS", "KMSMasterKeyId": current["KMSMasterKeyArn"]}
