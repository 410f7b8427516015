"""Shard readers. Consumers at the same position share the reads of a shard, and consumers that lag behind read
separately.

Consumers in a `ConsumerGroup` share a cursor (a read position) in a shard. A consumer whose delivery failed is moved to
a separate group, with its unhandled records and its own cursor. When it has caught up, the two groups are merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from keyplan import limits
from keyplan.clock import Clock
from keyplan.errors import ServiceError
from keyplan.streams.consumers import BoundConsumer, RecordSorter
from keyplan.streams.delivery import Backoff, Counts, Delivery, Track
from keyplan.streams.errors import LeaseLostError
from keyplan.streams.leases import Leases
from keyplan.streams.notices import Gap, Notify, TemporaryFailure
from keyplan.streams.streams import RecordsPage, ShardCursor

_LIMIT_EXCEEDED = "LimitExceededException"


@dataclass(eq=False)
class ConsumerGroup:
    """A group of consumers that are at the same position in a shard and share a cursor."""

    cursor: ShardCursor
    tracks: list[Track]
    has_ended: bool = False
    not_before_s: float = 0.0
    failures_in_a_row: int = 0

    @property
    def can_read(self) -> bool:
        """Return True if the group can read more records.

        This requires that all its consumers have handled the records that have been read.
        """
        return all(track.is_idle for track in self.tracks)

    @property
    def can_merge(self) -> bool:
        """Return True if this group of consumers can be merged with another group at the same position.

        This requires that the position is known. Groups that have an iterator but have not read any records may be at
        different positions.
        """
        return self.can_read and not self.has_ended and (self.cursor.position is not None or not self.cursor.iterator)


@dataclass
class ShardReader:
    """The reader for all shards that a runner has leased. It passes their records to the delivery."""

    leases: Leases
    sorter: RecordSorter
    delivery: Delivery
    clock: Clock
    backoff: Backoff
    notify: Notify
    checkpoint_every: int
    is_stopping: Callable[[], bool]
    groups: list[ConsumerGroup] = field(default_factory=list)

    def unread(self, consumer: BoundConsumer) -> list[Track]:
        """Return the consumer's tracks of leased shards that it has not started to read.

        These are newly leased shards, and shards that the last refresh could not start to read because of an error.
        """
        read_ids = {id(track) for group in self.groups for track in group.tracks}
        return [track for track in self.leases.tracks if track.consumer is consumer and id(track) not in read_ids]

    def add(self, cursor: ShardCursor, track: Track) -> None:
        """Start to read a shard for a consumer that is not yet in a group with other consumers."""
        self.groups.append(ConsumerGroup(cursor, [track]))

    def prune(self) -> None:
        """Stop reading shards that the runner no longer holds, and merge groups of consumers at the same position."""
        held_ids = {id(track) for track in self.leases.tracks}
        by_position: dict[tuple[str, int | None, bool], ConsumerGroup] = {}
        groups = []
        for group in self.groups:
            group.tracks = [track for track in group.tracks if id(track) in held_ids]
            if not group.tracks:
                continue
            if not group.can_merge:
                groups.append(group)
                continue
            position = (group.cursor.shard.key, group.cursor.position, group.cursor.from_latest)
            if position in by_position:
                by_position[position].tracks += group.tracks
            else:
                by_position[position] = group
                groups.append(group)
        self.groups = groups

    def process(self, group: ConsumerGroup, counts: Counts, limit: int) -> bool:
        """Deliver records to a group of consumers, and then read up to `limit` more records from their shard.

        Return True if the caller must process the group again, because records were handled or read.
        """
        group.tracks = [track for track in group.tracks if not track.is_lost]
        has_progress = self._deliver(group, counts)
        self._split_group(group)
        if not group.can_read or not group.tracks or self.is_stopping():
            return has_progress
        if group.has_ended:
            self._finish(group)
            return True
        if limit <= 0 or group.not_before_s > self.clock.monotonic():
            return has_progress
        page = self._read(group, min(limit, limits.GET_RECORDS_LIMIT))
        if page is None:
            return has_progress
        self._distribute(group, page, counts)
        self._deliver(group, counts)
        self._split_group(group)
        # An empty page of a closed shard does not mark its end. Only a missing iterator does.
        return bool(page.records) or page.is_last or group.cursor.shard.ends is not None

    def _read(self, group: ConsumerGroup, limit: int) -> RecordsPage | None:
        try:
            page = group.cursor.read(limit)
        except ServiceError as error:
            if error.code != _LIMIT_EXCEEDED:
                raise
            group.failures_in_a_row += 1
            wait_s = self.backoff.wait_s(group.failures_in_a_row, self.clock)
            group.not_before_s = self.clock.monotonic() + wait_s
            subject = f"{group.cursor.shard.name}: throttled (a shard supports at most two readers)"
            self.notify(TemporaryFailure(subject, wait_s, error.message))
            return None
        group.failures_in_a_row = 0
        return page

    def _distribute(self, group: ConsumerGroup, page: RecordsPage, counts: Counts) -> None:
        shard = group.cursor.shard
        if page.has_gap:
            counts.gaps += 1
            after = group.tracks[0].position
            names = tuple(track.consumer.name for track in group.tracks)
            self.notify(Gap(names, shard.arn, shard.name, None if after is None else str(after)))
        counts.read += len(page.records)
        group.has_ended = page.is_last
        records = [self.sorter.sort(record) for record in page.records]
        for track in group.tracks:
            track.add_records(records, counts)
            track.is_at_tip = not page.records

    def _deliver(self, group: ConsumerGroup, counts: Counts) -> bool:
        """Deliver records that are due, and move checkpoints past them. Return True if at least one record
        was handled.
        """
        has_progress = False
        for track in list(group.tracks):
            try:
                has_progress = self._deliver_to(track, counts) or has_progress
                if track.unsaved:
                    self.leases.save(track)
                else:
                    self.leases.renew(track)
            except LeaseLostError:
                group.tracks.remove(track)
        return has_progress

    def _deliver_to(self, track: Track, counts: Counts) -> bool:
        has_progress = False
        while self.delivery.is_due(track) and not self.is_stopping():
            self.leases.renew(track)
            if not self.delivery.deliver(track, counts):
                break
            has_progress = True
            if track.unsaved >= self.checkpoint_every:
                self.leases.save(track)
        return has_progress

    def _split_group(self, group: ConsumerGroup) -> None:
        """Move consumers with unhandled records to separate groups, so that they do not delay the others."""
        waiting_tracks = [track for track in group.tracks if not track.is_idle]
        if waiting_tracks and len(waiting_tracks) < len(group.tracks):
            group.tracks = [track for track in group.tracks if track.is_idle]
            self.groups += [ConsumerGroup(group.cursor.clone(), [track], group.has_ended) for track in waiting_tracks]

    def _finish(self, group: ConsumerGroup) -> None:
        for track in group.tracks:
            try:
                self.leases.finish(track)
            except LeaseLostError:
                continue
        group.tracks = []
