"""Faults on purpose: what the service does now and then, and other local engines never.

`Faults` says what and how often; the `Injector` of an engine makes it happen. Every kind of fault draws
from its own source of randomness, seeded from `Faults.seed` and the kind's name. So the n-th decision of
a kind is the same in every run: a single thread that makes the same calls meets the same faults, whatever
other kinds are switched on. Several threads meet the same decisions in whatever order they come.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from keyplan.clock import check_seconds
from keyplan.dynamodb.messages import protocol as messages
from keyplan.engine.faults import lag
from keyplan.engine.faults.stale_reads import History, RecordedWriter, SeenView
from keyplan.engine.faults.throttling import MeteredCall, Throttle
from keyplan.engine.items.transactions import cancelled_by
from keyplan.engine.store.rows import Transaction, Tree, View
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import (
    InternalServerError,
    ProvisionedThroughputExceededError,
    ThrottlingError,
    TransactionConflictError,
)

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine
    from keyplan.engine.items.writes import Version

T = TypeVar("T")

REFUSED = (ProvisionedThroughputExceededError, ThrottlingError, TransactionConflictError)
"""What one write of a batch may fail with and be left unprocessed."""

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
_PROBABILITIES = (
    "stale_reads",
    "unprocessed",
    "conflicts",
    "internal_errors",
    "duplicate_stream_records",
    "reorder_stream_records",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong on purpose. Everything is off by default. Raises ValueError for what cannot be."""

    seed: int = 0
    """Runs with the same seed and the same calls meet the same faults."""
    gsi_lag: float | tuple[float, float] = 0.0
    """Seconds until a write is seen in global indexes; a pair: at random between the two."""
    stale_reads: float = 0.0
    """Probability that an eventually consistent read sees an earlier state."""
    stale_s: float = 1.0
    """How far back a stale read may lie, seconds."""
    throttle: bool = False
    """Whether partitions, provisioned and on-demand capacity have limits."""
    unprocessed: float = 0.0
    """Probability that a batch leaves one of its keys or writes unprocessed; never all of them."""
    conflicts: float = 0.0
    """Probability that a write, alone or in a transaction, conflicts with a transaction; so for transactional reads."""
    internal_errors: float = 0.0
    """Probability that a request fails with InternalServerError; of writes half do so after they were applied."""
    duplicate_stream_records: float = 0.0
    """Probability that GetRecords delivers a record twice."""
    reorder_stream_records: float = 0.0
    """Probability that GetRecords swaps a record with its successor, if that is of another item."""
    ttl_delay: float = 0.0
    """Seconds that expired items stay."""

    def __post_init__(self) -> None:
        for name in _PROBABILITIES:
            if not _is_number(getattr(self, name), most=1):
                raise ValueError(f"{name} is a probability, 0 to 1: {getattr(self, name)!r}")
        if self.throttle not in (False, True):
            raise ValueError(f"throttle is True or False: {self.throttle!r}")
        pair = self.lag_range
        if not (len(pair) == 2 and all(map(_is_number, pair)) and pair[0] <= pair[1]):
            raise ValueError(f"gsi_lag is in seconds, a number or a pair (least, most): {self.gsi_lag!r}")
        check_seconds(stale_s=self.stale_s, ttl_delay=self.ttl_delay)

    @property
    def lag_range(self) -> tuple[float, float]:
        """Least and most seconds of index lag."""
        if isinstance(self.gsi_lag, tuple):
            return self.gsi_lag
        return self.gsi_lag, self.gsi_lag


def _is_number(value: object, most: float = math.inf) -> bool:
    """Whether it is a number of what happens or of seconds: not negative, not infinite."""
    return isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= most


