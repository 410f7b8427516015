"""GetRecords: read the next records of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Integer, String, Structure
from keyplan.dynamodb.values.encoding import Form, python_item
from keyplan.engine.store.rows import Log, StoreView
from keyplan.engine.streams import records as stream_records
from keyplan.engine.streams import retention
from keyplan.engine.streams.records import ShardIterator
from keyplan.errors import ResourceNotFoundError, TrimmedDataAccessError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "GetRecordsInput",
    {"ShardIterator": String(min=1, max=2048), "Limit": Integer(min=1, max=limits.GET_RECORDS_LIMIT)},
    required=("ShardIterator",),
)


StoredRecord = tuple[int, float, bytes]
"""A record of a stream: its sequence number, the time of the write in epoch seconds, and its stored body."""

_CHUNK = 50
_IMAGES = ("Keys", "NewImage", "OldImage")


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run GetRecords: read stream records from the position of the shard iterator, and return them with the next
    iterator.
    """
    now = database.clock.now()
    iterator = stream_records.parse_iterator(request["ShardIterator"], now)
    limit = request.get("Limit") or limits.GET_RECORDS_LIMIT
    retention.trim_if_due(database, iterator.arn)
    with database.store.snapshot() as view:
        document = stream_records.find_readable(view, iterator.arn, now)
        iterator = _skip_trimmed(document, iterator)
        last = stream_records.last_sequence(view, document, iterator.shard)
        records = _read(view, stream_records.log_of(document), iterator, limit)
    position = records[-1][0] + 1 if records else iterator.position
    response: dict[str, Any] = {}
    if document["ended_at"] is None or position <= last:
        next_iterator = iterator._replace(
            position=position, issued_at=now, at_horizon=iterator.at_horizon and not records
        )
        response["NextShardIterator"] = stream_records.render_iterator(next_iterator)
    records = database.deliver(records, limit)
    response["Records"] = _render_records(database, iterator.arn, records, form)
    return response


def _skip_trimmed(document: dict[str, Any], iterator: ShardIterator) -> ShardIterator:
    """Move a TRIM_HORIZON iterator past trimmed records and return it. Return any other iterator unchanged.

    Raises TrimmedDataAccessError if an iterator of another type points to a trimmed record, and ResourceNotFoundError
    if the shard does not exist.
    """
    if iterator.shard >= document["shards"]:
        raise ResourceNotFoundError(messages.SHARD_OF_ITERATOR_NOT_FOUND)
    trimmed = stream_records.last_trimmed(document, iterator.shard)
    if iterator.position > trimmed:
        return iterator
    if not iterator.at_horizon:
        raise TrimmedDataAccessError(messages.TRIMMED)
    return iterator._replace(position=trimmed + 1)


def _read(view: StoreView, log: Log, iterator: ShardIterator, limit: int) -> list[StoredRecord]:
    """Return up to `limit` stream records with a total size of up to 1 MB. The first record is returned even if it is
    larger.

    Records are read in chunks, because a single record can be as large as two items.
    """
    records: list[StoredRecord] = []
    position, size = iterator.position, 0
    while len(records) < limit:
        requested = min(_CHUNK, limit - len(records))
        chunk = view.records(log, iterator.shard, position, requested)
        for record in chunk:
            size += len(record[2])
            if size > limits.GET_RECORDS_BYTES and records:
                return records
            records.append(record)
        if len(chunk) < requested:
            return records
        position = chunk[-1][0] + 1
    return records


def _render_records(database: Database, arn: str, records: list[StoredRecord], form: Form) -> Any:
    start = b'","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"%b",' % database.settings.region.encode()
    bodies = [
        b'{"eventID":"%b%b%b,"ApproximateCreationDateTime":%d,"SequenceNumber":"%b"}}'
        % (
            stream_records.event_id(arn, sequence),
            start,
            body,
            int(written_at),
            stream_records.sequence_number(sequence).encode(),
        )
        for sequence, written_at, body in records
    ]
    content = b"[" + b",".join(bodies) + b"]"
    if form.wire:
        return orjson.Fragment(content)
    return [_to_python(record) for record in orjson.loads(content)]


def _to_python(record: dict[str, Any]) -> dict[str, Any]:
    change = record["dynamodb"]
    for name in _IMAGES:
        if name in change:
            change[name] = python_item(change[name])
    return record
