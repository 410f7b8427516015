"""The engine: the service without sockets.

`Engine.open("data.db")` or `Engine.memory()`, then `call("PutItem", {...})` with the service's own
request and answer shapes. Everything else about an operation stands in its module under `operations/`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from keyplan.clock import Clock, SystemClock, check_seconds
from keyplan.dynamodb.values.encoding import PYTHON, WIRE, DecodeError, Form
from keyplan.engine.background import SWEEP_S, Background
from keyplan.engine.backups.recovery import trim
from keyplan.engine.commands import MODULES, command, refuse
from keyplan.engine.faults import lag
from keyplan.engine.faults.injector import Faults, Injector
from keyplan.engine.items.sweep import sweep
from keyplan.engine.items.writes import Version, put_blindly
from keyplan.engine.store.failures import Failure, is_missing_tree, storage_error
from keyplan.engine.store.rows import Transaction, View
from keyplan.engine.store.sqlite import MEMORY, Durability, SqliteStore
from keyplan.engine.streams.retention import trim_streams
from keyplan.engine.tables.backfill import Backfiller
from keyplan.engine.tables.catalog import CHANGES, Catalog, CatalogChanged, Table
from keyplan.engine.tables.counts import TreeCounts
from keyplan.engine.transfer.jobs import Jobs
from keyplan.errors import DatabaseCorruptError, EngineClosedError, KeyplanError

if TYPE_CHECKING:
    from keyplan.engine.transfer.buckets import Buckets

P = ParamSpec("P")
T = TypeVar("T")

REGION = "us-east-1"
ACCOUNT = "123456789012"
_MOST_RESTARTS = 20
_OUTDATED = (CatalogChanged, Failure, DecodeError)
"""What an operation meets where tables change meanwhile, among other things."""


class Engine:
    """A DynamoDB-compatible database in this process. Threads may share it.

    Options of `open`, `memory` and `copy`, each with its default:

    * `clock=SystemClock()`: where it gets the time from; `keyplan.clock.ManualClock` moves when it is told to.
    * `region="us-east-1"`, `account="123456789012"`: what names (ARNs) say.
    * `state_delay_s=0.0`: seconds that tables and indexes stay CREATING, UPDATING or DELETING.
    * `stream_shards=1`: shards of a new stream; None: one for each partition the service would begin with.
    * `ttl_delay_s=0.0`: seconds that items stay after they have expired.
    * `ttl_sweep_s=1.0`: seconds between looks for what has expired, in a thread; None: only `sweep` looks.
    * `faults=None`: a `Faults`, what goes wrong on purpose.
    * `buckets=None`: a folder, "s3://" or `S3Buckets`: where exports go and imports come from.

    Raises ValueError for what an option cannot be.
    """

    def __init__(
        self,
        store: SqliteStore,
        *,
        clock: Clock | None = None,
        region: str = REGION,
        account: str = ACCOUNT,
        state_delay_s: float = 0.0,
        stream_shards: int | None = 1,
        ttl_delay_s: float = 0.0,
        ttl_sweep_s: float | None = SWEEP_S,
        faults: Faults | None = None,
        buckets: str | os.PathLike[str] | Buckets | None = None,
    ) -> None:
        _check_options(state_delay_s, stream_shards, ttl_delay_s, ttl_sweep_s)
        self._options: dict[str, Any] = {
            "state_delay_s": state_delay_s,
            "stream_shards": stream_shards,
            "ttl_delay_s": ttl_delay_s,
            "ttl_sweep_s": ttl_sweep_s,
        }
        self.store = store
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.region = region
        self.account = account
        self.state_delay_s = state_delay_s
        """How long tables and indexes stay CREATING, UPDATING, DELETING."""
        self.stream_shards = stream_shards
        """Shards of a new stream; None: one for each partition the service would begin with."""
        self.ttl_delay_s = ttl_delay_s + (faults.ttl_delay if faults is not None else 0.0)
        """How long items stay after they have expired."""
        self.figures = TreeCounts(self.clock, store.view)
        self.catalog = Catalog(store.view())
        self.view: Callable[[], View] = store.view
        """Reads of items, each at its own moment."""
        self.moment: Callable[[], AbstractContextManager[View]] = store.snapshot
        """Reads of items that all see one moment."""
        self.faults = None if faults is None else Injector(self, faults)
        """What makes trouble on purpose; None: nothing does."""
        self.buckets = None if buckets is None else _opened_buckets(buckets)
        """Where exports go and imports come from: a folder of folders, "s3://", or buckets made already."""
        self._closed = False
        self.backfiller = Backfiller(self)
        self.jobs = Jobs(self)
        self.settle()
        self.background = Background(self, ttl_sweep_s)
        self.background.start_if_needed()
        self.backfiller.wake()
        if self.buckets is not None:
            self.jobs.wake()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, durability: Durability = "normal", **options: Any) -> Engine:
        """Open or create a database file. Several processes may have it open at once.

        `durability="normal"`: a commit survives a killed process; after a power cut the last ones may be
        missing, never damaged. `"full"`: every acknowledged commit is synced to the disk. The other options
        are those of the class. Raises StorageError where the file cannot be used, ValueError for an option.
        """
        store = SqliteStore(os.fspath(path), durability=durability)
        try:
            return cls(store, **options)
        except BaseException as error:
            store.close()
            if isinstance(error, Failure):
                raise storage_error(error, store.path) from error
            if isinstance(error, DecodeError):
                raise _unreadable(store, error) from error
            raise

    @classmethod
    def memory(cls, **options: Any) -> Engine:
        """A database that lives as long as the engine; the options are those of the class. Raises ValueError."""
        return cls(SqliteStore(MEMORY), **options)

    @property
    def operations(self) -> frozenset[str]:
        """The names of all operations that `call` knows."""
        return frozenset(MODULES)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run one operation. Python form: binary as bytes.

        Raises ServiceError for what the service refuses, StorageError where the file cannot be used, and
        EngineClosedError.
        """
        return self._answer(operation, request, PYTHON)

    def call_wire(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run one operation on parsed JSON. The answer is for orjson: stored items are fragments."""
        return self._answer(operation, request, WIRE)

    def _answer(self, operation: str, request: dict[str, Any], form: Form) -> dict[str, Any]:
        known = command(operation)
        if known is None:
            refuse(operation)
        check, quick_check, run = known
        if self.faults is None:
            quick_check(request, form.wire)
        else:
            check(request, form.wire)  # before any fault
            if self.faults.meets(operation):
                return self.faults.answer(operation, request, lambda: self._answer(operation, request, form))
        try:  # the first run without the frame and the loop of those after it, which are rare
            return run(self, request, form)
        except _OUTDATED as error:
            self._renew(error)
        return self.start_over(run, self, request, form)

    def start_over(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation, or a part of one that is several, again from its start where tables change meanwhile."""
        for _ in range(_MOST_RESTARTS):
            try:
                return work(*args, **kwargs)
            except _OUTDATED as error:
                self._renew(error)
        raise CatalogChanged

    def _renew(self, error: CatalogChanged | Failure | DecodeError) -> None:
        """Learn what tables there are now, where that is what was met; else raise what it means to a caller."""
        if isinstance(error, DecodeError):
            raise _unreadable(self.store, error) from error
        if isinstance(error, Failure) and (self._closed or not is_missing_tree(error)):
            raise self._told(error) from error
        try:
            self.catalog.reload(self.store.view())
        except Failure as failure:
            raise self._told(failure) from failure

    def _told(self, error: Failure) -> KeyplanError:
        """What a failure of the store means to a caller."""
        if self._closed:
            return EngineClosedError(f"{self.store.path} is closed")
        return storage_error(error, self.store.path)

    def table(self, name: str) -> Table:
        """The table, ready for items. Raises ResourceNotFoundError."""
        table = self.catalog.steady(name)
        return table if table is not None else self.catalog.active(name, self.store.view(), self.clock.now())

    def write(self, table: Table, work: Callable[[Transaction], T]) -> T:
        """Run the work in a write transaction in which the table is still what it was.

        All that can be refused is refused before the first row is written. The size of an item collection
        alone is known only afterwards, so tables that keep those can be undone in a group.
        """
        check = self.catalog.check

        def checked(transaction: Transaction) -> T:
            check(table, transaction)
            return work(transaction)

        if self.faults is not None:
            return self.store.write(self.faults.carried(checked))
        return self.store.write(checked, settled=table.collections is None)

    def put(self, table: Table, key: bytes, new: Version) -> None:
        """Write an item of a `blind` table, whatever was there, while the table is still what it was."""
        if table.plain and self.store.commits_at_once:
            row = (key, new.size, new.body)
            if not self.store.put_while(table.tree, row, CHANGES, self.catalog.as_of(table)):
                raise CatalogChanged
            return

        def checked(transaction: Transaction) -> None:
            self.catalog.check(table, transaction)
            put_blindly(transaction, table, key, new)

        self.store.write(checked, settled=True)

    def write_all(self, tables: Collection[Table], work: Callable[[Transaction], T]) -> T:
        """Run the work in a write transaction in which all the tables are still what they were."""
        check = self.catalog.check

        def checked(transaction: Transaction) -> T:
            for table in tables:
                check(table, transaction)
            return work(transaction)

        if self.faults is not None:
            return self.store.write(self.faults.carried(checked))
        return self.store.write(checked, settled=all(table.collections is None for table in tables))

    def alter(self, work: Callable[[Transaction], T]) -> T:
        """Run a change of tables in a transaction of its own; every later write meets the tables as changed."""

        def current(transaction: Transaction) -> T:
            self.catalog.reload(transaction)
            return work(transaction)

        result = self.store.write_apart(current)
        self.catalog.reload(self.store.view())
        self.background.start_if_needed()
        return result

    def sweep(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Remove what has expired, as the background thread does every `ttl_sweep_s` seconds; how many items.

        Raises DatabaseCorruptError, after all the rest, where an item cannot be read.
        """
        return self._kept_up(lambda: sweep(self, stopped))

    def trim_streams(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Remove stream records older than 24 hours, as the background thread does; how many."""
        return self._kept_up(lambda: trim_streams(self, stopped))

    def trim_history(self) -> int:
        """Remove what recovery cannot reach any more, and system backups whose time is over; how many."""
        return self._kept_up(lambda: trim(self))

    def _kept_up(self, work: Callable[[], int]) -> int:
        try:
            return work()
        except Failure as error:
            raise self._told(error) from error
        except DecodeError as error:
            raise _unreadable(self.store, error) from error

    def settle(self) -> None:
        """Apply the index writes that are due; all of them, where indexes do not lag."""
        lag.settle(self, everything=self.faults is None)

    def group(self) -> AbstractContextManager[None]:
        """Writes made inside by this thread share one commit, made at the end."""
        return self.store.group()

    @property
    def waits_for_disk(self) -> bool:
        """Whether a write returns only when it is on the disk (durability "full")."""
        return self.store.sync is not None

    def snapshot(self, path: str | os.PathLike[str]) -> None:
        """Copy the database, as of one moment, into a new file; others may go on writing meanwhile.

        Raises FileExistsError where there is a file, StorageError where it cannot be written.
        """
        self.store.copy_to(os.fspath(path))

    def copy(self, **options: Any) -> Engine:
        """Return an engine in memory that starts with this one's data, for example one for each test.

        It has this one's options, except for those given. `faults` and `buckets` are not copied: reads of a copy are
        reliable, and an export that is still running is not written to the same bucket twice.
        """
        given = {"clock": self.clock, "region": self.region, "account": self.account, **self._options, **options}
        return Engine(self.store.copy(), **given)

    def close(self) -> None:
        """Close the database. Calling twice is harmless."""
        if self.store.left_behind:  # its threads are the parent's, and locks that they held stay so here
            return
        self.backfiller.close()
        self.jobs.close()
        self.figures.close()
        self._closed = True
        self.background.stop()
        self.store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self.close()
        return False


def _check_options(
    state_delay_s: float, stream_shards: int | None, ttl_delay_s: float, ttl_sweep_s: float | None
) -> None:
    check_seconds(state_delay_s=state_delay_s, ttl_delay_s=ttl_delay_s)
    if ttl_sweep_s is not None and not 0 < ttl_sweep_s < math.inf:
        raise ValueError(f"ttl_sweep_s is in seconds, more than none, or None: {ttl_sweep_s!r}")
    if stream_shards is not None and stream_shards < 1:
        raise ValueError(f"stream_shards is a number of shards, or None: {stream_shards!r}")


def _opened_buckets(given: str | os.PathLike[str] | Buckets) -> Buckets:
    from keyplan.engine.transfer.buckets import opened  # noqa: PLC0415 - few programs have any

    return opened(given)


def _unreadable(store: SqliteStore, error: DecodeError) -> DatabaseCorruptError:
    return DatabaseCorruptError(f"{store.path} is damaged: what is stored cannot be read ({error})")
