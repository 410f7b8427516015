"""The consumer that writes every change in the table's stream to the lake, and rebuilds the lake after gaps in the
stream.

Records are delivered at least once: a batch is stored before the checkpoint is moved. If records are delivered again,
after a crash or by a second consumer, the lake recognizes them by their sequence numbers. Checkpoints contain a lease
for each shard, so that consumers with the same checkpoints share the shards.

The stream drops records after 24 hours. Therefore the feed rebuilds the lake from the whole table or from a given
export in three cases: before it reads the first record, if records were trimmed before they were read, and if the
stream was disabled for a while. Changes since the start of the scan or export, or all changes in the newly enabled
stream, are then applied to the rebuilt lake.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from keyplan import limits
from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.streams.checkpoints import Checkpoints, ConsumerState, ShardLease
from keyplan.streams.checkpoints_table import TableCheckpoints
from keyplan.streams.errors import ConsumerSetupError, LeaseLostError
from keyplan.streams.failures import Destination
from keyplan.streams.records import Failure, StreamRecord
from keyplan.streams.streams import Shard, ShardCursor, StreamService, TableStream, is_removed, ready_shards, streams_of
from keyplan_systems.todo.entities import app
from keyplan_systems.todo.lake.errors import BadRecordError, LakeBusyError, StaleExportError
from keyplan_systems.todo.lake.events import SEQUENCE_DIGITS
from keyplan_systems.todo.lake.lake import Lake

CONSUMER = "todo-lake"
"""Prefix of the consumer's name. Each lake has its own consumer with its own checkpoints."""
BATCH_RECORDS = 5_000
"""Maximum number of stream records per write to the lake."""
SAFE_RETENTION_S = limits.STREAM_RETENTION_S - 3600.0
"""Number of seconds without a read of a shard after which unread records may have been trimmed from the stream. Until
then, all unread records are certainly in the stream.
"""
MAX_CLOCK_DIFFERENCE = timedelta(minutes=5)
"""Maximum time by which the local clock may be ahead of the service's clock. The service's clock determines the times
of changes.

When the lake is rebuilt from the table, the changes of this period before the read of the table are applied again. This
is harmless, because the last change of an item contains its whole state. A missing change would be harmful.
"""

LAST_SEQUENCE = "9" * SEQUENCE_DIGITS
"""Sequence number that sorts after the sequence numbers of all changes in a stream."""

_SERVICE = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}


@dataclass
class _Reader:
    """A shard that this feed reads, and the feed's position in the shard."""

    cursor: ShardCursor
    lease: ShardLease
    last_read_s: float
    """Time of the last read in Unix seconds.

    If no position is stored for the shard, reading starts at the stream's oldest record. The feed then needs this time
    to determine whether unread records may have been trimmed.
    """
    ended: bool = False


