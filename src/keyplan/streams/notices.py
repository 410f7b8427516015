"""Notices of a runner: gaps, retries, failures, and shards lost to other runners.

Notices are passed to the runner's `notify` function, or logged to `keyplan.streams` by default.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from keyplan.streams.records import Failure

_log = logging.getLogger("keyplan.streams")


@dataclass(frozen=True)
class Gap:
    """Records were trimmed before a consumer read them, and can no longer be delivered."""

    consumers: tuple[str, ...]
    arn: str
    """The stream's ARN."""
    shard: str
    after: str | None
    """The sequence number of the last handled record, or None if no record was handled."""

    def __str__(self) -> str:
        since = "the shard's start" if self.after is None else f"record {self.after}"
        who = ", ".join(self.consumers)
        return f"{who}: records of {self.shard} after {since} may have been trimmed before they were read"


@dataclass(frozen=True)
class StreamReplaced:
    """The table has a newer stream. Changes that were made while no stream was enabled are in neither stream."""

    table: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.table}: stream {self.old} was followed by {self.new}; changes made between them are in neither"


@dataclass(frozen=True)
class Retrying:
    """A delivery failed and will be retried."""

    consumer: str
    shard: str
    records: int
    first_event_id: str
    attempts: int
    wait_s: float
    error: str

    def __str__(self) -> str:
        return (
            f"{self.consumer}: {self.records} records from {self.first_event_id} failed ({self.error}),"
            f" attempt {self.attempts}, again in {self.wait_s:.1f} s"
        )


@dataclass(frozen=True)
class GivenUp:
    """A record failed permanently and was passed to the consumer's destination."""

    failure: Failure
    destination: str

    def __str__(self) -> str:
        failure = self.failure
        return (
            f"{failure.consumer}: {failure.record.event_name} {failure.key_text} went to {self.destination}"
            f" after {failure.attempts} attempts: {failure.error}"
        )


@dataclass(frozen=True)
class LeaseLost:
    """Another runner has acquired a shard. It receives the records since the last checkpoint again."""

    consumer: str
    shard: str

    def __str__(self) -> str:
        return f"{self.consumer}: another runner has taken over {self.shard}"


@dataclass(frozen=True)
class Trouble:
    """The service or a destination could not be reached. The runner retries."""

    what: str
    wait_s: float
    error: str

    def __str__(self) -> str:
        return f"{self.what}: {self.error}; again in {self.wait_s:.1f} s"


Notice = Gap | StreamReplaced | Retrying | GivenUp | LeaseLost | Trouble
Notify = Callable[[Notice], None]


def log_notice(notice: Notice) -> None:
    """Log a notice, as an error if records were lost or given up, or else as a warning."""
    _log.log(logging.ERROR if isinstance(notice, (Gap, GivenUp, StreamReplaced)) else logging.WARNING, "%s", notice)
