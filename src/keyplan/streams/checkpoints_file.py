"""Checkpoints in a file, for the runners of one machine: replaced as a whole, synced, one writer at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from keyplan.streams.checkpoints import Board, Lane
from keyplan.streams.errors import ChangesError, LeaseLostError

T = TypeVar("T")
_Kept = dict[str, dict[str, Any]]
"""By consumer: begins_at_s, is_known, lanes, runners."""


class FileCheckpoints:
    """Checkpoints in one JSON file; beside it stands a lock file, `<name>.lock`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def prepare(self) -> None:
        """Make the folder."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            self._read()

    def board(self, consumer: str) -> Board:
        """What is kept of a consumer."""
        with self._locked():
            kept = self._read().get(consumer, {})
        lanes = {shard: _lane(consumer, shard, told) for shard, told in kept.get("lanes", {}).items()}
        return Board(kept.get("begins_at_s"), kept.get("is_known", False), lanes, kept.get("runners", {}))

    def begin(self, consumer: str, begins_at_s: float | None) -> bool:
        """Note that a consumer begins."""

        def change(kept: dict[str, Any]) -> bool:
            if kept.get("is_known"):
                return False
            kept.update(is_known=True, begins_at_s=begins_at_s)
            return True

        return self._change(consumer, change)

    def acquire(self, consumer: str, shard: str, runner: str, now_s: float, until_s: float) -> Lane | None:
        """Take a lane that is free."""

        def change(kept: dict[str, Any]) -> Lane | None:
            lanes = kept.setdefault("lanes", {})
            lane = _lane(consumer, shard, lanes.get(shard, {}))
            if not lane.is_free(runner, now_s):
                return None
            taken = replace(lane, owner=runner, until_s=until_s, fence=lane.fence + 1)
            lanes[shard] = _plain(taken)
            return taken

        return self._change(consumer, change)

    def save(self, lane: Lane) -> None:
        """Keep a lane's position and lease."""
        self._keep(lane, lane)

    def release(self, lane: Lane) -> None:
        """Keep a lane's position and give it up."""
        self._keep(lane, replace(lane, owner=None, until_s=0.0))

    def _keep(self, held: Lane, then: Lane) -> None:
        """Replace a lane that is still held as it is thought to be. Raises LeaseLostError if it is not."""

        def change(kept: dict[str, Any]) -> None:
            there = _lane(held.consumer, held.shard, kept.get("lanes", {}).get(held.shard, {}))
            if (there.fence, there.owner) != (held.fence, held.owner):
                raise LeaseLostError(f"{held.consumer}: {held.shard} is now read by {there.owner or 'nobody'}")
            kept["lanes"][held.shard] = _plain(then)

        self._change(held.consumer, change)

    def announce(self, consumer: str, runner: str, until_s: float) -> None:
        """Note that a runner is alive."""
        self._change(consumer, lambda kept: kept.setdefault("runners", {}).update({runner: until_s}))

    def withdraw(self, consumer: str, runner: str) -> None:
        """Note that a runner is gone."""
        self._change(consumer, lambda kept: kept.get("runners", {}).pop(runner, None))

    def _change(self, consumer: str, change: Callable[[dict[str, Any]], T]) -> T:
        with self._locked():
            kept = self._read()
            result = change(kept.setdefault(consumer, {}))
            self._write(kept)
            return result

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among threads and processes: each use opens the lock file anew, so threads exclude each other too."""
        try:
            import fcntl  # noqa: PLC0415 - not everywhere, and not needed for checkpoints in a table
        except ModuleNotFoundError as missing:
            raise ChangesError("checkpoints in a file need POSIX file locks: use TableCheckpoints here") from missing
        file = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def _read(self) -> _Kept:
        if not self.path.exists():
            return {}
        try:
            kept: _Kept = json.loads(self.path.read_bytes())
        except ValueError as error:
            raise ChangesError(f"{self.path} is damaged, or no file of checkpoints: {error}") from error
        return kept

    def _write(self, kept: _Kept) -> None:
        new = self.path.with_name(self.path.name + ".new")
        with new.open("wb") as file:
            file.write(json.dumps(kept, indent=1).encode())
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)


def _lane(consumer: str, shard: str, told: dict[str, Any]) -> Lane:
    position, starts = told.get("position"), told.get("starts")
    return Lane(
        consumer,
        shard,
        None if position is None else int(position),
        told.get("done", False),
        told.get("owner"),
        told.get("until_s", 0.0),
        told.get("fence", 0),
        None if starts is None else int(starts),
    )


def _plain(lane: Lane) -> dict[str, Any]:
    return {
        "position": None if lane.position is None else str(lane.position),  # more digits than JSON readers keep
        "done": lane.done,
        "owner": lane.owner,
        "until_s": lane.until_s,
        "fence": lane.fence,
        "starts": None if lane.starts is None else str(lane.starts),
    }
