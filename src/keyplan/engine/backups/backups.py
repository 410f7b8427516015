"""Backups: copies of a table's rows and definition as of one point in time. A backup remains after its table is
deleted.

A backup consists of a stored JSON document named `backup:` plus its ARN, and a separate tree (a sorted set of rows in
the store) with the rows as of the transaction that created it (see `copies`). Users create and delete backups. When a
table with point-in-time recovery is deleted, the engine creates a system backup, which keeps the rows of the table for
35 days. Members of a document:

    arn, name          ARN and name of the backup
    type               USER or SYSTEM
    created_at         time as of which the rows are backed up
    ready_at           time until which the backup is CREATING; unknown until all rows are copied
    expires_at         time at which the backup expires, or None if it never expires
    description        the DescribeTable result for the table, without states and item counts
    expiry             name of the time to live attribute, or None
    tree               number of the tree that contains the rows
    items, size_bytes  number and total size of the rows, known when the backup is ready

Source: developer guide, "Backup and restore for DynamoDB". The format of ARNs, the order of lists and the states of
backups were observed in DynamoDB in October 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.engine.backups import copies
from keyplan.engine.store import statements
from keyplan.engine.store.rows import StoreView, Transaction, Tree
from keyplan.engine.tables import descriptions, documents, throughput
from keyplan.engine.tables.catalog import Table, parse
from keyplan.errors import AccessDeniedError, BackupNotFoundError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

Document = dict[str, Any]

DOCUMENT_PREFIX = "backup:"
USER, SYSTEM = "USER", "SYSTEM"
_SYSTEM_NAME = "{}$DeletedTableBackup"
_SYSTEM_ID = "00000000"

_ARN = re.compile(
    r"arn:(?P<partition>[^:]*):(?P<service>[^:]*):(?P<region>[^:]*):(?P<account>[^:]*)"
    r":table/[a-zA-Z0-9_.-]+/backup/[0-9]+-[0-9a-f]+"
)


# Creation and removal.


def create(database: Database, transaction: Transaction, table: Table, name: str) -> Document:
    """Start a backup of a table as part of a `Database.alter` transaction, and return the backup's stored document."""
    members = {"name": name, "type": USER, "ready_at": copies.NOT_BEFORE_END, "expires_at": None}
    tree = transaction.create_tree()
    document = _create(database, transaction, table, {**members, "tree": tree.number, "items": 0, "size_bytes": 0})
    document_name = DOCUMENT_PREFIX + document["arn"]
    copies.begin(database, transaction, document["arn"], tree, table, result_document=document_name)
    return document


def create_system_backup(database: Database, transaction: Transaction, table: Table) -> None:
    """Create the system backup of a table with point-in-time recovery that is about to be deleted, as DynamoDB does.

    The table's tree of rows becomes part of the backup, so the caller must delete the table without dropping that tree.
    """
    now = database.clock.now()
    items, size_bytes = transaction.totals(table.tree)
    members = {
        "name": _SYSTEM_NAME.format(table.name),
        "type": SYSTEM,
        "ready_at": now,
        "expires_at": now + limits.SYSTEM_BACKUP_RETENTION_S,
        "tree": table.tree.number,
        "items": items,
        "size_bytes": size_bytes,
    }
    _create(database, transaction, table, members)


def _create(database: Database, transaction: Transaction, table: Table, members: Document) -> Document:
    created_at = round(database.clock.now(), 3)
    document = {
        "arn": _new_arn(database, transaction, table, members["type"], created_at),
        **members,
        "created_at": created_at,
        "description": table.document["description"],
        "expiry": table.expiry and table.expiry.attribute,
    }
    transaction.put_document(DOCUMENT_PREFIX + document["arn"], orjson.dumps(document))
    return document


def _new_arn(database: Database, view: StoreView, table: Table, kind: str, created_at: float) -> str:
    """Return an unused ARN for a new backup.

    The ARN ends with the creation time in epoch milliseconds and eight hexadecimal digits, which are zeros for a SYSTEM
    backup.
    """
    number = round(created_at * 1000)
    while True:
        suffix = _SYSTEM_ID if kind == SYSTEM else f"{database.clock.random.getrandbits(32):08x}"
        arn = f"{descriptions.table_arn(database, table.name)}/backup/{number:014d}-{suffix}"
        if view.document(DOCUMENT_PREFIX + arn) is None:
            return arn
        number += kind == SYSTEM  # a deleted table of the same name may have this ARN


def drop(transaction: Transaction, document: Document) -> None:
    """Delete a backup and its rows, given the backup's document."""
    copies.drop_tree(transaction, tree_of(document))
    transaction.delete_document(DOCUMENT_PREFIX + document["arn"])


def purge(transaction: Transaction, now: float) -> int:
    """Delete expired backups and return their number."""
    expired = [document for document in all_backups(transaction) if is_expired(document, now)]
    for document in expired:
        drop(transaction, document)
    return len(expired)


# Lookup.


def all_backups(view: StoreView) -> list[Document]:
    """Return the stored documents of all backups, including expired ones, sorted by table and then by age."""
    return [orjson.loads(body) for _, body in view.documents(DOCUMENT_PREFIX)]


def reload(view: StoreView, document: Document) -> Document:
    """Return the current document of a backup from the store, or the given document if the backup has been deleted."""
    body = view.document(DOCUMENT_PREFIX + document["arn"])
    current: Document = document if body is None else orjson.loads(body)
    return current


