"""CreateTable: create a table with its indexes, stream and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import tables as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes, table_rules
from keyplan.engine.operations.table_rules import with_billing_mode
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import descriptions, documents
from keyplan.engine.tables.catalog import table_name
from keyplan.engine.tables.throughput import PROVISIONED
from keyplan.errors import ResourceInUseError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "CreateTableInput",
    {
        "AttributeDefinitions": shapes.ATTRIBUTE_DEFINITIONS,
        "TableName": shapes.NEW_TABLE_NAME,
        "KeySchema": shapes.KEY_SCHEMA,
        "LocalSecondaryIndexes": shapes.LOCAL_INDEXES,
        "GlobalSecondaryIndexes": shapes.GLOBAL_INDEXES,
        "BillingMode": shapes.BILLING_MODE,
        "TableThroughputMode": shapes.BILLING_MODE,
        "ProvisionedThroughput": shapes.PROVISIONED_THROUGHPUT,
        "StreamSpecification": shapes.STREAM_SPECIFICATION,
        "SSESpecification": shapes.SSE_SPECIFICATION,
        "Tags": shapes.TAGS,
        "TableClass": shapes.TABLE_CLASS,
        "DeletionProtectionEnabled": shapes.FLAG,
        "WarmThroughput": shapes.WARM_THROUGHPUT,
        "OnDemandThroughput": shapes.ON_DEMAND_THROUGHPUT,
    },
    required=("AttributeDefinitions", "KeySchema"),
    hidden=3,
    leading_member=shapes.LEADING_TABLE_NAME,
    unsupported=("ResourcePolicy", "GlobalTableSourceArn", "GlobalTableSettingsReplicationMode", "VectorIndexes"),
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if the table that a CreateTable request defines is invalid."""
    table_rules.check_table_class(request.get("TableClass"))
    billing_mode = request.get("BillingMode") or PROVISIONED
    table_rules.check_table_capacity(request, billing_mode)
    definitions = table_rules.names_of(request["AttributeDefinitions"])
    schema = request["KeySchema"]
    table_rules.check_table_keys(schema, definitions)
    table_rules.check_definitions(definitions)
    local, global_ = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    if local is None and global_ is None and len(schema) != len(definitions):
        raise ValidationError(messages.DEFINITIONS_COUNT)
    _check_index_lists(local, global_, schema)
    indexes = [*(local or ()), *(global_ or ())]
    _check_index_keys(indexes, global_ or (), schema, definitions)
    names: set[str] = set()
    _check_local_indexes(local or (), schema, names)
    _check_global_indexes(global_ or (), names, billing_mode)
    if sum(len(index["Projection"].get("NonKeyAttributes") or ()) for index in indexes) > limits.PROJECTED_ATTRIBUTES:
        raise ValidationError(messages.too_many_projected(limits.PROJECTED_ATTRIBUTES))
    table_rules.check_stream(request.get("StreamSpecification"), of_new_table=True)


def _check_index_lists(
    local: Sequence[dict[str, Any]] | None, global_: Sequence[dict[str, Any]] | None, schema: Sequence[dict[str, Any]]
) -> None:
    """Raise ValidationError for an empty list of indexes, or for local indexes on a table without a sort key."""
    if local is not None:
        if not local:
            raise ValidationError(messages.index_list_empty("LocalSecondaryIndexes"))
        if len(schema) == 1:
            raise ValidationError(messages.TABLE_WITHOUT_RANGE)
    if global_ is not None and not global_:
        raise ValidationError(messages.index_list_empty("GlobalSecondaryIndexes"))


def _check_index_keys(
    indexes: Sequence[dict[str, Any]],
    global_: Sequence[dict[str, Any]],
    schema: Sequence[dict[str, Any]],
    definitions: Sequence[str],
) -> None:
    """Raise ValidationError unless every index key attribute has an attribute definition and every definition is used.

    DynamoDB performs this check before other checks of an index. An attribute that occurs twice in a global index key
    is reported before an unused definition.
    """
    used = dict.fromkeys(table_rules.names_of(schema))
    for index in indexes:
        table_rules.check_defined(index["KeySchema"], definitions)
        used.update(dict.fromkeys(table_rules.names_of(index["KeySchema"])))
    for index in global_:
        table_rules.check_distinct_keys(index)
    if any(name not in used for name in definitions):
        raise ValidationError(messages.definitions_unused(definitions, used))


def _check_local_indexes(indexes: Sequence[dict[str, Any]], schema: Sequence[dict[str, Any]], names: set[str]) -> None:
    for index in indexes:
        table_rules.check_local_index(index, schema[0]["AttributeName"])
        _check_name(index["IndexName"], names)
    if len(indexes) > limits.LOCAL_INDEXES:
        raise ValidationError(messages.too_many_local_indexes(limits.LOCAL_INDEXES))


def _check_global_indexes(indexes: Sequence[dict[str, Any]], names: set[str], billing_mode: str) -> None:
    for index in indexes:
        table_rules.check_global_index(index)
        _check_name(index["IndexName"], names)
    if len(indexes) > limits.GLOBAL_INDEXES:
        raise ValidationError(messages.too_many_global_indexes(limits.GLOBAL_INDEXES))
    for index in indexes:
        table_rules.check_index_capacity(index, billing_mode)


def _check_name(name: str, names: set[str]) -> None:
    if name in names:
        raise ValidationError(messages.duplicate_index(name))
    names.add(name)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run CreateTable: check the request and create the table in one transaction."""
    request = with_billing_mode(request)
    check(request)
    name = table_name(request["TableName"])
    description = documents.describe_new(database, request)

    def create(transaction: Transaction) -> dict[str, Any]:
        documents.purge(database, transaction)
        _check_free(database, name)
        table = database.catalog.save(transaction, documents.create(database, transaction, description, request))
        return descriptions.describe(database, transaction, table, descriptions.PENDING)

    table_description = database.alter(create)
    _remove_members(table_description, request)
    return {"TableDescription": table_description}


def _check_free(database: Database, name: str) -> None:
    existing = descriptions.find_existing(database, name)
    if existing is None:
        return
    creating = descriptions.status(existing, database.clock.now()) == "CREATING"
    raise ResourceInUseError(messages.being_created(name) if creating else messages.table_exists(name))


def _remove_members(response: dict[str, Any], request: dict[str, Any]) -> None:
    """Remove the members of the response that DynamoDB returns only after the table has become active."""
    for member in descriptions.MODE_SUMMARIES:
        response.get(member, {}).pop("LastUpdateToPayPerRequestDateTime", None)
    indexes = {index["IndexName"]: index for index in request.get("GlobalSecondaryIndexes") or ()}
    if not request.get("WarmThroughput"):
        del response["WarmThroughput"]
    for index in response.get("GlobalSecondaryIndexes", ()):
        if not indexes[index["IndexName"]].get("WarmThroughput"):
            del index["WarmThroughput"]
