"""Change consumers put to work: a table's stream read, typed, and delivered to what was declared with on_change."""

from keyplan.changes.checkpoints import Board, Checkpoints, Lane
from keyplan.changes.checkpoints_file import FileCheckpoints
from keyplan.changes.checkpoints_table import TableCheckpoints, checkpoint_table
from keyplan.changes.delivery import Backoff, Counts
from keyplan.changes.errors import ChangesError, ConsumerSetupError, ConsumerStoppedError, LeaseLostError
from keyplan.changes.failures import Destination, Failure, JsonLinesFolder
from keyplan.changes.failures_table import TableDestination, failure_table
from keyplan.changes.notices import Gap, GivenUp, LeaseLost, Notice, Retrying, StreamReplaced, Trouble
from keyplan.changes.records import StreamRecord
from keyplan.changes.redrive import redrive
from keyplan.changes.runner import Runner
from keyplan.changes.seen import Seen

__all__ = [
    "Backoff", "Board", "ChangesError", "Checkpoints", "ConsumerSetupError", "ConsumerStoppedError", "Counts",
    "Destination", "Failure", "FileCheckpoints", "Gap", "GivenUp", "JsonLinesFolder", "Lane", "LeaseLost",
    "LeaseLostError", "Notice", "Retrying", "Runner", "Seen", "StreamRecord", "StreamReplaced", "TableCheckpoints",
    "TableDestination", "Trouble", "checkpoint_table", "failure_table", "redrive",
]  # fmt: skip
