"""The service as change consumers reach it: one call for tables and streams alike, repeated until it is answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyplan import limits
from keyplan.client.connection import Connection
from keyplan.client.requests import Answer, Context, Request, Transport, drive, send
from keyplan.client.tables import Declared, create_tables
from keyplan.client.transports import BotoTransport
from keyplan.clock import Clock, SystemClock
from keyplan.design.declaring.tables import Table
from keyplan.errors import ServiceError
from keyplan.streams.errors import ConsumerSetupError
from keyplan.streams.records import StreamRecord, record_of

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})


class Service:
    """A database. Raises ServiceError for answers, RunError when it gives up."""

    def __init__(self, db: Connection | Transport, *, clock: Clock | None = None) -> None:
        self._db = db
        self._transport = db.transport if isinstance(db, Connection) else db
        self.clock: Clock = clock or (db.context.clock if isinstance(db, Connection) else SystemClock())
        self._context = Context(self.clock, cursor_key=b"")
        self._never = threading.Event()

    @property
    def is_embedded(self) -> bool:
        """Whether the engine is in this process, so that tables may be made as they are needed."""
        return not isinstance(self._transport, BotoTransport)

    def table_name(self, table: Table) -> str:
        """The real name of a table."""
        return self._db.table_name(table) if isinstance(self._db, Connection) else table.name

    def call(self, operation: str, request: Request) -> Answer:
        """The answer of an operation."""
        return self._send(self._transport, operation, request)

    def create(self, table: Declared) -> None:
        """Make a table under its declared name, or see that it is there as declared."""
        drive(create_tables(self._context, [table], wait=True), self._transport.call, self._wait)

    def _send(self, transport: Transport, operation: str, request: Request) -> Answer:
        return drive(send(self._context, operation, request), transport.call, self._wait)

    def _wait(self, seconds: float) -> None:
        self.clock.wait(self._never, seconds)


class StreamService(Service):
    """A database and its streams."""

    def __init__(self, db: Connection | Transport, *, streams: Any = None, clock: Clock | None = None) -> None:
        """`streams`: a boto3 client of dynamodbstreams, where the one that is derived from `db` will not do.

        For an engine whose ShardIds have under 28 characters it needs `Config(parameter_validation=False)`.
        """
        super().__init__(db, clock=clock)
        self._streams = _streams_transport(self._transport, streams)
        self._is_derived = streams is None and self._streams is not self._transport

    def call(self, operation: str, request: Request) -> Answer:
        """The answer of an operation."""
        return self._send(self._streams if operation in STREAM_OPERATIONS else self._transport, operation, request)

    def close(self) -> None:
        """Give back the connections of the client that was derived; another call opens them anew."""
        if self._is_derived:
            self._streams.close()


def _streams_transport(transport: Transport, client: Any) -> Transport:
    if client is not None:
        return BotoTransport(client)
    return BotoTransport(_streams_client(transport.client)) if isinstance(transport, BotoTransport) else transport


def _streams_client(client: Any) -> Any:
    """Return a client of the streams that belong to a client's tables: same region, endpoint and settings.

    It does not validate parameters: botocore refuses ShardIds of under 28 characters, which other engines have.
    """
    import boto3  # noqa: PLC0415 - an extra; here is a client of it
    from botocore.config import Config  # noqa: PLC0415 - comes with it

    if client.meta.service_model.service_name != "dynamodb":
        raise ConsumerSetupError(f"a client of dynamodb is needed, not of {client.meta.service_model.service_name}")
    config = client.meta.config.merge(Config(parameter_validation=False))
    options: dict[str, Any] = {"region_name": client.meta.region_name, "config": config}
    if ".amazonaws." not in client.meta.endpoint_url:  # Amazon's streams have an endpoint of their own
        options["endpoint_url"] = client.meta.endpoint_url
        if boto3.Session().get_credentials() is None:
            options.update(aws_access_key_id="keyplan", aws_secret_access_key="keyplan")  # noqa: S106 - not secret
    return boto3.client("dynamodbstreams", **options)


Call = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Shard:
    """A shard of a stream."""

    arn: str
    name: str
    parent: str | None
    starts: int | None
    ends: int | None
    """The last sequence of a closed shard; None while it is open."""

    @property
    def key(self) -> str:
        """Its name among all streams of its table: the stream's label and its own."""
        return f"{label_of(self.arn)}/{self.name}"


@dataclass(frozen=True)
class TableStream:
    """A stream of a table, with its shards; a table whose stream was switched on anew has several for a day."""

    arn: str
    view: str
    shards: tuple[Shard, ...]


def label_of(arn: str) -> str:
    """The label of a stream: when it was switched on."""
    return arn.rpartition("/")[2]


def streams_of(call: Call, table: str) -> list[TableStream]:
    """The streams of a table that can still be read, oldest first."""
    found = []
    for arn in sorted(_arns(call, table), key=label_of):
        stream = describe(call, arn)
        if stream is not None:
            found.append(stream)
    return found


