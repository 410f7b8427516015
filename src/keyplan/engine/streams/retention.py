"""Retention of streams: records and ended streams are removed after 24 hours.

The background thread trims streams regularly. When a stream is read, its expired records are trimmed first, so that
clients never receive them, even if the thread has not trimmed the stream yet. Records are removed only from the start
of a shard. If the clock was set back, an expired record is kept until the record before it is removed. Streams are
trimmed in small write transactions, so that writers never wait long.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.engine.store.rows import Log, StoreView, Transaction
from keyplan.engine.streams import logs
from keyplan.engine.streams import records as stream_records

if TYPE_CHECKING:
    from keyplan.engine.database import Database


TRIM_RECORDS = 1_000
"""The maximum number of records that one transaction removes from a shard. Removing them takes a few milliseconds."""


def trim_streams(database: Database, stopped: Callable[[], bool] = lambda: False) -> int:
    """Remove stream records older than 24 hours, and streams that ended at least 24 hours ago. Return the number of
    removed records.

    `stopped` is called before each transaction. If it returns True, the remaining records are removed by the next call.
    """
    now = database.clock.now()
    view = database.store.view()
    due_arns = [document["arn"] for document in logs.all_streams(view) if _is_due(view, document, now)]
    return sum(_trim(database, arn, stopped) for arn in due_arns)


def trim_if_due(database: Database, arn: str) -> None:
    """Trim a stream if it contains records older than 24 hours. Call this function before the stream is read."""
    view = database.store.view()
    document = logs.find(view, arn)
    if document is not None and _is_due(view, document, database.clock.now()):
        _trim(database, arn, lambda: False)


def _is_due(view: StoreView, document: dict[str, Any], now: float) -> bool:
    if logs.is_expired(document, now):
        return True
    log, before = stream_records.log_of(document), now - limits.STREAM_RETENTION_S
    return any(_is_old(view.records(log, shard, 0, 1), before) for shard in range(document["shards"]))


def _is_old(records: list[tuple[int, float, bytes]], before: float) -> bool:
    return bool(records) and records[0][1] < before


def _trim(database: Database, arn: str, stopped: Callable[[], bool]) -> int:
    clock, never, removed = database.clock, threading.Event(), 0

    def trim_batch(transaction: Transaction) -> tuple[int, bool]:
        return _trim_batch(transaction, arn, clock.now())

    while not stopped():
        started_s = clock.monotonic()
        trimmed, is_done = database.store.write(trim_batch)
        removed += trimmed
        if is_done:
            break
        # Writers of all processes wait for the same lock. Pause for as long as the trim took, so that they can run.
        clock.wait(never, clock.monotonic() - started_s)
    return removed


def _trim_batch(transaction: Transaction, arn: str, now: float) -> tuple[int, bool]:
    """Remove some of the expired records of a stream. Return the number of removed records, and True if no expired
    records are left.
    """
    document = logs.find(transaction, arn)
    if document is None:
        return 0, True
    log, shards = stream_records.log_of(document), range(document["shards"])
    is_expired = logs.is_expired(document, now)
    before = math.inf if is_expired else now - limits.STREAM_RETENTION_S
    last = [transaction.last_to_trim(log, shard, before, TRIM_RECORDS) for shard in shards]
    removed = [transaction.trim(log, shard, last[shard]) for shard in shards]
    is_done = max(removed) < TRIM_RECORDS
    if is_expired and is_done:
        logs.drop(transaction, document)
    else:
        document["trimmed"] = [max(stream_records.last_trimmed(document, shard), last[shard]) for shard in shards]
        logs.save(transaction, document)
    return sum(removed), is_done


def last_before(view: StoreView, log: Log, shard: int, before: float) -> int:
    """Return the sequence number of the last record in a shard that was written before the time `before`, or 0 if no
    such record exists.

    A binary search finds the record without reading all records, because later records have later times unless the
    clock was set back.
    """
    first, last = view.bounds(log, shard)
    if first is None or last is None:
        return 0
    last_older, low, high = 0, first, last
    while low <= high:
        middle = (low + high) // 2
        sequence, written_at, _ = view.records(log, shard, middle, 1)[0]
        if written_at < before:
            last_older, low = sequence, sequence + 1
        else:
            high = middle - 1
    return last_older
