"""Runners, which read a table's stream and call the functions declared with `on_change` for each change."""

from keyplan.streams.checkpoints import Checkpoints, ConsumerState, FileCheckpoints, ShardLease
from keyplan.streams.checkpoints_table import TableCheckpoints, checkpoint_table
from keyplan.streams.delivery import Backoff, Counts
from keyplan.streams.errors import ChangesError, ConsumerSetupError, ConsumerStoppedError, LeaseLostError
from keyplan.streams.failures import Destination, JsonLinesFolder, TableDestination, failure_table
from keyplan.streams.handled_changes import HandledChanges
from keyplan.streams.notices import (
    Gap,
    LeaseLost,
    Notice,
    RecordGivenUp,
    RetryScheduled,
    StreamReplaced,
    TemporaryFailure,
)
from keyplan.streams.records import Failure, StreamRecord
from keyplan.streams.runner import Runner, redrive

__all__ = [
    "Backoff", "ChangesError", "Checkpoints", "ConsumerSetupError", "ConsumerState", "ConsumerStoppedError", "Counts",
    "Destination", "Failure", "FileCheckpoints", "Gap", "HandledChanges", "JsonLinesFolder", "LeaseLost",
    "LeaseLostError", "Notice", "RecordGivenUp", "RetryScheduled", "Runner", "ShardLease", "StreamRecord",
    "StreamReplaced", "TableCheckpoints", "TableDestination", "TemporaryFailure", "checkpoint_table", "failure_table",
    "redrive",
]  # fmt: skip
