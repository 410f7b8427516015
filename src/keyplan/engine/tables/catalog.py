"""Definitions of tables and indexes, and the engine's cache of these definitions.

Each table has a JSON document in the store, which contains the DescribeTable result and the location of the rows. The
document is parsed into an immutable `Table`. A change to a table writes a new document, and a new `Table` replaces the
old one. A counter in the store is incremented with each change, so that other processes can detect changes.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import tables as messages
from keyplan.dynamodb.values import attribute, encoding
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items.keys import IndexKey, KeyAttribute, KeySchema, PrimaryKey
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Log, StoreView, Transaction, Tree
from keyplan.errors import ResourceNotFoundError

DOCUMENT_PREFIX = "table:"
CHANGES = "catalog"

WHOLE_TABLE_NAME = f"[a-zA-Z0-9_.-]{{{limits.TABLE_NAME_MIN},{limits.TABLE_NAME_MAX}}}"
"""A regular expression for a complete table name, for use in a longer pattern."""


class CatalogChanged(Exception):  # noqa: N818 - a signal to start over, never raised outside the engine
    """Raised if a table has changed since the operation looked it up. The operation is then run again."""


@dataclass(frozen=True, slots=True)
class Index:
    """The definition of a secondary index."""

    name: str
    is_global: bool
    key: IndexKey
    projection: str
    """The projection type: ALL, KEYS_ONLY or INCLUDE."""
    attributes: frozenset[str]
    """The names of the attributes that the index projects, including key attributes. Empty for the projection type ALL,
    which projects all attributes.
    """
    tree: Tree
    backfilling: bool = False
    """Whether existing items are still being added to the index. Writes already update the index, but reads must not
    use it yet.
    """

    def project(self, item: Item) -> Item:
        """Return the attributes of an item that the index projects."""
        if self.projection == "ALL":
            return item
        attributes = self.attributes
        return {name: value for name, value in item.items() if name in attributes}

    def row(self, item: Item, size: int, body: bytes) -> tuple[int, bytes]:
        """Return the size and body of the index entry for an item, given the size and body of the item."""
        if self.projection == "ALL":
            return size, body
        projected = self.project(item)
        return attribute.item_bytes(projected), encoding.encode(projected)


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time to live setting of a table: the TTL attribute, and the tree that contains the expiry times of items."""

    attribute: str
    tree: Tree


@dataclass(frozen=True, slots=True)
class Stream:
    """The enabled stream of a table: its ARN, label, view type, log of records, and number of shards."""

    arn: str
    label: str
    view_type: str
    log: Log
    shards: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """The point-in-time recovery setting of a table: the tree of earlier item versions, the time when recovery was
    enabled, and the recovery period.
    """

    tree: Tree
    since_s: float
    days: int


@dataclass(frozen=True, slots=True)
class Table:
    """The definition of a table, with the trees that contain its data."""

    name: str
    document: dict[str, Any] = field(repr=False)
    """The stored document of the table. Its member `description` is the DescribeTable result, and the engine uses the
    other members.
    """
    key: PrimaryKey
    tree: Tree
    indexes: dict[str, Index]
    collections: Tree | None
    """The tree that contains item collection sizes, for tables with local indexes."""
    expiry: Expiry | None
    stream: Stream | None
    recovery: Recovery | None
    copies: tuple[Tree, ...]
    """The trees in which writes save earlier versions of items for unfinished copies of the table."""
    ready_at: float
    """The time in epoch seconds when the table becomes ACTIVE, or 0 if it is already ACTIVE.

    The value is infinity while a restored table still has unfinished backfills.
    """
    gone_at: float | None
    """The time in epoch seconds when the deletion of the table ends, or None if the table is not being deleted."""
    settles_at: float
    """The earliest time, in epoch seconds, at which a new index becomes readable.

    The value is 0 while a backfill is unfinished, because the index can then become readable at any time. The value is
    infinity if the table does not have a new index.
    """
    plain: bool
    """Whether a write to the table changes only the row of the item, and does not affect an index, stream or other
    data.
    """
    blind: bool
    """Whether items of the table can be written without reading their earlier versions.

    This is possible only if the table's key determines the keys of all index entries.
    """