class Feed:
    """The consumer that copies the changes of one table to one lake. An instance must not be used by several threads
    concurrently.
    """

    def __init__(
        self,
        connection: Connection,
        lake: Lake,
        *,
        clock: Clock,
        checkpoints: Checkpoints | None = None,
        failures: Destination | None = None,
        runner: str | None = None,
        lease_s: float = 60.0,
        streams: Any = None,
    ) -> None:
        """Create the feed.

        By default, `checkpoints` are stored in the table keyplan-checkpoints of the same database. `failures` is the
        destination for records that the lake rejects. Without it, the first rejected record stops the feed. `lease_s`
        is the number of seconds without renewal after which other feeds can acquire this feed's shards. `streams` is a
        boto3 dynamodbstreams client. The default is the client of the connection.
        """
        self._service = StreamService(connection, streams=streams, clock=clock)
        self._table = self._service.table_name(app)
        self._lake, self._clock, self._failures, self._lease_s = lake, clock, failures, lease_s
        self._checkpoints = checkpoints or TableCheckpoints(connection, clock=clock, create=True)
        self._name = runner or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._consumer = f"{self._table}/{CONSUMER}-{lake.identity()}"
        self._readers: dict[str, _Reader] = {}
        self._prepared = False

    @property
    def consumer(self) -> str:
        """The name under which this feed stores checkpoints and failures."""
        return self._consumer

    def run_once(self) -> int:
        """Store all pending records, and return the number of records read.

        Raises ConsumerSetupError if the table has no stream, LakeError if the lake cannot be written, and RunError if
        the database fails. Records that were stored before an error remain in the lake.
        """
        total = 0
        while True:
            self._acquire_shards()
            readers = list(self._readers)
            read = sum(self._drain_shard(key) for key in readers)
            total += read
            if not read and readers == list(self._readers):  # no shard has ended, so no child shards are readable
                return total

    def close(self) -> None:
        """Release the leases on all shards, so that other feeds can acquire them. The feed can be used again."""
        try:
            for reader in self._readers.values():
                self._release(reader.lease, done=False)
            self._readers.clear()
        finally:
            self._service.close()

    def catch_up(
        self,
        items: Iterable[Mapping[str, Any]] | None = None,
        as_of: datetime | None = None,
        *,
        ended_stream: str | None = None,
    ) -> None:
        """Rebuild the lake from the current items of the table, or from the items of an export.

        `items` contains the items of an export, and `as_of` is the time of the export. If both are omitted, the table
        is read. `ended_stream` is the label of an ended stream whose changes the current items already include.
        """
        if items is not None:
            assert as_of is not None, "an export has a time"
            self._lake.rebuild_from_items(items, as_of)
            return
        position = {} if ended_stream is None else {"sequence": LAST_SEQUENCE, "stream": ended_stream}
        while True:
            baselines = self._lake.snapshot.baselines
            started_at = datetime.fromtimestamp(self._clock.now(), UTC) - MAX_CLOCK_DIFFERENCE
            try:
                self._lake.rebuild_from_items(self._all_items(), started_at, **position)
            except LakeBusyError:
                continue  # another feed that started to read earlier has finished concurrently
            except StaleExportError:
                if ended_stream is not None and self._lake.snapshot.baselines == baselines:
                    raise  # a very recent export may miss changes; a later attempt reads the table again
                return  # the lake already contains all missed changes, perhaps through another feed
            return

    # Shards.

    def _acquire_shards(self) -> None:
        if not self._prepared:
            self._checkpoints.prepare()
            self._prepared = True
        streams = streams_of(self._service.call, self._table)
        if not streams:
            raise ConsumerSetupError(f"table {self._table} has no stream: enable it with NEW_AND_OLD_IMAGES")
        state = self._checkpoints.state(self._consumer)
        if not state.is_known:
            self.catch_up()  # reads the items that were written before the stream's oldest record
            self._checkpoints.begin(self._consumer, None)
            last_read_s = self._clock.now()
        else:
            last_read_s = max((lease.until_s for lease in state.leases.values()), default=0.0)
        self._close_lost_shards(state, streams)
        labels = {label_of_key(key) for key in state.leases}
        for shard in ready_shards(streams, lambda key: key in state.leases and state.leases[key].done):
            if labels and label_of_key(shard.key) not in labels:
                self.catch_up(ended_stream=max(labels))  # no stream contains changes from while streams were disabled
                labels.add(label_of_key(shard.key))
                last_read_s = self._clock.now()
            lease = state.leases.get(shard.key)
            self._acquire(shard, last_read_s if lease is None else lease.until_s)

    def _acquire(self, shard: Shard, last_read_s: float) -> None:
        if shard.key in self._readers:
            return
        now_s = self._clock.now()
        lease = self._checkpoints.acquire(self._consumer, shard.key, self._name, now_s, now_s + self._lease_s)
        if lease is not None:
            self._readers[shard.key] = _Reader(
                ShardCursor(self._service.call, shard, lease.position), lease, last_read_s
            )

    def _close_lost_shards(self, state: ConsumerState, streams: Sequence[TableStream]) -> None:
        """Rebuild the lake from the table if shards were removed before they were completely read, and mark these
        shards as read.
        """
        shard_keys = {shard.key for stream in streams for shard in stream.shards}
        missing_leases = [lease for lease in state.leases.values() if not lease.done and lease.shard not in shard_keys]
        lost_leases = [lease for lease in missing_leases if self._is_removed(lease, streams[-1].arn)]
        now_s = self._clock.now()
        results = [
            self._checkpoints.acquire(self._consumer, reader.shard, self._name, now_s, now_s + self._lease_s)
            for reader in lost_leases
        ]
        acquired_leases = [lease for lease in results if lease is not None]
        if acquired_leases:
            self.catch_up()
        for lease in acquired_leases:
            self._readers.pop(lease.shard, None)
            self._release(lease, done=True)

    def _is_removed(self, lease: ShardLease, arn: str) -> bool:
        """Return True if the stream no longer contains the shard of a lease.

        The method queries the service again, because another feed may have discovered the shard after the last query.
        """
        label, _, name = lease.shard.partition("/")
        return is_removed(self._service.call, f"{arn.rpartition('/')[0]}/{label}", name)

    # Records.

    def _drain_shard(self, key: str) -> int:
        """Read and store the records of the shard `key` up to its end, and return their number.

        After an error, the next call starts with the first record that was not stored.
        """
        reader = self._readers[key]
        try:
            return self._drain_reader(key, reader)
        except BaseException:
            reader.cursor = ShardCursor(self._service.call, reader.cursor.shard, reader.lease.position)
            reader.ended = False
            raise

    def _drain_reader(self, key: str, reader: _Reader) -> int:
        """Read and store the records of a shard until a read returns none, and return the number of records."""
        total = 0
        while not reader.ended and self._renew(reader):
            records = self._read(reader)
            if not records:
                break
            self._store(records, reader.cursor.shard.arn)
            total += len(records)
            if not self._save(reader):
                return total
        if reader.ended:
            self._readers.pop(key)
            self._release(reader.lease, done=True)
        return total

    def _read(self, reader: _Reader) -> list[StreamRecord]:
        """Return the next records of a shard, at most as many as one write to the lake can contain."""
        records: list[StreamRecord] = []
        if reader.cursor.position is None and self._clock.now() - reader.last_read_s > SAFE_RETENTION_S:
            self.catch_up()
        reader.last_read_s = self._clock.now()
        while len(records) < BATCH_RECORDS and not reader.ended:
            page = reader.cursor.read(min(limits.GET_RECORDS_LIMIT, BATCH_RECORDS - len(records)))
            if page.has_gap:
                self.catch_up()
            records += page.records
            reader.ended = page.is_last
            if not page.records:
                break
        return records

    def _store(self, records: Sequence[StreamRecord], arn: str) -> None:
        """Write stream records to the bronze layer. Records that the layer rejects are sent to the failure
        destination.
        """
        remaining = list(records)
        while remaining:
            try:
                self._lake.bronze.write([delivered_record(record) for record in remaining], stream=arn)
            except BadRecordError as error:
                if self._failures is None:
                    raise
                self._failures.send([self._failure(remaining.pop(error.index), error)])
            else:
                return

    def _failure(self, record: StreamRecord, error: BadRecordError) -> Failure:
        return Failure(self._consumer, record, f"{type(error).__name__}: {error}", "", 1, self._clock.now())

    def _all_items(self) -> Iterator[Mapping[str, Any]]:
        """Yield every item of the table, in the state that it had when its page was read."""
        request: dict[str, Any] = {"TableName": self._table, "ConsistentRead": True}
        while True:
            response = self._service.call("Scan", request)
            yield from response["Items"]
            if not response.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    # Checkpoints.

    def _save(self, reader: _Reader) -> bool:
        """Move the checkpoint past the stored records. Return False if another feed has acquired the shard."""
        until_s = self._clock.now() + self._lease_s
        reader.lease = replace(reader.lease, position=reader.cursor.position, until_s=until_s)
        try:
            self._checkpoints.save(reader.lease)
        except LeaseLostError:
            self._readers.pop(reader.lease.shard, None)
            return False
        return True

    def _renew(self, reader: _Reader) -> bool:
        """Renew the lease on the shard if necessary. Return False if another feed has acquired the shard."""
        return reader.lease.until_s - self._clock.now() >= self._lease_s / 2 or self._save(reader)

    def _release(self, lease: ShardLease, *, done: bool) -> None:
        """End the lease on a shard, and store the current time as the time of the last read. `done` is True if the
        shard was read completely.

        If another feed has acquired the shard, nothing is stored.
        """
        try:
            self._checkpoints.save(replace(lease, done=done, until_s=self._clock.now()))
        except LeaseLostError:
            return


def label_of_key(key: str) -> str:
    """Return the stream label in the checkpoint key of a shard. Labels sort by the creation time of the streams."""
    return key.partition("/")[0]


def delivered_record(record: StreamRecord) -> dict[str, Any]:
    """Convert a record to the format of the DynamoDB Streams API, which the lake accepts."""
    body: dict[str, Any] = {
        "ApproximateCreationDateTime": record.at_s,
        "Keys": record.keys,
        "SequenceNumber": record.sequence_number,
    }
    if record.new is not None:
        body["NewImage"] = record.new
    if record.old is not None:
        body["OldImage"] = record.old
    event = {"eventID": record.event_id, "eventName": record.event_name, "dynamodb": body}
    return {**event, "userIdentity": _SERVICE} if record.by_service else event
