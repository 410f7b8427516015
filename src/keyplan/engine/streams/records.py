"""Shards, sequence numbers, shard iterators and change records of streams.

The module `logs` starts and ends streams. The document of a stream is stored under the stream's ARN, and remains when
the stream's table is deleted. The module `retention` updates the document's member `trimmed`, which contains the last
removed sequence number of each shard.

A shard iterator is an opaque string with the position of the next records in a shard:

    <stream ARN>|1|<base64 of: shard, position, creation time, whether it is at the horizon, check>

The check is a digest of the ARN and the other values. It is used to detect truncated or altered strings. The values are
not secret, because a client with access to the stream can read all of them.

Source: developer guide, "Change data capture for DynamoDB Streams".
"""

from __future__ import annotations

import hashlib
import struct
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.values import attribute, encoding
from keyplan.dynamodb.values.keybytes import HASH_SPACE, hash_of
from keyplan.dynamodb.values.types import equal_items
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Log, StoreView, Transaction
from keyplan.engine.streams import logs
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ExpiredIteratorError, ResourceNotFoundError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database
    from keyplan.engine.items.versions import Version


SERVICE = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
"""The userIdentity in stream records of items that were deleted by time to live."""

_SERVICE_MEMBER = b'"userIdentity":' + orjson.dumps(SERVICE) + b","
_NEW = frozenset(("NEW_IMAGE", "NEW_AND_OLD_IMAGES"))
_OLD = frozenset(("OLD_IMAGE", "NEW_AND_OLD_IMAGES"))
_NUMBER_BASE = 10**20  # makes sequence numbers at least 21 digits long, as in the service


# Documents.


def find_readable(view: StoreView, arn: str, now: float) -> dict[str, Any]:
    """Return the document of a stream whose records can be read.

    Raises ValidationError for an invalid ARN, and ResourceNotFoundError if the stream does not exist or has expired.
    """
    check_arn(arn)
    document = logs.find(view, arn)
    if document is None or logs.is_expired(document, now):
        raise ResourceNotFoundError(messages.stream_not_found(arn))
    return document


def log_of(document: dict[str, Any]) -> Log:
    """Return the log that contains the records of the stream."""
    return statements.log(document["log"])


def last_trimmed(document: dict[str, Any], shard: int) -> int:
    """Return the sequence number of the last record that was trimmed from a shard, or 0 if none was trimmed."""
    sequences: list[int] | None = document.get("trimmed")
    return 0 if sequences is None else sequences[shard]


def last_sequence(view: StoreView, document: dict[str, Any], shard: int) -> int:
    """Return the sequence number of the last record that has been written to a shard. For a closed shard, this number
    is final.
    """
    return max(view.bounds(log_of(document), shard)[1] or 0, last_trimmed(document, shard))


def check_arn(arn: str) -> None:
    """Raise ValidationError unless the string looks like a stream ARN."""
    if not arn.startswith("arn:") or ":table/" not in arn or "/stream/" not in arn:
        raise ValidationError(messages.INVALID_ARN)


# Shards and sequence numbers.


def shard_id(document: dict[str, Any], shard: int) -> str:
    """Return the ID of a shard, which consists of the stream's creation time in milliseconds and the shard's number."""
    return f"shardId-{int(document['created_at'] * 1000):020d}-{shard:08x}"


def shard_number(document: dict[str, Any], name: str) -> int | None:
    """Return the number of the shard with the ID `name`, or None if the stream does not have such a shard."""
    for shard in range(document["shards"]):
        if shard_id(document, shard) == name:
            return shard
    return None


def sequence_number(sequence: int) -> str:
    """Convert the sequence number of a stream record in its log to a SequenceNumber of DynamoDB, a string of at least
    21 digits.
    """
    return str(_NUMBER_BASE + sequence)


