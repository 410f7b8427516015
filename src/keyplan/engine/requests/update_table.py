"""UpdateTable: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import schemas as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import capacity, members, schemas, table_members
from keyplan.errors import LimitExceededError, ValidationError

SHAPE = Structure(
    "UpdateTableInput",
    {
        "AttributeDefinitions": table_members.ATTRIBUTE_DEFINITIONS,
        "TableName": members.NEW_TABLE_NAME,
        "BillingMode": table_members.BILLING_MODE,
        "TableThroughputMode": table_members.BILLING_MODE,
        "ProvisionedThroughput": table_members.PROVISIONED_THROUGHPUT,
        "GlobalSecondaryIndexUpdates": table_members.GLOBAL_INDEX_UPDATES,
        "StreamSpecification": table_members.STREAM_SPECIFICATION,
        "SSESpecification": table_members.SSE_SPECIFICATION,
        "TableClass": table_members.TABLE_CLASS,
        "DeletionProtectionEnabled": members.FLAG,
        "OnDemandThroughput": table_members.ON_DEMAND_THROUGHPUT,
        "WarmThroughput": table_members.WARM_THROUGHPUT,
    },
    hidden=5,
    demanded=members.DEMANDED_TABLE_NAME,
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
    """Rules between members. Raises ValidationError."""
    # An empty list of index changes changes nothing; every other member that is given does.
    if not any(request.get(name) not in (None, []) for name in _CHANGES):
        raise ValidationError(messages.UPDATE_NOTHING)
    schemas.check_table_class(request.get("TableClass"))
    billing_mode = request.get("BillingMode")
    if billing_mode is None:
        capacity.check_bounds(request.get("ProvisionedThroughput"))
    else:
        capacity.check_switch(request, billing_mode)
    names: set[str] = set()
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        _check_update(update, request, names)
    schemas.check_stream(request.get("StreamSpecification"), of_new_table=False)


def _check_update(update: dict[str, Any], request: dict[str, Any], names: set[str]) -> None:
    given = [kind for kind in _KINDS if update.get(kind) is not None]
    if not given:
        raise ValidationError(messages.INDEX_UPDATE_EMPTY)
    if len(given) > 1:
        raise ValidationError(messages.INDEX_UPDATE_SEVERAL)
    change = update[given[0]]
    name = change["IndexName"]
    if name in names:
        raise ValidationError(messages.index_updated_twice(name))
    names.add(name)
    if given[0] == "Create":
        _check_new_index(change, request.get("AttributeDefinitions"))
        capacity.check_bounds(change.get("ProvisionedThroughput"), name)
    if given[0] == "Update" and _is_empty(change.get("WarmThroughput")):
        raise ValidationError(messages.index_warm_empty(name))


def _check_new_index(index: dict[str, Any], definitions: list[dict[str, Any]] | None) -> None:
    if definitions is None:
        raise ValidationError(messages.definitions_missing(index["IndexName"]))
    schemas.check_defined(index["KeySchema"], schemas.names_of(definitions))
    schemas.check_global_index(index)


def _is_empty(structure: dict[str, Any] | None) -> bool:
    """Whether a structure is given, and nothing in it."""
    return structure is not None and all(content is None for content in structure.values())


def check_late(request: dict[str, Any]) -> None:
    """What is looked at once the table is found: one index at a time may be created or deleted.

    Raises LimitExceededError for more, ValidationError for more capacity than an index can have.
    """
    updates = request.get("GlobalSecondaryIndexUpdates") or ()
    if sum(update.get("Update") is None for update in updates) > 1:
        raise LimitExceededError(messages.INDEXES_AT_ONCE)
    for update in updates:
        capacity.check_known_index((update.get("Update") or {}).get("ProvisionedThroughput"))
