"""Functions and classes that deliver changes to a consumer.

Failed deliveries are retried, failing batches are divided into halves, and records that fail permanently are sent to a
destination.

A page of records is divided into segments: single records or, for a consumer that accepts lists, batches of records.
Each call to `Delivery.deliver` delivers only the first segment of a shard. The consumer's position in the shard moves
past the segment only after the segment has been handled. This module never sleeps: a failed segment stores the earliest
time for its next attempt, and the caller must call `deliver` again after that time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from keyplan import limits
from keyplan.client.requests import jittered_s
from keyplan.clock import Clock
from keyplan.streams.checkpoints import ShardLease
from keyplan.streams.consumers import BoundConsumer, Changes, SortedRecord
from keyplan.streams.failures import Destination
from keyplan.streams.notices import Notify, RecordGivenUp, RetryScheduled, TemporaryFailure
from keyplan.streams.records import Failure, error_text, trace_of


@dataclass(frozen=True)
class Backoff:
    """The delays between retries of a failed delivery. Each delay is a random number between 0 and an upper bound."""

    first_s: float = 0.2
    """The upper bound of the first delay in seconds. Each later bound is twice the previous one."""
    most_s: float = 60.0
    """The maximum delay, in seconds."""

    def wait_s(self, attempt: int, clock: Clock) -> float:
        """Return the delay in seconds after `attempt` consecutive failures, with full jitter."""
        return jittered_s(attempt, self.first_s, self.most_s, clock)


@dataclass
class Counts:
    """The numbers of records, changes and shards that a run processed, by outcome."""

    read: int = 0
    """The number of records read from the stream. A record that several consumers receive is counted once."""
    delivered: int = 0
    """The number of changes that consumers have handled. A change that several consumers handle is counted several
    times.
    """
    skipped: int = 0
    """The number of records that were not delivered to a consumer, for example because of its filter. A record that
    several consumers skip is counted several times.
    """
    retried: int = 0
    """The number of failed deliveries that will be retried, either as a whole or in two halves."""
    failed: int = 0
    """The number of records that failed permanently and were sent to a destination."""
    gaps: int = 0
    """The number of shards whose records were trimmed before a consumer read them."""
    waiting: int = 0
    """The number of shards in which records still wait for a retry when the run ends. A shard in which several
    consumers wait is counted several times.
    """


@dataclass
class Segment:
    """A sequence of stream records that are delivered together, and the state of their delivery."""

    records: list[SortedRecord]
    changes: list[Changes] | None
    """The changes in each record of the segment, or None if they must be created again.

    They must be created again after a failed attempt, because the handler may have altered the objects.
    """
    end_position: int
    """The consumer's position in the shard after this segment has been handled."""
    error: Exception | None = None
    """An error that makes delivery impossible, such as an image that does not match its entity, or None."""
    attempts: int = 0
    """The number of attempts to deliver this segment."""
    earlier_attempts: int = 0
    """The number of attempts to deliver these records before their segment was split in half."""
    failures: list[Failure] = field(default_factory=list)
    """The failed records to send to the destination, after the last attempt to deliver them has failed."""


@dataclass(eq=False)
class Track:
    """The progress of one consumer through a shard that the runner has leased, and the records to deliver."""

    consumer: BoundConsumer
    lease: ShardLease
    begins_at_s: float | None
    position: int | None
    segments: deque[Segment] = field(default_factory=deque)
    page_end: int | None = None
    failures_in_a_row: int = 0
    not_before_s: float = 0.0
    unsaved: int = 0
    """The number of records handled since the last checkpoint."""
    stopped: Failure | None = None
    """The failed record at which the consumer stopped in this shard, or None.

    A consumer stops at a failed record if it declares no destination for failed records.
    """
    is_lost: bool = False
    """True if another runner has acquired the shard for this consumer."""
    is_at_tip: bool = False
    """True if the last read of the shard returned no records."""
    last_at_s: float | None = None
    """The write time, in epoch seconds, of the record that is being delivered or was delivered last.

    After a page has been read and before its first delivery, this is the write time of the last record on the page. The
    value is None if no record has been read.
    """

    @property
    def is_idle(self) -> bool:
        """Return True if the consumer has handled all records that have been read from the shard."""
        return not self.segments

    @property
    def is_unread(self) -> bool:
        """Return True if no records of the shard have been read yet."""
        return self.position is None and self.page_end is None

    def add_records(self, records: Sequence[SortedRecord], counts: Counts) -> None:
        """Add a page of records from the shard to the track, divided into segments."""
        if not records:
            return
        self.page_end = records[-1].record.sequence
        self.last_at_s = records[-1].record.at_s
        consumed = 0
        for segment in _segments(self.consumer, records, self.begins_at_s):
            self.segments.append(segment)
            consumed += len(segment.records)
        counts.skipped += len(records) - consumed
        if self.segments:
            self.segments[-1].end_position = self.page_end
        else:
            self._move(self.page_end, len(records))

    def complete_first(self) -> None:
        """Remove the first segment, whose records have been handled, and move the consumer's position past it."""
        segment = self.segments.popleft()
        self.failures_in_a_row = 0
        self._move(segment.end_position, len(segment.records))

    def _move(self, position: int, records: int) -> None:
        self.position = position
        self.unsaved += records

    def halve_first(self) -> None:
        """Replace the first segment with its two halves."""
        segment = self.segments.popleft()
        middle = len(segment.records) // 2
        first_half, second_half = segment.records[:middle], segment.records[middle:]
        earlier_attempts = segment.earlier_attempts + segment.attempts
        self.segments.appendleft(Segment(second_half, None, segment.end_position, earlier_attempts=earlier_attempts))
        self.segments.appendleft(
            Segment(first_half, None, first_half[-1].record.sequence, earlier_attempts=earlier_attempts)
        )