def sequence_of(number: str) -> int:
    """Parse a SequenceNumber and return the sequence number of the stream record in its log.

    Raises ValidationError if the SequenceNumber is invalid.
    """
    if not (number.isascii() and number.isdigit()) or int(number) < _NUMBER_BASE:
        raise ValidationError(messages.INVALID_SEQUENCE_NUMBER)
    return int(number) - _NUMBER_BASE


def event_id(arn: str, sequence: int) -> bytes:
    """Return the eventID of a stream record: 32 hexadecimal digits, which are the same every time the
    record is read.
    """
    return hashlib.md5(b"%b|%d" % (arn.encode(), sequence), usedforsecurity=False).hexdigest().encode()


# Records.


def record(
    database: Database,
    transaction: Transaction,
    table: Table,
    key: bytes,
    *,
    old: Version | None,
    new: Version | None,
    by_service: bool,
) -> None:
    """Append a record of the change to the table's stream, unless both versions of the item have the same content.

    The stored body is an excerpt of the record's JSON text, from the event name to the view type. The time and the
    sequence number are stored in separate columns of the log.
    """
    stream = table.stream
    assert stream is not None
    if old is not None and new is not None and old.size == new.size and equal_items(old.item, new.item):
        return
    version = new or old
    assert version is not None
    keys = table.key.extract(version.item)
    size = attribute.item_bytes(keys)
    event = b"INSERT" if old is None else b"REMOVE" if new is None else b"MODIFY"
    parts = [
        b'"eventName":"%b",' % event,
        _SERVICE_MEMBER if by_service else b"",
        b'"dynamodb":{"Keys":',
        encoding.encode(keys),
    ]
    if new is not None and stream.view_type in _NEW:
        parts += (b',"NewImage":', new.body)
        size += new.size
    if old is not None and stream.view_type in _OLD:
        parts += (b',"OldImage":', old.body)
        size += old.size
    parts.append(b',"SizeBytes":%d,"StreamViewType":"%b"' % (size, stream.view_type.encode()))
    shard = hash_of(key) * stream.shards // HASH_SPACE
    transaction.append(stream.log, database.clock.now(), shard, b"".join(parts))


_LAYOUT = struct.Struct(">IQd?")
_CHECK_BYTES = 8
_VERSION = "1"


class ShardIterator(NamedTuple):
    """A position in a shard at which to continue reading."""

    arn: str
    shard: int
    position: int
    """The sequence number of the first stream record to return."""
    issued_at: float
    """The creation time of the iterator in epoch seconds."""
    at_horizon: bool
    """Whether reading starts at the oldest record that exists when the iterator is used (TRIM_HORIZON)."""


def render_iterator(iterator: ShardIterator) -> str:
    """Return the string that represents the iterator for clients."""
    content = _LAYOUT.pack(iterator.shard, iterator.position, iterator.issued_at, iterator.at_horizon)
    return f"{iterator.arn}|{_VERSION}|{b64encode(content + _iterator_digest(iterator.arn, content)).decode()}"


def parse_iterator(text: str, now: float) -> ShardIterator:
    """Parse a client's iterator string. Raises ValidationError if the string is invalid, and ExpiredIteratorError if
    the iterator is older than 15 minutes.
    """
    arn, _, rest = text.partition("|")
    version, _, encoded = rest.partition("|")
    try:
        packed = b64decode(encoded, validate=True)
    except ValueError:
        raise ValidationError(messages.INVALID_ITERATOR) from None
    content, check = packed[:-_CHECK_BYTES], packed[-_CHECK_BYTES:]
    if version != _VERSION or len(content) != _LAYOUT.size or check != _iterator_digest(arn, content):
        raise ValidationError(messages.INVALID_ITERATOR)
    iterator = ShardIterator(arn, *_LAYOUT.unpack(content))
    if now - iterator.issued_at > limits.SHARD_ITERATOR_S:
        raise ExpiredIteratorError(messages.ITERATOR_EXPIRED)
    return iterator


def _iterator_digest(arn: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECK_BYTES, key=hashlib.sha256(arn.encode()).digest()).digest()
