"""Exceptions that are raised while consumers run.

    KeyplanError
    └── ChangesError
        ├── ConsumerSetupError      a consumer cannot run
        ├── ConsumerStoppedError    a record failed permanently, without a failure destination
        └── LeaseLostError          another runner has acquired a shard

If the database cannot be reached, a RunError from `keyplan.client` is raised.
"""

from __future__ import annotations

from keyplan.errors import KeyplanError
from keyplan.streams.records import Failure


class ChangesError(KeyplanError):
    """Base class of the exceptions that are raised while consumers run."""


class ConsumerSetupError(ChangesError):
    """Raised if a consumer cannot run because of its declaration or the runner's arguments."""


class ConsumerStoppedError(ChangesError):
    """Raised if a record failed permanently and its consumer has no destination for failed records.

    The record is not skipped: it is delivered again in the next run.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(
            f"{failure.consumer} stopped at record {failure.record.sequence_number} of {failure.record.shard}"
            f" ({failure.record.event_name} {failure.key_text}), after {failure.attempts} attempts: {failure.error};"
            " fix the consumer, or declare on_failure=... and pass this destination to the runner"
        )
        self.failure = failure


class LeaseLostError(ChangesError):
    """Raised if another runner has acquired a shard, so this runner can no longer store its position in the shard."""
