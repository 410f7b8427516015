"""Notices that a runner sends about lost records, retries, failures, and shards that other runners have acquired.

Notices are passed to the runner's `notify` function. By default, they are logged to `keyplan.streams`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from keyplan.streams.records import Failure

_log = logging.getLogger("keyplan.streams")


@dataclass(frozen=True)
class Gap:
    """A notice that records were trimmed before a consumer read them. The records can no longer be delivered."""

    consumers: tuple[str, ...]
    arn: str
    """The ARN of the stream that contained the records."""
    shard: str
    after: str | None
    """The sequence number of the last record that the consumer has handled, or None if it has not handled any."""

    def __str__(self) -> str:
        start = "the shard's start" if self.after is None else f"record {self.after}"
        names = ", ".join(self.consumers)
        return f"{names}: records of {self.shard} after {start} may have been trimmed before they were read"


@dataclass(frozen=True)
class StreamReplaced:
    """A notice that the table has a newer stream.

    Changes that were made while no stream was enabled are in neither of the two streams.
    """

    table: str
    old: str
    new: str

    def __str__(self) -> str:
        return (
            f"{self.table}: stream {self.old} was replaced by {self.new}; changes made in between are in neither stream"
        )


@dataclass(frozen=True)
class RetryScheduled:
    """A notice that a delivery failed and will be retried."""

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
            f" attempt {self.attempts}; retrying in {self.wait_s:.1f} s"
        )


@dataclass(frozen=True)
class RecordGivenUp:
    """A notice that a record failed permanently and was sent to the consumer's destination."""

    failure: Failure
    destination: str

    def __str__(self) -> str:
        failure = self.failure
        return (
            f"{failure.consumer}: {failure.record.event_name} {failure.key_text} was sent to {self.destination}"
            f" after {failure.attempts} attempts: {failure.error}"
        )


@dataclass(frozen=True)
class LeaseLost:
    """A notice that another runner has acquired a shard. The other runner delivers the records after the last
    checkpoint again.
    """

    consumer: str
    shard: str

    def __str__(self) -> str:
        return f"{self.consumer}: another runner has taken over {self.shard}"


@dataclass(frozen=True)
class TemporaryFailure:
    """A notice that the service or a destination could not be reached. The runner continues to retry."""

    subject: str
    wait_s: float
    error: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.error}; retrying in {self.wait_s:.1f} s"


Notice = Gap | StreamReplaced | RetryScheduled | RecordGivenUp | LeaseLost | TemporaryFailure
Notify = Callable[[Notice], None]


def log_notice(notice: Notice) -> None:
    """Log a notice. The level is ERROR if records have been given up or may have been lost, and WARNING otherwise."""
    _log.log(
        logging.ERROR if isinstance(notice, (Gap, RecordGivenUp, StreamReplaced)) else logging.WARNING, "%s", notice
    )
