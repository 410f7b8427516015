"""How far each consumer has come in each shard, and which runner reads it: kept where it survives the runner.

A lane is one consumer's way through one shard. A runner acquires a lane for some time, its lease, and every
acquisition raises the lane's fence; checkpoints are only moved by who holds the present fence. A runner that
was held up for longer than its lease cannot move what another has meanwhile taken over.
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
class Lane:
    """One consumer's way through one shard, as it is kept."""

    consumer: str
    shard: str
    """The stream's label and the shard's name."""
    position: int | None = None
    """The last sequence that was handled; None where none was."""
    done: bool = False
    """Whether the shard has ended, and all of it was handled."""
    owner: str | None = None
    until_s: float = 0.0
    """When the owner's lease ends, seconds since 1970."""
    fence: int = 0
    starts: int | None = None
    """The shard's first sequence when the lane was first taken: one of which nothing was read, and that begins later
    now, has lost records. None where that was not kept."""

    def is_free(self, runner: str, now_s: float) -> bool:
        """Whether a runner may acquire it."""
        return not self.done and (self.owner is None or self.owner == runner or self.until_s <= now_s)


@dataclass(frozen=True)
class Board:
    """All that is kept of one consumer."""

    begins_at_s: float | None = None
    """Of one that began with the latest changes: when it did. What is older is not for it."""
    is_known: bool = False
    """Whether it has begun at all."""
    lanes: Mapping[str, Lane] = field(default_factory=dict)
    """By shard."""
    runners: Mapping[str, float] = field(default_factory=dict)
    """By runner: until when it counts as alive, seconds since 1970."""


class Checkpoints(Protocol):
    """Keeps lanes. Every call may raise RunError where what keeps them cannot be reached."""

    def prepare(self) -> None:
        """Make what is needed, or see that it is there."""

    def board(self, consumer: str) -> Board:
        """What is kept of a consumer, as it is now."""

    def begin(self, consumer: str, begins_at_s: float | None) -> bool:
        """Note that a consumer begins; False where it has begun before, and nothing is changed."""

    def acquire(self, consumer: str, shard: str, runner: str, now_s: float, until_s: float) -> Lane | None:
        """Take a lane that is free; None where it is another's."""

    def save(self, lane: Lane) -> None:
        """Keep a lane as it now is: position, lease, beginning. Raises LeaseLostError where its fence is past."""

    def release(self, lane: Lane) -> None:
        """Keep a lane's position and give it up. Raises LeaseLostError where its fence is past."""

    def announce(self, consumer: str, runner: str, until_s: float) -> None:
        """Note that a runner is alive."""

    def withdraw(self, consumer: str, runner: str) -> None:
        """Note that a runner is gone."""


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
