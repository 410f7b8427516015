"""GetShardIterator: return an iterator that specifies the position in a shard at which to start reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import String, Structure, Timestamp
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import timestamps
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import StoreView
from keyplan.engine.streams import records, retention
from keyplan.errors import ResourceNotFoundError, TrimmedDataAccessError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "GetShardIteratorInput",
    {
        "StreamArn": shapes.STREAM_ARN,
        "ShardId": shapes.SHARD_ID,
        "ShardIteratorType": String(
            enum=("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP")
        ),
        "SequenceNumber": shapes.SEQUENCE_NUMBER,
        "Timestamp": Timestamp(),
    },
    required=("StreamArn", "ShardId", "ShardIteratorType"),
)

_START = {
    "AT_SEQUENCE_NUMBER": "SequenceNumber",
    "AFTER_SEQUENCE_NUMBER": "SequenceNumber",
    "AT_TIMESTAMP": "Timestamp",
}


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if the start position in a GetShardIterator request does not match the iterator type.

    A SequenceNumber or Timestamp is required if the iterator type uses it, and not allowed otherwise.
    """
    kind = request["ShardIteratorType"]
    required_member = _START.get(kind)
    for member in ("SequenceNumber", "Timestamp"):
        is_given = request.get(member) is not None
        if member == required_member and not is_given:
            raise ValidationError(messages.iterator_needs(member, kind))
        if member != required_member and is_given:
            raise ValidationError(messages.iterator_takes_no(member, kind))


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run GetShardIterator: find the stream and the shard, and return an iterator for the requested position."""
    kind, arn = request["ShardIteratorType"], request["StreamArn"]
    records.check_arn(arn)
    check(request)
    number = request.get("SequenceNumber")
    sequence = 0 if number is None else records.sequence_of(number)
    retention.trim_if_due(database, arn)
    now = database.clock.now()
    with database.store.snapshot() as view:
        document = records.find_readable(view, arn, now)
        shard = records.shard_number(document, request["ShardId"])
        if shard is None:
            raise ResourceNotFoundError(messages.SHARD_NOT_FOUND)
        if kind == "AT_TIMESTAMP":
            position = _position_at_time(view, document, shard, timestamps.epoch_s(request["Timestamp"]))
        else:
            position = _position(view, document, shard, kind, sequence)
    at_horizon = kind == "TRIM_HORIZON"
    return {"ShardIterator": records.render_iterator(records.ShardIterator(arn, shard, position, now, at_horizon))}


def _position(view: StoreView, document: dict[str, Any], shard: int, kind: str, sequence: int) -> int:
    trimmed, last = records.last_trimmed(document, shard), records.last_sequence(view, document, shard)
    if kind == "TRIM_HORIZON":
        return trimmed + 1
    if kind == "LATEST":
        return last + 1
    if sequence <= trimmed:
        raise TrimmedDataAccessError(messages.TRIMMED)
    if sequence > last + 1:
        raise ValidationError(messages.INVALID_SEQUENCE_NUMBER)
    return sequence + 1 if kind == "AFTER_SEQUENCE_NUMBER" else sequence


def _position_at_time(view: StoreView, document: dict[str, Any], shard: int, at_s: float) -> int:
    """Return the position in a shard of the first stream record that was written at or after the time `at_s`, in epoch
    seconds.
    """
    last_older = retention.last_before(view, records.log_of(document), shard, at_s)
    return max(last_older, records.last_trimmed(document, shard)) + 1
