"""The consumer that feeds the lake: every change of the table's stream into bronze, and a full export after gaps.

Delivery is at least once: a batch is stored, then the checkpoint moves. Whatever is delivered again, after a kill
or by a second consumer, is known to the lake by its sequence number. Checkpoints hold a lease for each shard, so that
consumers that share them share the shards.

The stream forgets after 24 hours. When records were trimmed before they could be read, when the stream was off for a
while, and before the very first record, the whole table is read (or an export of it is handed in), and the lake rests
on that; changes from the beginning of that reading on count on top, or those of the stream that was switched on anew.
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
from keyplan.streams.checkpoints import Board, Checkpoints, Lane
from keyplan.streams.checkpoints_table import TableCheckpoints
from keyplan.streams.errors import ConsumerSetupError, LeaseLostError
from keyplan.streams.failures import Destination
from keyplan.streams.records import Failure, StreamRecord
from keyplan.streams.streams import Shard, ShardCursor, StreamService, TableStream, is_gone, ready_shards, streams_of
from keyplan_systems.todo.entities import app
from keyplan_systems.todo.lake.errors import BadRecordError, LakeBusyError, StaleExportError
from keyplan_systems.todo.lake.events import SEQUENCE_DIGITS
from keyplan_systems.todo.lake.lake import Lake

CONSUMER = "todo-lake"
"""Each lake is a consumer of its own, so that a new one does not go on where another has come to."""
BATCH_RECORDS = 5_000
"""The most records that become one write of the lake."""
SURELY_KEPT_S = limits.STREAM_RETENTION_S - 3600.0
"""What came since a shard was last looked into is all still there, if that is no longer ago."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""By how much this clock may be ahead of the service's, which dates the changes: those of so long before a reading
count on top of it too. They do no harm, since the last change of an item says all; a missing one would."""

LAST_SEQUENCE = "9" * SEQUENCE_DIGITS
"""No change of a stream comes after it."""

_SERVICE = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}


@dataclass
class _Reader:
    """A shard that is read here."""

    cursor: ShardCursor
    lane: Lane
    looked_s: float
    """When it was last looked into, seconds since 1970. Of one without a position only that tells whether records may
    have been trimmed unread: it begins wherever the stream now does."""
    ended: bool = False


class Feed:
    """Feeds one lake from one table. One thread at a time may drive it."""

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
        """`checkpoints`: by default in the table keyplan-checkpoints of the same database. `failures`: where records go
        that the lake refuses; without it one of them stops the feed. `lease_s`: after how long without a sign of
        life its shards are free for other feeds. `streams`: a boto3 client of dynamodbstreams, if not the obvious one.
        """
        self._service = StreamService(connection, streams=streams, clock=clock)
        self._table = self._service.table_name(app)
        self._lake, self._clock, self._failures, self._lease_s = lake, clock, failures, lease_s
        self._kept = checkpoints or TableCheckpoints(connection, clock=clock, create=True)
        self._name = runner or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._consumer = f"{self._table}/{CONSUMER}-{lake.identity()}"
        self._readers: dict[str, _Reader] = {}
        self._prepared = False

    @property
    def consumer(self) -> str:
        """Its name in checkpoints and failures."""
        return self._consumer

    def run_once(self) -> int:
        """Store what there is to read, until nothing more comes; how many records were read.

        Raises ConsumerSetupError, LakeError, RunError; what was stored before stays.
        """
        total = 0
        while True:
            self._take_shards()
            held = list(self._readers)
            read = sum(self._drained(key) for key in held)
            total += read
            if not read and held == list(self._readers):  # no shard has ended, whose children could be read now
                return total

    def close(self) -> None:
        """Give its shards up to other feeds. It may be driven again."""
        try:
            for reader in self._readers.values():
                self._keeping(reader.lane, done=False)
            self._readers.clear()
        finally:
            self._service.close()

    def catch_up(
        self,
        items: Iterable[Mapping[str, Any]] | None = None,
        as_of: datetime | None = None,
        *,
        ended: str | None = None,
    ) -> None:
        """Let the lake rest on all items of the table: those of an export of that moment, or as they are now read.

        `ended`: the label of a stream that has ended. All its changes are in what is read now, whenever they were.
        """
        if items is not None:
            assert as_of is not None, "an export tells its moment"
            self._lake.rebuild_from_items(items, as_of)
            return
        included = {} if ended is None else {"sequence": LAST_SEQUENCE, "stream": ended}
        while True:
            known = self._lake.snapshot.baselines
            begun = datetime.fromtimestamp(self._clock.now(), UTC) - CLOCKS_DIFFER
            try:
                self._lake.rebuild_from_items(self._all_items(), begun, **included)
            except LakeBusyError:
                continue  # another feed, which began to read before, has finished meanwhile
            except StaleExportError:
                if ended is not None and self._lake.snapshot.baselines == known:
                    raise  # an export of just now may show less than was missed: the table is read a little later
                return  # it rests on what shows all that was missed, perhaps by another feed
            return

    # Shards.

    def _take_shards(self) -> None:
        if not self._prepared:
            self._kept.prepare()
            self._prepared = True
        streams = streams_of(self._service.call, self._table)
        if not streams:
            raise ConsumerSetupError(f"table {self._table} has no stream: switch it on with NEW_AND_OLD_IMAGES")
        board = self._kept.board(self._consumer)
        if not board.is_known:
            self.catch_up()  # what the table held before the stream's oldest record
            self._kept.begin(self._consumer, None)
            looked_s = self._clock.now()
        else:
            looked_s = max((lane.until_s for lane in board.lanes.values()), default=0.0)
        self._bury(board, streams)
        known = {label_of_key(key) for key in board.lanes}
        for shard in ready_shards(streams, lambda key: key in board.lanes and board.lanes[key].done):
            if known and label_of_key(shard.key) not in known:
                self.catch_up(ended=max(known))  # what changed while no stream was on is in none
                known.add(label_of_key(shard.key))
                looked_s = self._clock.now()
            lane = board.lanes.get(shard.key)
            self._take(shard, looked_s if lane is None else lane.until_s)

    def _take(self, shard: Shard, looked_s: float) -> None:
        if shard.key in self._readers:
            return
        now_s = self._clock.now()
        lane = self._kept.acquire(self._consumer, shard.key, self._name, now_s, now_s + self._lease_s)
        if lane is not None:
            self._readers[shard.key] = _Reader(ShardCursor(self._service.call, shard, lane.position), lane, looked_s)

    def _bury(self, board: Board, streams: Sequence[TableStream]) -> None:
        """Make up for shards that are gone before they were read to their end."""
        listed = {shard.key for stream in streams for shard in stream.shards}
        unlisted = [lane for lane in board.lanes.values() if not lane.done and lane.shard not in listed]
        gone = [lane for lane in unlisted if self._is_gone(lane, streams[-1].arn)]
        now_s = self._clock.now()
        taken = [
            self._kept.acquire(self._consumer, one.shard, self._name, now_s, now_s + self._lease_s) for one in gone
        ]
        mine = [lane for lane in taken if lane is not None]
        if mine:
            self.catch_up()
        for lane in mine:
            self._readers.pop(lane.shard, None)
            self._keeping(lane, done=True)

    def _is_gone(self, lane: Lane, arn: str) -> bool:
        """Whether a shard is no more, asked of itself: another feed may have found it after our list was made."""
        label, _, name = lane.shard.partition("/")
        return is_gone(self._service.call, f"{arn.rpartition('/')[0]}/{label}", name)

    # Records.

    def _drained(self, key: str) -> int:
        """Drain a shard. Where that fails, what was read and is not stored is read again."""
        reader = self._readers[key]
        try:
            return self._drain(key, reader)
        except BaseException:
            reader.cursor = ShardCursor(self._service.call, reader.cursor.shard, reader.lane.position)
            reader.ended = False
            raise

    def _drain(self, key: str, reader: _Reader) -> int:
        """Read a shard until nothing more comes."""
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
            self._keeping(reader.lane, done=True)
        return total

    def _read(self, reader: _Reader) -> list[StreamRecord]:
        """The next records, enough for one write."""
        records: list[StreamRecord] = []
        if reader.cursor.position is None and self._clock.now() - reader.looked_s > SURELY_KEPT_S:
            self.catch_up()
        reader.looked_s = self._clock.now()
        while len(records) < BATCH_RECORDS and not reader.ended:
            page = reader.cursor.read(min(limits.GET_RECORDS_LIMIT, BATCH_RECORDS - len(records)))
            if page.gap:
                self.catch_up()
            records += page.records
            reader.ended = page.ended
            if not page.records:
                break
        return records

    def _store(self, records: Sequence[StreamRecord], arn: str) -> None:
        """Write records into bronze; those that it refuses go where failures go."""
        left = list(records)
        while left:
            try:
                self._lake.bronze.write([as_delivered(record) for record in left], stream=arn)
            except BadRecordError as error:
                if self._failures is None:
                    raise
                self._failures.send([self._failure(left.pop(error.index), error)])
            else:
                return

    def _failure(self, record: StreamRecord, error: BadRecordError) -> Failure:
        return Failure(self._consumer, record, f"{type(error).__name__}: {error}", "", 1, self._clock.now())

    def _all_items(self) -> Iterator[Mapping[str, Any]]:
        """Every item of the table, each as it is when its page is read: an export without S3."""
        request: dict[str, Any] = {"TableName": self._table, "ConsistentRead": True}
        while True:
            answer = self._service.call("Scan", request)
            yield from answer["Items"]
            if not answer.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    # Checkpoints.

    def _save(self, reader: _Reader) -> bool:
        """Move the checkpoint behind what was stored; False where another feed has taken the shard over."""
        until_s = self._clock.now() + self._lease_s
        reader.lane = replace(reader.lane, position=reader.cursor.position, until_s=until_s)
        try:
            self._kept.save(reader.lane)
        except LeaseLostError:
            self._readers.pop(reader.lane.shard, None)
            return False
        return True

    def _renew(self, reader: _Reader) -> bool:
        """Make sure that the shard is still ours for some time."""
        return reader.lane.until_s - self._clock.now() >= self._lease_s / 2 or self._save(reader)

    def _keeping(self, lane: Lane, *, done: bool) -> None:
        """Give a shard up by ending its lease now, which also tells when it was last looked into.

        One that another feed has taken over is simply forgotten.
        """
        try:
            self._kept.save(replace(lane, done=done, until_s=self._clock.now()))
        except LeaseLostError:
            return


def label_of_key(key: str) -> str:
    """The label of a shard's stream, by the shard's key; labels sort as streams followed each other."""
    return key.partition("/")[0]


def as_delivered(record: StreamRecord) -> dict[str, Any]:
    """A record in the service's form, as the lake takes it."""
    body: dict[str, Any] = {
        "ApproximateCreationDateTime": record.at_s,
        "Keys": record.keys,
        "SequenceNumber": record.sequence_number,
    }
    if record.new is not None:
        body["NewImage"] = record.new
    if record.old is not None:
        body["OldImage"] = record.old
    told = {"eventID": record.event_id, "eventName": record.event_name, "dynamodb": body}
    return {**told, "userIdentity": _SERVICE} if record.by_service else told
