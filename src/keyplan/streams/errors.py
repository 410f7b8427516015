"""What running consumers may fail with.

    KeyplanError
    └── ChangesError
        ├── ConsumerSetupError      a consumer cannot be run as it is declared
        ├── ConsumerStoppedError    a record failed for good and has no destination; `failure` names it
        └── LeaseLostError          another runner has taken over a shard

Beside these, a RunError of `keyplan.client` tells that the service cannot be reached.
"""

from __future__ import annotations

from keyplan.errors import KeyplanError
from keyplan.streams.records import Failure


class ChangesError(KeyplanError):
    """Root of what running consumers fails with."""


class ConsumerSetupError(ChangesError):
    """A consumer cannot be run as it is declared, or as the runner was told."""


class ConsumerStoppedError(ChangesError):
    """A record failed for good, and nothing says where failed records go; it was not skipped."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(
            f"{failure.consumer} stopped at record {failure.record.sequence_number} of {failure.record.shard}"
            f" ({failure.record.event_name} {failure.key_text}), after {failure.attempts} attempts: {failure.error};"
            " mend the consumer, or give it on_failure=... and the runner that destination"
        )
        self.failure = failure


class LeaseLostError(ChangesError):
    """Another runner has taken over a shard: its checkpoint is no longer ours to move."""
