"""UpdateTable: change a table's capacity, stream, table class, encryption, deletion protection and global indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import tables as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes, table_rules
from keyplan.engine.operations.table_rules import with_billing_mode
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import admission, backfill, descriptions, throughput
from keyplan.engine.tables import updates as table_updates
from keyplan.engine.tables.catalog import Table
from keyplan.errors import LimitExceededError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "UpdateTableInput",
    {
        "AttributeDefinitions": shapes.ATTRIBUTE_DEFINITIONS,
        "TableName": shapes.NEW_TABLE_NAME,
        "BillingMode": shapes.BILLING_MODE,
        "TableThroughputMode": shapes.BILLING_MODE,
        "ProvisionedThroughput": shapes.PROVISIONED_THROUGHPUT,
        "GlobalSecondaryIndexUpdates": shapes.GLOBAL_INDEX_UPDATES,
        "StreamSpecification": shapes.STREAM_SPECIFICATION,
        "SSESpecification": shapes.SSE_SPECIFICATION,
        "TableClass": shapes.TABLE_CLASS,
        "DeletionProtectionEnabled": shapes.FLAG,
        "OnDemandThroughput": shapes.ON_DEMAND_THROUGHPUT,
        "WarmThroughput": shapes.WARM_THROUGHPUT,
    },
    hidden=5,
    leading_member=shapes.LEADING_TABLE_NAME,
    unsupported=(
        "ReplicaUpdates",
        "MultiRegionConsistency",
        "GlobalTableWitnessUpdates",
        "GlobalTableSettingsReplicationMode",
        "DisassociationProtectionEnabled",
        "VectorIndexUpdates",
    ),
)

_CHANGES = tuple(name for name in SHAPE.members if name not in ("TableName", "AttributeDefinitions"))
_KINDS = ("Update", "Create", "Delete")


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if an UpdateTable request contains no changes, invalid changes, or changes that cannot be
    combined.
    """
    # A request without changes is rejected. An empty list of index updates is not a change.
    if not any(request.get(name) not in (None, []) for name in _CHANGES):
        raise ValidationError(messages.UPDATE_NOTHING)
    table_rules.check_table_class(request.get("TableClass"))
    billing_mode = request.get("BillingMode")
    if billing_mode is None:
        table_rules.check_bounds(request.get("ProvisionedThroughput"))
    else:
        table_rules.check_switch(request, billing_mode)
    names: set[str] = set()
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        _check_update(update, request, names)
    table_rules.check_stream(request.get("StreamSpecification"), of_new_table=False)


def _check_update(update: dict[str, Any], request: dict[str, Any], names: set[str]) -> None:
    kinds = [kind for kind in _KINDS if update.get(kind) is not None]
    if not kinds:
        raise ValidationError(messages.INDEX_UPDATE_EMPTY)
    if len(kinds) > 1:
        raise ValidationError(messages.INDEX_UPDATE_SEVERAL)
    change = update[kinds[0]]
    name = change["IndexName"]
    if name in names:
        raise ValidationError(messages.index_updated_twice(name))
    names.add(name)
    if kinds[0] == "Create":
        _check_new_index(change, request.get("AttributeDefinitions"))
        table_rules.check_bounds(change.get("ProvisionedThroughput"), name)
    if kinds[0] == "Update" and _is_empty(change.get("WarmThroughput")):
        raise ValidationError(messages.index_warm_empty(name))


def _check_new_index(index: dict[str, Any], definitions: list[dict[str, Any]] | None) -> None:
    if definitions is None:
        raise ValidationError(messages.definitions_missing(index["IndexName"]))
    table_rules.check_defined(index["KeySchema"], table_rules.names_of(definitions))
    table_rules.check_global_index(index)


def _is_empty(structure: dict[str, Any] | None) -> bool:
    """Return True if the structure is present in the request but has no members."""
    return structure is not None and all(content is None for content in structure.values())


def check_late(request: dict[str, Any]) -> None:
    """Run the checks of an UpdateTable request that DynamoDB makes after it has found the table.

    Raises LimitExceededError if the request creates or deletes more than one index, and ValidationError if the capacity
    of an index is too high.
    """
    updates = request.get("GlobalSecondaryIndexUpdates") or ()
    if sum(update.get("Update") is None for update in updates) > 1:
        raise LimitExceededError(messages.INDEXES_AT_ONCE)
    for update in updates:
        table_rules.check_known_index((update.get("Update") or {}).get("ProvisionedThroughput"))


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run UpdateTable: check the request, find the table, change it in one transaction, and start the backfill of a new
    index.
    """
    request = with_billing_mode(request)
    check(request)
    table_updates.check_combination(request)

    def change_table(transaction: Transaction) -> tuple[dict[str, Any], list[str]]:
        table = descriptions.find_cached(database, request["TableName"])
        _check_admitted(database, table, request)
        document = descriptions.settle(table.document, database.clock.now())
        old_mode = throughput.billing_mode(document["description"])
        table_updates.change_table(database, transaction, document, request)
        is_switch = throughput.billing_mode(document["description"]) != old_mode
        new_indexes = table_updates.change_indexes(database, transaction, document, request, is_switch)
        changed_table = database.catalog.save(transaction, document)
        return descriptions.describe(
            database, transaction, changed_table, descriptions.PENDING, writing=True
        ), new_indexes

    descriptions.cache_counts(database, request["TableName"])
    description, new_indexes = database.alter(change_table)
    _show_removed_maxima(description, request.get("OnDemandThroughput") or {})
    for name in new_indexes:
        backfill.begin(database, description["TableName"], name)
    return {"TableDescription": description}


def _show_removed_maxima(description: dict[str, Any], maxima: dict[str, Any]) -> None:
    """Set a removed maximum throughput to -1 in the response, as in the request. Later descriptions of the table omit
    the maximum.
    """
    removed_maxima = {member: maximum for member, maximum in maxima.items() if maximum == throughput.NO_MAXIMUM}
    if removed_maxima:
        description["OnDemandThroughput"] = {**description.get("OnDemandThroughput", {}), **removed_maxima}


def _check_admitted(database: Database, table: Table, request: dict[str, Any]) -> None:
    now = database.clock.now()
    admission.check_state(table, now)
    check_late(request)
    table_updates.check_names(table, request, now)
    deleted = table_updates.deleted_index(request)
    admission.check_change(table, table_updates.requested_changes(table.document, request, now), deleted, now)
