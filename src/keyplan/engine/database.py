"""The database: the state that all operations share.

A `Database` consists of a store, a clock, the settings and the catalog of tables. A write transaction fails if a table
has changed since the operation looked it up. Operations and their helpers depend on a database and never on the engine.
The engine is the public interface and connects a database to background threads.

`Database` does not inject faults. Its subclass `faults.injector.FaultyDatabase` overrides `answer`, `write`,
`write_all`, `view`, `snapshot` and the methods that follow the comment "Methods that fault injection overrides".
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from keyplan.clock import Clock, check_seconds
from keyplan.dynamodb.shapes import Check
from keyplan.dynamodb.values.encoding import DecodeError, Form
from keyplan.engine.items.versions import Version, put_blindly
from keyplan.engine.store.failures import Failure, is_missing_tree, storage_error
from keyplan.engine.store.rows import StoreView, Transaction, Tree
from keyplan.engine.store.sqlite import SqliteStore
from keyplan.engine.tables.catalog import CHANGES, Catalog, CatalogChanged, Index, Table
from keyplan.engine.tables.counts import TreeCounts
from keyplan.errors import DatabaseCorruptError, EngineClosedError, KeyplanError

if TYPE_CHECKING:
    from keyplan.engine.transfer.buckets import Buckets

P = ParamSpec("P")
T = TypeVar("T")

Run: TypeAlias = "Callable[[Database, dict[str, Any], Form], dict[str, Any]]"

_MAX_RESTARTS = 20
_OUTDATED_ERRORS = (CatalogChanged, Failure, DecodeError)
"""Errors that can be caused by a change to a table while an operation is running."""
_NO_POSITIONS: frozenset[int] = frozenset()


class Command(NamedTuple):
    """An operation: its name, the checks of its request structure, and its implementation.

    `quick_check` is a faster check, which omits the constraints that the implementation itself checks. See
    `shapes.late_check`.
    """

    operation: str
    check: Check
    quick_check: Check
    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a database, as documented in `Engine`. Raises ValueError for an invalid value."""

    region: str = "us-east-1"
    account: str = "123456789012"
    state_delay_s: float = 0.0
    """The number of seconds for which tables and indexes stay CREATING, UPDATING or DELETING."""
    stream_shards: int | None = 1
    """The number of shards of a new stream, or None to create one shard per initial partition of the table."""
    ttl_delay_s: float = 0.0
    """The number of seconds for which expired items are kept before they are deleted."""

    def __post_init__(self) -> None:
        check_seconds(state_delay_s=self.state_delay_s, ttl_delay_s=self.ttl_delay_s)
        if self.stream_shards is not None and self.stream_shards < 1:
            raise ValueError(f"stream_shards must be a number of at least 1, or None, not {self.stream_shards!r}")


