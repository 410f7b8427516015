"""Imports of files into new tables. An operation starts an import, and a background thread reads the files.

The table is created at the start of the import, with the status CREATING until the import has ended. Clients cannot
read or write the table until then. Items are written in batches. Each transaction also stores the progress of the
import, so that the import can continue after a crash. If several items have the same key, the last one replaces the
others.

Sources: developer guide, "DynamoDB data import from Amazon S3: how it works" and "Import format quotas and validation";
API reference. Details that are not in the guide were observed in DynamoDB in 2026.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items import versions, writes
from keyplan.engine.store.rows import StoreView, Transaction
from keyplan.engine.tables import documents
from keyplan.engine.tables.catalog import Table, stored_table
from keyplan.engine.transfer import import_files, jobs
from keyplan.engine.transfer.buckets import BucketError, Buckets
from keyplan.engine.transfer.errors import TransferError
from keyplan.engine.transfer.import_files import CsvOptions, MalformedError, RejectedItem
from keyplan.engine.transfer.jobs import Document, JobClaim
from keyplan.errors import SerializationError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

NOT_BEFORE_END = 1e12
"""The value of `ready_at` for a table that an import is still filling. It is later than any current time."""

BATCH_ITEMS = 500
BATCH_BYTES = limits.MIB
LOGGED_ERRORS = 10_000

ITEM_VALIDATION = "ItemValidationError"

_Write = tuple[bytes, Item, versions.Version]

_log = logging.getLogger(__name__)


def run(database: Database, document: Document, claim: JobClaim) -> None:
    """Import all objects of the import's source, and end the import.

    Raises TransferError if the import fails, StoppedError if the engine is being closed, and ClaimLostError if another
    process has taken over the import.
    """
    buckets = database.buckets
    assert buckets is not None
    source = document["description"]["S3BucketSource"]
    keys = list(islice(buckets.keys(source["S3Bucket"], source.get("S3KeyPrefix") or ""), limits.IMPORT_OBJECTS + 1))
    if len(keys) > limits.IMPORT_OBJECTS:
        raise TransferError(ITEM_VALIDATION, messages.too_many_objects(limits.IMPORT_OBJECTS))
    table_import = _Import(database, document, claim)
    for key in keys:
        table_import.read(buckets, key)
    table_import.write()
    progress = table_import.progress
    counts = {
        "ProcessedItemCount": progress.imported + progress.errors,
        "ImportedItemCount": progress.imported,
        "ErrorCount": progress.errors,
        "ProcessedSizeBytes": progress.size,
    }
    if progress.errors:
        assert progress.first_error is not None
        failure = messages.items_failed(source["S3Bucket"], *progress.first_error)
        _end(database, claim, jobs.FAILED, **counts, FailureCode=ITEM_VALIDATION, FailureMessage=failure)
    else:
        _end(database, claim, jobs.COMPLETED, **counts)


def fail(database: Database, claim: JobClaim, code: str, message: str) -> None:
    """End an import as FAILED, with a failure code and message, and delete the table unless items have been imported.

    Raises ClaimLostError if another process has taken over the import.
    """
    _end(database, claim, jobs.FAILED, FailureCode=code, FailureMessage=message)


def _end(database: Database, claim: JobClaim, status: str, **members: Any) -> None:
    def finish(transaction: Transaction) -> None:
        document = claim.finish(transaction, status, **members)
        table = _importing_table(transaction, document)
        if table is None:
            return
        if status == jobs.FAILED and "ErrorCount" not in members and not document["progress"]["imported"]:
            documents.drop(database, transaction, table)
            return
        table_document = {name: value for name, value in table.document.items() if name != "import"}
        database.catalog.save(
            transaction, {**table_document, "ready_at": database.clock.now() + database.settings.state_delay_s}
        )

    database.alter(finish)


def _importing_table(view: StoreView, document: Document) -> Table | None:
    """Return the table of an import, or None if the table was dropped."""
    table = stored_table(view, document["table"])
    return table if table is not None and table.document.get("import") == jobs.arn_of(document) else None


@dataclass
class ImportProgress:
    """The progress of an import: all objects with keys before `key` have been imported, as well as the first `entries`
    items of the object with the key `key`.
    """

    key: str = ""
    entries: int = 0
    imported: int = 0
    errors: int = 0
    size: int = 0
    first_error: tuple[str, int, list[str]] | None = None

    def document(self) -> dict[str, Any]:
        """Return the progress of the import as a JSON document to be stored."""
        return dict(vars(self))


@dataclass
class _Import:
    """A running import, with its progress and the batch of items to be written next."""

    database: Database
    document: Document
    claim: JobClaim
    progress: ImportProgress = field(init=False)
    table: Table = field(init=False)
    batch: list[_Write] = field(default_factory=list)
    batch_bytes: int = 0

    def __post_init__(self) -> None:
        self.progress = ImportProgress(**self.document["progress"])
        self.table = self._current(self.database.store.view())
        description = self.document["description"]
        self._compression = description["InputCompressionType"]
        self._csv = _csv_of(description, self.table) if description["InputFormat"] == "CSV" else None

    def read(self, buckets: Buckets, key: str) -> None:
        """Import the object with this key, unless it has already been imported."""
        progress = self.progress
        if key < progress.key:
            return
        if key > progress.key:
            progress.key, progress.entries = key, 0
        count = import_files.ByteCount()
        bucket = self.document["description"]["S3BucketSource"]["S3Bucket"]
        try:
            with buckets.reading(bucket, key) as file:
                entries = import_files.entries(file, self._compression, self._csv, count)
                for entry in islice(entries, progress.entries, None):
                    self._add(entry)
        except MalformedError as error:
            self._reject(str(error))
        except (OSError, BucketError) as error:
            self._reject(messages.object_unreadable(str(error)))
        progress.size += count.size
        progress.key, progress.entries = key + "\x00", 0  # this object is complete

    def _add(self, entry: import_files.Entry) -> None:
        if isinstance(entry, RejectedItem):
            self._reject(entry)
            return
        try:
            write = _validated_write(self.table, entry)
        except (ValidationError, SerializationError) as error:
            self._reject(error.message)
            return
        self.progress.entries += 1
        self.progress.imported += 1
        self.batch.append(write)
        self.batch_bytes += len(write[2].body)
        if len(self.batch) >= BATCH_ITEMS or self.batch_bytes >= BATCH_BYTES:
            self.write()

    def _reject(self, fault: str) -> None:
        progress = self.progress
        if progress.errors < LOGGED_ERRORS:
            description = self.document["description"]
            bucket = description["S3BucketSource"]["S3Bucket"]
            pointer = {"bucket": bucket, "key": progress.key, "itemIndex": progress.entries}
            entry = {"itemS3Pointer": pointer, "importArn": description["ImportArn"], "errorMessages": [fault]}
            _log.warning("%s", orjson.dumps(entry).decode())
        if progress.first_error is None:
            progress.first_error = (progress.key, progress.entries, [fault])
        progress.entries += 1
        progress.errors += 1
        self.claim.heartbeat()

    def write(self) -> None:
        """Write the current batch of imported items, and store the progress of the import in the same transaction."""
        batch, progress = self.batch, self.progress.document()

        def write_batch(transaction: Transaction) -> None:
            document = self.claim.confirm(transaction)
            _write(transaction, self._current(transaction), batch)
            self.claim.save(transaction, {**document, "progress": progress})

        self.claim.heartbeat()
        self.database.store.write(write_batch)
        self.batch, self.batch_bytes = [], 0

    def _current(self, view: StoreView) -> Table:
        table = _importing_table(view, self.document)
        if table is None:
            raise TransferError("TableNotFoundException", messages.TABLE_TAKEN_AWAY)
        return table


def _csv_of(description: dict[str, Any], table: Table) -> CsvOptions:
    options = (description.get("InputFormatOptions") or {}).get("Csv") or {}
    kinds = {
        name: kind
        for schema in (table.key.schema, *(index.key.schema for index in table.indexes.values()))
        for name, kind in (*schema.partition, *schema.sort)
    }
    return CsvOptions(options.get("Delimiter") or ",", options.get("HeaderList"), kinds)


def _validated_write(table: Table, item: dict[str, Any]) -> _Write:
    """Validate an imported item and return the write for it. Raises ValidationError if the item is invalid for the
    table.
    """
    new = versions.from_item(item, wire=True)
    key = table.key.of_item(new.item)
    writes.check_index_keys(table, new.item)
    return key, new.item, new


def _write(transaction: Transaction, table: Table, batch: list[_Write]) -> None:
    """Write a batch of items and their index entries. No other data must be updated, because a table that is being
    imported does not have a stream or an expiry setting.
    """
    last_writes = {key: (key, item, new) for key, item, new in batch}
    if not table.blind:
        for key, old in _overwritten_items(transaction, table, last_writes):
            versions.delete_blindly(transaction, table, key, old)
    versions.change_blindly(transaction, table, list(last_writes.values()))


def _overwritten_items(
    transaction: Transaction, table: Table, keys: dict[bytes, _Write]
) -> Iterator[tuple[bytes, Item]]:
    """Yield the stored key and the attributes of each existing item that a batch will overwrite. `keys` maps the stored
    keys to the writes of the batch.
    """
    for key in keys:
        old = versions.load(transaction, table, key)
        if old is not None:
            yield key, old.item