def parse(document: dict[str, Any], *, reads_old_versions: bool = False) -> Table:
    """Return the table that a stored document defines. `reads_old_versions` is documented in `Catalog`."""
    description = document["description"]
    kinds = {
        definition["AttributeName"]: definition["AttributeType"] for definition in description["AttributeDefinitions"]
    }
    primary = _schema(description["KeySchema"], kinds)
    indexes: dict[str, Index] = {}
    # Global indexes come first, because the service names a global index if several indexes reject an item.
    for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
        for index_description in description.get(member, ()):
            index = _index(index_description, is_global, kinds, primary, document)
            indexes[index.name] = index
    collections = document.get("collections_tree")
    expiry = document.get("expiry")
    stream = document.get("stream")
    recovery = document.get("recovery")
    copies = tuple(map(statements.tree, document.get("copies", ())))
    has_dependents = not (expiry is None and stream is None and collections is None and recovery is None and not copies)
    return Table(
        name=description["TableName"],
        document=document,
        key=PrimaryKey(primary),
        tree=statements.tree(document["tree"]),
        indexes=indexes,
        collections=None if collections is None else statements.tree(collections),
        expiry=expiry and Expiry(expiry["attribute"], statements.tree(expiry["tree"])),
        stream=stream
        and Stream(
            stream["arn"], stream["label"], stream["view_type"], statements.log(stream["log"]), stream["shards"]
        ),
        recovery=recovery and Recovery(statements.tree(recovery["tree"]), recovery["since_s"], recovery["days"]),
        copies=copies,
        ready_at=math.inf if document.get("building") else document.get("ready_at", 0.0),
        gone_at=document.get("gone_at"),
        settles_at=_settles_at(document, 0.0),
        plain=not (reads_old_versions or has_dependents or indexes),
        blind=not (reads_old_versions or has_dependents)
        and all(set(primary.names) >= set(index.key.schema.names) for index in indexes.values()),
    )


def stored_table(view: StoreView, name: str) -> Table | None:
    """Return the table with this name as stored in a view, bypassing the cache. Return None if it does not exist."""
    body = view.document(DOCUMENT_PREFIX + name)
    return None if body is None else parse(orjson.loads(body))


def stored_tables(view: StoreView) -> list[Table]:
    """Return all tables as stored in a view, sorted by name, bypassing the cache."""
    return [parse(orjson.loads(body)) for _, body in view.documents(DOCUMENT_PREFIX)]


def _schema(elements: list[dict[str, str]], kinds: dict[str, str]) -> KeySchema:
    def role(key_type: str) -> tuple[KeyAttribute, ...]:
        return tuple(
            KeyAttribute(element["AttributeName"], kinds[element["AttributeName"]])
            for element in elements
            if element["KeyType"] == key_type
        )

    return KeySchema(role("HASH"), role("RANGE"))


def _index(
    description: dict[str, Any],
    is_global: bool,
    kinds: dict[str, str],
    primary: KeySchema,
    document: dict[str, Any],
) -> Index:
    schema = _schema(description["KeySchema"], kinds)
    projection = description["Projection"]["ProjectionType"]
    attributes: frozenset[str] = frozenset()
    if projection != "ALL":
        attributes = frozenset((*primary.names, *schema.names, *description["Projection"].get("NonKeyAttributes", ())))
    name = description["IndexName"]
    return Index(
        name=name,
        is_global=is_global,
        key=IndexKey(name, schema, is_global=is_global),
        projection=projection,
        attributes=attributes,
        tree=statements.tree(document["index_trees"][name]),
        backfilling=name in document.get("backfills", ()) or name in document.get("index_ready_at", ()),
    )


def _settles_at(document: dict[str, Any], after: float) -> float:
    """Return the earliest time after `after` at which a new index becomes readable, or 0 while a backfill is
    unfinished.
    """
    if document.get("backfills"):
        return 0.0
    return min(
        (ready_at for ready_at in document.get("index_ready_at", {}).values() if ready_at > after), default=math.inf
    )


def _settle_indexes(table: Table, now: float) -> Table:
    """Return the table definition as of the time `now`. Indexes that have become readable are not marked as
    backfilling.
    """
    due = (name for name, ready_at in table.document.get("index_ready_at", {}).items() if ready_at <= now)
    ready = {name for name in due if table.indexes[name].backfilling}
    if not ready:
        return table
    indexes = {
        name: replace(index, backfilling=False) if name in ready else index for name, index in table.indexes.items()
    }
    return replace(table, indexes=indexes, settles_at=_settles_at(table.document, now))


def table_name(name_or_arn: str) -> str:
    """Return the table name, given the name or ARN of a table."""
    if name_or_arn.startswith("arn:"):
        return name_or_arn.partition(":table/")[2].partition("/")[0] or name_or_arn
    return name_or_arn