def _arns(call: Call, table: str) -> Iterator[str]:
    request: dict[str, Any] = {"TableName": table}
    while True:
        answer = call("ListStreams", request)
        yield from (one["StreamArn"] for one in answer.get("Streams", ()))
        if "LastEvaluatedStreamArn" not in answer:
            return
        request["ExclusiveStartStreamArn"] = answer["LastEvaluatedStreamArn"]


def describe(call: Call, arn: str) -> TableStream | None:
    """A stream with all its shards; None where it is gone."""
    shards: list[Shard] = []
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        try:
            told = call("DescribeStream", request)["StreamDescription"]
        except ServiceError as error:
            if error.code != "ResourceNotFoundException":
                raise
            return None
        shards += [_shard(arn, one) for one in told.get("Shards", ())]
        if "LastEvaluatedShardId" not in told:
            return TableStream(arn, told["StreamViewType"], tuple(shards))
        request["ExclusiveStartShardId"] = told["LastEvaluatedShardId"]


def _shard(arn: str, told: dict[str, Any]) -> Shard:
    span = told.get("SequenceNumberRange", {})
    starts, ends = span.get("StartingSequenceNumber"), span.get("EndingSequenceNumber")
    return Shard(
        arn,
        told["ShardId"],
        told.get("ParentShardId"),
        None if starts is None else int(starts),
        None if ends is None else int(ends),
    )


def ready_shards(streams: Sequence[TableStream], done: Callable[[str], bool]) -> list[Shard]:
    """The shards that may be read now: those of which every predecessor is done.

    A shard's predecessors are its parent, and all shards of the table's earlier streams. A parent that is no
    longer listed has been trimmed, and stands in nobody's way.
    """
    for stream in streams:
        names = {shard.name: shard for shard in stream.shards}
        left = [shard for shard in stream.shards if not done(shard.key)]
        if left or stream is streams[-1]:
            return [shard for shard in left if shard.parent not in names or done(names[shard.parent].key)]
    return []


def is_gone(call: Call, arn: str, shard: str) -> bool:
    """Whether a shard is no more. Asked of the shard itself: a list of shards may be older than the shard is."""
    try:
        call("GetShardIterator", {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"})
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return True
    return False


@dataclass(frozen=True)
class RecordsPage:
    """Some records of a shard, in order, each once."""

    records: list[StreamRecord]
    ended: bool
    """Whether the shard has no more, now and ever."""
    gap: bool = False
    """Whether records before these were trimmed before they could be read."""


@dataclass
class ShardCursor:
    """A place in a shard from which pages are read."""

    call: Call
    shard: Shard
    position: int | None
    """The last sequence that was read; None at the start."""
    from_latest: bool = False
    """Whether it begins at the end instead of the start. Only the first iterator does: one that takes the place of
    an expired one must not pass over what came meanwhile."""
    iterator: str | None = None

    def clone(self) -> ShardCursor:
        """A cursor at the same place: an iterator may be used more than once."""
        return ShardCursor(self.call, self.shard, self.position, self.from_latest, self.iterator)

    def read(self, limit: int = limits.GET_RECORDS_LIMIT) -> RecordsPage:
        """The next page. Raises ServiceError for what cannot be mended by a new iterator."""
        gap = False
        for _ in range(3):  # an iterator that expired, then one that was trimmed, then the horizon
            try:
                if self.iterator is None:
                    self.iterator = self._place(from_horizon=gap)
                answer = self.call("GetRecords", {"ShardIterator": self.iterator, "Limit": limit})
            except ServiceError as error:
                if error.code == "ResourceNotFoundException":
                    return RecordsPage([], ended=True, gap=self._was_unread())
                if error.code not in {"ExpiredIteratorException", "TrimmedDataAccessException"}:
                    raise
                self.iterator = None
                gap = gap or error.code == "TrimmedDataAccessException"
            else:
                return self._page(answer, gap=gap and self._has_lost())
        raise ServiceError(f"no iterator of {self.shard.name} stays usable")

    def _place(self, *, from_horizon: bool) -> str:
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
        """Whether what was trimmed had been unread: not if the shard now begins right after what was read."""
        stream = describe(self.call, self.shard.arn)
        for shard in stream.shards if stream is not None else ():
            if shard.name == self.shard.name and shard.starts is not None and self.position is not None:
                return shard.starts != self.position + 1
        return True

    def _was_unread(self) -> bool:
        """Of a shard that is gone: whether it may have held more than was read."""
        return self.shard.ends is None or self.position is None or self.position < self.shard.ends

    def _page(self, answer: dict[str, Any], *, gap: bool) -> RecordsPage:
        """In order and without repetition, whatever order the service gave: a page is whole, so this is safe."""
        found: dict[int, StreamRecord] = {}
        for raw in answer["Records"]:
            record = record_of(self.shard.arn, self.shard.name, raw)
            if self.position is None or record.sequence > self.position:
                found[record.sequence] = record
        records = [found[sequence] for sequence in sorted(found)]
        if records:
            self.position = records[-1].sequence
        self.iterator = answer.get("NextShardIterator")
        return RecordsPage(records, ended=self.iterator is None, gap=gap)
