"""The stored documents of tables, which CreateTable creates and DeleteTable removes.

`catalog` parses a document. `descriptions` documents the members that determine states. Other members:

    description        DescribeTable result without states and counts
    tree               number of the tree (a sorted set of rows) that contains the items
    index_trees        numbers of the trees that contain index entries, by index
    collections_tree   number of the tree of item collection sizes, for tables with local indexes
    stream, expiry     see `catalog.Stream`, `catalog.Expiry`
    recovery           see `catalog.Recovery`
    copies             numbers of the trees in which writes save earlier item versions; see `copies`
    rows_kept          the table is being deleted, and its rows belong to a backup
    tags               tag values by key
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import tables as messages
from keyplan.engine.backups import copies
from keyplan.engine.store.rows import Transaction, Tree
from keyplan.engine.streams import logs
from keyplan.engine.tables import backfill, descriptions, tags, throughput
from keyplan.engine.tables.catalog import Table, table_name
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

_DEFAULT_KEY = "alias/aws/dynamodb"


def create(
    database: Database, transaction: Transaction, description: dict[str, Any], request: dict[str, Any]
) -> dict[str, Any]:
    """Create the trees and the stream of a new table in the store, and return the table's document."""
    document: dict[str, Any] = {
        "description": description,
        "tree": transaction.create_tree().number,
        "index_trees": {},
        "tags": tags.merge_tags({}, request.get("Tags") or []),
        "ready_at": database.clock.now() + database.settings.state_delay_s,
    }
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for index in description.get(member, ()):
            document["index_trees"][index["IndexName"]] = transaction.create_tree().number
    if "LocalSecondaryIndexes" in description:
        document["collections_tree"] = transaction.create_tree().number
    stream = request.get("StreamSpecification") or {}
    if stream.get("StreamEnabled"):
        logs.begin_stream(database, transaction, document, stream["StreamViewType"])
    return document


def drop(database: Database, transaction: Transaction, table: Table) -> None:
    """Delete a table and its data, except for stream records and rows that belong to a backup."""
    trees = [index.tree for index in table.indexes.values()]
    if not table.document.get("rows_kept"):
        trees.append(table.tree)
    if table.collections is not None:
        trees.append(table.collections)
    if table.expiry is not None:
        trees.append(table.expiry.tree)
    if table.recovery is not None:
        trees.append(table.recovery.tree)
    for tree in trees:
        drop_tree(database, transaction, tree)
    # Copy the document, because the cached table, which uses it, must not change if this transaction is rolled back.
    document = {**table.document, "description": dict(table.document["description"])}
    logs.end_stream(transaction, document, database.clock.now())
    database.catalog.remove(transaction, table.name)


def drop_tree(database: Database, transaction: Transaction, tree: Tree) -> None:
    """Delete a tree of rows, the progress of its backfill and its cached count."""
    copies.drop_tree(transaction, tree)
    backfill.delete_progress(transaction, tree)
    database.counts.discard(tree)


def purge(database: Database, transaction: Transaction) -> None:
    """Delete tables whose deletion has ended, and streams whose records are not readable any longer."""
    now = database.clock.now()
    for table in database.catalog.tables():
        if descriptions.is_deleted(table, now):
            drop(database, transaction, table)
    logs.purge(transaction, now)


