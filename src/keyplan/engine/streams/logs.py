"""Storage of stream records in logs. Each stream has one log, which remains when the stream's table is deleted.

A stream ends when it is disabled or its table is deleted. Its records stay readable for 24 hours. Therefore, each
stream has a stored document, named `stream:` plus its ARN, which contains the number of the log and, for an ended
stream, the end time.

Source: developer guide, "Change data capture for DynamoDB Streams".
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from keyplan import limits
from keyplan.engine.store import statements
from keyplan.engine.store.rows import StoreView, Transaction
from keyplan.engine.tables import throughput

if TYPE_CHECKING:
    from keyplan.engine.database import Database

_DOCUMENT_PREFIX = "stream:"
_MILLISECOND = 0.001


def begin_stream(database: Database, transaction: Transaction, document: dict[str, Any], view_type: str) -> None:
    """Create an empty stream and add it to `document`, the stored document of its table."""
    description = document["description"]
    arn, label = _name(transaction, description["TableArn"], database.clock.now())
    stream = {
        "arn": arn,
        "label": label,
        "view_type": view_type,
        "log": transaction.create_log().number,
        "shards": database.settings.stream_shards
        or throughput.partition_count(description, throughput.billing_mode(description)),
    }
    document["stream"] = stream
    description["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view_type}
    description["LatestStreamLabel"] = label
    description["LatestStreamArn"] = arn
    stream_document = {
        **stream,
        "table": description["TableName"],
        "key_schema": description["KeySchema"],
        "created_at": database.clock.now(),
        "ended_at": None,
    }
    save(transaction, stream_document)


def end_stream(transaction: Transaction, document: dict[str, Any], now: float) -> None:
    """End the current stream of a table, if it has one, and remove it from the table's document.

    The stream's records remain readable for 24 hours.
    """
    stream = document.pop("stream", None)
    if stream is None:
        return
    document["description"].pop("StreamSpecification", None)
    stream_document = find(transaction, stream["arn"])
    assert stream_document is not None, stream["arn"]
    save(transaction, {**stream_document, "ended_at": now})


def find(view: StoreView, arn: str) -> dict[str, Any] | None:
    """Return the document of the stream with this ARN, or None if it does not exist."""
    body = view.document(_DOCUMENT_PREFIX + arn)
    return None if body is None else orjson.loads(body)


def save(transaction: Transaction, stream: dict[str, Any]) -> None:
    """Store a stream's document."""
    transaction.put_document(_DOCUMENT_PREFIX + stream["arn"], orjson.dumps(stream))


def all_streams(view: StoreView) -> list[dict[str, Any]]:
    """Return the documents of all streams, including ended ones, sorted by ARN."""
    return [orjson.loads(body) for _, body in view.documents(_DOCUMENT_PREFIX)]


def is_expired(stream: dict[str, Any], now: float) -> bool:
    """Return True if the stream ended at least 24 hours ago. Its records are then not readable any longer."""
    ended_at: float | None = stream["ended_at"]
    return ended_at is not None and ended_at <= now - limits.STREAM_RETENTION_S


def drop(transaction: Transaction, stream: dict[str, Any]) -> None:
    """Delete a stream's document and its records."""
    transaction.drop_log(statements.log(stream["log"]))
    transaction.delete_document(_DOCUMENT_PREFIX + stream["arn"])


def purge(transaction: Transaction, now: float) -> None:
    """Delete the streams that ended at least 24 hours ago, with their records."""
    for stream in all_streams(transaction):
        if is_expired(stream, now):
            drop(transaction, stream)


def _name(transaction: Transaction, table_arn: str, now: float) -> tuple[str, str]:
    """Return the ARN and label of a new stream. The label is the current time in milliseconds or, if another stream has
    this label, the next unused millisecond.
    """
    while True:
        label = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        arn = f"{table_arn}/stream/{label}"
        if find(transaction, arn) is None:
            return arn, label
        now += _MILLISECOND
