"""The engine, which runs DynamoDB operations in the current process without network connections.

Open it with `Engine.open("data.db")` or `Engine.memory()`, and call `call("PutItem", {...})`. Requests and responses
have the structure of the DynamoDB API. Each operation is a module in `operations/`. The state that operations share is
in `database.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from keyplan.clock import Clock, SystemClock
from keyplan.dynamodb.values.encoding import PYTHON, WIRE, DecodeError
from keyplan.engine.background import SWEEP_S, Background
from keyplan.engine.backups.recovery import trim
from keyplan.engine.commands import OPERATIONS, command
from keyplan.engine.database import Database, Settings, public_error
from keyplan.engine.faults import lag
from keyplan.engine.items.sweep import sweep
from keyplan.engine.observing import Answer, Observer, with_observer
from keyplan.engine.store.failures import Failure
from keyplan.engine.store.sqlite import MEMORY, Durability, SqliteStore
from keyplan.engine.streams.retention import trim_streams
from keyplan.engine.tables.backfill import Backfiller
from keyplan.engine.transfer.worker import Jobs

if TYPE_CHECKING:
    from keyplan.engine.faults.injector import Injector
    from keyplan.engine.faults.settings import Faults
    from keyplan.engine.transfer.buckets import Buckets


class Engine:
    """A DynamoDB-compatible database in the current process. Threads can share an engine.

    `open`, `memory` and `copy` accept these options:

    * `clock=SystemClock()`: the time source. A `keyplan.clock.ManualClock` advances only when a test advances it.
    * `region="us-east-1"`, `account="123456789012"`: the Region and account in ARNs.
    * `state_delay_s=0.0`: the number of seconds for which tables and indexes are CREATING, UPDATING or DELETING.
    * `stream_shards=1`: the number of shards of a new stream, or None for one shard per initial partition.
    * `ttl_delay_s=0.0`: the number of seconds for which expired items are kept before they are deleted.
    * `ttl_sweep_s=1.0`: the number of seconds between background sweeps. If None, only `sweep` deletes expired items.
    * `faults=None`: a `Faults` object that specifies the faults to inject.
    * `buckets=None`: the location of the buckets for exports and imports: a folder, "s3://" or an `S3Buckets` object.

    Raises ValueError for an invalid option.
    """

    def __init__(
        self,
        store: SqliteStore,
        *,
        clock: Clock | None = None,
        region: str = "us-east-1",
        account: str = "123456789012",
        state_delay_s: float = 0.0,
        stream_shards: int | None = 1,
        ttl_delay_s: float = 0.0,
        ttl_sweep_s: float | None = SWEEP_S,
        faults: Faults | None = None,
        buckets: str | os.PathLike[str] | Buckets | None = None,
    ) -> None:
        if ttl_sweep_s is not None and not 0 < ttl_sweep_s < math.inf:
            raise ValueError(f"ttl_sweep_s must be a positive number of seconds, or None, not {ttl_sweep_s!r}")
        settings = Settings(
            region=region,
            account=account,
            state_delay_s=state_delay_s,
            stream_shards=stream_shards,
            ttl_delay_s=ttl_delay_s,
        )
        self._options: dict[str, Any] = {**asdict(settings), "ttl_sweep_s": ttl_sweep_s}
        self.store = store
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.region = region
        self.account = account
        self.buckets = None if buckets is None else _open_buckets(buckets)
        """The buckets for exports and imports, or None."""
        self.faults: Injector | None = None
        """The source of fault decisions, or None if no faults are injected."""
        if faults is None:
            self.database = Database(store, self.clock, settings, self.buckets)
        else:
            from keyplan.engine.faults.injector import FaultyDatabase  # noqa: PLC0415 - few programs inject faults

            faulty = FaultyDatabase(store, self.clock, settings, self.buckets, faults)
            self.database, self.faults = faulty, faulty.injector
        self._answer: Answer = self.database.answer
        self._is_observed = False
        self.catalog = self.database.catalog
        self.backfiller = Backfiller(self.database)
        self.jobs = Jobs(self.database)
        self.settle()
        self.background = Background(self, ttl_sweep_s)
        self.database.wake_backfiller = self.backfiller.wake
        self.database.wake_jobs = self.jobs.wake
        self.database.start_background = self.background.start_if_needed
        self.background.start_if_needed()
        self.backfiller.wake()
        if self.buckets is not None:
            self.jobs.wake()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, durability: Durability = "normal", **options: Any) -> Engine:
        """Open or create a database file. Several processes can have the file open at the same time.

        With `durability="normal"`, commits survive a process crash. After a power failure, the most recent commits may
        be lost, but the file is never corrupted. With `"full"`, every commit is synced to disk before it is
        acknowledged. The other options are documented in the class. Raises StorageError if the file cannot be used, and
        ValueError for an invalid option.
        """
        store = SqliteStore(os.fspath(path), durability=durability)
        try:
            return cls(store, **options)
        except BaseException as error:
            store.close()
            if isinstance(error, (Failure, DecodeError)):
                raise public_error(store, error) from error
            raise

    @classmethod
    def memory(cls, **options: Any) -> Engine:
        """Return an engine that keeps its data in memory. Options are documented in the class.

        Raises ValueError for an invalid option.
        """
        return cls(SqliteStore(MEMORY), **options)

    @property
    def operations(self) -> frozenset[str]:
        """The names of the operations that `call` supports."""
        return frozenset(OPERATIONS)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run one operation. Binary values in the request and in the response are Python bytes.

        Raises ServiceError where DynamoDB would return an error, StorageError if the file cannot be used, and
        EngineClosedError after `close`.
        """
        return self._answer(command(operation), request, PYTHON)

    def prepared(self, operation: str) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
        """Return a function that runs `operation`, for requests whose structure is known to be valid.

        For GetItem, the function omits the check of the request structure, which makes a read about 10% faster. If the
        read fails, `call` checks the request and runs it again.

        For any other operation, this method returns `call`. It also returns `call` if the engine injects faults or a
        subclass overrides `call`.
        """
        if operation != "GetItem" or self.faults is not None or type(self).call is not Engine.call:
            return self.call
        call, database, run = self.call, self.database, command(operation).run

        def get(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            if self._is_observed:
                return call(operation, request)
            try:
                return run(database, request, PYTHON)
            except Exception:  # noqa: BLE001 - `call` raises the service's error, or recovers
                return call(operation, request)

        return get

    def call_wire(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run one operation whose request is parsed JSON, in which binary values are base64 text. Stored items in the
        response are `orjson.Fragment` objects.
        """
        return self._answer(command(operation), request, WIRE)

    def observe(self, observer: Observer | None, *, most_per_s: float = 200.0) -> None:
        """Report data operations to an observer, with their consumed capacity or error. If `observer` is None, stop
        reporting.

        The observer runs in the calling thread, after the operation, and must not raise an exception. If the rate
        exceeds `most_per_s` operations per second, only a sample of the operations is reported. Operations have no
        additional cost if no observer is set.
        """
        answer = self.database.answer
        self._answer = answer if observer is None else with_observer(answer, observer, most_per_s)
        self._is_observed = observer is not None

    def sweep(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Delete expired items and return their number. Stop early if `stopped()` returns True.

        The background thread does the same every `ttl_sweep_s` seconds. If an item is unreadable, DatabaseCorruptError
        is raised after all other expired items have been deleted.
        """
        return self._maintain(lambda: sweep(self.database, stopped))

    def trim_streams(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Remove stream records older than 24 hours and return their number. Stop early if `stopped()` returns True.

        The background thread does the same regularly.
        """
        return self._maintain(lambda: trim_streams(self.database, stopped))

    def trim_history(self) -> int:
        """Remove obsolete recovery records and expired backups, and return their number."""
        return self._maintain(lambda: trim(self.database))

    def _maintain(self, task: Callable[[], int]) -> int:
        try:
            return task()
        except (Failure, DecodeError) as error:
            raise self.database.public_error(error) from error

    def settle(self) -> None:
        """Perform the index writes that fault injection has delayed and that are now due. If the engine does not inject
        faults, perform all delayed writes.
        """
        if self.faults is None:
            lag.settle(self.database, all_writes=True)
        else:
            self.faults.settle()

    @property
    def needs_maintenance(self) -> bool:
        """Whether the database needs periodic maintenance: injected faults delay index writes, or a table uses time to
        live, a stream or point-in-time recovery.
        """
        lagging = self.faults is not None and self.faults.lags
        return lagging or any(table.expiry or table.stream or table.recovery for table in self.catalog.tables())

    def group(self) -> AbstractContextManager[None]:
        """Return a context manager that groups writes. All writes of the current thread in the `with` block are
        committed in one transaction at the end of the block.
        """
        return self.store.group()

    @property
    def waits_for_disk(self) -> bool:
        """Whether a write returns only after its data is on disk (durability "full")."""
        return self.store.sync is not None

    def snapshot(self, path: str | os.PathLike[str]) -> None:
        """Copy the database as of one point in time into a new file. Writes continue during the copy.

        Raises FileExistsError if the file exists, and StorageError if the copy cannot be written.
        """
        self.store.copy_to(os.fspath(path))

    def copy(self, **options: Any) -> Engine:
        """Return an in-memory engine with a copy of this engine's data. For example, each test can use its own copy.

        The copy has the same options as this engine, except for the options passed here. `faults` and `buckets` are not
        copied. Therefore, the copy does not inject faults unless `faults` is passed, and an export in progress is not
        written to the same bucket twice.
        """
        return Engine(self.store.copy(), **{"clock": self.clock, **self._options, **options})

    def close(self) -> None:
        """Close the database. Closing an engine again has no effect."""
        if self.store.opened_by_parent:  # threads exist only in the parent; locks that they held stay locked here
            return
        self.backfiller.close()
        self.jobs.close()
        self.database.counts.close()
        self.database.closed = True
        self.background.stop()
        self.store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self.close()
        return False


def _open_buckets(location: str | os.PathLike[str] | Buckets) -> Buckets:
    from keyplan.engine.transfer.buckets import open_buckets  # noqa: PLC0415 - few programs have any

    return open_buckets(location)