def _segments(consumer: BoundConsumer, records: Sequence[SortedRecord], begins_at_s: float | None) -> list[Segment]:
    size = consumer.declaration.batch if consumer.declaration.takes_list else 1
    # The stream's times are in whole seconds, so records of the second in which the consumer started are delivered.
    oldest = float("-inf") if begins_at_s is None else begins_at_s // 1
    segments: list[Segment] = []
    batch: Segment | None = None
    for entry in records:
        if entry.record.at_s < oldest:
            continue
        try:
            changes = consumer.changes(entry)
        except Exception as error:  # noqa: BLE001 - code of a model or a condition may raise any exception
            segments.append(Segment([entry], [()], entry.record.sequence, error=error))
            batch = None
            continue
        if not changes:
            continue
        if batch is None or len(batch.records) >= size:
            batch = Segment([], [], entry.record.sequence)
            segments.append(batch)
        assert batch.changes is not None, "set above"
        batch.records.append(entry)
        batch.changes.append(changes)
        batch.end_position = entry.record.sequence
    return segments


class Delivery:
    """Sends records to consumers and to the destinations for failed records, and schedules retries."""

    def __init__(
        self, *, clock: Clock, backoff: Backoff, destinations: Mapping[str, Destination], notify: Notify
    ) -> None:
        self._clock, self._backoff, self._destinations, self._notify = clock, backoff, destinations, notify

    def is_due(self, track: Track) -> bool:
        """Return True if records of the track's shard can be delivered to the consumer now."""
        return bool(track.segments) and track.stopped is None and track.not_before_s <= self._clock.monotonic()

    def deliver(self, track: Track, counts: Counts) -> bool:
        """Try to deliver the next segment of a shard to a consumer.

        Return True if its records were handled or sent to a destination.
        """
        segment = track.segments[0]
        track.last_at_s = segment.records[0].record.at_s
        if segment.failures:
            return self._send(track, segment, counts)
        if segment.error is not None:
            return self._give_up(track, segment, segment.error, counts)
        try:
            handled = _call_consumer(track.consumer, segment)
        except Exception as error:  # noqa: BLE001 - every exception of a handler is retried
            return self._handle_failure(track, segment, error, counts)
        counts.delivered += handled
        track.complete_first()
        return True

    def _handle_failure(self, track: Track, segment: Segment, error: Exception, counts: Counts) -> bool:
        segment.attempts += 1
        segment.changes = None
        declaration = track.consumer.declaration
        is_halved = declaration.bisect and len(segment.records) > 1
        if not is_halved and self._is_final(declaration.retries, segment):
            return self._give_up(track, segment, error, counts)
        counts.retried += 1
        wait_s = self._schedule_retry(track)
        self._notify(
            RetryScheduled(
                track.consumer.name,
                track.lease.shard,
                len(segment.records),
                segment.records[0].record.event_id,
                segment.attempts + segment.earlier_attempts,
                wait_s,
                error_text(error),
            )
        )
        if is_halved:
            track.halve_first()
        return False

    def _is_final(self, retries: int | None, segment: Segment) -> bool:
        if retries is not None:
            return segment.attempts > retries
        return self._clock.now() - segment.records[-1].record.at_s > limits.STREAM_RETENTION_S

    def _schedule_retry(self, track: Track) -> float:
        track.failures_in_a_row += 1
        wait_s = self._backoff.wait_s(track.failures_in_a_row, self._clock)
        track.not_before_s = self._clock.monotonic() + wait_s
        return wait_s

    def _give_up(self, track: Track, segment: Segment, error: Exception, counts: Counts) -> bool:
        attempts = max(1, segment.attempts + segment.earlier_attempts)
        error_details = error_text(error), trace_of(error), attempts, self._clock.now()
        failures = [Failure(track.consumer.name, entry.record, *error_details) for entry in segment.records]
        if track.consumer.declaration.on_failure is None:
            track.stopped = failures[0]
            return False
        segment.failures = failures
        return self._send(track, segment, counts)

    def _send(self, track: Track, segment: Segment, counts: Counts) -> bool:
        name = track.consumer.declaration.on_failure
        assert name is not None, "only failures with a destination are sent"
        try:
            self._destinations[name].send(segment.failures)
        except Exception as error:  # noqa: BLE001 - no record is skipped before its destination has stored it
            wait_s = self._schedule_retry(track)
            self._notify(TemporaryFailure(f"{track.consumer.name}: destination {name}", wait_s, error_text(error)))
            return False
        for failure in segment.failures:
            self._notify(RecordGivenUp(failure, name))
        counts.failed += len(segment.failures)
        track.complete_first()
        return True


def _call_consumer(consumer: BoundConsumer, segment: Segment) -> int:
    """Call the consumer's function with the changes in a segment, and return the number of changes."""
    changes_by_record = segment.changes
    if changes_by_record is None:
        changes_by_record = segment.changes = [consumer.changes(entry) for entry in segment.records]
    changes = [change for record_changes in changes_by_record for change in record_changes]
    consumer.call_handler(changes)
    return len(changes)
