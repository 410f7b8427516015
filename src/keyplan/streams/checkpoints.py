"""Checkpoints, which store each consumer's position in each shard of a stream, and the name of the runner that reads
the shard.

A shard lease stores the progress of one consumer through one shard. A runner acquires it for a limited time. Every
acquisition increments the lease's fencing token, and only the holder of the current token can move the checkpoint. If a
runner is delayed until its lease has expired and another runner has acquired it, the first runner can no longer move
the checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from keyplan.streams.errors import ChangesError, LeaseLostError


@dataclass(frozen=True)
class ShardLease:
    """The stored progress of one consumer through one shard, and the name of the runner that holds the shard until
    `until_s`.
    """

    consumer: str
    shard: str
    """The key of the shard, which consists of the stream's label and the shard's ID, separated by a slash."""
    position: int | None = None
    """The sequence number of the last record that the consumer has handled, or None if it has not handled any."""
    done: bool = False
    """True if the shard has ended and the consumer has handled all its records."""
    owner: str | None = None
    until_s: float = 0.0
    """The time at which the lease expires, in epoch seconds."""
    fence: int = 0
    starts: int | None = None
    """The first sequence number of the shard at the time of the first lease, or None if it is unknown.

    If no record has been handled and the shard now starts at a later number, records were lost.
    """

    def is_free(self, runner: str, now_s: float) -> bool:
        """Return True if the runner named `runner` can acquire the shard lease at the time `now_s`."""
        return not self.done and (self.owner is None or self.owner == runner or self.until_s <= now_s)


@dataclass(frozen=True)
class ConsumerState:
    """The stored state of one consumer: its start time, its progress in each shard, and its runners."""

    begins_at_s: float | None = None
    """The time in epoch seconds at which the consumer started, or None if it started with the oldest records.

    Records older than this time are not delivered to the consumer.
    """
    is_known: bool = False
    """True if the consumer has been started before."""
    leases: Mapping[str, ShardLease] = field(default_factory=dict)
    """The consumer's progress in each shard, by the key in `ShardLease.shard`."""
    runners: Mapping[str, float] = field(default_factory=dict)
    """The time until which each runner is considered alive, in epoch seconds, by runner name."""


class Checkpoints(Protocol):
    """The interface of checkpoint storage. Every method raises RunError if the storage cannot be reached."""

    def prepare(self) -> None:
        """Create the checkpoint storage, or verify that it exists."""

    def state(self, consumer: str) -> ConsumerState:
        """Return the stored state of a consumer: its start time, its progress in each shard, and its runners."""

    def begin(self, consumer: str, begins_at_s: float | None) -> bool:
        """Store the start time of a new consumer, and return True.

        If the consumer was started before, change nothing and return False.
        """

    def acquire(self, consumer: str, shard: str, runner: str, now_s: float, until_s: float) -> ShardLease | None:
        """Acquire a shard for a consumer until `until_s`, and return the lease. Return None if the shard is not free.

        A shard is not free if another runner holds it, or if the consumer has handled all records in the shard.
        """

    def save(self, lease: ShardLease) -> None:
        """Store the lease's position and expiry time.

        Raises LeaseLostError if another runner has since acquired the shard.
        """

    def release(self, lease: ShardLease) -> None:
        """Store the lease's position, and release the shard for other runners.

        Raises LeaseLostError if another runner has since acquired the shard.
        """

    def announce(self, consumer: str, runner: str, until_s: float) -> None:
        """Record that a runner of the consumer is alive until `until_s`."""

    def withdraw(self, consumer: str, runner: str) -> None:
        """Remove a runner from the stored state of the consumer."""


T = TypeVar("T")
_StoredConsumers = dict[str, dict[str, Any]]
"""The content of a checkpoint file.

It maps the name of each consumer to a dict with the members `begins_at_s`, `is_known`, `lanes` and `runners`. `lanes`
maps the key of each shard to the consumer's lease.
"""


