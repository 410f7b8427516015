"""Shard leases, which distribute the shards of a stream evenly among the runners of a consumer.

A shard lease stores the progress of one consumer through one shard. Every runner registers itself, and reads at most
its fair share of the shards: the number of readable shards divided by the number of live runners, rounded up. If
another runner starts, a runner with more than its share releases some leases.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from keyplan.clock import Clock
from keyplan.streams.checkpoints import Checkpoints, ConsumerState, ShardLease
from keyplan.streams.consumers import BoundConsumer
from keyplan.streams.delivery import Track
from keyplan.streams.errors import LeaseLostError
from keyplan.streams.notices import Gap, LeaseLost, Notify
from keyplan.streams.streams import Call, Shard, TableStream, is_removed, ready_shards


class Leases:
    """The shard leases that one runner holds, and the functions that acquire, renew and release them."""

    def __init__(
        self, checkpoints: Checkpoints, call: Call, *, clock: Clock, runner: str, lease_s: float, notify: Notify
    ) -> None:
        self._checkpoints, self._call, self._clock, self._notify = checkpoints, call, clock, notify
        self.runner, self.lease_s = runner, lease_s
        self.tracks: list[Track] = []
        self._announced: dict[str, float] = {}
        self._renewed_at_s = 0.0

    def prepare(self) -> None:
        """Create the checkpoint storage, or verify that it exists."""
        self._checkpoints.prepare()

    def state(self, consumer: BoundConsumer, *, latest: bool) -> tuple[ConsumerState, bool]:
        """Return the stored state of a consumer, and whether the consumer is new.

        If `latest` is True, a new consumer does not receive changes that were made before it started.
        """
        self._announce(consumer.name)
        state = self._checkpoints.state(consumer.name)
        if state.is_known:
            return state, False
        is_new = self._checkpoints.begin(consumer.name, self._clock.now() if latest else None)
        return self._checkpoints.state(consumer.name), is_new

    def _announce(self, consumer: str) -> None:
        now_s = self._clock.now()
        if self._announced.get(consumer, 0.0) - now_s < self.lease_s * 2 / 3:
            self._announced[consumer] = now_s + self.lease_s
            self._checkpoints.announce(consumer, self.runner, now_s + self.lease_s)

    def balance(self, consumer: BoundConsumer, state: ConsumerState, streams: Sequence[TableStream]) -> int:
        """Acquire or release shards for the consumer, so that this runner reads its fair share.

        Return the number of shards in which records were lost before the consumer could read them.
        """
        readable_shards = ready_shards(streams, lambda key: key in state.leases and state.leases[key].done)
        now_s = self._clock.now()
        live_runners = {name for name, until_s in state.runners.items() if until_s > now_s} | {self.runner}
        fair_share = -(-len(readable_shards) // len(live_runners))
        tracks = [track for track in self.tracks if track.consumer is consumer]
        for track in sorted(tracks, key=lambda track: len(track.segments))[: max(0, len(tracks) - fair_share)]:
            self.release(track)
        self._acquire_free(consumer, state, readable_shards, fair_share - len(tracks))
        self._release_unused(consumer, state)
        return self._close_lost_shards(consumer, state, streams) + self._report_trimmed(consumer, state, streams)

    def _acquire_free(self, consumer: BoundConsumer, state: ConsumerState, ready: Sequence[Shard], count: int) -> None:
        """Acquire up to `count` free shards in `ready` for the consumer.

        Shards that this runner held before are acquired first. Among the others, the first shard to acquire depends on
        the runner's name, so that runners rarely compete for the same shard.
        """
        held_shards = {track.lease.shard for track in self.tracks if track.consumer is consumer}
        offset = zlib.crc32(self.runner.encode()) % max(1, len(ready))
        previous_shards = {lease.shard for lease in state.leases.values() if lease.owner == self.runner}
        for shard in sorted((*ready[offset:], *ready[:offset]), key=lambda shard: shard.key not in previous_shards):
            if count <= 0:
                break
            now_s = self._clock.now()
            known_lease = state.leases.get(shard.key)
            if shard.key in held_shards or (known_lease is not None and not known_lease.is_free(self.runner, now_s)):
                continue
            lease = self._checkpoints.acquire(consumer.name, shard.key, self.runner, now_s, now_s + self.lease_s)
            if lease is not None:
                self.tracks.append(Track(consumer, lease, state.begins_at_s, lease.position))
                count -= 1

    def _release_unused(self, consumer: BoundConsumer, state: ConsumerState) -> None:
        """Release shards that a runner with this name held before a restart and that this runner does not read.

        Other runners can then acquire the shards without waiting until the leases expire.
        """
        held_shards = {track.lease.shard for track in self.tracks if track.consumer is consumer}
        for lease in state.leases.values():
            if lease.owner == self.runner and lease.shard not in held_shards:
                now_s = self._clock.now()
                new_lease = self._checkpoints.acquire(
                    consumer.name, lease.shard, self.runner, now_s, now_s + self.lease_s
                )
                if new_lease is not None:
                    self._checkpoints.release(new_lease)

    def _close_lost_shards(self, consumer: BoundConsumer, state: ConsumerState, streams: Sequence[TableStream]) -> int:
        """Close the consumer's leases for shards that no longer exist, and report that their unread records are lost.

        Return the number of closed leases.
        """
        existing_shards = {shard.key for stream in streams for shard in stream.shards}
        held_shards = {track.lease.shard for track in self.tracks if track.consumer is consumer}
        missing_leases = [
            lease
            for lease in state.leases.values()
            if not lease.done and lease.shard not in existing_shards | held_shards
        ]
        arn_prefix = streams[-1].arn.rpartition("/")[0]
        closed_count = 0
        for lease in missing_leases:
            label, _, name = lease.shard.partition("/")
            arn = f"{arn_prefix}/{label}"
            if not is_removed(self._call, arn, name):
                continue
            now_s = self._clock.now()
            new_lease = self._checkpoints.acquire(consumer.name, lease.shard, self.runner, now_s, now_s + self.lease_s)
            if new_lease is not None:
                self._checkpoints.release(replace(new_lease, done=True))
                after = None if new_lease.position is None else str(new_lease.position)
                self._notify(Gap((consumer.name,), arn, name, after))
                closed_count += 1
        return closed_count

    def _report_trimmed(self, consumer: BoundConsumer, state: ConsumerState, streams: Sequence[TableStream]) -> int:
        """Report newly acquired shards in which records were trimmed before the consumer could read them.

        Return the number of these shards. Consumers that started with the latest changes are excluded, because the
        trimmed records may be older than their start.
        """
        shards = {shard.key: shard for stream in streams for shard in stream.shards}
        unread = [track for track in self.tracks if track.consumer is consumer and track.is_unread]
        trimmed_count = 0
        for track in unread if state.begins_at_s is None else ():
            shard, first_sequence = shards.get(track.lease.shard), track.lease.starts
            if shard is None or shard.starts is None or (first_sequence is not None and shard.starts <= first_sequence):
                continue
            if first_sequence is not None:
                self._notify(Gap((consumer.name,), shard.arn, shard.name, None))
                trimmed_count += 1
            track.lease = replace(track.lease, starts=shard.starts)
            with suppress(LeaseLostError):
                self.save(track)
        return trimmed_count

    def renew(self, track: Track) -> None:
        """Renew all leases that expire soon, including the leases on shards other than the track's shard, because
        delivering the records of one shard can take a long time.

        Raises LeaseLostError if another runner has acquired the track's shard.
        """
        now_s = self._clock.now()
        if now_s - self._renewed_at_s >= self.lease_s / 6:
            self._renewed_at_s = now_s
            for expiring in [
                held_track for held_track in self.tracks if held_track.lease.until_s - now_s < self.lease_s * 2 / 3
            ]:
                with suppress(LeaseLostError):
                    self.save(expiring)
            for consumer in list(self._announced):
                self._announce(consumer)
        self._check_not_lost(track)

    @staticmethod
    def _check_not_lost(track: Track) -> None:
        """Raise LeaseLostError if another runner is already known to have acquired the track's shard."""
        if track.is_lost:
            raise LeaseLostError(f"{track.consumer.name}: {track.lease.shard} is now read by another runner")

    def save(self, track: Track) -> None:
        """Store the consumer's position in the shard as its checkpoint, and renew the lease.

        Raises LeaseLostError if another runner has acquired the shard.
        """
        lease = replace(track.lease, position=track.position, until_s=self._clock.now() + self.lease_s)
        self._store_lease(track, lease, self._checkpoints.save)

    def finish(self, track: Track) -> None:
        """Record that the shard has ended and all its records have been handled, and release the shard."""
        self._store_lease(track, replace(track.lease, position=track.position, done=True), self._checkpoints.release)
        self.tracks.remove(track)

    def release(self, track: Track) -> None:
        """Store the consumer's position in a shard and release the shard.

        If another runner has acquired the shard, only stop reading it.
        """
        try:
            self._store_lease(track, replace(track.lease, position=track.position), self._checkpoints.release)
        except LeaseLostError:
            return
        self.tracks.remove(track)

    def _store_lease(self, track: Track, lease: ShardLease, store: Callable[[ShardLease], None]) -> None:
        self._check_not_lost(track)
        try:
            store(lease)
        except LeaseLostError:
            track.is_lost = True
            self.tracks.remove(track)
            self._notify(LeaseLost(track.consumer.name, track.lease.shard))
            raise
        track.lease, track.unsaved = lease, 0

    def release_all(self, consumers: Sequence[BoundConsumer]) -> None:
        """Release all shards, and remove this runner from the stored state of the consumers."""
        for track in list(self.tracks):
            self.release(track)
        for consumer in consumers:
            if self._announced.pop(consumer.name, None) is not None:
                self._checkpoints.withdraw(consumer.name, self.runner)
