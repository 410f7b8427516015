"""Access to a database and its streams, with retries, for use by runners.

The same `call` method is used for operations on tables and on streams.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyplan import limits
from keyplan.client.connection import Connection
from keyplan.client.requests import Context, Request, Response, Transport, drive, send
from keyplan.client.tables import Declared, create_tables
from keyplan.client.transports import BotoTransport
from keyplan.clock import Clock, SystemClock
from keyplan.design.declaring.tables import Table
from keyplan.errors import ServiceError
from keyplan.streams.errors import ConsumerSetupError
from keyplan.streams.records import StreamRecord, record_of

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})


class Service:
    """Calls the operations of a database, and repeats failed calls. Methods raise ServiceError for rejected requests,
    and RunError if the database cannot be reached.
    """

    def __init__(self, db: Connection | Transport, *, clock: Clock | None = None) -> None:
        self._db = db
        self._transport = db.transport if isinstance(db, Connection) else db
        self.clock: Clock = clock or (db.context.clock if isinstance(db, Connection) else SystemClock())
        self._context = Context(self.clock, cursor_key=b"")
        self._never = threading.Event()

    @property
    def is_embedded(self) -> bool:
        """Return True if the database is an engine in this process. Missing tables in such a database are created by
        default.
        """
        return not isinstance(self._transport, BotoTransport)

    def table_name(self, table: Table) -> str:
        """Return the physical name of a table."""
        return self._db.table_name(table) if isinstance(self._db, Connection) else table.name

    def call(self, operation: str, request: Request) -> Response:
        """Call an operation of the database and return its response."""
        return self._send(self._transport, operation, request)

    def create(self, table: Declared) -> None:
        """Create a table under its declared name, or verify that the existing table matches the declaration."""
        drive(create_tables(self._context, [table], wait=True), self._transport.call, self._wait)

    def _send(self, transport: Transport, operation: str, request: Request) -> Response:
        return drive(send(self._context, operation, request), transport.call, self._wait)

    def _wait(self, seconds: float) -> None:
        self.clock.wait(self._never, seconds)


class StreamService(Service):
    """Calls the operations of a database and of its streams, and repeats failed calls."""

    def __init__(self, db: Connection | Transport, *, streams: Any = None, clock: Clock | None = None) -> None:
        """Prepare access to a database and its streams.

        `streams` is a boto3 dynamodbstreams client to use instead of the client derived from `db`. If the database uses
        ShardIds of fewer than 28 characters, as some engines do, create this client with
        `Config(parameter_validation=False)`.
        """
        super().__init__(db, clock=clock)
        self._streams = _streams_transport(self._transport, streams)
        self._is_derived = streams is None and self._streams is not self._transport

    def call(self, operation: str, request: Request) -> Response:
        """Call an operation of the database or of its streams and return the response."""
        return self._send(self._streams if operation in STREAM_OPERATIONS else self._transport, operation, request)

    def close(self) -> None:
        """Close the streams client that was derived from `db`. The next call opens it again."""
        if self._is_derived:
            self._streams.close()


def _streams_transport(transport: Transport, client: Any) -> Transport:
    if client is not None:
        return BotoTransport(client)
    return BotoTransport(streams_client(transport.client)) if isinstance(transport, BotoTransport) else transport


def streams_client(client: Any) -> Any:
    """Return a dynamodbstreams client with the same Region, endpoint and settings as a dynamodb client.

    The returned client does not validate parameters, because some DynamoDB-compatible engines use ShardIds of fewer
    than 28 characters, which botocore rejects.
    """
    import boto3  # noqa: PLC0415 - an extra, installed if this client exists
    from botocore.config import Config  # noqa: PLC0415 - comes with boto3

    if client.meta.service_model.service_name != "dynamodb":
        raise ConsumerSetupError(
            f"expected a client for dynamodb, got a client for {client.meta.service_model.service_name}"
        )
    config = client.meta.config.merge(Config(parameter_validation=False))
    options: dict[str, Any] = {"region_name": client.meta.region_name, "config": config}
    if ".amazonaws." not in client.meta.endpoint_url:  # Amazon's streams have a separate endpoint
        options["endpoint_url"] = client.meta.endpoint_url
        if boto3.Session().get_credentials() is None:
            options.update(aws_access_key_id="keyplan", aws_secret_access_key="keyplan")  # noqa: S106 - not secret
    return boto3.client("dynamodbstreams", **options)


Call = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Shard:
    """A shard of a stream, as described by DescribeStream."""

    arn: str
    name: str
    parent: str | None
    starts: int | None
    ends: int | None
    """The last sequence number of a closed shard, or None for an open shard."""

    @property
    def key(self) -> str:
        """Return a name that is unique among all streams of a table: the stream label and the shard ID."""
        return f"{label_of(self.arn)}/{self.name}"


@dataclass(frozen=True)
class TableStream:
    """A stream of a table, with its shards.

    If a stream is disabled and enabled again, the table has two streams. The records of the old stream are readable for
    24 hours.
    """

    arn: str
    view: str
    shards: tuple[Shard, ...]


def label_of(arn: str) -> str:
    """Return the stream label in a stream's ARN, which is the time at which the stream was enabled."""
    return arn.rpartition("/")[2]