class Catalog:
    """A cache of the table definitions in the store.

    The cache also stores the number of catalog changes that it includes, so that an outdated cache can be detected.
    `reads_old_versions` is True if each write must first read the item's earlier version. `Table.plain` and
    `Table.blind`, which allow writes to omit this read, are then False for all tables.
    """

    def __init__(self, view: StoreView, *, reads_old_versions: bool = False) -> None:
        self._reads_old_versions = reads_old_versions
        self._tables: dict[str, Table] = {}
        self._steady: dict[str, Table] = {}
        self._changes = -1
        self._lock = threading.Lock()
        self.reload(view)

    def reload(self, view: StoreView) -> None:
        """Read the table definitions again if any table has changed."""
        changes = view.sequence(CHANGES)
        if changes == self._changes:
            return
        documents = view.documents(DOCUMENT_PREFIX)
        tables = {}
        for _, body in documents:
            document = orjson.loads(body)
            existing = self._tables.get(document["description"]["TableName"])
            table = (
                existing
                if existing is not None and existing.document == document
                else parse(document, reads_old_versions=self._reads_old_versions)
            )
            tables[table.name] = table
        with self._lock:
            # Threads may reload concurrently, and one that read earlier must not overwrite newer data.
            if changes > self._changes:
                self._tables = tables
                self._steady = {}
                self._changes = changes

    def find(self, name: str, view: StoreView) -> Table | None:
        """Return the table with this name or ARN, in any state, or None if it does not exist."""
        table = self._tables.get(name)
        if table is not None:
            return table
        self.reload(view)
        return self._tables.get(table_name(name))

    def steady(self, name: str) -> Table | None:
        """Return the table with this name if an earlier call of `active` found that the table stays ready until the
        catalog changes. Otherwise, return None.
        """
        return self._steady.get(name)

    def active(self, name: str, view: StoreView, now: float) -> Table:
        """Return a table that is ready for item operations.

        Raises ResourceNotFoundError, with the message of item operations, if the table does not exist or is not ready.
        """
        table = self.find(name, view)
        if table is not None and table.ready_at == math.inf:
            self.reload(view)  # another process may have completed its backfill
            table = self._tables.get(table.name)
        if table is None or table.ready_at > now or table.gone_at is not None:
            raise ResourceNotFoundError(messages.NOT_FOUND)
        if table.settles_at <= now:
            return self._settle(table, view, now)
        if table.settles_at == math.inf:
            with self._lock:
                if self._tables.get(name) is table:
                    self._steady[name] = table
        return table

    def _settle(self, table: Table, view: StoreView, now: float) -> Table:
        self.reload(view)
        current = self._tables.get(table.name, table)
        if current.settles_at > now:
            return current
        settled = _settle_indexes(current, now)
        if settled is current:
            return current
        with self._lock:
            if self._tables.get(table.name) is current:
                self._tables[table.name] = settled
        return settled

    def check(self, table: Table, transaction: Transaction) -> None:
        """Raise CatalogChanged unless `table` is the current definition of the table."""
        if transaction.has_foreign_commit:
            self.reload(transaction)
            transaction.has_foreign_commit = False
        if self._tables.get(table.name) is not table:
            raise CatalogChanged

    def check_current(self, table: Table, view: StoreView) -> None:
        """Reload the catalog, and raise CatalogChanged unless `table` is the current definition of the table."""
        self.reload(view)
        if self._tables.get(table.name) is not table:
            raise CatalogChanged

    def change_count(self, table: Table) -> int:
        """Return the number of catalog changes that the cache includes.

        Raises CatalogChanged if `table` is not the current definition of the table.
        """
        changes = self._changes  # read the count first, because a reload in another thread changes it last
        if self._tables.get(table.name) is not table:
            raise CatalogChanged
        return changes

    def tables(self) -> list[Table]:
        """Return all tables as of the last reload of the catalog, in any state, sorted by name."""
        return [table for _, table in sorted(self._tables.items())]

    def cached_table(self, name_or_arn: str) -> Table | None:
        """Return the table with this name or ARN as of the last reload of the catalog, or None if it did not exist.

        `Database.alter` reloads the catalog at the start of its transaction.
        """
        return self._tables.get(table_name(name_or_arn))

    def save(self, transaction: Transaction, document: dict[str, Any]) -> Table:
        """Write a new or changed table document in a `Database.alter` transaction, and return the table that the
        document defines.
        """
        name = document["description"]["TableName"]
        transaction.put_document(DOCUMENT_PREFIX + name, orjson.dumps(document))
        transaction.next_sequence(CHANGES)
        return parse(document, reads_old_versions=self._reads_old_versions)

    def remove(self, transaction: Transaction, name: str) -> None:
        """Delete the document of a table in a `Database.alter` transaction."""
        transaction.delete_document(DOCUMENT_PREFIX + name)
        transaction.next_sequence(CHANGES)