def describe_new(database: Database, request: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a new table. Raises ValidationError for invalid throughput or encryption settings."""
    name = table_name(request["TableName"])
    arn = descriptions.table_arn(database, name)
    mode = request.get("BillingMode") or throughput.PROVISIONED
    created_at = round(database.clock.now(), 3)
    description: dict[str, Any] = {
        "AttributeDefinitions": definitions(request["AttributeDefinitions"]),
        "TableName": name,
        "KeySchema": key_schema(request["KeySchema"]),
        "CreationDateTime": created_at,
        "TableArn": arn,
        "TableId": str(uuid.UUID(int=database.clock.random.getrandbits(128), version=4)),
        "DeletionProtectionEnabled": bool(request.get("DeletionProtectionEnabled")),
        **throughput.describe_new(request, mode),
    }
    if mode == throughput.ON_DEMAND:
        description["BillingModeSummary"] = {
            "BillingMode": mode,
            "LastUpdateToPayPerRequestDateTime": created_at,
        }
    if request.get("TableClass"):
        description["TableClassSummary"] = {"TableClass": request["TableClass"]}
    sse = encryption(database, request.get("SSESpecification") or {})
    if sse is not None:
        description["SSEDescription"] = sse
    local_indexes, global_indexes = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    if local_indexes:
        description["LocalSecondaryIndexes"] = [_index(index, arn) for index in local_indexes]
    if global_indexes:
        description["GlobalSecondaryIndexes"] = [global_index(index, arn, mode) for index in global_indexes]
    return description


def definitions(attributes: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the AttributeDefinitions for a description, sorted by name as in DynamoDB."""
    elements = [{name: attribute[name] for name in ("AttributeName", "AttributeType")} for attribute in attributes]
    return sorted(elements, key=lambda attribute: attribute["AttributeName"])


def key_schema(elements: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the KeySchema for a description, with the members of each element in DynamoDB's order."""
    return [{name: element[name] for name in ("AttributeName", "KeyType")} for element in elements]


def global_index(request: dict[str, Any], arn: str, mode: str) -> dict[str, Any]:
    """Return the description of a new global index. Raises ValidationError for invalid throughput settings."""
    return {**_index(request, arn), **throughput.describe_new(request, mode, request["IndexName"])}


def _index(request: dict[str, Any], arn: str) -> dict[str, Any]:
    projection = {"ProjectionType": request["Projection"]["ProjectionType"]}
    attributes = request["Projection"].get("NonKeyAttributes")
    if attributes is not None:
        projection["NonKeyAttributes"] = sorted(attributes)
    return {
        "IndexName": request["IndexName"],
        "KeySchema": key_schema(request["KeySchema"]),
        "Projection": projection,
        "IndexArn": f"{arn}/index/{request['IndexName']}",
    }


def bare_index(description: dict[str, Any]) -> dict[str, Any]:
    """Return an index description with only the name, key schema and projection of the index."""
    return {name: description[name] for name in ("IndexName", "KeySchema", "Projection")}


def encryption(database: Database, specification: dict[str, Any]) -> dict[str, Any] | None:
    """Return the SSEDescription for an SSESpecification, or None if the default key is used.

    Raises ValidationError if the specification is invalid.
    """
    enabled, kind, key = specification.get("Enabled"), specification.get("SSEType"), specification.get("KMSMasterKeyId")
    if enabled is False:
        for member in ("SSEType", "KMSMasterKeyId"):
            if specification.get(member) is not None:
                raise ValidationError(messages.encryption_disabled(member))
        return None
    if kind == "AES256":
        raise ValidationError(messages.AES_UNSUPPORTED)
    if key is not None and kind is None:
        raise ValidationError(messages.KEY_WITHOUT_TYPE)
    if not enabled and kind is None:
        return None
    return {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": _key_arn(database, key or _DEFAULT_KEY)}


def _key_arn(database: Database, key: str) -> str:
    """Return the ARN of a KMS key, given its ARN, alias or ID.

    DynamoDB resolves an alias when the table is created or changed. The engine does not have a key management service,
    so each alias refers to a different key with a fixed ARN.
    """
    base = f"arn:aws:kms:{database.settings.region}:{database.settings.account}:"
    key_arn = key if key.startswith("arn:") else base + (key if key.startswith("alias/") else f"key/{key}")
    if not key_arn.split(":")[-1].startswith("alias/"):
        return key_arn
    return f"{base}key/{uuid.uuid5(uuid.NAMESPACE_URL, key_arn)}"