def streams_of(call: Call, table: str) -> list[TableStream]:
    """Return the readable streams of a table, oldest first."""
    streams = []
    for arn in sorted(_arns(call, table), key=label_of):
        stream = describe(call, arn)
        if stream is not None:
            streams.append(stream)
    return streams


def _arns(call: Call, table: str) -> Iterator[str]:
    request: dict[str, Any] = {"TableName": table}
    while True:
        response = call("ListStreams", request)
        yield from (stream["StreamArn"] for stream in response.get("Streams", ()))
        if "LastEvaluatedStreamArn" not in response:
            return
        request["ExclusiveStartStreamArn"] = response["LastEvaluatedStreamArn"]


def describe(call: Call, arn: str) -> TableStream | None:
    """Return a stream with all its shards, or None if the stream no longer exists."""
    shards: list[Shard] = []
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        try:
            description = call("DescribeStream", request)["StreamDescription"]
        except ServiceError as error:
            if error.code != "ResourceNotFoundException":
                raise
            return None
        shards += [_shard(arn, shard) for shard in description.get("Shards", ())]
        if "LastEvaluatedShardId" not in description:
            return TableStream(arn, description["StreamViewType"], tuple(shards))
        request["ExclusiveStartShardId"] = description["LastEvaluatedShardId"]


def _shard(arn: str, description: dict[str, Any]) -> Shard:
    sequence_range = description.get("SequenceNumberRange", {})
    starts, ends = sequence_range.get("StartingSequenceNumber"), sequence_range.get("EndingSequenceNumber")
    return Shard(
        arn,
        description["ShardId"],
        description.get("ParentShardId"),
        None if starts is None else int(starts),
        None if ends is None else int(ends),
    )


def ready_shards(streams: Sequence[TableStream], is_done: Callable[[str], bool]) -> list[Shard]:
    """Return the shards that can be read now, because all records of their predecessors have been handled.

    The predecessors of a shard are its parent and all shards of earlier streams of the table. A parent that is missing
    from the list has been trimmed and is ignored. `is_done` returns True for the key of a shard whose records have all
    been handled.
    """
    for stream in streams:
        shards_by_name = {shard.name: shard for shard in stream.shards}
        remaining = [shard for shard in stream.shards if not is_done(shard.key)]
        if remaining or stream is streams[-1]:
            return [
                shard
                for shard in remaining
                if shard.parent not in shards_by_name or is_done(shards_by_name[shard.parent].key)
            ]
    return []


