"""Fault injection, which reproduces rare behaviour of DynamoDB on demand.

`Faults` specifies which faults occur and how often. `FaultyDatabase` is a database with faults, and its `Injector`
makes the decisions. Every kind of fault has its own random source, seeded from `Faults.seed` and the name of the kind.
Therefore, the n-th decision of a kind is the same in every run. A single thread that makes the same calls gets the same
faults, regardless of which other kinds are enabled. Concurrent threads receive the decisions of a kind in the order of
their calls.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from keyplan.clock import Clock
from keyplan.dynamodb.messages import protocol as messages
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.database import Command, Database, IndexWriter, Settings
from keyplan.engine.faults import lag
from keyplan.engine.faults.settings import Faults
from keyplan.engine.faults.stale_reads import History, RecordingWriter, StaleReadView
from keyplan.engine.faults.throttling import MeteredCall, Throttle
from keyplan.engine.items.transactions import cancelled_by
from keyplan.engine.items.versions import Version
from keyplan.engine.store.rows import StoreView, Transaction, Tree
from keyplan.engine.store.sqlite import SqliteStore
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import (
    InternalServerError,
    ProvisionedThroughputExceededError,
    ThrottlingError,
    TransactionConflictError,
)

if TYPE_CHECKING:
    from keyplan.engine.transfer.buckets import Buckets

T = TypeVar("T")

READS = frozenset(("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"))
WRITES = frozenset(
    (
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "BatchWriteItem",
        "TransactWriteItems",
        "ExecuteStatement",
        "BatchExecuteStatement",
        "ExecuteTransaction",
    )
)
_STREAMS = frozenset(("GetRecords",))


class Injector:
    """Decides which faults occur in a database, and tracks the current API call of each thread."""

    def __init__(self, database: Database, faults: Faults) -> None:
        self.faults = faults
        self.lags = faults.lag_range[1] > 0
        """Whether writes to global indexes are delayed."""
        self._database = database
        # Seeded, so that runs are repeatable. These numbers protect no secret.
        self._random = {field.name: random.Random(f"{faults.seed}/{field.name}") for field in fields(Faults)}  # noqa: S311
        self._history = History(faults.stale_s) if faults.stale_reads else None
        self.throttle = Throttle(self._random["throttle"], database.catalog.tables) if faults.throttle else None
        """The throughput model of all tables and indexes, or None if throughput is unlimited."""
        self._local = threading.local()

    def _draw(self, kind: str, probability: float) -> bool:
        return probability > 0 and self._random[kind].random() < probability

    # Calls.

    def affects(self, operation: str) -> bool:
        """Return True if faults can affect the operation.

        Faults affect only the data and stream operations that a client calls, not operations that run as part of
        another operation.
        """
        return self._call is None and (operation in READS or operation in WRITES or operation in _STREAMS)

    def answer(self, operation: str, request: dict[str, Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Run an API call with fault injection and return its response.

        `run` runs the operation without faults. If an injected fault makes the call fail, raise the error of that
        fault.
        """
        fails = self._draw("internal_errors", self.faults.internal_errors)
        fails_after = fails and operation in WRITES and self._random["internal_errors"].random() < 0.5
        if fails and not fails_after:
            raise InternalServerError(messages.INTERNAL_ERROR)
        if self.lags:
            self.settle()
        with self._with_call(
            MeteredCall(operation, request, self._stale_read_time(), self._skipped_positions(operation, request))
        ) as call:
            try:
                result = run()
                if self.throttle is not None:
                    call.charge_spans(self.throttle, self._database.clock.now())
            except (ProvisionedThroughputExceededError, ThrottlingError) as error:
                if operation == "TransactGetItems":
                    raise cancelled_by(
                        call.point_reads - 1, error, action_count=len(request["TransactItems"])
                    ) from error
                raise
        if operation == "TransactGetItems" and self._draw("conflicts", self.faults.conflicts):
            get_count = len(request["TransactItems"])
            failed_get = self._random["conflicts"].randrange(get_count)
            raise cancelled_by(failed_get, TransactionConflictError(messages.CONFLICT), action_count=get_count)
        if fails_after:
            raise InternalServerError(messages.INTERNAL_ERROR)
        return result

    def in_current_call(self, callback: Callable[[Transaction], T]) -> Callable[[Transaction], T]:
        """Return a function that runs `callback` as part of the current API call, even if another thread calls the
        function.

        This is necessary because a group commit may run the callback in another thread.
        """
        call = self._call
        if call is None:
            return callback

        def run_in_call(transaction: Transaction) -> T:
            with self._with_call(call):
                return callback(transaction)

        return run_in_call

    @property
    def _call(self) -> MeteredCall | None:
        call: MeteredCall | None = getattr(self._local, "call", None)
        return call

    @contextmanager
    def _with_call(self, call: MeteredCall) -> Iterator[MeteredCall]:
        outer, self._local.call = self._call, call
        try:
            yield call
        finally:
            self._local.call = outer

    # Writes.

    def settle(self) -> None:
        """Perform the delayed index writes that are due."""
        lag.settle(self._database, all_writes=False, wrap=self._recording_writer)

    def admit(self, table: Table, key: bytes, old: Version | None, new: Version | None, *, by_service: bool) -> None:
        """Raise an error if a change to an item must be rejected because of an injected conflict or throttling.

        The error is a TransactionConflictError, ProvisionedThroughputExceededError or ThrottlingError. If the change is
        allowed, save the item's former content for stale reads.
        """
        call, now = self._call, self._database.clock.now()
        if call is not None and not by_service:
            if self._draw("conflicts", self.faults.conflicts):
                raise TransactionConflictError(messages.CONFLICT)
            if self.throttle is not None:
                self.throttle.write(table, key, old, new, factor=call.factor, now=now)
        if self._history is not None:
            self._history.record(table.tree, key, None if old is None else (old.size, old.body), now)

    def index_writer(self, transaction: Transaction, index: Index, key: bytes) -> IndexWriter:
        """Return the writer to use for the index entries of the item with this key."""
        if self.lags and index.is_global:
            low, high = self.faults.lag_range
            delay_s = self._random["gsi_lag"].uniform(low, high)
            return lag.LaggingWriter(transaction, key, self._database.clock.now() + delay_s)
        return self._recording_writer(transaction)

    def _recording_writer(self, transaction: Transaction) -> IndexWriter:
        """Return a writer that saves the previous content of index entries. If stale reads are disabled, return the
        transaction itself.
        """
        if self._history is None:
            return transaction
        return RecordingWriter(transaction, self._history, self._database.clock.now())

    def unprocessed(self, count: int) -> frozenset[int]:
        """Return the positions (0 to `count` - 1) of the requests in a batch that are left unprocessed. At least one
        request is processed.
        """
        positions = [number for number in range(count) if self._draw("unprocessed", self.faults.unprocessed)]
        return frozenset(positions if len(positions) < count else positions[1:])

    # Reads.

    def _stale_read_time(self) -> float | None:
        if not self._draw("stale_reads", self.faults.stale_reads):
            return None
        return self._database.clock.now() - self._random["stale_reads"].random() * self.faults.stale_s

    def view(self) -> StoreView:
        """Return a view for the current API call, in which each read sees the data as of the time of that read."""
        return self._call_view(self._database.store.view())

    @contextmanager
    def snapshot(self) -> Iterator[StoreView]:
        """Yield a view for the current API call, in which all reads see the data as of the same time."""
        with self._database.store.snapshot() as view:
            yield self._call_view(view)

    def _call_view(self, view: StoreView) -> StoreView:
        call = self._call
        if call is None:
            return view
        call.add_tables(self._database.catalog.tables())
        return StaleReadView(view, self._history, call.time_of, self._report(call))

    def _report(self, call: MeteredCall) -> Callable[[Tree, bytes, int, bool], None]:
        throttle, clock = self.throttle, self._database.clock
        return lambda tree, key, size, in_span: call.record_row(throttle, tree, key, size, clock.now(), in_span=in_span)

    def _skipped_positions(self, operation: str, request: dict[str, Any]) -> frozenset[int]:
        if operation != "BatchGetItem":
            return frozenset()
        return self.unprocessed(sum(len(block["Keys"]) for block in request["RequestItems"].values()))

    # Streams.

    def deliver(self, records: list[tuple[int, float, bytes]], limit: int) -> list[tuple[int, float, bytes]]:
        """Return up to `limit` stream records in the order in which GetRecords delivers them.

        Some records are repeated or out of order, but the records of each item stay in order.
        """
        delivered = []
        free_slots = limit - len(records)
        for record in records:
            delivered.append(record)
            if free_slots > 0 and self._draw("duplicate_stream_records", self.faults.duplicate_stream_records):
                delivered.append(record)
                free_slots -= 1
        if self.faults.reorder_stream_records:
            self._reorder(delivered)
        return delivered

    def _reorder(self, records: list[tuple[int, float, bytes]]) -> None:
        items = [orjson.loads(b"{%b}}" % body)["dynamodb"]["Keys"] for _, _, body in records]
        for position in range(len(records) - 1):
            swap = self._draw("reorder_stream_records", self.faults.reorder_stream_records)
            if swap and items[position] != items[position + 1]:
                records[position], records[position + 1] = records[position + 1], records[position]
                items[position], items[position + 1] = items[position + 1], items[position]


