"""Exceptions that are raised while consumers run.

    KeyplanError
    └── ChangesError
        ├── ConsumerSetupError      a consumer cannot run as declared
        ├── ConsumerStoppedError    a record without a destination failed permanently; see `failure`
        └── LeaseLostError          another runner has acquired a shard

If the service cannot be reached, a RunError from `keyplan.client` is raised.
"""

from __future__ import annotations

from keyplan.errors import KeyplanError
from keyplan.streams.records import Failure


class ChangesError(KeyplanError):
    """Base class of the errors of running consumers."""


class ConsumerSetupError(ChangesError):
    """Raised if a consumer cannot run as declared, or with the runner's arguments."""


class ConsumerStoppedError(ChangesError):
    """Raised if a record without a destination failed permanently. The record was not skipped."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(
            f"{failure.consumer} stopped at record {failure.record.sequence_number} of {failure.record.shard}"
            f" ({failure.record.event_name} {failure.key_text}), after {failure.attempts} attempts: {failure.error};"
            " fix the consumer, or give it on_failure=... and the runner that destination"
        )
        self.failure = failure


class LeaseLostError(ChangesError):
    """Raised if another runner has acquired a shard, so that this runner cannot move its checkpoint."""