class FileCheckpoints:
    """Checkpoints in a JSON file, which is protected by the lock file `<name>.lock`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def prepare(self) -> None:
        """Create the folder of the checkpoint file. If the file exists, verify that it is readable."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            self._read()

    def state(self, consumer: str) -> ConsumerState:
        """Return the stored state of a consumer: its start time, its progress in each shard, and its runners."""
        with self._locked():
            entries = self._read().get(consumer, {})
        leases = {shard: _lease_of(consumer, shard, stored) for shard, stored in entries.get("lanes", {}).items()}
        return ConsumerState(
            entries.get("begins_at_s"), entries.get("is_known", False), leases, entries.get("runners", {})
        )

    def begin(self, consumer: str, begins_at_s: float | None) -> bool:
        """Store the start time of a new consumer, and return True.

        If the consumer was started before, change nothing and return False.
        """

        def change(entry: dict[str, Any]) -> bool:
            if entry.get("is_known"):
                return False
            entry.update(is_known=True, begins_at_s=begins_at_s)
            return True

        return self._change(consumer, change)

    def acquire(self, consumer: str, shard: str, runner: str, now_s: float, until_s: float) -> ShardLease | None:
        """Acquire a shard for a consumer until `until_s`, and return the lease, or None if the shard is not free."""

        def change(entry: dict[str, Any]) -> ShardLease | None:
            leases = entry.setdefault("lanes", {})
            lease = _lease_of(consumer, shard, leases.get(shard, {}))
            if not lease.is_free(runner, now_s):
                return None
            new_lease = replace(lease, owner=runner, until_s=until_s, fence=lease.fence + 1)
            leases[shard] = _plain(new_lease)
            return new_lease

        return self._change(consumer, change)

    def save(self, lease: ShardLease) -> None:
        """Store the lease's position and expiry time.

        Raises LeaseLostError if another runner has since acquired the shard.
        """
        self._store(lease, lease)

    def release(self, lease: ShardLease) -> None:
        """Store the lease's position, and release the shard for other runners.

        Raises LeaseLostError if another runner has since acquired the shard.
        """
        self._store(lease, replace(lease, owner=None, until_s=0.0))

    def _store(self, current: ShardLease, new: ShardLease) -> None:
        """Replace the stored lease `current` with `new`.

        Raises LeaseLostError if another runner has since acquired the shard.
        """

        def change(entry: dict[str, Any]) -> None:
            stored = _lease_of(current.consumer, current.shard, entry.get("lanes", {}).get(current.shard, {}))
            if (stored.fence, stored.owner) != (current.fence, current.owner):
                raise LeaseLostError(
                    f"{current.consumer}: {current.shard} is now read by {stored.owner or 'no runner'}"
                )
            entry["lanes"][current.shard] = _plain(new)

        self._change(current.consumer, change)

    def announce(self, consumer: str, runner: str, until_s: float) -> None:
        """Record that a runner of the consumer is alive until `until_s`."""
        self._change(consumer, lambda document: document.setdefault("runners", {}).update({runner: until_s}))

    def withdraw(self, consumer: str, runner: str) -> None:
        """Remove a runner from the stored state of the consumer."""
        self._change(consumer, lambda document: document.get("runners", {}).pop(runner, None))

    def _change(self, consumer: str, change: Callable[[dict[str, Any]], T]) -> T:
        with self._locked():
            document = self._read()
            result = change(document.setdefault(consumer, {}))
            self._write(document)
            return result

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the file lock during the block, so that other threads and processes wait.

        The lock file is opened for each block, because threads with a common file descriptor would not exclude each
        other.
        """
        try:
            import fcntl  # noqa: PLC0415 - not available everywhere, and not needed for checkpoints in a table
        except ModuleNotFoundError as missing:
            raise ChangesError("checkpoints in a file need POSIX file locks: use TableCheckpoints here") from missing
        file = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def _read(self) -> _StoredConsumers:
        if not self.path.exists():
            return {}
        try:
            document: _StoredConsumers = json.loads(self.path.read_bytes())
        except ValueError as error:
            raise ChangesError(f"{self.path} is damaged, or is not a checkpoint file: {error}") from error
        return document

    def _write(self, document: _StoredConsumers) -> None:
        new = self.path.with_name(self.path.name + ".new")
        with new.open("wb") as file:
            file.write(json.dumps(document, indent=1).encode())
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)


def _lease_of(consumer: str, shard: str, stored: dict[str, Any]) -> ShardLease:
    position, starts = stored.get("position"), stored.get("starts")
    return ShardLease(
        consumer,
        shard,
        None if position is None else int(position),
        stored.get("done", False),
        stored.get("owner"),
        stored.get("until_s", 0.0),
        stored.get("fence", 0),
        None if starts is None else int(starts),
    )


def _plain(lease: ShardLease) -> dict[str, Any]:
    return {
        "position": None if lease.position is None else str(lease.position),  # more digits than JSON parsers preserve
        "done": lease.done,
        "owner": lease.owner,
        "until_s": lease.until_s,
        "fence": lease.fence,
        "starts": None if lease.starts is None else str(lease.starts),
    }
