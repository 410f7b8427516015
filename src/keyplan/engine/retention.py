"""Retention of stream records: 24 hours, then they and at last the stream are gone.

The background thread trims now and then; whoever reads a stream trims it first if something in it is
due, so that what is too old is never seen, however late the thread is. Records go from a shard's beginning only: where
the clock was set back, one that seems old stays as long as one before it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import orjson

from keyplan import limits
from keyplan.engine import stream_logs, streams
from keyplan.store.rows import Log, Transaction, View

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def trim_streams(engine: Engine) -> int:
    """Remove the records that are older than 24 hours, and the streams disabled before; how many records."""
    now = engine.clock.now()
    view = engine.store.view()
    due = [document["arn"] for document in stream_logs.stored(view) if _is_due(view, document, now)]
    return sum(_trim(engine, arn) for arn in due)


def trim_if_due(engine: Engine, arn: str) -> None:
    """Trim one stream before it is read."""
    view = engine.store.view()
    document = streams.find(view, arn)
    if document is not None and _is_due(view, document, engine.clock.now()):
        _trim(engine, arn)


def _is_due(view: View, document: dict[str, Any], now: float) -> bool:
    if stream_logs.is_gone(document, now):
        return True
    log, before = streams.log_of(document), now - limits.STREAM_RETENTION_S
    return any(_is_old(view.records(log, shard, 0, 1), before) for shard in range(document["shards"]))


def _is_old(records: list[tuple[int, float, bytes]], before: float) -> bool:
    return bool(records) and records[0][1] < before


def _trim(engine: Engine, arn: str) -> int:
    def work(transaction: Transaction) -> int:
        document = streams.find(transaction, arn)
        if document is None:
            return 0
        log, now, shards = streams.log_of(document), engine.clock.now(), range(document["shards"])
        is_gone = stream_logs.is_gone(document, now)
        before = math.inf if is_gone else now - limits.STREAM_RETENTION_S
        last = [transaction.last_of_older(log, shard, before) for shard in shards]
        removed = sum(transaction.trim(log, shard, last[shard]) for shard in shards)
        if is_gone:
            stream_logs.drop(transaction, document)
            return removed
        document["trimmed"] = [max(streams.trimmed(document, shard), last[shard]) for shard in shards]
        transaction.put_document(stream_logs.DOCUMENT_PREFIX + arn, orjson.dumps(document))
        return removed

    return engine.store.write(work)


def last_before(view: View, log: Log, shard: int, before: float) -> int:
    """The last sequence of a shard written before a moment; 0 if there is none.

    Times rise with sequences, unless the clock was set back, so this halves its way instead of reading every body.
    """
    first, last = view.bounds(log, shard)
    if first is None or last is None:
        return 0
    found, low, high = 0, first, last
    while low <= high:
        middle = (low + high) // 2
        sequence, written_at, _ = view.records(log, shard, middle, 1)[0]
        if written_at < before:
            found, low = sequence, sequence + 1
        else:
            high = middle - 1
    return found
