"""Errors of running consumers.

    KeyplanError
    └── ChangesError
        ├── ConsumerSetupError      a consumer cannot be run as it is declared
        ├── ConsumerStoppedError    a record failed permanently and has no destination; `failure` names it
        └── LeaseLostError          another runner has taken over a shard

A RunError of `keyplan.client` reports that the service cannot be reached.
"""

from __future__ import annotations

from keyplan.errors import KeyplanError
from keyplan.streams.records import Failure


class ChangesError(KeyplanError):
    """Base class of the errors of running consumers."""


class ConsumerSetupError(ChangesError):
    """A consumer cannot be run as it is declared, or with the runner's arguments."""


class ConsumerStoppedError(ChangesError):
    """A record failed permanently and has no destination; it was not skipped."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(
            f"{failure.consumer} stopped at record {failure.record.sequence_number} of {failure.record.shard}"
            f" ({failure.record.event_name} {failure.key_text}), after {failure.attempts} attempts: {failure.error};"
            " fix the consumer, or give it on_failure=... and the runner that destination"
        )
        self.failure = failure


class LeaseLostError(ChangesError):
    """Another runner has taken over a shard, so this one cannot move its checkpoint."""
