"""Runners, which read a table's stream and call its consumers, either once or continuously until they are stopped.

Records are delivered at least once, and in order for each item. A checkpoint moves only past records that were handled
or sent to a destination. If a runner is killed, records that it handled after the last checkpoint are delivered again.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from keyplan.client.connection import Connection
from keyplan.client.errors import ThrottledError, UnavailableError, WriteConflictError
from keyplan.client.requests import Transport
from keyplan.clock import Clock
from keyplan.design.declaring.tables import Table
from keyplan.errors import DatabaseLockedError
from keyplan.streams.checkpoints import Checkpoints, ConsumerState
from keyplan.streams.checkpoints_table import TableCheckpoints
from keyplan.streams.consumers import (
    BoundConsumer,
    RecordSorter,
    bind_consumers,
    check_destinations,
    check_views,
    sorter_of,
    with_handlers,
)
from keyplan.streams.delivery import Backoff, Counts, Delivery
from keyplan.streams.errors import ConsumerSetupError, ConsumerStoppedError
from keyplan.streams.failures import Destination
from keyplan.streams.leases import Leases
from keyplan.streams.notices import Notify, StreamReplaced, TemporaryFailure, log_notice
from keyplan.streams.records import Failure
from keyplan.streams.shards import ShardReader
from keyplan.streams.streams import ShardCursor, StreamService, TableStream, label_of, streams_of

Start = Literal["horizon", "latest"]
_TEMPORARY_ERRORS = (ThrottledError, UnavailableError, WriteConflictError, DatabaseLockedError)
"""The exceptions for temporary errors, after which a runner waits and continues."""
_UNLIMITED = 1 << 60


class Runner:
    """Runs the consumers of a table.

    All consumers share the reads of the stream. Only one thread at a time can use a runner.
    """

    def __init__(
        self,
        db: Connection | Transport,
        table: Table,
        consumers: Sequence[Callable[..., Any] | str] | None = None,
        *,
        checkpoints: Checkpoints | None = None,
        destinations: Mapping[str, Destination] | None = None,
        handlers: Mapping[Callable[..., Any] | str, Callable[[Any], Any]] | None = None,
        start: Start = "horizon",
        runner: str | None = None,
        lease_s: float = 30.0,
        poll_s: float = 0.5,
        refresh_s: float = 10.0,
        checkpoint_every: int = 100,
        backoff: Backoff | None = None,
        notify: Notify = log_notice,
        streams: Any = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare a runner. Raises ConsumerSetupError if a consumer cannot run.

        `consumers` contains the functions or names of the consumers to run, by default all consumers of the table.
        `checkpoints` are stored by default in the table keyplan-checkpoints of the same database. `destinations` maps
        the `on_failure` names of consumers to destinations. `handlers` maps consumers to functions that are called
        instead of the declared functions, such as methods of an object that has a connection. `start` determines
        whether a new consumer starts with the oldest existing records ("horizon") or receives only later records
        ("latest"). `runner` is the name of this runner. A runner that is restarted with the same name resumes its
        shards immediately.

        `lease_s` is the number of seconds without a heartbeat after which other runners can acquire the shards. It must
        be longer than any single delivery takes. `poll_s` is the number of seconds between polls of an idle stream.
        `refresh_s` is the number of seconds between searches for new shards and runners. `checkpoint_every` is the
        number of records after which progress is stored within a page. `streams` is a boto3 dynamodbstreams client to
        use instead of the default client.
        """
        self._db, self.table = db, table
        self._service = StreamService(db, streams=streams, clock=clock)
        self.clock = self._service.clock
        self._name = self._service.table_name(table)
        self.consumers = with_handlers(table, bind_consumers(table, self._name, consumers), handlers or {})
        self._destinations = destinations or {}
        check_destinations(self.consumers, self._destinations)
        self._start, self._poll_s, self._refresh_s = start, poll_s, refresh_s
        self._backoff, self._notify = backoff or Backoff(), notify
        self._leases = Leases(
            checkpoints or TableCheckpoints(db, clock=self.clock),
            self._service.call,
            clock=self.clock,
            runner=runner or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}",
            lease_s=lease_s,
            notify=notify,
        )
        self._reader = self._make_reader(checkpoint_every)
        self._stops_early = False
        self._is_prepared = False
        self._refreshed_s = -math.inf
        self._reported_streams: set[str] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def _make_reader(self, checkpoint_every: int) -> ShardReader:
        return ShardReader(
            self._leases,
            sorter_of(self.table, self.consumers),
            Delivery(clock=self.clock, backoff=self._backoff, destinations=self._destinations, notify=self._notify),
            self.clock,
            self._backoff,
            self._notify,
            checkpoint_every,
            lambda: self._stops_early,
        )

    @property
    def name(self) -> str:
        """Return the name of this runner, which must be unique among all runners of its consumers."""
        return self._leases.runner

    # Driving.

    def run_once(self, limit: int | None = None) -> Counts:
        """Deliver all existing records, or at most `limit` records, and return the counts.

        Deliveries that must be retried later are not retried in this call. Their shards are counted in `waiting`. If a
        consumer cannot continue, ConsumerStoppedError is raised after all other work is done. Raises RunError if the
        service cannot be reached.
        """
        return self._deliver_available(limit, refresh=True)

    def run(self, stop: threading.Event, *, drain: bool = True) -> None:
        """Deliver changes as they arrive until `stop` is set, and then release the shards.

        If `drain` is True, changes that exist when `stop` is set are delivered first. The runner continues after
        temporary service errors. Raises ConsumerStoppedError if a consumer cannot continue.
        """
        failures = 0
        try:
            while not stop.is_set():
                try:
                    counts = self._deliver_available(
                        None, refresh=self.clock.monotonic() - self._refreshed_s >= self._refresh_s
                    )
                except _TEMPORARY_ERRORS as error:
                    failures += 1
                    wait_s = self._backoff.wait_s(failures, self.clock)
                    self._notify(TemporaryFailure(f"consumers of {self._name}", wait_s, str(error)))
                    self.clock.wait(stop, wait_s)
                    continue
                failures = 0
                if not counts.read:
                    self.clock.wait(stop, self._idle_s())
            if drain:
                self._deliver_available(None, refresh=True)
        finally:
            self.close()

    def start(self) -> None:
        """Start a thread that runs the consumers until `stop` is called."""
        if self._thread is not None:
            raise RuntimeError("the runner has already been started")
        self._stop.clear()
        self._stops_early, self._error = False, None
        thread = threading.Thread(target=self._run_thread, name=f"keyplan-changes-{self._name}", daemon=True)
        thread.start()
        self._thread = thread

    def stop(self, *, drain: bool = True) -> None:
        """Stop the thread that `start` started, after it has delivered the remaining changes.

        If `drain` is False, the thread stops after the delivery in progress. If an error ended the thread, that error
        is raised.
        """
        self._stops_early = self._stops_early or not drain
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._stops_early = False
        error, self._error = self._error, None
        if error is not None:
            raise error

    @property
    def error(self) -> BaseException | None:
        """Return the error that ended the thread that `start` started, or None."""
        return self._error

    def _run_thread(self) -> None:
        try:
            self.run(self._stop)
        except BaseException as error:  # noqa: BLE001 - it is raised by stop(), in the thread that waits for this one
            self._error = error

    def close(self) -> None:
        """Store the progress of the consumers and release their shards. The runner can be used again afterwards."""
        try:
            if self._is_prepared:
                self._leases.release_all(self.consumers)
                self._reader.groups.clear()
                self._is_prepared = False
                self._refreshed_s = -math.inf
        finally:
            self._service.close()

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self.stop()
        self.close()

    def lags_s(self) -> dict[str, float]:
        """Return the lag of each consumer: the age in seconds of the oldest unhandled record that has been read.

        The lag is 0 if the consumer has handled all records that were read, and the last read returned no further
        records.
        """
        now_s = self.clock.now()
        lags = {consumer.name: 0.0 for consumer in self.consumers}
        for track in list(self._leases.tracks):
            if track.last_at_s is not None and not (track.is_idle and track.is_at_tip):
                name = track.consumer.name
                lags[name] = max(lags[name], now_s - track.last_at_s)
        return lags

    # Within.

    def _deliver_available(self, limit: int | None, *, refresh: bool) -> Counts:
        """Deliver records, and read more until no consumer can continue now.

        Return the counts. At most `limit` records are read. If `refresh` is True, new shards and runners are looked up
        first. Raises ConsumerStoppedError if a record failed permanently and the consumer has no failure destination.
        """
        counts = Counts()
        if refresh:
            self._refresh(counts)
        is_active = True
        while is_active and not self._stops_early:
            is_active = False
            for group in list(self._reader.groups):
                remaining = _UNLIMITED if limit is None else limit - counts.read
                is_active = self._reader.process(group, counts, remaining) or is_active
            has_ended = any(not group.tracks for group in self._reader.groups)
            self._reader.prune()
            if has_ended:
                self._refresh(counts)
        counts.waiting = sum(not track.is_idle for track in self._leases.tracks)
        self._raise_stopped()
        return counts

    def _raise_stopped(self) -> None:
        for track in self._leases.tracks:
            if track.stopped is not None:
                raise ConsumerStoppedError(track.stopped)

    def _idle_s(self) -> float:
        """Return the number of seconds until the next poll or retry, whichever comes first."""
        now_s = self.clock.monotonic()
        due = [track.not_before_s - now_s for track in self._leases.tracks if not track.is_idle]
        return max(0.0, min([self._poll_s, *due]))

    def _refresh(self, counts: Counts) -> None:
        """Look up the table's streams and shards and the other runners, and acquire this runner's fair share of the
        shards.
        """
        if not self._is_prepared:
            self._prepare()
        streams = streams_of(self._service.call, self._name)
        if not streams:
            raise ConsumerSetupError(
                f'table {self._name} has no stream: declare it with stream="NEW_AND_OLD_IMAGES", or enable one'
            )
        for consumer in self.consumers:
            self._release_unlisted(consumer, streams)
            state, is_new = self._leases.state(consumer, latest=self._start == "latest")
            self._report_new_stream(state, streams)
            counts.gaps += self._leases.balance(consumer, state, streams)
            self._start_reading(consumer, streams, from_latest=is_new and self._start == "latest")
        self._reader.prune()
        self._refreshed_s = self.clock.monotonic()

    def _release_unlisted(self, consumer: BoundConsumer, streams: Sequence[TableStream]) -> None:
        """Release shards that this runner has acquired but not started to read, and that no longer exist.

        This can happen if the previous refresh failed after it had acquired the shards.
        """
        existing_shards = {shard.key for stream in streams for shard in stream.shards}
        for track in self._reader.unread(consumer):
            if track.lease.shard not in existing_shards:
                self._leases.release(track)

    def _start_reading(self, consumer: BoundConsumer, streams: Sequence[TableStream], *, from_latest: bool) -> None:
        """Start to read newly acquired shards from their checkpoints.

        If `from_latest` is True, shards without a checkpoint are read from their end, and otherwise from their start.
        """
        shards = {shard.key: shard for stream in streams for shard in stream.shards}
        unread = self._reader.unread(consumer)
        check_views(consumer, [shards[track.lease.shard] for track in unread], streams)
        for track in unread:
            starts_at_latest = from_latest and track.position is None
            cursor = ShardCursor(
                self._service.call, shards[track.lease.shard], track.position, from_latest=starts_at_latest
            )
            self._reader.add(cursor, track)

    def _prepare(self) -> None:
        if self._service.is_embedded and isinstance(self._db, Connection):
            self._db.create_tables(self.table)
        self._leases.prepare()
        self._is_prepared = True

    def _report_new_stream(self, state: ConsumerState, streams: Sequence[TableStream]) -> None:
        newest = label_of(streams[-1].arn)
        stream_labels = {shard.partition("/")[0] for shard in state.leases}
        if stream_labels and newest not in stream_labels and newest not in self._reported_streams:
            self._reported_streams.add(newest)
            self._notify(StreamReplaced(self._name, max(stream_labels), newest))


