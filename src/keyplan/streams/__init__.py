"""Change consumers put to work: a table's stream read, typed, and delivered to what was declared with on_change."""

from keyplan.streams.checkpoints import Board, Checkpoints, Lane
from keyplan.streams.checkpoints_file import FileCheckpoints
from keyplan.streams.checkpoints_table import TableCheckpoints, checkpoint_table
from keyplan.streams.delivery import Backoff, Counts
from keyplan.streams.errors import ChangesError, ConsumerSetupError, ConsumerStoppedError, LeaseLostError
from keyplan.streams.failures import Destination, Failure, JsonLinesFolder
from keyplan.streams.failures_table import TableDestination, failure_table
from keyplan.streams.notices import Gap, GivenUp, LeaseLost, Notice, Retrying, StreamReplaced, Trouble
from keyplan.streams.records import StreamRecord
from keyplan.streams.redrive import redrive
from keyplan.streams.runner import Runner
from keyplan.streams.seen import Seen

__all__ = [
    "Backoff", "Board", "ChangesError", "Checkpoints", "ConsumerSetupError", "ConsumerStoppedError", "Counts",
    "Destination", "Failure", "FileCheckpoints", "Gap", "GivenUp", "JsonLinesFolder", "Lane", "LeaseLost",
    "LeaseLostError", "Notice", "Retrying", "Runner", "Seen", "StreamRecord", "StreamReplaced", "TableCheckpoints",
    "TableDestination", "Trouble", "checkpoint_table", "failure_table", "redrive",
]  # fmt: skip
