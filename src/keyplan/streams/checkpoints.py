"""How far each consumer has come in each shard, and which runner reads it: kept where it survives the runner.

A lane is one consumer's way through one shard. A runner acquires a lane for some time, its lease, and every
acquisition raises the lane's fence; checkpoints are only moved by who holds the present fence. A runner that
was held up for longer than its lease cannot move what another has meanwhile taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


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