def find(database: Database, view: StoreView, arn: str) -> Document:
    """Return the document of the backup with this ARN.

    Raises ValidationError or AccessDeniedError for an invalid ARN, and BackupNotFoundError if the backup does not exist
    or has expired.
    """
    check_arn(database, arn)
    body = view.document(DOCUMENT_PREFIX + arn)
    document: Document | None = None if body is None else orjson.loads(body)
    if document is None or is_expired(document, database.clock.now()):
        raise BackupNotFoundError(messages.backup_not_found(arn))
    return document


def check_arn(database: Database, arn: str) -> str:
    """Check a backup ARN and return its Region.

    Raises ValidationError for a malformed ARN, and AccessDeniedError if the ARN has no Region or belongs to another
    account.
    """
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise ValidationError(messages.INVALID_BACKUP_ARN)
    if parts["partition"] != "aws" or parts["service"] != "dynamodb":
        raise ValidationError(messages.BACKUP_ARN_NOT_VALID)
    if not parts["region"] or parts["account"] != database.settings.account:
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    return parts["region"]


def is_expired(document: Document, now: float) -> bool:
    """Return True if the backup has expired at the time `now`."""
    expires_at: float | None = document["expires_at"]
    return expires_at is not None and expires_at <= now


def is_ready(document: Document, now: float) -> bool:
    """Return True if the status of the backup is AVAILABLE at the time `now`."""
    ready_at: float = document["ready_at"]
    return ready_at <= now


def is_in_progress(document: Document) -> bool:
    """Return True if some rows have not been copied into the backup yet."""
    ready_at: float = document["ready_at"]
    return ready_at == copies.NOT_BEFORE_END


def is_restoring(database: Database, arn: str) -> bool:
    """Return True if a table is being restored from the backup, according to the last reload of the catalog."""
    now = database.clock.now()
    return any(
        table.document.get("restore", {}).get("SourceBackupArn") == arn
        and descriptions.status(table, now) == "CREATING"
        for table in database.catalog.tables()
    )


def table_of(document: Document) -> Table:
    """Return the definition of the backed-up table, without its indexes. The definition is sufficient to compute the
    stored keys of items.
    """
    index_members = ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
    description = {name: value for name, value in document["description"].items() if name not in index_members}
    return parse({"description": description, "tree": document["tree"], "index_trees": {}})


def tree_of(document: Document) -> Tree:
    """Return the tree (sorted set of rows) that contains the backup's rows."""
    return statements.tree(document["tree"])


# Descriptions.


def details(document: Document, time_s: float) -> dict[str, Any]:
    """Return the BackupDetails of a backup as of the time `time_s`. If `time_s` is `descriptions.PENDING`, the status
    is CREATING.
    """
    details = {
        "BackupArn": document["arn"],
        "BackupName": document["name"],
        "BackupSizeBytes": document["size_bytes"],
        "BackupStatus": "AVAILABLE" if is_ready(document, time_s) else "CREATING",
        "BackupType": document["type"],
        "BackupCreationDateTime": document["created_at"],
    }
    if document["expires_at"] is not None:
        details["BackupExpiryDateTime"] = round(document["expires_at"], 3)
    return details


def summary(document: Document, time_s: float) -> dict[str, Any]:
    """Return the BackupSummary of a backup as of the time `time_s`."""
    table = document["description"]
    return {**{name: table[name] for name in ("TableName", "TableId", "TableArn")}, **details(document, time_s)}


def describe(document: Document, time_s: float) -> dict[str, Any]:
    """Return the BackupDescription of a backup as of the time `time_s`."""
    return {
        "BackupDetails": details(document, time_s),
        "SourceTableDetails": _table(document),
        "SourceTableFeatureDetails": _features(document),
    }


def _table(document: Document) -> dict[str, Any]:
    source = document["description"]
    return {
        **{name: source[name] for name in ("TableName", "TableId", "TableArn", "KeySchema")},
        "TableCreationDateTime": source["CreationDateTime"],
        "TableSizeBytes": document["size_bytes"],
        "ItemCount": document["items"],
        "BillingMode": throughput.billing_mode(source),
        **_throughput(source),
    }


def _throughput(description: dict[str, Any]) -> dict[str, Any]:
    capacity: dict[str, Any] = {"ProvisionedThroughput": throughput.only_units(description["ProvisionedThroughput"])}
    if "OnDemandThroughput" in description:
        capacity["OnDemandThroughput"] = description["OnDemandThroughput"]
    return capacity


def _features(document: Document) -> dict[str, Any]:
    """Return the SourceTableFeatureDetails of a backup: the source table's indexes, stream, time to live and
    encryption.
    """
    source = document["description"]
    features: dict[str, Any] = {}
    if "LocalSecondaryIndexes" in source:
        features["LocalSecondaryIndexes"] = [documents.bare_index(index) for index in source["LocalSecondaryIndexes"]]
    if "GlobalSecondaryIndexes" in source:
        features["GlobalSecondaryIndexes"] = [
            {**documents.bare_index(index), **_throughput(index)} for index in source["GlobalSecondaryIndexes"]
        ]
    if "StreamSpecification" in source:
        features["StreamDescription"] = source["StreamSpecification"]
    if document["expiry"] is not None:
        features["TimeToLiveDescription"] = {"TimeToLiveStatus": "ENABLED", "AttributeName": document["expiry"]}
    if "SSEDescription" in source:
        features["SSEDescription"] = source["SSEDescription"]
    return features