def is_removed(call: Call, arn: str, shard: str) -> bool:
    """Return True if a shard no longer exists.

    The check calls GetShardIterator, because a list of shards may not contain a new shard yet.
    """
    try:
        call("GetShardIterator", {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"})
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return True
    return False


@dataclass(frozen=True)
class RecordsPage:
    """A page of records from a shard, in order and without duplicates."""

    records: list[StreamRecord]
    is_last: bool
    """True if the shard is closed and has no further records."""
    has_gap: bool = False
    """True if records before this page were trimmed before the runner read them."""


@dataclass
class ShardCursor:
    """A position in a shard, from which pages of records are read."""

    call: Call
    shard: Shard
    position: int | None
    """The sequence number of the last record that was read, or None if no record has been read."""
    from_latest: bool = False
    """True if reading starts at the end of the shard instead of at its start.

    This applies only to the first shard iterator. An iterator that replaces an expired one must not skip newer records.
    """
    iterator: str | None = None

    def clone(self) -> ShardCursor:
        """Return a cursor at the same position. Both cursors can use the same iterator."""
        return ShardCursor(self.call, self.shard, self.position, self.from_latest, self.iterator)

    def read(self, limit: int = limits.GET_RECORDS_LIMIT) -> RecordsPage:
        """Return the next page of up to `limit` records. Raises ServiceError if the request fails even with a new
        iterator.
        """
        gap = False
        for _ in range(3):  # the iterator may expire, then its position may be trimmed, then the trim horizon is used
            try:
                if self.iterator is None:
                    self.iterator = self._request_iterator(from_horizon=gap)
                response = self.call("GetRecords", {"ShardIterator": self.iterator, "Limit": limit})
            except ServiceError as error:
                if error.code == "ResourceNotFoundException":
                    return RecordsPage([], is_last=True, has_gap=self._was_unread())
                if error.code not in {"ExpiredIteratorException", "TrimmedDataAccessException"}:
                    raise
                self.iterator = None
                gap = gap or error.code == "TrimmedDataAccessException"
            else:
                return self._page(response, gap=gap and self._has_lost())
        raise ServiceError(f"every new iterator of {self.shard.name} was rejected as expired or trimmed")

    def _request_iterator(self, *, from_horizon: bool) -> str:
        request = {"StreamArn": self.shard.arn, "ShardId": self.shard.name, "ShardIteratorType": "TRIM_HORIZON"}
        if self.position is not None and not from_horizon:
            request["ShardIteratorType"] = "AFTER_SEQUENCE_NUMBER"
            request["SequenceNumber"] = str(self.position)
        elif self.from_latest:
            request["ShardIteratorType"] = "LATEST"
        iterator: str = self.call("GetShardIterator", request)["ShardIterator"]
        self.from_latest = False
        return iterator

    def _has_lost(self) -> bool:
        """Return True if records may have been trimmed before they were read.

        The result is False if the oldest record in the shard directly follows the last record that was read.
        """
        stream = describe(self.call, self.shard.arn)
        for shard in stream.shards if stream is not None else ():
            if shard.name == self.shard.name and shard.starts is not None and self.position is not None:
                return shard.starts != self.position + 1
        return True

    def _was_unread(self) -> bool:
        """Return True if the shard, which no longer exists, may have contained unread records."""
        return self.shard.ends is None or self.position is None or self.position < self.shard.ends

    def _page(self, response: dict[str, Any], *, gap: bool) -> RecordsPage:
        """Return a page with the new records in a GetRecords response, sorted and without duplicates.

        `gap` is True if records before this page were lost.
        """
        by_sequence: dict[int, StreamRecord] = {}
        for raw in response["Records"]:
            record = record_of(self.shard.arn, self.shard.name, raw)
            if self.position is None or record.sequence > self.position:
                by_sequence[record.sequence] = record
        records = [by_sequence[sequence] for sequence in sorted(by_sequence)]
        if records:
            self.position = records[-1].sequence
        self.iterator = response.get("NextShardIterator")
        return RecordsPage(records, is_last=self.iterator is None, has_gap=gap)