class IndexWriter(Protocol):
    """The interface for writing index entries. Transactions and their wrappers implement this interface."""

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Write an index entry, replacing any existing entry."""

    def delete(self, tree: Tree, key: bytes) -> None:
        """Delete an index entry if it exists."""

    def move(self, tree: Tree, old: bytes, new: bytes, size: int, body: bytes) -> None:
        """Move an index entry from the key `old` to the key `new`. If the old entry does not exist, only the new entry
        is written.
        """


def _do_nothing() -> None:
    """Do nothing. Used until the engine sets the functions that start background threads."""


class Database:
    """The store, clock, settings and table catalog of a database. Threads can share a database."""

    def __init__(
        self,
        store: SqliteStore,
        clock: Clock,
        settings: Settings,
        buckets: Buckets | None = None,
        *,
        reads_old_versions: bool = False,
    ) -> None:
        """Load the catalog of tables. `reads_old_versions` is documented in `Catalog`."""
        self.store = store
        self.clock = clock
        self.settings = settings
        self.buckets = buckets
        """The storage for exports and imports."""
        self.counts = TreeCounts(clock, store.view)
        self.catalog = Catalog(store.view(), reads_old_versions=reads_old_versions)
        self.view: Callable[[], StoreView] = store.view
        """Returns a view for reads of items, in which each read sees the data as of the time of that read."""
        self.snapshot: Callable[[], AbstractContextManager[StoreView]] = store.snapshot
        """Returns a context manager for a view in which all reads see the data as of one point in time."""
        self.wake_backfiller: Callable[[], None] = _do_nothing
        self.wake_jobs: Callable[[], None] = _do_nothing
        self.start_background: Callable[[], None] = _do_nothing
        """These functions start the engine's threads: each call starts one thread, if the thread has work."""
        self.closed = False

    # Operations.

    def answer(self, command: Command, request: dict[str, Any], form: Form) -> dict[str, Any]:
        """Check the structure of the request, run the operation and return its response.

        `form` is the form of requests and responses: JSON or Python values. Raises ServiceError where DynamoDB would
        return an error, StorageError if the database cannot be used, and EngineClosedError after the database has been
        closed.
        """
        _, _, quick_check, run = command
        quick_check(request, form.wire)
        try:  # `start_over`, with its loop, is needed only after the first run
            return run(self, request, form)
        except _OUTDATED_ERRORS as error:
            self._reload(error)
        return self.start_over(run, self, request, form)

    def start_over(self, callback: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `callback` and return its result. If a table changes during the run, run `callback` again from the start.

        Raises CatalogChanged after 20 attempts.
        """
        for _ in range(_MAX_RESTARTS):
            try:
                return callback(*args, **kwargs)
            except _OUTDATED_ERRORS as error:
                self._reload(error)
        raise CatalogChanged

    def _reload(self, error: CatalogChanged | Failure | DecodeError) -> None:
        """Reload the catalog if a changed table may have caused the error. Otherwise, raise the error that
        `public_error` returns.
        """
        if isinstance(error, DecodeError) or (
            isinstance(error, Failure) and (self.closed or not is_missing_tree(error))
        ):
            raise self.public_error(error) from error
        try:
            self.catalog.reload(self.store.view())
        except Failure as failure:
            raise self.public_error(failure) from failure

    def public_error(self, error: Failure | DecodeError) -> KeyplanError:
        """Convert a store failure or a decoding error to a StorageError or EngineClosedError, which the
        caller raises.
        """
        return public_error(self.store, error, closed=self.closed)

    # Tables.

    def table(self, name: str) -> Table:
        """Return a table that is ready for item operations. Raises ResourceNotFoundError if it does not exist or is not
        ready.
        """
        table = self.catalog.steady(name)
        return table if table is not None else self.catalog.active(name, self.store.view(), self.clock.now())

    def alter(self, callback: Callable[[Transaction], T]) -> T:
        """Run `callback`, which creates, changes or deletes tables, in a separate transaction, and return its result.

        `callback` sees the current tables. All later writes see the changed tables.
        """

        def reload_and_run(transaction: Transaction) -> T:
            self.catalog.reload(transaction)
            return callback(transaction)

        result = self.store.write_separately(reload_and_run)
        self.catalog.reload(self.store.view())
        self.start_background()
        return result

    # Writes.

    def write(self, table: Table, callback: Callable[[Transaction], T]) -> T:
        """Run `callback` in a write transaction that fails with CatalogChanged if the table definition has changed.

        `callback` must raise its errors before it writes the first row. The only error that it may raise later is the
        error for an item collection that becomes too large. For this reason, writes to tables with local indexes can be
        undone individually in a group commit.
        """
        check = self.catalog.check

        def check_and_run(transaction: Transaction) -> T:
            check(table, transaction)
            return callback(transaction)

        return self.store.write(check_and_run, raises_early=table.collections is None)

    def write_all(self, tables: Collection[Table], callback: Callable[[Transaction], T]) -> T:
        """Run `callback` in a write transaction that fails with CatalogChanged if the definition of any of the tables
        has changed.
        """
        check = self.catalog.check

        def check_and_run(transaction: Transaction) -> T:
            for table in tables:
                check(table, transaction)
            return callback(transaction)

        return self.store.write(check_and_run, raises_early=all(table.collections is None for table in tables))

    def put(self, table: Table, key: bytes, new: Version) -> None:
        """Write an item without reading its earlier version. The table must be `blind` (see `Table.blind`).

        Raises CatalogChanged if the table definition has changed.
        """
        if table.plain and self.store.commits_immediately:
            row = (key, new.size, new.body)
            if not self.store.put_if_sequence(table.tree, row, CHANGES, self.catalog.change_count(table)):
                raise CatalogChanged
            return

        def check_and_put(transaction: Transaction) -> None:
            self.catalog.check(table, transaction)
            put_blindly(transaction, table, key, new)

        self.store.write(check_and_put, raises_early=True)

    # Methods that fault injection overrides.

    def admit(self, table: Table, key: bytes, old: Version | None, new: Version | None, *, by_service: bool) -> None:
        """Raise ServiceError if a change to an item must be rejected. Call this method before the first row of the
        change is written.

        Without fault injection, all changes are allowed. `by_service` is True for changes that the service makes
        itself, such as the deletion of expired items.
        """

    def index_writer(self, transaction: Transaction, _index: Index, _key: bytes) -> IndexWriter:
        """Return the writer for the index entries of the item with this key. Without fault injection, return
        `transaction`.
        """
        return transaction

    def unprocessed(self, _count: int) -> frozenset[int]:
        """Return the positions (0 to `_count` - 1) of the requests in a batch that are left unprocessed.

        Without fault injection, the result is empty.
        """
        return _NO_POSITIONS

    def deliver(self, records: list[tuple[int, float, bytes]], _limit: int) -> list[tuple[int, float, bytes]]:
        """Return stream records in the order in which GetRecords delivers them. Without fault injection, return them
        unchanged.
        """
        return records


def public_error(store: SqliteStore, error: Failure | DecodeError, *, closed: bool = False) -> KeyplanError:
    """Convert a store failure or a decoding error to a StorageError or EngineClosedError, which the caller raises.

    `closed` is True if the database has been closed.
    """
    if isinstance(error, DecodeError):
        return DatabaseCorruptError(f"{store.path} is damaged: stored data cannot be read ({error})")
    if closed:
        return EngineClosedError(f"{store.path} is closed")
    return storage_error(error, store.path)