def redrive(
    table: Table,
    failures: Iterable[Failure],
    *,
    db: Connection | None = None,
    handlers: Mapping[Callable[..., Any] | str, Callable[[Any], Any]] | None = None,
) -> list[Failure]:
    """Deliver failed records again to their consumers, one by one, and return the records that fail again. Each
    returned failure contains the new error, and its `attempts` is increased by one.

    The consumer receives the change as recorded, even if the item has changed since. Pass `db` if physical table names
    differ from the declared names, and the same `handlers` as for the runner. Raises ConsumerSetupError if a consumer
    has been removed from the design.
    """
    name = table.name if db is None else db.table_name(table)
    bound_consumers: dict[str, tuple[BoundConsumer, RecordSorter]] = {}
    failed_again = []
    for failure in failures:
        if failure.consumer not in bound_consumers:
            consumers = bind_consumers(table, name, [failure.consumer.removeprefix(f"{name}/")])
            (consumer,) = with_handlers(table, consumers, handlers or {})
            bound_consumers[failure.consumer] = consumer, sorter_of(table, [consumer])
        consumer, sorter = bound_consumers[failure.consumer]
        try:
            changes = list(consumer.changes(sorter.sort(failure.record)))
            if changes:
                consumer.call_handler(changes)
        except Exception as error:  # noqa: BLE001 - after any exception, it stays a failure
            failed_again.append(failure.with_error(error))
    return failed_again