class FaultyDatabase(Database):
    """A database with fault injection. Its injector decides which API calls, reads and writes are affected
    by faults.
    """

    def __init__(
        self, store: SqliteStore, clock: Clock, settings: Settings, buckets: Buckets | None, faults: Faults
    ) -> None:
        """Load the catalog of tables. `faults.ttl_delay` is added to `settings.ttl_delay_s`."""
        delayed_settings = replace(settings, ttl_delay_s=settings.ttl_delay_s + faults.ttl_delay)
        super().__init__(store, clock, delayed_settings, buckets, reads_old_versions=True)
        self.injector = Injector(self, faults)
        self.view = self.injector.view
        self.snapshot = self.injector.snapshot

    def answer(self, command: Command, request: dict[str, Any], form: Form) -> dict[str, Any]:
        """Check the structure of the request without faults, and then run the operation with faults."""
        command.check(request, form.wire)
        run_without_faults = partial(super().answer, command, request, form)
        if self.injector.affects(command.operation):
            return self.injector.answer(command.operation, request, run_without_faults)
        return run_without_faults()

    def write(self, table: Table, callback: Callable[[Transaction], T]) -> T:
        """Run `callback` in a write transaction that belongs to the current API call. The change that `callback` makes
        can be rejected because of an injected fault.
        """
        return self.write_all((table,), callback)

    def write_all(self, tables: Collection[Table], callback: Callable[[Transaction], T]) -> T:
        """Run `callback` in a write transaction that belongs to the current API call. The changes that `callback` makes
        can be rejected because of injected faults.
        """

        def check_and_run(transaction: Transaction) -> T:
            for table in tables:
                self.catalog.check(table, transaction)
            return callback(transaction)

        return self.store.write(self.injector.in_current_call(check_and_run))

    def admit(self, table: Table, key: bytes, old: Version | None, new: Version | None, *, by_service: bool) -> None:
        """Raise an error if a change to an item must be rejected because of an injected conflict or throttling.

        If the change is allowed, save the item's former content for stale reads.
        """
        self.injector.admit(table, key, old, new, by_service=by_service)

    def index_writer(self, transaction: Transaction, index: Index, key: bytes) -> IndexWriter:
        """Return the writer to use for the index entries of the item with this key. Depending on the enabled faults,
        the writer delays its writes, or saves former entries for stale reads.
        """
        return self.injector.index_writer(transaction, index, key)

    def unprocessed(self, count: int) -> frozenset[int]:
        """Return the positions (0 to `count` - 1) of the requests in a batch that are left unprocessed. At least one
        request is processed.
        """
        return self.injector.unprocessed(count)

    def deliver(self, records: list[tuple[int, float, bytes]], limit: int) -> list[tuple[int, float, bytes]]:
        """Return up to `limit` stream records, some of which can be repeated or out of order."""
        return self.injector.deliver(records, limit)