class Injector:
    """Makes the faults of one engine happen."""

    def __init__(self, engine: Engine, faults: Faults) -> None:
        self.faults = faults
        self.lags = faults.lag_range[1] > 0
        """Whether global indexes lag."""
        self._engine = engine
        # Seeded, so that runs repeat: nothing here guards a secret.
        self._random = {each.name: random.Random(f"{faults.seed}/{each.name}") for each in fields(Faults)}  # noqa: S311
        self._history = History(faults.stale_s) if faults.stale_reads else None
        self._throttle = Throttle(self._random["throttle"], engine.catalog.known) if faults.throttle else None
        self._local = threading.local()
        engine.view = self._view
        engine.moment = self._moment

    def _draw(self, kind: str, probability: float) -> bool:
        return probability > 0 and self._random[kind].random() < probability

    # Calls.

    def meets(self, operation: str) -> bool:
        """Whether a call of the operation begins here: one of data, and not inside another call."""
        return self._call is None and (operation in READS or operation in WRITES or operation in _STREAMS)

    def answer(self, operation: str, request: dict[str, Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Run a call among faults. Raises what the faults make of it."""
        fails = self._draw("internal_errors", self.faults.internal_errors)
        fails_after = fails and operation in WRITES and self._random["internal_errors"].random() < 0.5
        if fails and not fails_after:
            raise InternalServerError(messages.INTERNAL_ERROR)
        if self.lags:
            self._engine.settle()
        with self._calling(
            MeteredCall(operation, request, self._moment_seen(), self._skipped(operation, request))
        ) as call:
            try:
                answer = run()
                if self._throttle is not None:
                    call.charge_spans(self._throttle, self._engine.clock.now())
            except (ProvisionedThroughputExceededError, ThrottlingError) as error:
                if operation == "TransactGetItems":
                    raise cancelled_by(call.points - 1, error, of=len(request["TransactItems"])) from error
                raise
        if operation == "TransactGetItems" and self._draw("conflicts", self.faults.conflicts):
            gets = len(request["TransactItems"])
            unlucky = self._random["conflicts"].randrange(gets)
            raise cancelled_by(unlucky, TransactionConflictError(messages.CONFLICT), of=gets)
        if fails_after:
            raise InternalServerError(messages.INTERNAL_ERROR)
        return answer

    def carried(self, work: Callable[[Transaction], T]) -> Callable[[Transaction], T]:
        """The work of the present call, wherever it runs: with grouped commits that may be another thread."""
        call = self._call
        if call is None:
            return work

        def within(transaction: Transaction) -> T:
            with self._calling(call):
                return work(transaction)

        return within

    @property
    def _call(self) -> MeteredCall | None:
        call: MeteredCall | None = getattr(self._local, "call", None)
        return call

    @contextmanager
    def _calling(self, call: MeteredCall) -> Iterator[MeteredCall]:
        outer, self._local.call = self._call, call
        try:
            yield call
        finally:
            self._local.call = outer

    # Writes.

    def admit(self, table: Table, key: bytes, old: Version | None, new: Version | None, *, by_service: bool) -> None:
        """Before a change of an item: let it conflict, or charge it; remember what the item was.

        Raises TransactionConflictError, ProvisionedThroughputExceededError, ThrottlingError.
        """
        call, now = self._call, self._engine.clock.now()
        if call is not None and not by_service:
            if self._draw("conflicts", self.faults.conflicts):
                raise TransactionConflictError(messages.CONFLICT)
            if self._throttle is not None:
                self._throttle.write(table, key, old, new, factor=call.factor, now=now)
        if self._history is not None:
            self._history.note(table.tree, key, None if old is None else (old.size, old.body), now)

    def index_writer(self, transaction: Transaction, index: Index, key: bytes) -> lag.IndexWriter:
        """What takes the writes of an index for the item under `key`."""
        if self.lags and index.is_global:
            low, high = self.faults.lag_range
            wait = self._random["gsi_lag"].uniform(low, high)
            return lag.LaggingWriter(transaction, key, self._engine.clock.now() + wait)
        return self.recorded(transaction)

    def recorded(self, transaction: Transaction) -> lag.IndexWriter:
        """A writer of index entries that remembers what they were, if stale reads may ask."""
        if self._history is None:
            return transaction
        return RecordedWriter(transaction, self._history, self._engine.clock.now())

    def unprocessed(self, count: int) -> frozenset[int]:
        """Which of so many parts of a batch are left undone; never all."""
        undone = [number for number in range(count) if self._draw("unprocessed", self.faults.unprocessed)]
        return frozenset(undone if len(undone) < count else undone[1:])

    # Reads.

    def _moment_seen(self) -> float | None:
        if not self._draw("stale_reads", self.faults.stale_reads):
            return None
        return self._engine.clock.now() - self._random["stale_reads"].random() * self.faults.stale_s

    def _view(self) -> View:
        return self._seen(self._engine.store.view())

    @contextmanager
    def _moment(self) -> Iterator[View]:
        with self._engine.store.snapshot() as view:
            yield self._seen(view)

    def _seen(self, view: View) -> View:
        call = self._call
        if call is None:
            return view
        call.learn(self._engine.catalog.known())
        return SeenView(view, self._history, call.moment_of, self._report(call))

    def _report(self, call: MeteredCall) -> Callable[[Tree, bytes, int, bool], None]:
        throttle, clock = self._throttle, self._engine.clock
        return lambda tree, key, size, spanned: call.note(throttle, tree, key, size, clock.now(), spanned=spanned)

    def _skipped(self, operation: str, request: dict[str, Any]) -> frozenset[int]:
        if operation != "BatchGetItem":
            return frozenset()
        return self.unprocessed(sum(len(block["Keys"]) for block in request["RequestItems"].values()))

    # Streams.

    def deliver(self, records: list[tuple[int, float, bytes]], limit: int) -> list[tuple[int, float, bytes]]:
        """Records as GetRecords hands them out: some twice, some out of order; within one item never that."""
        delivered = []
        spare = limit - len(records)
        for record in records:
            delivered.append(record)
            if spare > 0 and self._draw("duplicate_stream_records", self.faults.duplicate_stream_records):
                delivered.append(record)
                spare -= 1
        if self.faults.reorder_stream_records:
            self._reorder(delivered)
        return delivered

    def _reorder(self, records: list[tuple[int, float, bytes]]) -> None:
        items = [orjson.loads(b"{%b}}" % body)["dynamodb"]["Keys"] for _, _, body in records]
        for at in range(len(records) - 1):
            swap = self._draw("reorder_stream_records", self.faults.reorder_stream_records)
            if swap and items[at] != items[at + 1]:
                records[at], records[at + 1] = records[at + 1], records[at]
                items[at], items[at + 1] = items[at + 1], items[at]
